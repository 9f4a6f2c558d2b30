//! File operations around the requests of a job.

use crate::units::ParseUnitError;
use crate::{ByteSize, Op};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A file operation before or after the requests of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FileStep {
    /// Opens the file by its name. The requests of the pass use this descriptor.
    Open,
    /// Deletes the file, and opens a new and empty one of the same name.
    Create,
    /// Sets the length of the file (`ftruncate`).
    Truncate(ByteSize),
    /// Allocates the first bytes of the file without changing its length (`fallocate`).
    Allocate(ByteSize),
    /// Locks the whole file (`fcntl` with `F_OFD_SETLKW`): for writing if the job writes, else for reading.
    Lock,
    /// Gives the lock back.
    Unlock,
    /// Brings the file's data to stable storage (`fdatasync`).
    Flush,
    /// Brings the file's data and all its metadata to stable storage (`fsync`).
    Fsync,
    /// Removes the file from the page cache, after bringing its data to stable storage, and counts what was and what stays there.
    Evict,
    /// Closes the file.
    Close,
}

/// Why a text names no file operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseFileStepError {
    /// There is no such word.
    #[error(
        "'{0}' is no file operation: known are open, create, truncate:SIZE, allocate:SIZE, lock, unlock, flush, fsync, evict and close"
    )]
    Unknown(String),
    /// Its size is none.
    #[error(transparent)]
    Size(#[from] ParseUnitError),
}

impl FileStep {
    /// What its record is called. Creating is a deletion and an opening.
    pub fn op(self) -> Op {
        match self {
            FileStep::Open | FileStep::Create => Op::Open,
            FileStep::Truncate(_) => Op::Truncate,
            FileStep::Allocate(_) => Op::Allocate,
            FileStep::Lock => Op::Lock,
            FileStep::Unlock => Op::Unlock,
            FileStep::Flush => Op::Flush,
            FileStep::Fsync => Op::Fsync,
            FileStep::Evict => Op::Evict,
            FileStep::Close => Op::Close,
        }
    }

    /// Whether it changes the file.
    pub fn changes_file(self) -> bool {
        matches!(self, FileStep::Create | FileStep::Truncate(_) | FileStep::Allocate(_))
    }

    /// Length of a file of `size` bytes after it.
    pub fn size_after(self, size: u64) -> u64 {
        match self {
            FileStep::Create => 0,
            FileStep::Truncate(length) => length.0,
            _ => size,
        }
    }
}

impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileStep::Create => f.write_str("create"),
            FileStep::Truncate(size) | FileStep::Allocate(size) => write!(f, "{}:{size}", self.op()),
            _ => f.write_str(self.op().name()),
        }
    }
}

impl FromStr for FileStep {
    type Err = ParseFileStepError;

    fn from_str(text: &str) -> Result<FileStep, ParseFileStepError> {
        let (word, size) = text.split_once(':').map_or((text, None), |(word, size)| (word, Some(size)));
        Ok(match (word, size) {
            ("open", None) => FileStep::Open,
            ("create", None) => FileStep::Create,
            ("truncate", Some(size)) => FileStep::Truncate(size.parse()?),
            ("allocate", Some(size)) => FileStep::Allocate(size.parse()?),
            ("lock", None) => FileStep::Lock,
            ("unlock", None) => FileStep::Unlock,
            ("flush", None) => FileStep::Flush,
            ("fsync", None) => FileStep::Fsync,
            ("evict", None) => FileStep::Evict,
            ("close", None) => FileStep::Close,
            _ => return Err(ParseFileStepError::Unknown(text.into())),
        })
    }
}

impl From<FileStep> for String {
    fn from(step: FileStep) -> String {
        step.to_string()
    }
}

impl TryFrom<String> for FileStep {
    type Error = ParseFileStepError;

    fn try_from(text: String) -> Result<FileStep, ParseFileStepError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for text in [
            "open",
            "create",
            "truncate:0",
            "truncate:1MiB",
            "allocate:4KiB",
            "lock",
            "unlock",
            "flush",
            "fsync",
            "evict",
            "close",
        ] {
            assert_eq!(text.parse::<FileStep>().unwrap().to_string(), text);
        }
        for bad in ["", "Open", "truncate", "open:1", "truncate:x", "truncate:-1", "delete", "allocate:"] {
            assert!(bad.parse::<FileStep>().is_err(), "{bad}");
        }
        assert_eq!([FileStep::Truncate(ByteSize(7)).size_after(9), FileStep::Lock.size_after(9)], [7, 9]);
    }
}
