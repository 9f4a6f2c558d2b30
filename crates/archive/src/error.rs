//! Why an archive cannot be written or read.

use crate::ARCHIVE_VERSION;
use iosonar_text::shown;
use parquet::errors::ParquetError;
use std::path::Path;

/// Plan, state and setup of a run: the file that makes a directory an archive.
pub(crate) const RUN: &str = "run.json";

/// Facts about a recording of live devices.
pub(crate) const RECORDING_FACTS: &str = "recording.json";

/// Why an archive cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// I/O error.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// Error from the kernel.
        error: std::io::Error,
    },
    /// A file is damaged.
    #[error("{path}: {why}")]
    Damaged {
        /// Path of the file.
        path: String,
        /// Reason.
        why: String,
    },
    /// The directory exists, and results are never overwritten.
    #[error("{0} exists already: name another directory with --out, or remove it")]
    Exists(String),
    /// Not an archive.
    #[error("{0} is no archive: it has no {RUN}; name a directory that a run wrote with --out")]
    NoArchive(String),
    /// Not a recording of live devices.
    #[error("{0} is no recording: it has no {RECORDING_FACTS}; name a directory that 'iosonar record' made")]
    NoRecording(String),
    /// An unsupported archive version.
    #[error("{path} has archive version {found}, this program reads version {ARCHIVE_VERSION}")]
    Version {
        /// Directory.
        path: String,
        /// Version found.
        found: u32,
    },
}

impl ArchiveError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> ArchiveError {
        ArchiveError::Io { path: shown(path).to_string(), error }
    }

    /// Whether the directory is damaged or no archive: its reader is refused, and no work failed.
    pub fn is_damage(&self) -> bool {
        !matches!(self, ArchiveError::Io { .. } | ArchiveError::Exists(_))
    }

    /// Whether another process is doing the same work.
    pub fn is_busy(&self) -> bool {
        matches!(self, ArchiveError::Io { error, .. } if error.kind() == std::io::ErrorKind::WouldBlock)
    }

    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> ArchiveError {
        ArchiveError::Damaged { path: shown(path).to_string(), why: why.into() }
    }

    pub(crate) fn parquet(path: &Path, error: ParquetError) -> ArchiveError {
        // An I/O error, such as a full disk, is not damage.
        match error {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => ArchiveError::io(path, *error),
                Err(error) => ArchiveError::damaged(path, error.to_string()),
            },
            error => ArchiveError::damaged(path, error.to_string()),
        }
    }
}
