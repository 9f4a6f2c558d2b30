//! The output gate: it judges every file that a user names for output before it is opened.
//!
//! An output is a new regular file, a pipe, standard output or `/dev/null`. It is never a device, and never a file
//! that is read by the same command, is its target or its other output, lies below a device, or is swap space. What
//! becomes of another file that exists is the caller's [`Existing`].

mod error;
mod folder;
mod reserved;

pub use error::{OutputError, Role};
pub use folder::OutputFolder;
pub use reserved::Reserved;

use crate::guard::{Guard, Intent};
use crate::{DevNumber, Root, identify_growing};
use iosonar_os::create::Unfinished;
use iosonar_os::made::{FileId, Made};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What becomes of a regular file that exists where an output is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the output is refused.
    Keep,
    /// The same of a command that has `--force`, which was not given.
    KeepUnlessForced,
    /// A complete new file takes its place.
    Replace,
    /// The same of a file that the program has made: where a symbolic link leads is none.
    ReplaceOwn,
    /// The output is added to it.
    Append,
}

/// How the path of an output was given: the option (`--out`, `-csvout`), or the name of the argument (`OUT`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputName {
    /// As the help spells it.
    pub option: String,
    /// As typed.
    pub path: PathBuf,
}

impl OutputName {
    /// An option or argument with its value.
    pub fn new(option: impl Into<String>, path: impl Into<PathBuf>) -> OutputName {
        OutputName { option: option.into(), path: path.into() }
    }
}

/// A file, whatever its names are: device and inode.
type Identity = (u64, u64);

/// The gate of one command, which knows what else the command reads and writes.
#[derive(Debug)]
pub struct Gate<'a> {
    root: &'a Root,
    taken: Vec<(Identity, Role)>,
    /// Names of what does not exist yet, in directories that do.
    named: Vec<(PathBuf, Role)>,
}

/// What is there where an output is to be.
enum Found {
    /// Nothing.
    Nothing,
    /// The standard output of this process.
    StandardOutput,
    /// A pipe or `/dev/null`: what is there cannot be overwritten.
    Stream,
    /// A regular file that may be written.
    File(Metadata),
}

impl<'a> Gate<'a> {
    /// One that knows of no other file yet.
    pub fn new(root: &'a Root) -> Gate<'a> {
        Gate { root, taken: Vec::new(), named: Vec::new() }
    }

    /// Remembers a file that no output may be: one that exists under any of its names, another one by its name. What is no
    /// file cannot be lost.
    pub fn forbid(&mut self, path: &Path, role: Role) {
        match path.metadata() {
            Ok(facts) if facts.is_file() || facts.file_type().is_block_device() => {
                self.taken.push((identity(&facts), role));
            }
            Ok(_) => {}
            Err(_) => self.named.extend(place_of(path).map(|place| (place, role))),
        }
    }

    /// What a file is to the command already.
    pub fn role_of(&self, path: &Path) -> Option<&Role> {
        let Ok(facts) = path.metadata() else {
            let place = place_of(path)?;
            return self.named.iter().find(|(named, _)| *named == place).map(|(_, role)| role);
        };
        let found = identity(&facts);
        self.taken.iter().find(|(taken, _)| *taken == found).map(|(_, role)| role)
    }

    /// Opens an output that is written from its beginning to its end, and is there when it is complete.
    ///
    /// # Errors
    /// The path is no output, or the file cannot be created.
    pub fn create(&self, name: &OutputName, existing: Existing) -> Result<Output, OutputError> {
        let opened = self.test(name, existing)?.open();
        opened.map_err(|error| OutputError::of_io(name, error))
    }

    /// Tests an output that is written later. Nothing of it is there until it is complete, and what exists keeps its content
    /// until then. From now on it is forbidden to other outputs.
    ///
    /// # Errors
    /// The path is no output, or nothing can be created there.
    pub fn reserve(&mut self, name: &OutputName, existing: Existing) -> Result<Reserved, OutputError> {
        let reserved = self.test(name, existing)?;
        reserved.check().map_err(|error| OutputError::of_io(name, error))?;
        self.forbid(&name.path, Role::Output(name.option.clone()));
        Ok(reserved)
    }

    /// What becomes of an output.
    fn test(&self, name: &OutputName, existing: Existing) -> Result<Reserved, OutputError> {
        let failed = |error| OutputError::of_io(name, error);
        match (self.look(name)?, existing) {
            (Found::StandardOutput, _) => Ok(Reserved::standard_output(&name.path)),
            (Found::Stream, _) => {
                let stream = File::options().write(true).open(&name.path).map_err(failed)?;
                Ok(Reserved::stream(&name.path, stream))
            }
            (Found::Nothing, _) => Ok(Reserved::new(&name.path)),
            (Found::File(_), Existing::ReplaceOwn) if name.path.is_symlink() => {
                Err(OutputError::special(name, "a symbolic link"))
            }
            (Found::File(facts), Existing::Replace | Existing::ReplaceOwn) => {
                Reserved::replacing(&name.path, &facts).map_err(failed)
            }
            (Found::File(facts), Existing::Append) => Ok(Reserved::appending(&name.path, &facts)),
            (Found::File(_), Existing::Keep | Existing::KeepUnlessForced) => {
                Err(OutputError::exists(name, existing))
            }
        }
    }

    /// Refuses a path where a file exists or nothing can be created, before time is spent on what is to be in it.
    ///
    /// # Errors
    /// The path is no output.
    pub fn check(&self, name: &OutputName, existing: Existing) -> Result<(), OutputError> {
        match self.look(name)? {
            // A pipe that is opened and closed ends for its reader.
            Found::StandardOutput | Found::Stream => Ok(()),
            Found::Nothing | Found::File(_) => self.create(name, existing).map(drop),
        }
    }

    /// Refuses a path where anything exists: for directories, and for files that are put in place by renaming.
    ///
    /// # Errors
    /// Something exists there.
    pub fn check_absent(&self, name: &OutputName) -> Result<(), OutputError> {
        match name.path.symlink_metadata() {
            Ok(_) => Err(OutputError::exists(name, Existing::Keep)),
            Err(_) => Ok(()),
        }
    }

    fn look(&self, name: &OutputName) -> Result<Found, OutputError> {
        if is_standard_output(&name.path) {
            return Ok(Found::StandardOutput);
        }
        let facts = match name.path.metadata() {
            Ok(facts) => facts,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(OutputError::of_io(name, error)),
            Err(_) if name.path.symlink_metadata().is_ok() => {
                return Err(OutputError::special(name, "a symbolic link that leads nowhere"));
            }
            Err(_) => return self.check_free(name).map(|()| Found::Nothing),
        };
        let kind = facts.file_type();
        self.check_free(name)?;
        if kind.is_fifo() || kind.is_char_device() && is_null(&facts) {
            return Ok(Found::Stream);
        }
        if !kind.is_file() {
            return Err(OutputError::special(name, kind_in_words(&facts)));
        }
        self.check_unused(name)?;
        Ok(Found::File(facts))
    }

    /// Refuses what the command uses for something else.
    fn check_free(&self, name: &OutputName) -> Result<(), OutputError> {
        let taken = |role: &Role| OutputError::Taken { name: name.clone(), role: role.clone() };
        self.role_of(&name.path).map_or(Ok(()), |role| Err(taken(role)))
    }

    /// Refuses a file that exists and must not be written, also where nobody can find that out.
    fn check_unused(&self, name: &OutputName) -> Result<(), OutputError> {
        let unfit = |error| OutputError::PatternError { name: name.clone(), error: Box::new(error) };
        let facts = identify_growing(&name.path, self.root).map_err(unfit)?;
        let refused = Guard::new(self.root).check(&facts, Intent::Write, false).err();
        refused.map_or(Ok(()), |refusal| {
            Err(OutputError::InUse { name: name.clone(), refusal: Box::new(refusal) })
        })
    }
}

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;

/// An output that is being written. Nothing is left of a new one, and nothing changes where another is replaced, until
/// it is published.
#[derive(Debug)]
pub struct Output {
    sink: BufWriter<Sink>,
    path: PathBuf,
}

#[derive(Debug)]
enum Sink {
    Standard(Stdout),
    Stream(File),
    New(Unfinished),
    /// The new file, the place of the one that it replaces, and which one that is.
    Replacing(Unfinished, PathBuf, FileId),
    /// A file that exists, at its end.
    Appending(File),
}

impl Output {
    /// The standard output of this process.
    pub fn standard() -> Output {
        Output::of(Sink::Standard(io::stdout()), PathBuf::from("-"))
    }

    fn of(sink: Sink, path: PathBuf) -> Output {
        Output { sink: BufWriter::with_capacity(PIECE, sink), path }
    }

    /// Bytes that were written; none of what cannot be taken back.
    ///
    /// # Errors
    /// What is held back cannot be written.
    pub fn size(&mut self) -> io::Result<u64> {
        self.sink.flush()?;
        match self.sink.get_mut() {
            Sink::New(file) | Sink::Replacing(file, ..) => Ok(file.file().metadata()?.len()),
            Sink::Standard(_) | Sink::Stream(_) | Sink::Appending(_) => Ok(0),
        }
    }

    /// Renames the file, which is complete, to its own name. Returns the file if no other was there.
    ///
    /// # Errors
    /// The rest cannot be written, or something else has the name by now.
    pub fn publish(self) -> io::Result<Option<Made>> {
        match self.sink.into_inner().map_err(io::IntoInnerError::into_error)? {
            Sink::Standard(mut out) => out.flush().map(|()| None),
            Sink::Stream(mut out) | Sink::Appending(mut out) => out.flush().map(|()| None),
            Sink::New(file) => file.name_new(&self.path).map(Some),
            Sink::Replacing(_, place, old) if FileId::of_path(&place)? != old => {
                Err(io::Error::other("it is another file by now, so it was not replaced"))
            }
            Sink::Replacing(file, place, _) => file.name_over(&place).map(|()| None),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Standard(out) => out.write(bytes),
            Sink::Stream(out) | Sink::Appending(out) => out.write(bytes),
            Sink::New(file) | Sink::Replacing(file, ..) => file.file().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Standard(out) => out.flush(),
            Sink::Stream(_) | Sink::Appending(_) | Sink::New(_) | Sink::Replacing(..) => Ok(()),
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Where a path leads that does not exist; none where its directory does not.
fn place_of(path: &Path) -> Option<PathBuf> {
    let parent = Some(parent(path)).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

fn identity(facts: &Metadata) -> Identity {
    (facts.dev(), facts.ino())
}

/// Whether the path is a name of the open standard output: opening it again would lose the position in a file.
fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// `/dev/null`, whatever it is called.
fn is_null(facts: &Metadata) -> bool {
    DevNumber::from_raw(facts.rdev()) == DevNumber { major: 1, minor: 3 }
}

fn kind_in_words(facts: &Metadata) -> &'static str {
    let kind = facts.file_type();
    match () {
        () if kind.is_block_device() => "a block device",
        () if kind.is_char_device() => "a character device",
        () if kind.is_dir() => "a directory",
        () if kind.is_socket() => "a socket",
        () => "no file",
    }
}

#[cfg(test)]
mod tests;
