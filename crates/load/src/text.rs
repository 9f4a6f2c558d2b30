//! The text of a load: opened, and opened again where that can be; its requests as they are written.

use crate::recorded::{LoadError, Notice};
use iosonar_trace::blkreplay::{BadLine, Line, Reader};
use iosonar_trace::{TimedRequest, decompress};
use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Decompressed text.
pub type Opened = Box<dyn BufRead + Send>;

/// Receives notices, also from threads that read a part of the load.
pub(crate) type Tell = Arc<dyn Fn(Notice) + Send + Sync>;

/// The text of a load.
pub struct Text {
    pub(crate) opened: Opened,
    /// Its path, if it can be opened again.
    pub(crate) file: Option<PathBuf>,
}

impl Text {
    /// A text that can be read only once.
    pub fn once(opened: Opened) -> Text {
        Text { opened, file: None }
    }

    /// The text of a regular file, which can be read again.
    pub fn of_file(opened: Opened, file: &Path) -> Text {
        Text { opened, file: Some(file.into()) }
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Text {
        Text::once(Box::new(std::io::Cursor::new(text.to_string())))
    }
}

/// Opens a file, plain or gzip.
pub(crate) fn open(file: &Path) -> Result<Opened, LoadError> {
    let cannot = |error: &dyn std::fmt::Display| LoadError::Open(format!("it cannot be opened: {error}"));
    let file = File::open(file).map_err(|error| cannot(&error))?;
    decompress(file).map_err(|error| cannot(&error))
}

/// The requests of a text, in the order of its lines.
pub(crate) struct Lines {
    reader: Reader<Opened>,
    skip_bad: bool,
    tell: Tell,
    /// Name of its text, if not the load itself.
    of: Option<Arc<str>>,
}

impl Lines {
    pub(crate) fn new(text: Opened, skip_bad: bool, tell: Tell) -> Lines {
        Lines { reader: Reader::new(text), skip_bad, tell, of: None }
    }

    /// The requests of a text beside the load.
    pub(crate) fn beside(self, of: Arc<str>) -> Lines {
        Lines { of: Some(of), ..self }
    }

    pub(crate) fn lines(&self) -> u64 {
        self.reader.lines()
    }

    /// The next request; bad lines are reported, and end the reading unless skipped.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<TimedRequest>, LoadError> {
        loop {
            match self.reader.next_line() {
                Ok(Some(Line::Request(request))) => return Ok(Some(request)),
                Ok(None) => return Ok(None),
                Ok(Some(Line::Text)) => {}
                Ok(Some(Line::Bad(bad))) => self.judge(bad)?,
                Err(error) => return Err(self.blame(error.into())),
            }
        }
    }

    fn judge(&self, bad: BadLine) -> Result<(), LoadError> {
        if !self.skip_bad {
            return Err(self.blame(LoadError::Bad(bad)));
        }
        (self.tell)(Notice::Skipped { bad, of: self.of.clone() });
        Ok(())
    }

    /// Adds the name of the text to an error.
    fn blame(&self, error: LoadError) -> LoadError {
        match &self.of {
            Some(of) => LoadError::Beside { of: of.clone(), error: Box::new(error) },
            None => error,
        }
    }
}
