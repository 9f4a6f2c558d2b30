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
    /// Allocates the first bytes of the file; one that is shorter gets this length (`fallocate`).
    Extend(ByteSize),
    /// Zeros the first bytes of the file without writing data; one that is shorter gets this length (`fallocate` with
    /// `FALLOC_FL_ZERO_RANGE`).
    ZeroRange(ByteSize),
    /// Sets the extent size hint of a file without data, so that XFS allocates its blocks in units of this size
    /// (`FS_IOC_FSSETXATTR`).
    ExtentHint(ByteSize),
    /// Locks the whole file (`fcntl` with `F_OFD_SETLKW`): for writing if the job writes, else for reading.
    Lock,
    /// Releases the lock.
    Unlock,
    /// Brings the file's data to stable storage (`fdatasync`).
    Flush,
    /// Brings the file's data and all its metadata to stable storage (`fsync`).
    Fsync,
    /// Removes the file from the page cache, after bringing its data to stable storage, and counts the pages before and after.
    Evict,
    /// Closes the file.
    Close,
}

/// Why a text names no file operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseFileStepError {
    /// The word is unknown.
    #[error(
        "'{0}' is no file operation: known are open, create, truncate:SIZE, allocate:SIZE, extend:SIZE, zero-range:SIZE, extent-hint:SIZE, lock, unlock, flush, fsync, evict and close"
    )]
    Unknown(String),
    /// The size is invalid.
    #[error(transparent)]
    Size(#[from] ParseUnitError),
}

impl FileStep {
    /// The operation of its record. Creating is a deletion and an opening.
    pub fn op(self) -> Op {
        match self {
            FileStep::Open | FileStep::Create => Op::Open,
            FileStep::Truncate(_) => Op::Truncate,
            FileStep::Allocate(_) | FileStep::Extend(_) | FileStep::ZeroRange(_) => Op::Allocate,
            FileStep::ExtentHint(_) => Op::Hint,
            FileStep::Lock => Op::Lock,
            FileStep::Unlock => Op::Unlock,
            FileStep::Flush => Op::Flush,
            FileStep::Fsync => Op::Fsync,
            FileStep::Evict => Op::Evict,
            FileStep::Close => Op::Close,
        }
    }

    /// Its word in plans, without the size.
    fn word(self) -> &'static str {
        match self {
            FileStep::Create => "create",
            FileStep::Extend(_) => "extend",
            FileStep::ZeroRange(_) => "zero-range",
            FileStep::ExtentHint(_) => "extent-hint",
            _ => self.op().name(),
        }
    }

    /// The size in its word.
    pub fn size(self) -> Option<ByteSize> {
        match self {
            FileStep::Truncate(size)
            | FileStep::Allocate(size)
            | FileStep::Extend(size)
            | FileStep::ZeroRange(size)
            | FileStep::ExtentHint(size) => Some(size),
            _ => None,
        }
    }

    /// Whether it changes the file.
    pub fn changes_file(self) -> bool {
        self == FileStep::Create || self.size().is_some()
    }

    /// Length of a file of `size` bytes after this operation.
    pub fn size_after(self, size: u64) -> u64 {
        match self {
            FileStep::Create => 0,
            FileStep::Truncate(length) => length.0,
            FileStep::Extend(length) | FileStep::ZeroRange(length) => size.max(length.0),
            _ => size,
        }
    }
}

impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size() {
            Some(size) => write!(f, "{}:{size}", self.word()),
            None => f.write_str(self.word()),
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
            ("extend", Some(size)) => FileStep::Extend(size.parse()?),
            ("zero-range", Some(size)) => FileStep::ZeroRange(size.parse()?),
            ("extent-hint", Some(size)) => FileStep::ExtentHint(size.parse()?),
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
    fn file_steps_round_trip() {
        for text in [
            "open",
            "create",
            "truncate:0",
            "truncate:1MiB",
            "allocate:4KiB",
            "extend:1GiB",
            "zero-range:512",
            "extent-hint:1MiB",
            "lock",
            "unlock",
            "flush",
            "fsync",
            "evict",
            "close",
        ] {
            assert_eq!(text.parse::<FileStep>().unwrap().to_string(), text);
        }
        for bad in
            ["", "Open", "truncate", "open:1", "truncate:x", "truncate:-1", "delete", "allocate:", "extend"]
        {
            assert!(bad.parse::<FileStep>().is_err(), "{bad}");
        }
    }

    #[test]
    fn derives_file_length_from_steps() {
        let after = |text: &str| text.parse::<FileStep>().unwrap().size_after(9);
        assert_eq!(
            ["create", "truncate:7", "allocate:20", "lock", "extent-hint:20"].map(after),
            [0, 7, 9, 9, 9]
        );
        assert_eq!(["extend:7", "extend:20", "zero-range:7", "zero-range:20"].map(after), [9, 20, 9, 20]);
    }
}
