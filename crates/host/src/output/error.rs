//! Why an output is refused.

use super::{Existing, OutputName};
use crate::TargetError;
use crate::guard::Refusal;
use iosonar_text::shown;
use std::fmt;
use std::io;

/// Existing use of a file by the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Target number.
    Target(usize),
    /// Input; holds its option or argument.
    Input(String),
    /// Output; holds its option or argument.
    Output(String),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Target(number) => write!(f, "target {number}, whose data would be lost"),
            Role::Input(option) => write!(f, "read by {option}, and would be lost"),
            Role::Output(option) => write!(f, "the output of {option}, too"),
        }
    }
}

impl fmt::Display for OutputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, shown(&self.path))
    }
}

/// Why an output is refused. Each message names the option, the path as typed, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Neither a regular file nor a pipe nor `/dev/null`.
    #[error("{name}: it is {what}, and an output is a new file, a pipe or /dev/null: name another file")]
    Special {
        /// Option and path.
        name: OutputName,
        /// Actual kind.
        what: &'static str,
    },
    /// The file exists, and the command never overwrites.
    #[error("{name}: it exists already, and nothing is ever overwritten: name another")]
    Exists {
        /// Option and path.
        name: OutputName,
    },
    /// The file exists, and the command overwrites only on request.
    #[error("{name}: it exists already: name another file, or replace it with --force")]
    ExistsUnforced {
        /// Option and path.
        name: OutputName,
    },
    /// The command uses the file for something else.
    #[error("{name}: it is {role}: name another file")]
    Taken {
        /// Option and path.
        name: OutputName,
        /// Existing use.
        role: Role,
    },
    /// The file is below a device, is swap space, or cannot be written.
    #[error("{option}: {refusal}", option = name.option)]
    InUse {
        /// Option and path.
        name: OutputName,
        /// Refusal of the write guard.
        refusal: Box<Refusal>,
    },
    /// The path is not a directory.
    #[error("{name}: it is no directory: name another one")]
    NoDirectory {
        /// Option and path.
        name: OutputName,
    },
    /// Not a regular writable file.
    #[error("{option}: {error}", option = name.option)]
    PatternError {
        /// Option and path.
        name: OutputName,
        /// Reason.
        error: Box<TargetError>,
    },
    /// Creation failed.
    #[error("{name}: it cannot be written: {error}")]
    Io {
        /// Option and path.
        name: OutputName,
        /// Error.
        #[source]
        error: io::Error,
    },
}

impl OutputError {
    pub(super) fn special(name: &OutputName, what: &'static str) -> OutputError {
        OutputError::Special { name: name.clone(), what }
    }

    pub(super) fn of_io(name: &OutputName, error: io::Error) -> OutputError {
        OutputError::Io { name: name.clone(), error }
    }

    pub(super) fn exists(name: &OutputName, existing: Existing) -> OutputError {
        let name = name.clone();
        match existing {
            Existing::KeepUnlessForced => OutputError::ExistsUnforced { name },
            _ => OutputError::Exists { name },
        }
    }
}
