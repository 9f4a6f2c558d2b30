//! Creates loads.

use anyhow::Context;
use flate2::{Compression, write::GzEncoder};
use iosonar_host::output::open_new;
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// A load that does not exist yet.
pub struct NewLoad<'a> {
    /// The option that names the path, for errors.
    pub option: &'a str,
    /// The file, which gets gzip if it ends in `.gz`; `-` is standard output.
    pub path: &'a Path,
}

impl NewLoad<'_> {
    /// Writes the load and reports the number of its requests, which `write` returns. An existing file is refused, and an incomplete
    /// load leaves no file.
    pub fn write(
        &self,
        session: &Session,
        standard_output: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        if self.path.as_os_str() == "-" {
            let mut out = BufWriter::new(Named { out: standard_output, name: "standard output".into() });
            let count = write(&mut out)?;
            out.flush()?;
            return Ok(count);
        }
        let requests = self.write_file(write)?;
        session.observer.notice(&Notice::Made { path: self.path, requests });
        Ok(requests)
    }

    /// Writes the load to a file, without a report.
    pub fn write_file(&self, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<u64, Error> {
        let cannot = || format!("cannot write {}", shown(self.path));
        let mut file = open_new(self.option, self.path).map_err(Error::refused)?;
        let mut named = Named { out: &mut file, name: shown(self.path).to_string() };
        let count = if self.path.extension().is_some_and(|e| e == "gz") {
            let mut out = GzEncoder::new(&mut named, Compression::default());
            let count = write(&mut out)?;
            out.finish().with_context(cannot).map_err(Error::broke)?;
            count
        } else {
            write(&mut named)?
        };
        // A load without requests leaves no file.
        if count > 0 {
            file.publish().with_context(cannot).map_err(Error::broke)?;
        }
        Ok(count)
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
