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
    /// Standard input is named twice.
    #[error("- stands for standard input, which can be read only once")]
    TwiceStandardInput,
    /// A record has no room for the number of a target.
    #[error("the inputs have more than {} targets: analyse them apart", u16::MAX)]
    TooManyTargets,
}

impl OpenError {
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
