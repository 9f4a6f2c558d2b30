//! Buffered streams of the C library: `fread` and `fwrite`, as programs use them that do not think of system calls.

use crate::Setup;
use crate::blocking::{Blocking, Calls, flush};
use iosonar_os::stdio::Stream;
use iosonar_plan::Op;
use std::fs::File;
use std::io;

/// Calls `fread`, `fwrite` and `fseeko`.
pub type Stdio = Blocking<Streamed>;

impl Stdio {
    /// A backend on an open target; `buffer` bytes are buffered, 0: the library's default.
    ///
    /// # Errors
    /// There is no stream over this file.
    pub fn open(setup: Setup<'_>, buffer: usize) -> io::Result<Stdio> {
        let stream = Stream::open(setup.file.try_clone()?, setup.writes, buffer)?;
        let calls = Streamed { stream: Some(stream), file: setup.file };
        Ok(Blocking::over(calls, setup.clock, setup.depth, setup.short))
    }
}

/// A stream, and the file below it.
#[derive(Debug)]
pub struct Streamed {
    /// `None` once it is closed.
    stream: Option<Stream>,
    file: File,
}

impl Streamed {
    fn stream(&mut self) -> io::Result<&mut Stream> {
        self.stream.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))
    }
}

impl Calls for Streamed {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        self.stream()?.read(memory, at)
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        self.stream()?.write(memory, at)
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        self.flush_buffers()?;
        flush(&self.file, op)
    }

    fn file(&self) -> &File {
        &self.file
    }

    fn flush_buffers(&mut self) -> io::Result<()> {
        self.stream()?.flush()
    }

    fn let_go(&mut self) -> io::Result<()> {
        self.flush_buffers()
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        self.stream.take().map(Stream::close)
    }
}
