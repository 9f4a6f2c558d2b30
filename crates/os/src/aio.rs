//! The kernel's older asynchronous interface: `io_submit` and `io_getevents`, by raw system calls.
//!
//! Whether something has completed is seen in memory, in the ring that the kernel maps into the process. Non-goals: as
//! in [`ring`](crate::ring).

use crate::flight::{Call, Cqe, Direction, Queue};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
/// `IOCB_CMD_FSYNC`, since Linux 4.18.
const FSYNC: u16 = 2;
/// `IOCB_CMD_FDSYNC`, since Linux 4.18.
const FDSYNC: u16 = 3;

/// Magic of the kernel's ring, if the layout is the one that is known here.
const MAGIC: u32 = 0xa10a_10a1;

/// The kernel's `struct iocb`, on a little-endian machine.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    memory: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// The beginning of the kernel's `struct aio_ring`; a context's number is its address.
#[repr(C)]
struct AioRing {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
}

/// The context of one target.
#[derive(Debug)]
pub struct Aio {
    context: libc::c_ulong,
    /// Whether the layout of the context's ring in memory is known here.
    ring_known: bool,
    file: File,
    /// One call for each slot; the kernel copies it on submission.
    calls: Vec<Iocb>,
    /// Slots of the calls that were staged and not taken.
    staged: Vec<u32>,
    /// Argument of `io_submit`: addresses of these calls.
    addresses: Vec<usize>,
    /// Calls that `io_submit` itself refused.
    refused: Vec<Cqe>,
    events: Vec<IoEvent>,
}

impl Aio {
    /// A context for `depth` calls on `file` at a time.
    ///
    /// # Errors
    /// The kernel has no such interface, or all contexts are in use (the sysctl fs.aio-max-nr); the message includes this.
    pub fn new(file: File, depth: u32) -> io::Result<Aio> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: io_setup writes one number, the new context, to its second argument, which has to be 0 before.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if made < 0 {
            return Err(explain(io::Error::last_os_error()));
        }
        let size = depth as usize;
        // SAFETY: a context's number is the address of its ring, which the kernel keeps mapped, readable and at least a
        // page long until io_destroy; `id` to `magic` are plain numbers, all values of which are valid.
        let ring_known = unsafe { (*(context as *const AioRing)).magic } == MAGIC;
        Ok(Aio {
            context,
            ring_known,
            file,
            calls: vec![Iocb::default(); size],
            staged: Vec::with_capacity(size),
            addresses: Vec::with_capacity(size),
            refused: Vec::with_capacity(size),
            events: vec![IoEvent::default(); size.max(1)],
        })
    }

    fn is_empty(&self) -> bool {
        if !self.ring_known {
            return false;
        }
        // SAFETY: as in `new`; head and tail are changed by the kernel, hence atomic.
        let ring = unsafe { &*(self.context as *const AioRing) };
        ring.head.load(Ordering::Relaxed) == ring.tail.load(Ordering::Acquire)
    }

    fn get(&mut self, least: usize, wait: Duration, arrived: &mut Vec<Cqe>) -> io::Result<()> {
        let mut time =
            libc::timespec { tv_sec: wait.as_secs() as _, tv_nsec: libc::c_long::from(wait.subsec_nanos()) };
        let (events, room) = (self.events.as_mut_ptr(), self.events.len());
        // SAFETY: the kernel writes at most `room` events to `events`, which has that many; it reads the time.
        let count = unsafe {
            libc::syscall(libc::SYS_io_getevents, self.context, least, room, events, &raw mut time)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error) };
        }
        let events = &self.events[..count as usize];
        arrived.extend(events.iter().map(|e| Cqe { slot: e.data as u32, result: e.result }));
        Ok(())
    }

    /// `io_submit` refused the first call as such: it ends with that error.
    fn refuse(&mut self, error: &io::Error) -> u32 {
        let result = -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
        self.refused.push(Cqe { slot: self.staged.remove(0), result });
        1
    }
}

fn explain(error: io::Error) -> io::Error {
    let text = match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            "the system's limit on requests of io_submit is reached: raise the sysctl fs.aio-max-nr"
        }
        Some(libc::ENOSYS) => {
            "there is no io_submit here: the kernel was built without it, or a seccomp filter hides it"
        }
        _ => return error,
    };
    io::Error::new(io::ErrorKind::Unsupported, text)
}

// SAFETY: the kernel copies a call in io_submit, which counts it as taken, and uses its memory until its one event, which has the
// slot as data; a refused call was not started. Only this queue knows staged calls.
unsafe impl Queue for Aio {
    unsafe fn stage(&mut self, slot: u32, call: Call) -> bool {
        let blank = Iocb { data: u64::from(slot), file: self.file.as_raw_fd() as u32, ..Iocb::default() };
        let opcode = match call.direction {
            Direction::Read => PREAD,
            Direction::Write => PWRITE,
            Direction::Flush => FDSYNC,
            Direction::Fsync => FSYNC,
            // There are no such calls; the kernel refuses this number, and the request fails with EINVAL.
            Direction::Discard | Direction::WriteZeroes => u16::MAX,
        };
        self.calls[slot as usize] = match call.direction {
            // A flush must name neither memory nor place.
            Direction::Flush | Direction::Fsync => Iocb { opcode, ..blank },
            _ => Iocb {
                opcode,
                rw_flags: if call.durable { libc::RWF_DSYNC as u32 } else { 0 },
                memory: call.memory.expose_provenance() as u64,
                bytes: u64::from(call.length),
                offset: call.offset as i64,
                ..blank
            },
        };
        self.staged.push(slot);
        true
    }

    fn submit(&mut self) -> io::Result<u32> {
        let calls = &self.calls;
        self.addresses.clear();
        self.addresses.extend(self.staged.iter().map(|slot| (&raw const calls[*slot as usize]).addr()));
        let (count, addresses) = (self.addresses.len(), self.addresses.as_ptr());
        // SAFETY: `addresses` has `count` addresses of calls, which live in `calls`, and are not changed meanwhile; their memory is
        // valid as `stage` demands.
        let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, addresses) };
        if taken >= 0 {
            self.staged.drain(..taken as usize);
            return Ok(taken as u32);
        }
        match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Err(error),
            error => Ok(self.refuse(&error)),
        }
    }

    fn look(&mut self, wait: Option<Duration>, arrived: &mut Vec<Cqe>) -> io::Result<()> {
        let before = arrived.len();
        arrived.append(&mut self.refused);
        if !self.is_empty() {
            self.get(0, Duration::ZERO, arrived)?;
        }
        match wait {
            Some(time) if arrived.len() == before => self.get(1, time, arrived),
            _ => Ok(()),
        }
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context was made in `new` and is destroyed only here; the kernel waits for calls in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struct_layouts_match_the_kernel() {
        assert_eq!((size_of::<Iocb>(), size_of::<IoEvent>()), (64, 32));
        assert_eq!(std::mem::offset_of!(Iocb, memory), 24);
        assert_eq!(std::mem::offset_of!(Iocb, offset), 40);
        assert_eq!(std::mem::offset_of!(AioRing, magic), 16);
    }

    #[test]
    fn recognizes_the_kernel_aio_ring() {
        let aio = Aio::new(tempfile::tempfile().unwrap(), 4).unwrap();
        assert!(aio.ring_known && aio.is_empty());
    }

    #[test]
    fn exceeding_aio_max_nr_names_the_limit() {
        let error = Aio::new(tempfile::tempfile().unwrap(), u32::MAX).err().map(|e| e.to_string());
        assert!(error.is_some());
        let text = explain(io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        assert!(text.contains("fs.aio-max-nr"), "{text}");
    }
}
