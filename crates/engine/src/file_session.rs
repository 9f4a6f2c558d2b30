//! File operations around the requests of a pass, as one issuing loop does them.

use crate::files::{Step, TargetFile};
use iosonar_os::{LockKind, allocate, close, try_lock, unlock};
use iosonar_plan::{Access, FileStep, Nanos, Op};
use std::fs::File;
use std::io;
use std::time::Duration;

/// How often a lock that somebody else has is tried again: the wait can be stopped, which that of the kernel cannot.
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// What operations need to know, beside the file.
pub(crate) struct Surroundings<'a> {
    pub(crate) access: Access,
    /// Whether the job writes.
    pub(crate) writes: bool,
    /// On the run's clock.
    pub(crate) now: &'a mut dyn FnMut() -> Nanos,
    pub(crate) is_stopped: &'a dyn Fn(Nanos) -> bool,
}

/// The file as one issuing loop has it.
#[derive(Debug, Default)]
pub(crate) struct FileSession {
    /// Opened by this loop; none: it uses what was opened with the target.
    own: Option<File>,
}

impl FileSession {
    /// Does one operation. `tell` hears of each part of it when that is over.
    pub(crate) fn execute(
        &mut self,
        step: FileStep,
        target: &TargetFile,
        mut around: Surroundings<'_>,
        tell: &mut dyn FnMut(Step, Option<&io::Error>),
    ) -> io::Result<()> {
        if step == FileStep::Create {
            timed(Op::Delete, around.now, tell, |_| target.delete_current())?;
        }
        let access = around.access;
        let (writes, is_stopped) = (around.writes, around.is_stopped);
        match step {
            FileStep::Open => {
                self.own = Some(timed(Op::Open, around.now, tell, |_| target.open_by_name(access))?);
                Ok(())
            }
            FileStep::Create => {
                self.own = Some(timed(Op::Open, around.now, tell, |_| target.create_again(access))?);
                Ok(())
            }
            FileStep::Close => {
                let Some(own) = self.own.take() else { return Ok(()) };
                timed(Op::Close, around.now, tell, |_| close(own))
            }
            _ => {
                let file = self.file(target)?;
                timed(step.op(), &mut around.now, tell, |now| match step {
                    FileStep::Truncate(length) => file.set_len(length.0),
                    FileStep::Allocate(bytes) => allocate(&file, bytes.0),
                    FileStep::Lock => lock(&file, writes, now, is_stopped),
                    FileStep::Unlock => unlock(&file),
                    FileStep::Flush => file.sync_data(),
                    _ => file.sync_all(),
                })
            }
        }
    }

    /// The file that requests use: one more descriptor of it.
    pub(crate) fn file(&self, target: &TargetFile) -> io::Result<File> {
        self.own.as_ref().map_or_else(|| target.shared(), File::try_clone)
    }
}

/// Does something and tells its times.
fn timed<T>(
    op: Op,
    now: &mut dyn FnMut() -> Nanos,
    tell: &mut dyn FnMut(Step, Option<&io::Error>),
    work: impl FnOnce(&mut dyn FnMut() -> Nanos) -> io::Result<T>,
) -> io::Result<T> {
    let start = now();
    let done = work(now);
    tell(Step { op, start, end: now() }, done.as_ref().err());
    done
}

/// Waits for the lock until the run is stopped.
fn lock(
    file: &File,
    writes: bool,
    now: &mut dyn FnMut() -> Nanos,
    is_stopped: &dyn Fn(Nanos) -> bool,
) -> io::Result<()> {
    let kind = if writes { LockKind::Write } else { LockKind::Read };
    while !try_lock(file, kind)? {
        if is_stopped(now()) {
            return Err(io::Error::other("somebody else has it locked"));
        }
        std::thread::sleep(TRY_AGAIN);
    }
    Ok(())
}
