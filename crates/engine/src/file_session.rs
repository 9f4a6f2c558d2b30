//! File operations around the requests of a pass, as one issuing loop does them.

use crate::files::{Step, TargetFile};
use iosonar_backend::Backend;
use iosonar_os::extents::set_extent_size;
use iosonar_os::page_cache::{cached_bytes, evict};
use iosonar_os::{LockKind, allocate, close, extend, try_lock, unlock, write_zeroes};
use iosonar_plan::{Access, FileStep, Nanos, Op};
use std::fs::File;
use std::io;
use std::time::Duration;

/// Interval of lock attempts while another process holds the lock: this wait can be stopped, the kernel's cannot.
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// Context of file operations, beside the file.
pub(crate) struct FileContext<'a> {
    pub(crate) access: Access,
    /// Whether the job writes.
    pub(crate) writes: bool,
    pub(crate) backend: &'a mut dyn Backend,
    pub(crate) is_stopped: &'a dyn Fn(Nanos) -> bool,
}

/// The file as one issuing loop has it.
#[derive(Debug, Default)]
pub(crate) struct FileSession {
    /// The file as opened by this loop; `None` if it uses the one opened with the target.
    own: Option<File>,
}

/// Receives each part of an operation when it has ended.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(Step, Option<&io::Error>);

impl FileSession {
    /// Executes one operation, except closing.
    pub(crate) fn execute(
        &mut self,
        step: FileStep,
        target: &TargetFile,
        around: &mut FileContext<'_>,
        tell: Tell<'_>,
    ) -> io::Result<()> {
        let access = around.access;
        match step {
            FileStep::Open => {
                self.own = Some(timed(Op::Open, around, tell, |_| target.open_by_name(access))?);
                Ok(())
            }
            FileStep::Create => {
                timed(Op::Delete, around, tell, |_| target.delete_current())?;
                self.own = Some(timed(Op::Open, around, tell, |_| target.create_again(access))?);
                Ok(())
            }
            FileStep::Evict => {
                let file = self.file(target)?;
                let start = around.backend.now();
                let done = around.backend.flush_buffers().and_then(|()| evict_and_count(&file));
                let (length, result) = *done.as_ref().unwrap_or(&(0, 0));
                let step = Step { length, result, ..Step::new(Op::Evict, start, around.backend.now()) };
                tell(step, done.as_ref().err());
                done.map(|_| ())
            }
            FileStep::Truncate(length) => {
                let file = self.file(target)?;
                // The record of a truncation has the new length.
                let tell = &mut |told: Step, error: Option<&io::Error>| {
                    tell(Step { length: length.0, ..told }, error);
                };
                timed(step.op(), around, tell, |around| on_file(step, &file, around))
            }
            _ => {
                let file = self.file(target)?;
                timed(step.op(), around, tell, |around| on_file(step, &file, around))
            }
        }
    }

    /// Closes the file. `release` releases its users, and ensures that no other descriptor of it is open; its result is `Some` if
    /// this counts in the measured time.
    pub(crate) fn close(
        &mut self,
        now: &mut dyn FnMut() -> Nanos,
        release: impl FnOnce() -> Option<io::Result<()>>,
        tell: Tell<'_>,
    ) -> io::Result<()> {
        let Some(own) = self.own.take() else { return Ok(()) };
        let begin = now();
        let released = release();
        let start = if released.is_some() { begin } else { now() };
        let closed = close(own);
        let end = now();
        let done = released.unwrap_or(Ok(())).and(closed);
        tell(Step::new(Op::Close, start, end), done.as_ref().err());
        done
    }

    /// One more descriptor of the file, for requests.
    pub(crate) fn file(&self, target: &TargetFile) -> io::Result<File> {
        self.own.as_ref().map_or_else(|| target.shared(), File::try_clone)
    }
}

fn on_file(step: FileStep, file: &File, around: &mut FileContext<'_>) -> io::Result<()> {
    match step {
        FileStep::Truncate(length) => file.set_len(length.0),
        FileStep::Allocate(bytes) => allocate(file, bytes.0),
        FileStep::Extend(bytes) => extend(file, bytes.0),
        FileStep::ZeroRange(bytes) => write_zeroes(file, 0, bytes.0),
        FileStep::ExtentHint(bytes) => set_extent_size(file, u32::try_from(bytes.0).unwrap_or(u32::MAX)),
        FileStep::Lock => lock(file, around),
        FileStep::Unlock => unlock(file),
        FileStep::Flush => around.backend.flush_buffers().and_then(|()| file.sync_data()),
        _ => around.backend.flush_buffers().and_then(|()| file.sync_all()),
    }
}

/// Explains an error of a step, after the kernel's message.
pub(crate) fn reason(step: FileStep, error: &io::Error) -> &'static str {
    match (step, error.raw_os_error()) {
        (FileStep::ExtentHint(_), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => {
            ": only XFS has extent size hints; use a file there, or remove the step"
        }
        (FileStep::ExtentHint(_), Some(libc::EINVAL)) => {
            ": XFS takes a hint of whole blocks, of a file without data; create or truncate the file first"
        }
        _ => "",
    }
}

/// Evicts the file; returns length and result of the record. The kernel reports the page cache to owners of a file only.
fn evict_and_count(file: &File) -> io::Result<(u64, i64)> {
    let before = cached_bytes(file).ok();
    file.sync_all()?;
    evict(file)?;
    let stays = cached_bytes(file).ok().map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(before.zip(stays).unwrap_or((0, -i64::from(libc::EPERM))))
}

/// Executes a step and reports its times.
fn timed<T>(
    op: Op,
    around: &mut FileContext<'_>,
    tell: Tell<'_>,
    work: impl FnOnce(&mut FileContext<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let start = around.backend.now();
    let done = work(around);
    tell(Step::new(op, start, around.backend.now()), done.as_ref().err());
    done
}

/// Waits for the lock until the run is stopped.
fn lock(file: &File, around: &mut FileContext<'_>) -> io::Result<()> {
    let kind = if around.writes { LockKind::Write } else { LockKind::Read };
    while !try_lock(file, kind)? {
        if (around.is_stopped)(around.backend.now()) {
            return Err(io::Error::other("somebody else has it locked"));
        }
        std::thread::sleep(TRY_AGAIN);
    }
    Ok(())
}
