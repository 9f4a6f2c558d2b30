//! Creates loads.

use crate::new_text::NewText;
use flate2::Compression;
use iosonar_host::output::is_standard_output;
use iosonar_runner::{Error, Notice, Session};
use std::io::{self, Write};
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
        let requests = self.write_to(standard_output, write)?;
        if !is_standard_output(self.path) {
            session.observer.notice(&Notice::Made { path: self.path, requests });
        }
        Ok(requests)
    }

    /// Writes the load to a file, without a report.
    pub fn write_file(&self, write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>) -> Result<u64, Error> {
        self.write_to(&mut io::sink(), write)
    }

    fn write_to(
        &self,
        standard_output: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let text = NewText { option: self.option, path: self.path, level: Compression::default() };
        // A load without requests leaves no file.
        text.write(standard_output, |requests| *requests > 0, write)
    }
}
