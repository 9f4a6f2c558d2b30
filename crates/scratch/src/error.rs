//! Why a scratch file system cannot be made, mounted again or removed.

use crate::FsKind;
use iosonar_host::remount::RemountError;
use iosonar_plan::ByteSize;
use iosonar_text::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Why a scratch file system cannot be made, mounted again or removed.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// This process is not root.
    #[error("a scratch file system needs root, because it is mounted from a loop device: run this as root")]
    NotRoot,
    /// A program is not installed.
    #[error("the program {program} is not installed: install the package {package}")]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// A program failed.
    #[error("{command} failed: {why}")]
    Program {
        /// The program and its arguments.
        command: String,
        /// Its standard error.
        why: String,
    },
    /// The file system cannot be that small.
    #[error("{} is too small for {kind}: use at least {}", ByteSize(*size), ByteSize(kind.least_size()))]
    TooSmall {
        /// The file system.
        kind: FsKind,
        /// Bytes that it should have.
        size: u64,
    },
    /// An option names something that is not the file system's own.
    #[error(
        "'{word}' among the {of} options names another device or file, and a scratch file system changes only its own image: remove it"
    )]
    OtherDevice {
        /// Of which program.
        of: &'static str,
        /// The word, as typed.
        word: String,
    },
    /// It cannot be a name.
    #[error("'{0}' is no name of a scratch file system: use letters, digits, - and _")]
    BadName(String),
    /// No file system has this name.
    #[error("no scratch file system has the name '{0}'")]
    UnknownName(String),
    /// It cannot be unmounted, or is unmounted and cannot be mounted again.
    #[error(transparent)]
    Remount(#[from] RemountError),
    /// A call of the operating system failed.
    #[error("{what} {}: {error}", shown(&path))]
    Io {
        /// What was to be done, for example `cannot create`.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
}

impl ScratchError {
    /// For `map_err`: what was to be done, and to what.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ScratchError {
        move |error| ScratchError::Io { what, path: path.to_path_buf(), error }
    }
}
