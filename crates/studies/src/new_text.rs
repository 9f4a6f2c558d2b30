//! A text that does not exist yet: a file, with gzip where its name ends in `.gz`, or standard output.

use anyhow::Context;
use flate2::{Compression, write::GzEncoder};
use iosonar_host::output::{Output, is_standard_output, open_new};
use iosonar_runner::Error;
use iosonar_text::shown;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Bytes written at once.
pub const PIECE: usize = 1 << 16;

/// A file being written. It appears when it is complete.
pub enum TextFile {
    /// As it is.
    Plain(Box<Output>),
    /// In large pieces: deflate is slow with small ones.
    Gzip(Box<BufWriter<GzEncoder<Output>>>),
}

impl TextFile {
    /// Starts a file at `path`, which must not exist; `option` names it in errors.
    pub fn begin(option: &str, path: &Path, level: Compression) -> Result<TextFile, Error> {
        let file = open_new(option, path).map_err(Error::refused)?;
        Ok(if path.extension().is_some_and(|e| e == "gz") {
            TextFile::Gzip(Box::new(BufWriter::with_capacity(PIECE, GzEncoder::new(file, level))))
        } else {
            TextFile::Plain(Box::new(file))
        })
    }

    /// Completes the file.
    pub fn publish(self) -> io::Result<()> {
        let file = match self {
            TextFile::Plain(file) => *file,
            TextFile::Gzip(gzip) => gzip.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
        };
        file.publish().map(drop)
    }
}

impl Write for TextFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            TextFile::Plain(file) => file.write(bytes),
            TextFile::Gzip(gzip) => gzip.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            TextFile::Plain(file) => file.flush(),
            TextFile::Gzip(gzip) => gzip.flush(),
        }
    }
}

/// A text that a function writes.
pub struct NewText<'a> {
    /// The option that names the path, for errors.
    pub option: &'a str,
    /// The file; `-` is standard output.
    pub path: &'a Path,
    /// Level of gzip.
    pub level: Compression,
}

impl NewText<'_> {
    /// Writes the text: to standard output while `write` makes it, to a file that appears when it is complete. A file of which `is_kept`
    /// says no is not created.
    pub fn write<T>(
        &self,
        standard_output: &mut dyn Write,
        is_kept: impl FnOnce(&T) -> bool,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if is_standard_output(self.path) {
            let mut out = BufWriter::new(Named { out: standard_output, name: "standard output".into() });
            let written = write(&mut out)?;
            out.flush()?;
            return Ok(written);
        }
        let file = TextFile::begin(self.option, self.path, self.level)?;
        let mut named = Named { out: file, name: shown(self.path).to_string() };
        let written = write(&mut named)?;
        if is_kept(&written) {
            let cannot = || format!("cannot write {}", named.name);
            named.out.publish().with_context(cannot).map_err(Error::broke)?;
        }
        Ok(written)
    }
}

/// Names the output in its errors: the callers' closures have errors of many kinds.
struct Named<W> {
    out: W,
    name: String,
}

impl<W> Named<W> {
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.name))
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => self.named(error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.named(error))
    }
}
