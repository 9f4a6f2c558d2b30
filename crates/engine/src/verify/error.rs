//! Why a result cannot be verified later.

use iosonar_archive::{ArchiveError, JournalError, Missing};
use iosonar_host::TargetError;
use iosonar_text::shown;
use std::path::PathBuf;

/// Why a result cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum PostVerifyError {
    /// The result cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A target is not there.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A target cannot be read.
    #[error("{path}: {error}", path = shown(&path))]
    Open {
        /// As typed.
        path: PathBuf,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The journal is not there, or is another one.
    #[error("--journal {path}: {error}", path = shown(&path))]
    Journal {
        /// Path of the journal.
        path: PathBuf,
        /// The error.
        error: JournalError,
    },
    /// The journal that the run has written is not there.
    #[error(
        "the journal of the run is missing: {0}; give --journal FILE, or --journal none to verify with the records alone"
    )]
    NoJournal(Missing),
    /// The result is no run with known content; in one sentence, with the remedy if there is one.
    #[error("{0}")]
    Unsuitable(String),
}
