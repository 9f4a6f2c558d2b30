//! Calls that lock the bytes of each request (`-+l` of IOzone).

use crate::blocking::Calls;
use iosonar_os::{LockKind, lock_range, unlock_range};
use iosonar_plan::Op;
use std::fs::File;
use std::io;

/// Calls, each between locking and unlocking its bytes.
#[derive(Debug)]
pub struct Locked<C>(pub(crate) C);

impl<C: Calls> Locked<C> {
    /// The lock is released in any case; an error of the call precedes one of unlocking.
    fn within<T>(
        &mut self,
        kind: LockKind,
        at: u64,
        length: usize,
        call: impl FnOnce(&mut C) -> io::Result<T>,
    ) -> io::Result<T> {
        lock_range(self.0.file(), kind, at, length as u64)?;
        let done = call(&mut self.0);
        let unlocked = unlock_range(self.0.file(), at, length as u64);
        done.and_then(|done| unlocked.map(|()| done))
    }
}

impl<C: Calls> Calls for Locked<C> {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        self.within(LockKind::Read, at, memory.len(), |calls| calls.read(memory, at))
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        self.within(LockKind::Write, at, memory.len(), |calls| calls.write(memory, at))
    }

    fn write_durably(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        self.within(LockKind::Write, at, memory.len(), |calls| calls.write_durably(memory, at))
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        self.0.flush(op)
    }

    fn file(&self) -> &File {
        self.0.file()
    }

    fn flush_buffers(&mut self) -> io::Result<()> {
        self.0.flush_buffers()
    }

    fn let_go(&mut self) -> io::Result<()> {
        self.0.let_go()
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        self.0.release()
    }
}
