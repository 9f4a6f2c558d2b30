//! Requests on their way through the kernel: the bookkeeping that every asynchronous interface shares.
//!
//! A request owns a slot and its buffer from [`InFlight::push`] to [`InFlight::pop`], which returns it exactly once. It may take
//! several calls: the rest of a short transfer, or one that was interrupted, is issued in the same slot.
//! A [`Queue`] lies between here and the kernel; the tests have a simulated one that completes out of order, late, short and with
//! errors.
//!
//! Non-goals: the time (passed in by the caller), and the purpose of a request.

mod progress;
#[cfg(test)]
mod simulation;

pub use progress::{CALL_MAX, Progress};

use crate::Buffer;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Direction of the data, if there is any; else the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
    /// No data: earlier writes to the file are brought to stable storage.
    Flush,
    /// The same, and all metadata of the file with it.
    Fsync,
    /// No data: the data of a range is no longer needed.
    Discard,
    /// No data: a range is zeroed.
    WriteZeroes,
}

impl Direction {
    /// Whether it brings earlier writes to stable storage.
    pub fn is_flush(self) -> bool {
        matches!(self, Direction::Flush | Direction::Fsync)
    }

    /// Whether it changes a range without data. The kernel then returns 0 instead of the number of changed bytes.
    pub fn is_dataless_change(self) -> bool {
        matches!(self, Direction::Discard | Direction::WriteZeroes)
    }
}

/// One call to the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Direction or operation.
    pub direction: Direction,
    /// Offset in the file.
    pub offset: u64,
    /// Address in memory.
    pub memory: *mut u8,
    /// Number of bytes, at most [`CALL_MAX`].
    pub length: u32,
    /// Written data has to be on stable storage when the call completes.
    pub durable: bool,
}

/// Completion of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cqe {
    /// The slot that it was staged with.
    pub slot: u32,
    /// Bytes, or the negative errno.
    pub result: i64,
}

/// A way into the kernel and back.
///
/// # Safety
/// An implementor uses the memory of a call from when it is staged until its slot arrives, and never after; a staged
/// call that was not yet taken is forgotten when the queue is dropped. Each call that was taken arrives exactly once,
/// under its own slot.
pub unsafe trait Queue: Send {
    /// Whether the kernel may take a call as soon as it is staged.
    fn is_eager(&self) -> bool {
        false
    }

    /// Puts a call after those that were staged before. Returns `false` if there is no room.
    ///
    /// # Safety
    /// The call's memory can be read, and for a read written, and has no other user, until the slot arrives or the queue is dropped
    /// with the call not taken. No other call with this slot is in flight.
    unsafe fn stage(&mut self, slot: u32, call: Call) -> bool;

    /// Submits the staged calls, in their order. Returns how many of them the kernel took.
    ///
    /// # Errors
    /// `EINTR`, `EAGAIN`, `EBUSY`, `ENOMEM`: it took no call, for now. Any other is a bug here.
    fn submit(&mut self) -> io::Result<u32>;

    /// Appends completions. With a time it waits up to that long for the first one; it may return early.
    ///
    /// # Errors
    /// Only bugs here.
    fn look(&mut self, wait: Option<Duration>, arrived: &mut Vec<Cqe>) -> io::Result<()>;

    /// Asks the kernel to cancel calls. All of them arrive nevertheless.
    fn cancel(&mut self) {}
}

/// A request to be executed.
#[derive(Debug)]
pub struct Request<T> {
    /// Direction or operation.
    pub direction: Direction,
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes; of a request that transfers data, the length of its buffer.
    pub length: u64,
    /// Source or destination in memory. All of it is transferred.
    pub buffer: Buffer,
    /// After a short transfer, the rest is requested.
    pub completes: bool,
    /// Written data has to be on stable storage when the request has ended.
    pub durable: bool,
    /// A flush comes first, as a separate call.
    pub preflush: bool,
    /// Value that is returned with the completion.
    pub tag: T,
}

/// A request that has ended.
#[derive(Debug)]
pub struct Done<T> {
    /// The buffer of the request.
    pub buffer: Buffer,
    /// The tag of its request.
    pub tag: T,
    /// Time just before its first call was submitted.
    pub submitted: u64,
    /// Bytes, or the negative errno.
    pub result: i64,
    /// Some call transferred less than requested.
    pub short: bool,
}

/// Slot of one request. Its buffer's memory belongs to the kernel while a call is in flight.
#[derive(Debug)]
struct Slot<T> {
    request: Option<Request<T>>,
    progress: Progress,
    submitted: u64,
    /// The kernel has taken its first call.
    begun: bool,
    /// Its next call is the flush before its data.
    flushes: bool,
}

impl<T> Slot<T> {
    fn blank() -> Slot<T> {
        Slot { request: None, progress: Progress::new(0, false), submitted: 0, begun: false, flushes: false }
    }

    /// Processes the result of a call. Returns the request's result if it ends with that.
    fn on_result(&mut self, result: i64) -> Option<i64> {
        if self.flushes && result >= 0 {
            self.flushes = false;
            return None;
        }
        let is_all = self.request.as_ref().is_some_and(|request| request.direction.is_dataless_change());
        let done = if is_all && result >= 0 { self.progress.remaining() as i64 } else { result };
        self.progress.on_result(done)
    }
}

/// The requests of one target that are in flight.
#[derive(Debug)]
pub struct InFlight<Q: Queue, T> {
    queue: Q,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// Slots whose next call the kernel has not taken; of the first `staged` the queue knows.
    pending: VecDeque<u32>,
    staged: usize,
    /// Calls in flight: taken by the kernel and not completed.
    flying: usize,
    /// The last completions; the first `seen` have been processed.
    arrived: Vec<Cqe>,
    seen: usize,
}

impl<Q: Queue, T> InFlight<Q, T> {
    /// With room for `depth` requests.
    pub fn new(queue: Q, depth: u32) -> InFlight<Q, T> {
        let depth_usize = depth as usize;
        InFlight {
            queue,
            slots: (0..depth).map(|_| Slot::blank()).collect(),
            free: (0..depth).rev().collect(),
            pending: VecDeque::with_capacity(depth_usize),
            staged: 0,
            flying: 0,
            arrived: Vec::with_capacity(depth_usize),
            seen: 0,
        }
    }

    /// Whether calls wait for submission.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Adds a request.
    ///
    /// # Panics
    /// If the maximum number of requests is in flight already.
    pub fn push(&mut self, request: Request<T>) {
        let slot = self.free.pop().expect("no more requests are pushed than the depth allows");
        let length = if request.direction.is_flush() { 0 } else { request.length };
        let (progress, flushes) = (Progress::new(length, request.completes), request.preflush);
        self.slots[slot as usize] = Slot { request: Some(request), progress, flushes, ..Slot::blank() };
        self.pending.push_back(slot);
    }

    /// Submits the waiting calls, with one reading of the clock for each time that the kernel is entered. Calls that the kernel
    /// does not take for now keep waiting.
    ///
    /// # Panics
    /// If the kernel refuses calls as such, which no request can cause.
    pub fn submit(&mut self, mut clock: impl FnMut() -> u64) {
        while !self.pending.is_empty() {
            let early = self.queue.is_eager().then(&mut clock);
            self.stage();
            let now = early.unwrap_or_else(&mut clock);
            for slot in self.pending.range(..self.staged) {
                let slot = &mut self.slots[*slot as usize];
                slot.submitted = if slot.begun { slot.submitted } else { now };
            }
            let taken = match self.queue.submit() {
                Ok(taken) => taken as usize,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => continue,
                Err(error) if is_passing(&error) => return,
                Err(error) => panic!("the kernel takes no requests: {error}"),
            };
            self.flying += taken;
            self.staged -= taken;
            for slot in self.pending.drain(..taken) {
                self.slots[slot as usize].begun = true;
            }
            if taken == 0 {
                return;
            }
        }
    }

    fn stage(&mut self) {
        while let Some(slot) = self.pending.get(self.staged) {
            let place = &self.slots[*slot as usize];
            let request = place.request.as_ref().expect("what is pending has a request");
            let done = place.progress.done();
            let call = Call {
                direction: if place.flushes { Direction::Flush } else { request.direction },
                offset: request.offset + done,
                memory: request.buffer.pointer().wrapping_add(done as usize),
                length: place.progress.remaining() as u32,
                durable: request.durable,
            };
            // SAFETY: the memory is the rest of the request's buffer, which its slot owns and which has no other user until the
            // slot arrives; a pending slot has no other call in flight. Drop waits for the calls that the kernel took, and drops
            // the queue before the slots.
            if !unsafe { self.queue.stage(*slot, call) } {
                return;
            }
            self.staged += 1;
        }
    }

    /// Looks for completions, waiting at most this long for one. Returns whether there were any; [`pop`](InFlight::pop) returns
    /// them.
    ///
    /// # Panics
    /// If the kernel refuses the query, which no request can cause.
    pub fn look(&mut self, wait: Option<Duration>) -> bool {
        if self.flying > 0 {
            let told = self.queue.look(wait, &mut self.arrived);
            told.expect("the kernel tells what has completed");
        } else if let Some(time) = wait {
            std::thread::sleep(time);
        }
        self.seen < self.arrived.len()
    }

    /// Returns a request that has ended, of those that the last [`look`](InFlight::look) found. Those with more to do wait for
    /// submission.
    pub fn pop(&mut self) -> Option<Done<T>> {
        while let Some(&Cqe { slot, result }) = self.arrived.get(self.seen) {
            self.seen += 1;
            self.flying -= 1;
            let place = &mut self.slots[slot as usize];
            let Some(result) = place.on_result(result) else {
                self.pending.push_back(slot);
                continue;
            };
            let request = place.request.take().expect("a slot arrives only while it is under way");
            self.free.push(slot);
            let (submitted, short) = (place.submitted, place.progress.is_short());
            return Some(Done { buffer: request.buffer, tag: request.tag, submitted, result, short });
        }
        self.arrived.clear();
        self.seen = 0;
        None
    }
}

/// Whether the kernel only lacks room at the moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM))
}

/// Interval of polling for the last completions when an `InFlight` is dropped.
const LANDING: Duration = Duration::from_millis(100);

impl<Q: Queue, T> Drop for InFlight<Q, T> {
    /// Waits for calls in flight: the kernel writes into the buffers. If it does not report them any more, the buffers are leaked
    /// instead.
    fn drop(&mut self) {
        self.flying -= self.arrived.drain(..).skip(self.seen).count();
        if self.flying > 0 {
            self.queue.cancel();
        }
        while self.flying > 0 {
            if self.queue.look(Some(LANDING), &mut self.arrived).is_err() {
                return std::mem::forget(std::mem::take(&mut self.slots));
            }
            self.flying -= self.arrived.drain(..).len();
        }
    }
}
