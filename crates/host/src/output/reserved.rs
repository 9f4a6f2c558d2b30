//! Outputs written after a run.

use super::{Identity, Output, Sink, identity, parent};
use iosonar_os::create::{Unfinished, existing_file};
use iosonar_os::made::FileId;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// An output that has been tested. Until it is written, nothing of it exists, and nothing is open.
#[derive(Debug)]
pub struct Reserved {
    path: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    StandardOutput,
    /// A pipe or `/dev/null`.
    Stream(File),
    /// No file has the name.
    New,
    /// An existing file: path, identity and permissions.
    Replacing(PathBuf, FileId, Permissions),
    /// An existing file to append to.
    Appending(Identity),
}

impl Reserved {
    pub(super) fn standard_output(path: &Path) -> Reserved {
        Reserved::of(path, What::StandardOutput)
    }

    pub(super) fn stream(path: &Path, file: File) -> Reserved {
        Reserved::of(path, What::Stream(file))
    }

    pub(super) fn new(path: &Path) -> Reserved {
        Reserved::of(path, What::New)
    }

    /// `facts` are those of the file that was judged.
    pub(super) fn replacing(path: &Path, facts: &Metadata) -> io::Result<Reserved> {
        let place = path.canonicalize()?;
        let old = FileId::of_path(&place)?;
        // A link may have been changed meanwhile.
        if identity(&place.symlink_metadata()?) != identity(facts) {
            return Err(another());
        }
        Ok(Reserved::of(path, What::Replacing(place, old, facts.permissions())))
    }

    pub(super) fn appending(path: &Path, facts: &Metadata) -> Reserved {
        Reserved::of(path, What::Appending(identity(facts)))
    }

    fn of(path: &Path, what: What) -> Reserved {
        Reserved { path: path.to_path_buf(), what }
    }

    /// Whether it is the standard output of this process.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.what, What::StandardOutput)
    }

    /// Tests opening it, without leaving anything.
    pub(super) fn check(&self) -> io::Result<()> {
        match &self.what {
            What::StandardOutput | What::Stream(_) => Ok(()),
            What::New => Unfinished::begin(parent(&self.path)).map(drop),
            What::Replacing(place, ..) => {
                existing_file(place, false)?;
                Unfinished::begin(parent(place)).map(drop)
            }
            What::Appending(_) => existing_file(&self.path, true).map(drop),
        }
    }

    /// Opens it. A new file gets its name, and replaces another one, when it is published.
    ///
    /// # Errors
    /// Creation failed, or the path now leads to something else.
    pub fn open(self) -> io::Result<Output> {
        let sink = match self.what {
            What::StandardOutput => Sink::Standard(io::stdout()),
            What::Stream(file) => Sink::Stream(file),
            What::New => Sink::New(Unfinished::begin(parent(&self.path))?),
            What::Replacing(place, old, permissions) => {
                let mut new = Unfinished::begin(parent(&place))?;
                new.file().set_permissions(permissions)?;
                Sink::Replacing(new, place, old)
            }
            What::Appending(tested) => {
                let file = existing_file(&self.path, true)?;
                if identity(&file.metadata()?) != tested {
                    return Err(another());
                }
                Sink::Appending(file)
            }
        };
        Ok(Output::of(sink, self.path))
    }
}

fn another() -> io::Error {
    io::Error::other("the path leads to another file by now: name another")
}
