//! Asynchronous requests of the C library (`aio_read`, `aio_write`): glibc executes them with its own threads, the requests of one
//! descriptor one after the other.

use crate::flight::{Call, Cqe, Direction, Queue};
use std::cell::UnsafeCell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// How long a result is polled for, yielding the CPU to the thread that works on it, before this thread sleeps. Falling asleep and
/// waking up cost more than a request that the page cache serves.
const YIELDING: Duration = Duration::from_micros(50);

/// A request to the library.
struct Slot {
    direction: Direction,
    /// After the write, its data is brought to stable storage.
    durable: bool,
    /// Result of the write, while its data is brought to stable storage.
    written: Option<i64>,
}

/// The requests of one target.
pub struct PosixAio {
    file: File,
    slots: Box<[Slot]>,
    /// One for each slot, in a separate box: the library keeps their addresses, and writes to them from its threads.
    blocks: Box<[UnsafeCell<libc::aiocb>]>,
    /// Slots that are staged and not taken.
    staged: Vec<u32>,
    /// Slots that the library has.
    flying: Vec<u32>,
    /// Addresses of those, to wait for.
    waited: Vec<*const libc::aiocb>,
    /// Requests that the library refused.
    refused: Vec<Cqe>,
}

// SAFETY: the blocks and the addresses that are kept are the queue's own, and the library ties none to a thread.
unsafe impl Send for PosixAio {}

impl PosixAio {
    /// A queue of `depth` requests on `file` at a time.
    pub fn new(file: File, depth: u32) -> PosixAio {
        let blank = || Slot { direction: Direction::Read, durable: false, written: None };
        // SAFETY: a control block is made of numbers and pointers, for which zeros are values.
        let block = || UnsafeCell::new(unsafe { std::mem::zeroed() });
        let size = depth as usize;
        PosixAio {
            file,
            slots: (0..size).map(|_| blank()).collect(),
            blocks: (0..size).map(|_| block()).collect(),
            staged: Vec::with_capacity(size),
            flying: Vec::with_capacity(size),
            waited: Vec::with_capacity(size),
            refused: Vec::with_capacity(size),
        }
    }

    /// Passes a request to the library, which returns an error at once where it cannot.
    fn start(&mut self, slot: u32) -> io::Result<()> {
        let (block, slot) = (self.blocks[slot as usize].get(), &self.slots[slot as usize]);
        // SAFETY: the block lives in its box for as long as the queue, which waits for all of them when it is dropped; its
        // memory is valid as `stage` demands.
        let answer = unsafe {
            match slot.direction {
                Direction::Read => libc::aio_read(block),
                Direction::Write => libc::aio_write(block),
                Direction::Flush => libc::aio_fsync(libc::O_DSYNC, block),
                Direction::Fsync => libc::aio_fsync(libc::O_SYNC, block),
                // There are no such calls.
                Direction::Discard | Direction::WriteZeroes => {
                    return Err(io::Error::from_raw_os_error(libc::EINVAL));
                }
            }
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// The result of a request that has ended; `None` while it is in flight, or where a sync follows.
    fn answer(&mut self, slot: u32) -> Option<i64> {
        let (block, place) = (self.blocks[slot as usize].get(), &mut self.slots[slot as usize]);
        // SAFETY: the library has the block, or has had it, and its answer was not taken yet.
        let error = unsafe { libc::aio_error(block) };
        if error == libc::EINPROGRESS {
            return None;
        }
        // SAFETY: as above, and the request has ended.
        let result = unsafe { libc::aio_return(block) } as i64;
        let result = if error == 0 { result } else { -i64::from(error) };
        if let Some(written) = place.written.take() {
            return Some(if result < 0 { result } else { written });
        }
        if !place.durable || result < 0 {
            return Some(result);
        }
        (place.written, place.direction) = (Some(result), Direction::Flush);
        match self.start(slot) {
            Ok(()) => None,
            Err(error) => Some(negative(&error)),
        }
    }

    fn collect(&mut self, arrived: &mut Vec<Cqe>) {
        let mut at = 0;
        while let Some(&slot) = self.flying.get(at) {
            match self.answer(slot) {
                Some(result) => {
                    arrived.push(Cqe { slot, result });
                    self.flying.swap_remove(at);
                }
                None => at += 1,
            }
        }
    }

    /// Waits until some request has ended.
    fn wait(&mut self, time: Duration) {
        self.waited.clear();
        let blocks = &self.blocks;
        self.waited.extend(self.flying.iter().map(|slot| blocks[*slot as usize].get().cast_const()));
        let time =
            libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: libc::c_long::from(time.subsec_nanos()) };
        if self.waited.is_empty() {
            std::thread::sleep(Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
            return;
        }
        // SAFETY: `waited` holds `len` addresses of blocks that the library has; it reads list and time. Waking up early is no
        // error: the caller looks again.
        unsafe { libc::aio_suspend(self.waited.as_ptr(), self.waited.len() as libc::c_int, &raw const time) };
    }
}

fn negative(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
}

// SAFETY: the library uses the memory of a request from when it takes it until its result is there, which is taken once, for the
// slot that the request was staged with; a durable write has one more request in between, which uses no memory. Only this queue
// knows staged requests.
unsafe impl Queue for PosixAio {
    unsafe fn stage(&mut self, slot: u32, call: Call) -> bool {
        let place = &mut self.slots[slot as usize];
        (place.direction, place.durable, place.written) = (call.direction, call.durable, None);
        // SAFETY: the library does not have the block: no other call with this slot is under way.
        let block = unsafe { &mut *self.blocks[slot as usize].get() };
        block.aio_fildes = self.file.as_raw_fd();
        block.aio_offset = call.offset as libc::off_t;
        block.aio_buf = call.memory.cast();
        block.aio_nbytes = call.length as usize;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.staged.push(slot);
        true
    }

    fn submit(&mut self) -> io::Result<u32> {
        let mut taken = 0;
        while let Some(&slot) = self.staged.get(taken) {
            match self.start(slot) {
                Ok(()) => self.flying.push(slot),
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => break,
                Err(error) => self.refused.push(Cqe { slot, result: negative(&error) }),
            }
            taken += 1;
        }
        if taken == 0 && !self.staged.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        self.staged.drain(..taken);
        Ok(taken as u32)
    }

    fn look(&mut self, wait: Option<Duration>, arrived: &mut Vec<Cqe>) -> io::Result<()> {
        let before = arrived.len();
        arrived.append(&mut self.refused);
        self.collect(arrived);
        let Some(time) = wait else { return Ok(()) };
        let begin = Instant::now();
        let patience = time.min(YIELDING);
        while arrived.len() == before && begin.elapsed() < patience {
            std::thread::yield_now();
            self.collect(arrived);
        }
        if arrived.len() == before {
            self.wait(time.saturating_sub(begin.elapsed()));
            self.collect(arrived);
        }
        Ok(())
    }

    fn cancel(&mut self) {
        // SAFETY: the descriptor is open; a null block asks for all requests of it, and those that have begun continue.
        unsafe { libc::aio_cancel(self.file.as_raw_fd(), std::ptr::null_mut()) };
    }
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        self.cancel();
        let mut arrived = Vec::new();
        self.slots.iter_mut().for_each(|slot| slot.durable = false);
        while !self.flying.is_empty() {
            self.collect(&mut arrived);
            if !self.flying.is_empty() {
                self.wait(Duration::from_millis(100));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_operations_return_einval() {
        let mut queue = PosixAio::new(tempfile::tempfile().unwrap(), 2);
        let call = Call {
            direction: Direction::Discard,
            offset: 0,
            memory: std::ptr::null_mut(),
            length: 4096,
            durable: false,
        };
        // SAFETY: the call uses no memory.
        assert!(unsafe { queue.stage(1, call) });
        assert_eq!(queue.submit().unwrap(), 1);
        let mut arrived = Vec::new();
        queue.look(None, &mut arrived).unwrap();
        assert_eq!(arrived, [Cqe { slot: 1, result: -i64::from(libc::EINVAL) }]);
    }
}
