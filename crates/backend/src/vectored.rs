//! Requests in several pieces of memory: `preadv` and `pwritev` (engine `pvsync` of fio), `readv` and `writev` with `lseek`
//! (`vsync`).

use crate::Setup;
use crate::blocking::{Blocking, Calls, flush};
use iosonar_plan::{Op, Vectors};
use rustix::io::{preadv, pwritev, readv, writev};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Seek, SeekFrom};

/// Most pieces of a request.
const MOST: usize = Vectors::MOST as usize;

/// Calls `preadv` and `pwritev`.
pub type Pvsync = Blocking<Positional>;
/// Calls `lseek`, `readv` and `writev`.
pub type Vsync = Blocking<InOrder>;

impl Pvsync {
    /// A backend on an open target.
    pub fn open(setup: Setup<'_>, vectors: Vectors) -> Pvsync {
        let calls = Positional { file: setup.file, vectors };
        Blocking::over(calls, setup.clock, setup.depth, setup.short)
    }
}

impl Vsync {
    /// A backend on an open target.
    pub fn open(setup: Setup<'_>, vectors: Vectors) -> Vsync {
        let calls = InOrder { file: setup.file, vectors, position: 0 };
        Blocking::over(calls, setup.clock, setup.depth, setup.short)
    }
}

/// A file for positional calls.
#[derive(Debug)]
pub struct Positional {
    file: File,
    vectors: Vectors,
}

/// A file with a position.
#[derive(Debug)]
pub struct InOrder {
    file: File,
    vectors: Vectors,
    position: u64,
}

/// Bytes of each piece, for the requested number of pieces.
fn piece(memory: usize, vectors: Vectors) -> usize {
    memory.div_ceil(vectors.count as usize).max(1)
}

fn with_pieces<T>(memory: &[u8], vectors: Vectors, call: impl FnOnce(&[IoSlice<'_>]) -> T) -> T {
    let mut pieces = [IoSlice::new(&[]); MOST];
    let used = memory.chunks(piece(memory.len(), vectors)).zip(&mut pieces);
    let count = used.map(|(bytes, piece)| *piece = IoSlice::new(bytes)).count();
    call(&pieces[..count])
}

fn with_pieces_mut<T>(
    memory: &mut [u8],
    vectors: Vectors,
    call: impl FnOnce(&mut [IoSliceMut<'_>]) -> T,
) -> T {
    let length = piece(memory.len(), vectors);
    let mut pieces: [IoSliceMut<'_>; MOST] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
    let used = memory.chunks_mut(length).zip(&mut pieces);
    let count = used.map(|(bytes, piece)| *piece = IoSliceMut::new(bytes)).count();
    call(&mut pieces[..count])
}

impl Calls for Positional {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let file = &self.file;
        with_pieces_mut(memory, self.vectors, |pieces| Ok(preadv(file, pieces, at)?))
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let file = &self.file;
        with_pieces(memory, self.vectors, |pieces| Ok(pwritev(file, pieces, at)?))
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        flush(&self.file, op)
    }

    fn file(&self) -> &File {
        &self.file
    }
}

impl InOrder {
    fn seek_to(&mut self, at: u64) -> io::Result<&File> {
        if self.position != at {
            self.position = self.file.seek(SeekFrom::Start(at))?;
        }
        Ok(&self.file)
    }
}

impl Calls for InOrder {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let (vectors, file) = (self.vectors, self.seek_to(at)?);
        let bytes = with_pieces_mut(memory, vectors, |pieces| readv(file, pieces))?;
        self.position += bytes as u64;
        Ok(bytes)
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let (vectors, file) = (self.vectors, self.seek_to(at)?);
        let bytes = with_pieces(memory, vectors, |pieces| writev(file, pieces))?;
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
