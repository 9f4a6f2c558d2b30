//! A queue from one thread to one other, without locks: how blocks of records reach the writer, and come back.
//!
//! The protocol is checked by loom over every interleaving it knows: `RUSTFLAGS="--cfg loom" cargo test -p iosonar-os
//! --release loom`.

#[cfg(loom)]
use loom::{
    cell::UnsafeCell,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::fmt;
use std::mem::MaybeUninit;
#[cfg(not(loom))]
use std::{
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// The cell of the standard library under the interface of loom's.
#[cfg(not(loom))]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Separates the words written by the two sides into different cache lines.
#[repr(align(64))]
struct Line<T>(T);

struct Shared<T> {
    cells: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// Values taken so far; written by the receiver alone.
    taken: Line<AtomicUsize>,
    /// Values put so far; written by the sender alone.
    put: Line<AtomicUsize>,
    /// Whether one side is gone.
    closed: AtomicBool,
}

// SAFETY: a value is moved into a cell by the sender and out of it by the receiver, each cell by one of them at a
// time (see push and pop), so sharing the queue is sending values, which `T: Send` allows.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above; nothing in it is tied to a thread.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let (taken, put) = (self.taken.0.load(Ordering::Relaxed), self.put.0.load(Ordering::Relaxed));
        for n in taken..put {
            let cell = &self.cells[n % self.cells.len()];
            // SAFETY: cells from `taken` to `put` hold values that were not taken, and both ends are gone.
            cell.with_mut(|value| unsafe { (*value).assume_init_drop() });
        }
    }
}

/// The sending end.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    /// Values put so far.
    put: usize,
    /// Values taken at the last look: looking costs a cache miss.
    taken: usize,
}

/// The receiving end.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    taken: usize,
    put: usize,
}

/// Why no value was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// No value yet.
    ForNow,
    /// No value is there, nor will one come: the sender is gone.
    ForEver,
}

/// A queue for at most `capacity` values (at least one).
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let cells = (0..capacity.max(1)).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let shared = Arc::new(Shared {
        cells,
        taken: Line(AtomicUsize::new(0)),
        put: Line(AtomicUsize::new(0)),
        closed: AtomicBool::new(false),
    });
    (Sender { shared: shared.clone(), put: 0, taken: 0 }, Receiver { shared, taken: 0, put: 0 })
}

impl<T: Send> Sender<T> {
    /// Puts a value; returns it where the queue is full.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let capacity = self.shared.cells.len();
        if self.put - self.taken == capacity {
            self.taken = self.shared.taken.0.load(Ordering::Acquire);
            if self.put - self.taken == capacity {
                return Err(value);
            }
        }
        let cell = &self.shared.cells[self.put % capacity];
        // SAFETY: fewer than `capacity` values lie between `taken` and `put`, so the receiver is done with this cell
        // (it said so by the release store of `taken` that was acquired above), and will not look at it before
        // `put` is stored below; there is only one sender, and it is borrowed alone.
        cell.with_mut(|place| unsafe { (*place).write(value) });
        self.put += 1;
        self.shared.put.0.store(self.put, Ordering::Release);
        Ok(())
    }

    /// Whether the receiver is gone: values put now are never taken.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl<T: Send> Receiver<T> {
    /// Takes the value that was put first.
    pub fn pop(&mut self) -> Result<T, Empty> {
        if self.put == self.taken {
            // Read before the count: values put before the sender went must not be overlooked.
            let closed = self.shared.closed.load(Ordering::Acquire);
            self.put = self.shared.put.0.load(Ordering::Acquire);
            if self.put == self.taken {
                return Err(if closed { Empty::ForEver } else { Empty::ForNow });
            }
        }
        let cell = &self.shared.cells[self.taken % self.shared.cells.len()];
        // SAFETY: this cell lies between `taken` and `put`, so the sender has written it before the release store of
        // `put` that was acquired, and will not write it again before `taken` is stored below; there is only one
        // receiver, and it is borrowed alone. The value is read once, because `taken` moves on.
        let value = cell.with(|place| unsafe { (*place).assume_init_read() });
        self.taken += 1;
        self.shared.taken.0.store(self.taken, Ordering::Release);
        Ok(value)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("put", &self.put).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("taken", &self.taken).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn delivers_values_in_order_then_end() {
        let (mut sender, mut receiver) = channel(3);
        let producer = std::thread::spawn(move || {
            for n in 0..10_000u64 {
                let mut value = Box::new(n);
                while let Err(back) = sender.push(value) {
                    value = back;
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        loop {
            match receiver.pop() {
                Ok(value) => {
                    assert_eq!(*value, expected);
                    expected += 1;
                }
                Err(Empty::ForNow) => std::thread::yield_now(),
                Err(Empty::ForEver) => break,
            }
        }
        producer.join().unwrap();
        assert_eq!(expected, 10_000);
    }

    #[test]
    fn drops_unreceived_values_once() {
        static DROPS: AtomicU64 = AtomicU64::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (mut sender, mut receiver) = channel(4);
        for _ in 0..4 {
            assert!(sender.push(Counted).is_ok());
        }
        assert!(sender.push(Counted).is_err());
        drop(receiver.pop().ok());
        drop(receiver);
        assert!(sender.is_closed());
        drop(sender);
        assert_eq!(DROPS.load(Ordering::Relaxed), 5);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::thread;

    /// Blocks go to the writer and come back, as the recorder does it: every block arrives whole, in order, and the
    /// end is seen.
    #[test]
    fn loom_blocks_circulate() {
        loom::model(|| {
            let (mut full, mut filled) = channel::<Box<usize>>(2);
            let (mut give_back, mut empty) = channel::<Box<usize>>(2);
            let writer = thread::spawn(move || {
                let mut next = 0;
                loop {
                    match filled.pop() {
                        Ok(block) => {
                            assert_eq!(*block, next);
                            next += 1;
                            let _ = give_back.push(block);
                        }
                        Err(Empty::ForNow) => thread::yield_now(),
                        Err(Empty::ForEver) => return next,
                    }
                }
            });
            full.push(Box::new(0)).unwrap();
            let mut block = loop {
                match empty.pop() {
                    Ok(block) => break block,
                    Err(_) => thread::yield_now(),
                }
            };
            *block = 1;
            full.push(block).unwrap();
            drop(full);
            assert_eq!(writer.join().unwrap(), 2);
        });
    }

    /// A full queue gives the value back; nothing is lost or doubled.
    #[test]
    fn loom_full_and_closed() {
        loom::model(|| {
            let (mut sender, mut receiver) = channel::<Box<usize>>(1);
            let producer = thread::spawn(move || {
                let first = sender.push(Box::new(1)).is_ok();
                let second = sender.push(Box::new(2)).is_ok();
                usize::from(first) + usize::from(second)
            });
            let mut taken = 0;
            if let Ok(value) = receiver.pop() {
                assert_eq!(*value, 1);
                taken += 1;
            }
            let put = producer.join().unwrap();
            while receiver.pop().is_ok() {
                taken += 1;
            }
            assert_eq!(put, taken);
            assert_eq!(receiver.pop(), Err(Empty::ForEver));
        });
    }
}
