//! io_uring, confined: set-up, registration, submissions and completions of one target's ring.
//!
//! A ring is made by one thread, so that missing features are known before a run starts, and used by another: it is enabled with
//! its first use, and the kernel then takes calls from that thread alone.
//!
//! Non-goals: the purpose of a call, and the processing of its result; see [`InFlight`](crate::flight::InFlight).

mod setup;
mod unavailable;

pub use setup::{Mode, RingOptions};
pub use unavailable::Unavailable;

use crate::blockdev::is_block_device;
use crate::buffer::Region;
use crate::file::{PUNCH_HOLE, ZERO_RANGE};
use crate::flight::{Call, Cqe, Direction, Queue};
use io_uring::types::{CancelBuilder, Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Discards a range of a block device, since Linux 6.12: its start is the address of the call, its length the first word of
/// the command (`linux/blkdev.h`).
const BLOCK_URING_CMD_DISCARD: u32 = 0x12 << 8;

/// The longest piece of memory that the kernel registers as one.
const PIECE: usize = 1 << 30;

/// Whether io_uring can be used here, and how.
///
/// # Errors
/// The obstacle, and the remedy.
pub fn probe() -> Result<Mode, Unavailable> {
    setup::set_up(1, RingOptions::default()).map(|(_, mode)| mode)
}

/// The ring of one target. Fields are dropped in their order: the ring before its memory and file.
pub struct Ring {
    ring: IoUring,
    /// The region whose memory the kernel knows already.
    registered: Option<Arc<Region>>,
    file: File,
    is_device: bool,
    file_registered: bool,
    enabled: bool,
    /// Calls that were staged and not taken.
    staged: u32,
    /// Completions come only when the kernel is asked to look for them.
    polls: bool,
    sqpoll: bool,
}

impl Ring {
    /// A ring for `depth` calls on `file` at a time; and features that the kernel refused, one sentence each.
    ///
    /// # Errors
    /// io_uring cannot be used, or not as `options` say.
    pub fn new(
        file: File,
        depth: u32,
        region: Option<&Arc<Region>>,
        options: RingOptions,
    ) -> Result<(Ring, Vec<String>), Unavailable> {
        let (ring, _) = setup::set_up(depth, options)?;
        let mut ring = Ring {
            ring,
            registered: None,
            is_device: is_block_device(&file),
            file,
            file_registered: false,
            enabled: false,
            staged: 0,
            polls: options.hipri && !options.sqpoll,
            sqpoll: options.sqpoll,
        };
        let notices = if options.registered { ring.register(region) } else { Vec::new() };
        Ok((ring, notices))
    }

    fn register(&mut self, region: Option<&Arc<Region>>) -> Vec<String> {
        let mut notices = Vec::new();
        match self.ring.submitter().register_files(&[self.file.as_raw_fd()]) {
            Ok(()) => self.file_registered = true,
            Err(e) => notices.push(format!(
                "io_uring did not register the target's file ({e}): each request costs a little more"
            )),
        }
        match region.map(|region| self.register_memory(region)) {
            Some(Err(e)) => notices.push(format!(
                "io_uring did not register the memory for data ({e}): each request costs a little more; raise the limit on \
                 locked memory (ulimit -l)"
            )),
            Some(Ok(())) => self.registered = region.cloned(),
            None => {}
        }
        notices
    }

    fn register_memory(&self, region: &Arc<Region>) -> io::Result<()> {
        let base = region.address() as *mut libc::c_void;
        let piece = |at: usize| libc::iovec {
            iov_base: base.wrapping_byte_add(at),
            iov_len: PIECE.min(region.bytes() - at),
        };
        let pieces: Vec<libc::iovec> = (0..region.bytes()).step_by(PIECE).map(piece).collect();
        // SAFETY: the pieces lie in the region, which `registered` keeps alive until the ring is closed.
        unsafe { self.ring.submitter().register_buffers(&pieces) }
    }

    /// The registered piece that holds all of a call's memory.
    fn piece_of(&self, call: &Call) -> Option<u16> {
        let region = self.registered.as_deref()?;
        let first = call.memory.addr().checked_sub(region.address()).filter(|at| *at < region.bytes())?;
        let last = first + (call.length as usize).saturating_sub(1);
        (first / PIECE == last / PIECE).then_some((first / PIECE) as u16)
    }

    fn entry(&self, slot: u32, call: Call) -> squeue::Entry {
        let Call { direction, offset, memory, length, durable } = call;
        let flags = if durable { libc::RWF_DSYNC } else { 0 };
        macro_rules! entry {
            ($file:expr) => {
                match (direction, self.piece_of(&call)) {
                    (Direction::Read, Some(piece)) => {
                        opcode::ReadFixed::new($file, memory, length, piece).offset(offset).build()
                    }
                    (Direction::Write, Some(piece)) => opcode::WriteFixed::new($file, memory, length, piece)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (Direction::Read, None) => {
                        opcode::Read::new($file, memory, length).offset(offset).build()
                    }
                    (Direction::Write, None) => {
                        opcode::Write::new($file, memory, length).offset(offset).rw_flags(flags).build()
                    }
                    // The data, and the metadata needed to find it: a device knows no more.
                    (Direction::Flush, _) => opcode::Fsync::new($file).flags(FsyncFlags::DATASYNC).build(),
                    (Direction::Fsync, _) => opcode::Fsync::new($file).build(),
                    (Direction::Discard, _) if self.is_device => {
                        opcode::UringCmd16::new($file, BLOCK_URING_CMD_DISCARD)
                            .addr(Some(offset))
                            .cmd(u128::from(length).to_le_bytes())
                            .build()
                    }
                    (Direction::Discard | Direction::WriteZeroes, _) => {
                        let mode = if direction == Direction::Discard { PUNCH_HOLE } else { ZERO_RANGE };
                        opcode::Fallocate::new($file, length.into())
                            .offset(offset)
                            .mode(mode.bits() as i32)
                            .build()
                    }
                }
            };
        }
        let entry = if self.file_registered { entry!(Fixed(0)) } else { entry!(Fd(self.file.as_raw_fd())) };
        entry.user_data(u64::from(slot))
    }

    /// Enables the ring; the calling thread becomes the issuing one.
    fn enable(&mut self) -> io::Result<()> {
        if !self.enabled {
            self.ring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        Ok(())
    }

    /// Has the kernel make completions visible, without waiting.
    fn nudge(&mut self) -> io::Result<()> {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: nothing is submitted, and there is no argument.
        ignore_passing(unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 0, flags, None) })
    }

    fn wait(&mut self, time: Duration) -> io::Result<()> {
        let time = Timespec::from(time);
        let args = SubmitArgs::new().timespec(&time);
        let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
        // SAFETY: nothing is submitted; the argument has the form that EXT_ARG requires, and it and its time outlive the call.
        ignore_passing(unsafe { self.ring.submitter().enter(0, 1, flags, Some(&args)) })
    }

    fn poll(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        while self.ring.completion().is_empty() && Instant::now() < end {
            self.nudge()?;
        }
        Ok(())
    }
}

/// Neither the end of the time nor a signal, nor a kernel that has no room at the moment, is a failure to look.
fn ignore_passing(result: io::Result<usize>) -> io::Result<()> {
    match result.map_err(|e| (e.raw_os_error(), e)) {
        Ok(_) => Ok(()),
        Err((Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

// SAFETY: the kernel reads and writes a call's memory between the submission that took it and its completion, which it
// posts once, with the slot as user data. Calls that were staged and never taken are forgotten with the ring's memory,
// except with a submitting kernel thread: for it `submit` counts all that were staged as taken.
unsafe impl Queue for Ring {
    fn is_eager(&self) -> bool {
        self.sqpoll
    }

    unsafe fn stage(&mut self, slot: u32, call: Call) -> bool {
        let entry = self.entry(slot, call);
        // SAFETY: the caller keeps the memory valid until the slot arrives; the file is ours, and outlives the ring.
        let staged = unsafe { self.ring.submission().push(&entry) }.is_ok();
        self.staged += u32::from(staged);
        staged
    }

    fn submit(&mut self) -> io::Result<u32> {
        self.enable()?;
        let taken = self.ring.submitter().submit();
        let taken = match self.sqpoll {
            // Its thread takes all staged calls sooner or later, even if entering the kernel fails.
            true => ignore_passing(taken).map(|()| self.staged)?,
            false => taken? as u32,
        };
        self.staged -= taken;
        Ok(taken)
    }

    fn look(&mut self, wait: Option<Duration>, arrived: &mut Vec<Cqe>) -> io::Result<()> {
        let before = arrived.len();
        let asks = {
            let queue = self.ring.submission();
            queue.taskrun() || queue.cq_overflow()
        };
        if self.enabled && (self.polls || asks) {
            self.nudge()?;
        }
        self.collect(arrived);
        let Some(time) = wait.filter(|_| arrived.len() == before) else { return Ok(()) };
        self.enable()?;
        if self.polls {
            self.poll(time)?
        } else {
            self.wait(time)?
        }
        self.collect(arrived);
        Ok(())
    }

    fn cancel(&mut self) {
        // Calls that cannot be cancelled, or not by an older kernel, are awaited.
        let soon = Timespec::new().nsec(1_000_000);
        let _ = self.ring.submitter().register_sync_cancel(Some(soon), CancelBuilder::any());
    }
}

impl Drop for Ring {
    /// The kernel takes a closed ring apart at its leisure. Until then a registered file would stay open, and an unused device
    /// busy.
    fn drop(&mut self) {
        if self.file_registered {
            // Where it is refused, it only takes longer.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl Ring {
    fn collect(&mut self, arrived: &mut Vec<Cqe>) {
        let completed = self.ring.completion();
        arrived.extend(completed.map(|c| Cqe { slot: c.user_data() as u32, result: i64::from(c.result()) }));
    }
}
