//! The output gate: it judges every output file that a user names before it is opened.
//!
//! An output is a new regular file, a pipe, standard output or `/dev/null`. It is never a device, and never a file that
//! is read by the same command, is its target or its other output, is below a device, or is swap space. The treatment
//! of other existing files is the caller's [`Existing`].

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

/// Treatment of an existing regular file at the path of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep it and refuse the output.
    Keep,
    /// The same, for a command with `--force`, which was not given.
    KeepUnlessForced,
    /// Replace it with a complete new file.
    Replace,
    /// The same, for a file made by the program: not for the target of a symbolic link.
    ReplaceOwn,
    /// Append to it.
    Append,
}

/// How the path of an output was given: the option (`--out`, `-csvout`), or the name of the argument (`OUT`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputName {
    /// Spelling in help.
    pub option: String,
    /// Path as typed.
    pub path: PathBuf,
}

impl OutputName {
    /// Creates a name from an option or argument and its value.
    pub fn new(option: impl Into<String>, path: impl Into<PathBuf>) -> OutputName {
        OutputName { option: option.into(), path: path.into() }
    }
}

/// Identity of a file with any number of names: device and inode.
type Identity = (u64, u64);

/// The gate of one command, which knows the command's other files.
#[derive(Debug)]
pub struct Gate<'a> {
    root: &'a Root,
    taken: Vec<(Identity, Role)>,
    /// Names of missing files in existing directories.
    named: Vec<(PathBuf, Role)>,
}

/// Existing file at the path of an output.
enum AtPath {
    /// Nothing.
    Nothing,
    /// The standard output of this process.
    StandardOutput,
    /// A pipe or `/dev/null`, which cannot be overwritten.
    Stream,
    /// A regular file that may be written.
    File(Metadata),
}

impl<'a> Gate<'a> {
    /// Creates a gate that knows no other files yet.
    pub fn new(root: &'a Root) -> Gate<'a> {
        Gate { root, taken: Vec::new(), named: Vec::new() }
    }

    /// Forbids a file as an output: an existing one under any of its names, a missing one by its name. Other kinds of
    /// files cannot be overwritten.
    pub fn forbid(&mut self, path: &Path, role: Role) {
        match path.metadata() {
            Ok(facts) if facts.is_file() || facts.file_type().is_block_device() => {
                self.taken.push((identity(&facts), role));
            }
            Ok(_) => {}
            Err(_) => self.named.extend(place_of(path).map(|place| (place, role))),
        }
    }

    /// Returns the command's existing use of a file.
    pub fn role_of(&self, path: &Path) -> Option<&Role> {
        let Ok(facts) = path.metadata() else {
            let place = place_of(path)?;
            return self.named.iter().find(|(named, _)| *named == place).map(|(_, role)| role);
        };
        let found = identity(&facts);
        self.taken.iter().find(|(taken, _)| *taken == found).map(|(_, role)| role)
    }

    /// Opens an output that is written sequentially, and appears when it is complete.
    ///
    /// # Errors
    /// The path is refused, or creation failed.
    pub fn create(&self, name: &OutputName, existing: Existing) -> Result<Output, OutputError> {
        let opened = self.test(name, existing)?.open();
        opened.map_err(|error| OutputError::of_io(name, error))
    }

    /// Tests an output that is written later. It appears only when it is complete, and an existing file keeps its
    /// content until then. From now on it is forbidden to other outputs.
    ///
    /// # Errors
    /// The path is refused, or nothing can be created there.
    pub fn reserve(&mut self, name: &OutputName, existing: Existing) -> Result<Reserved, OutputError> {
        let reserved = self.test(name, existing)?;
        reserved.check().map_err(|error| OutputError::of_io(name, error))?;
        self.forbid(&name.path, Role::Output(name.option.clone()));
        Ok(reserved)
    }

    /// Tests an output and reserves it.
    fn test(&self, name: &OutputName, existing: Existing) -> Result<Reserved, OutputError> {
        let failed = |error| OutputError::of_io(name, error);
        match (self.look(name)?, existing) {
            (AtPath::StandardOutput, _) => Ok(Reserved::standard_output(&name.path)),
            (AtPath::Stream, _) => {
                let stream = File::options().write(true).open(&name.path).map_err(failed)?;
                Ok(Reserved::stream(&name.path, stream))
            }
            (AtPath::Nothing, _) => Ok(Reserved::new(&name.path)),
            (AtPath::File(_), Existing::ReplaceOwn) if name.path.is_symlink() => {
                Err(OutputError::special(name, "a symbolic link"))
            }
            (AtPath::File(facts), Existing::Replace | Existing::ReplaceOwn) => {
                Reserved::replacing(&name.path, &facts).map_err(failed)
            }
            (AtPath::File(facts), Existing::Append) => Ok(Reserved::appending(&name.path, &facts)),
            (AtPath::File(_), Existing::Keep | Existing::KeepUnlessForced) => {
                Err(OutputError::exists(name, existing))
            }
        }
    }

    /// Refuses a path where a file exists or nothing can be created, before time is spent on its content.
    ///
    /// # Errors
    /// The path is refused.
    pub fn check(&self, name: &OutputName, existing: Existing) -> Result<(), OutputError> {
        match self.look(name)? {
            // Opening and closing a pipe would end it for its reader.
            AtPath::StandardOutput | AtPath::Stream => Ok(()),
            AtPath::Nothing | AtPath::File(_) => self.create(name, existing).map(drop),
        }
    }

    /// Refuses an existing path: for directories, and for files that are put in place by renaming.
    ///
    /// # Errors
    /// The path exists.
    pub fn check_absent(&self, name: &OutputName) -> Result<(), OutputError> {
        match name.path.symlink_metadata() {
            Ok(_) => Err(OutputError::exists(name, Existing::Keep)),
            Err(_) => Ok(()),
        }
    }

    fn look(&self, name: &OutputName) -> Result<AtPath, OutputError> {
        if is_standard_output(&name.path) {
            return Ok(AtPath::StandardOutput);
        }
        let facts = match name.path.metadata() {
            Ok(facts) => facts,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(OutputError::of_io(name, error)),
            Err(_) if name.path.symlink_metadata().is_ok() => {
                return Err(OutputError::special(name, "a symbolic link that leads nowhere"));
            }
            Err(_) => return self.check_free(name).map(|()| AtPath::Nothing),
        };
        let kind = facts.file_type();
        self.check_free(name)?;
        if kind.is_fifo() || kind.is_char_device() && is_null(&facts) {
            return Ok(AtPath::Stream);
        }
        if !kind.is_file() {
            return Err(OutputError::special(name, kind_in_words(&facts)));
        }
        self.check_unused(name)?;
        Ok(AtPath::File(facts))
    }

    /// Refuses files that the command uses for something else.
    fn check_free(&self, name: &OutputName) -> Result<(), OutputError> {
        let taken = |role: &Role| OutputError::Taken { name: name.clone(), role: role.clone() };
        self.role_of(&name.path).map_or(Ok(()), |role| Err(taken(role)))
    }

    /// Refuses an existing file that must not be written, or for which this is unknown.
    fn check_unused(&self, name: &OutputName) -> Result<(), OutputError> {
        let unfit = |error| OutputError::PatternError { name: name.clone(), error: Box::new(error) };
        let facts = identify_growing(&name.path, self.root).map_err(unfit)?;
        let refused = Guard::new(self.root).check(&facts, Intent::Write, false).err();
        refused.map_or(Ok(()), |refusal| {
            Err(OutputError::InUse { name: name.clone(), refusal: Box::new(refusal) })
        })
    }
}

/// Bytes per write.
const PIECE: usize = 1 << 16;

/// Creates a file that must not exist; `option` names it in errors.
///
/// # Errors
/// The file exists, or no file may or can be created there.
pub fn open_new(option: &str, path: &Path) -> Result<Output, OutputError> {
    Gate::new(&Root::default()).create(&OutputName::new(option, path), Existing::Keep)
}

/// Refuses an existing path, for outputs that are put in place by renaming.
///
/// # Errors
/// The path exists, or nothing may be created there.
pub fn check_absent(option: &str, path: &Path) -> Result<(), OutputError> {
    Gate::new(&Root::default()).check_absent(&OutputName::new(option, path))
}

/// Returns a name in this directory that nothing has: `STEM` with an ending, and a number before it where that exists.
pub fn unused(stem: &str, ending: &str) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{stem}-{n}{ending}")));
    let mut names = std::iter::once(PathBuf::from(format!("{stem}{ending}"))).chain(numbered);
    names.find(|path| !path.exists()).expect("names do not end")
}

/// An output being written. Until it is published, a new one leaves nothing, and a replaced one is unchanged.
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
    /// The new file, the path of the replaced one, and its identity.
    Replacing(Unfinished, PathBuf, FileId),
    /// An existing file, at its end.
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

    /// Bytes written; 0 for outputs that cannot be undone.
    ///
    /// # Errors
    /// Flushing failed.
    pub fn size(&mut self) -> io::Result<u64> {
        self.sink.flush()?;
        match self.sink.get_mut() {
            Sink::New(file) | Sink::Replacing(file, ..) => Ok(file.file().metadata()?.len()),
            Sink::Standard(_) | Sink::Stream(_) | Sink::Appending(_) => Ok(0),
        }
    }

    /// Renames the complete file to its own name. Returns the file if it replaced no other.
    ///
    /// # Errors
    /// Flushing failed, or the name is taken by now.
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

/// Resolves a path that does not exist; `None` if its directory does not.
fn place_of(path: &Path) -> Option<PathBuf> {
    let parent = Some(parent(path)).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

fn identity(facts: &Metadata) -> Identity {
    (facts.dev(), facts.ino())
}

/// Whether the path is a name of the open standard output: reopening it would lose the position in a file.
pub fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Whether it is `/dev/null`, under any name.
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
