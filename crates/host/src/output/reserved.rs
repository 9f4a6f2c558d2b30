//! Outputs that are written after a run, in place.

use super::{Identity, OutputName, identity};
use iosonar_os::create::existing_file;
use iosonar_os::made::{Made, new_file};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// An output that can be written: that was tested. A file that was created for the test goes with this, unless it is
/// opened.
#[derive(Debug)]
pub struct Reserved {
    path: PathBuf,
    at_end: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    StandardOutput,
    /// A pipe or `/dev/null`; absent when it was issued.
    Stream(Option<File>),
    /// A regular file; that which was created here.
    File(Identity, Option<Made>),
}

impl Reserved {
    pub(super) fn standard_output(name: &OutputName) -> Reserved {
        Reserved::of(name, false, What::StandardOutput)
    }

    pub(super) fn stream(name: &OutputName, file: File) -> Reserved {
        Reserved::of(name, false, What::Stream(Some(file)))
    }

    pub(super) fn new(name: &OutputName, at_end: bool) -> io::Result<Reserved> {
        let (file, made) = new_file(&name.path)?;
        Ok(Reserved::of(name, at_end, What::File(identity(&file.metadata()?), Some(made))))
    }

    pub(super) fn existing(name: &OutputName, at_end: bool) -> io::Result<Reserved> {
        let id = identity(&existing_file(&name.path, at_end)?.metadata()?);
        Ok(Reserved::of(name, at_end, What::File(id, None)))
    }

    fn of(name: &OutputName, at_end: bool, what: What) -> Reserved {
        Reserved { path: name.path.clone(), at_end, what }
    }

    /// Whether it is the standard output of this process.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.what, What::StandardOutput)
    }

    /// Opens it once: at its end, or with nothing of its earlier content.
    ///
    /// # Errors
    /// The path leads to something else by now, or the file cannot be opened.
    pub fn open(mut self) -> io::Result<Box<dyn Write>> {
        match &mut self.what {
            What::StandardOutput => Ok(Box::new(io::stdout())),
            What::Stream(file) => Ok(Box::new(file.take().ok_or(ErrorKind::NotFound)?)),
            What::File(tested, made) => {
                let file = existing_file(&self.path, self.at_end)?;
                if identity(&file.metadata()?) != *tested {
                    return Err(io::Error::other("the path leads to another file than before the run"));
                }
                if !self.at_end {
                    file.set_len(0)?;
                }
                *made = None;
                Ok(Box::new(file))
            }
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let What::File(_, Some(made)) = &self.what {
            // Ignore removal errors; the error of the run that was refused matters more.
            let _ = made.remove();
        }
    }
}
