//! Why something cannot be read as an input.

use crate::OpenArchiveError;
use iosonar_archive::ArchiveError;
use iosonar_dialect_blkreplay::ImportError;
use iosonar_plan::ByteSize;
use iosonar_text::shown;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why something cannot be read as an input.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory is not an archive, or cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The directory is not a run.
    #[error(transparent)]
    Directory(#[from] OpenArchiveError),
    /// The result in blkreplay's form is invalid.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The text is compressed in an unsupported form, or its start cannot be read.
    #[error("{name}: {error}")]
    Text {
        /// The file.
        name: String,
        /// The error.
        #[source]
        error: iosonar_trace::InputError,
    },
    /// It cannot be opened, read, or stored.
    #[error("{what}: {error}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A pipe does not fit into a temporary file.
    #[error(
        "{}: it comes from a pipe, is read more than once, and is longer than a temporary file may be ({}); raise \
         --spool-limit, set TMPDIR to a directory with more space, or store the input in a file and name that",
        shown(&path),
        limit_text(directory, *most, *is_typed)
    )]
    TooLong {
        /// The pipe.
        path: PathBuf,
        /// The directory of the temporary file.
        directory: PathBuf,
        /// The maximum number of bytes.
        most: u64,
        /// Whether the limit was typed.
        is_typed: bool,
    },
    /// An option does not fit the input.
    #[error("{option}: {why}")]
    Option {
        /// The option, as typed.
        option: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// The content cannot be used.
    #[error("{name}: {why}")]
    Content {
        /// The input.
        name: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// A trace cannot be read to its end.
    #[error("{name}: {error}")]
    Trace {
        /// The trace.
        name: String,
        /// The error.
        #[source]
        error: iosonar_trace::TraceError,
    },
    /// Several devices of two traces cannot be matched.
    #[error(
        "the one has the devices {first}, the other {second}, and which of them are the same is not known: compare one at a time, with \
         loads that 'iosonar convert --split device' makes"
    )]
    Unmatched {
        /// Devices of the first trace.
        first: String,
        /// Devices of the second trace.
        second: String,
    },
    /// Standard input is named twice.
    #[error("- stands for standard input, which can be read only once")]
    TwiceStandardInput,
    /// A record has no room for the number of a target.
    #[error("the inputs have more than {} targets: analyse them apart", u16::MAX)]
    TooManyTargets,
}

impl OpenError {
    pub(crate) fn option(option: impl Display, why: impl Display) -> OpenError {
        OpenError::Option { option: option.to_string(), why: why.to_string() }
    }

    pub(crate) fn content(name: impl Display, why: impl Display) -> OpenError {
        OpenError::Content { name: name.to_string(), why: why.to_string() }
    }

    pub(crate) fn io(what: impl Display) -> impl FnOnce(io::Error) -> OpenError {
        let what = what.to_string();
        move |error| OpenError::Io { what, error }
    }
}

fn limit_text(directory: &Path, most: u64, is_typed: bool) -> String {
    match is_typed {
        true => format!("--spool-limit {}", ByteSize(most)),
        false => format!(
            "the default of --spool-limit, half of the free space of {}: {most} bytes",
            shown(&directory)
        ),
    }
}
