//! Why a scratch file system cannot be created, remounted or removed.

use crate::FsKind;
use iosonar_host::remount::RemountError;
use iosonar_plan::ByteSize;
use iosonar_text::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Why a scratch file system cannot be created, remounted or removed.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// This process is not root.
    #[error("a scratch file system needs root, because it is mounted from a loop device: run this as root")]
    NotRoot,
    /// A program is not installed.
    #[error("the program {program} is not installed: install the package {package}")]
    NoProgram {
        /// Program name.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// A program failed.
    #[error("{command} failed: {why}")]
    Program {
        /// Command line.
        command: String,
        /// Standard error of the program.
        why: String,
    },
    /// The size is below the file system's minimum.
    #[error("{} is too small for {kind}: use at least {}", ByteSize(*size), ByteSize(kind.least_size()))]
    TooSmall {
        /// Kind of the file system.
        kind: FsKind,
        /// Requested bytes.
        size: u64,
    },
    /// An option names another device or file.
    #[error(
        "'{word}' among the {of} options names another device or file, and a scratch file system changes only its own image: remove it"
    )]
    OtherDevice {
        /// Program of the option.
        of: &'static str,
        /// The word, as typed.
        word: String,
    },
    /// An invalid name.
    #[error("'{0}' is no name of a scratch file system: use letters, digits, - and _")]
    BadName(String),
    /// An unknown name.
    #[error("no scratch file system has the name '{0}'")]
    UnknownName(String),
    /// Unmounting failed, or the file system was unmounted and cannot be mounted again.
    #[error(transparent)]
    Remount(#[from] RemountError),
    /// A call of the operating system failed.
    #[error("{what} {}: {error}", shown(&path))]
    Io {
        /// Failed action, for example `cannot create`.
        what: &'static str,
        /// Object of the action.
        path: PathBuf,
        /// Error from the operating system.
        error: io::Error,
    },
}

impl ScratchError {
    /// For `map_err`: action and object.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ScratchError {
        move |error| ScratchError::Io { what, path: path.to_path_buf(), error }
    }
}
