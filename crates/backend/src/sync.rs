//! `read` and `write` at the position of the file, with `lseek` where a request does not follow the one before it (engine `sync` of
//! fio; the method of IOzone).

use crate::Setup;
use crate::blocking::{Blocking, Calls, flush};
use iosonar_plan::Op;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Calls `lseek`, `read` and `write`.
pub type ReadWrite = Blocking<AtPosition>;

impl ReadWrite {
    /// A backend on an open target.
    pub fn open(setup: Setup<'_>) -> ReadWrite {
        Blocking::over(AtPosition { file: setup.file, position: 0 }, setup.clock, setup.depth, setup.short)
    }
}

/// A file, and its present position.
#[derive(Debug)]
pub struct AtPosition {
    file: File,
    position: u64,
}

impl AtPosition {
    /// Moves the position, if it is elsewhere.
    pub(crate) fn seek_to(&mut self, at: u64) -> io::Result<&mut File> {
        if self.position != at {
            self.position = self.file.seek(SeekFrom::Start(at))?;
        }
        Ok(&mut self.file)
    }
}

impl Calls for AtPosition {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let bytes = self.seek_to(at)?.read(memory)?;
        self.position += bytes as u64;
        Ok(bytes)
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let bytes = self.seek_to(at)?.write(memory)?;
        self.position += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        flush(&self.file, op)
    }

    fn file(&self) -> &File {
        &self.file
    }
}
