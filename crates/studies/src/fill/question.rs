//! Which bytes of a target are filled, and how.

use iosonar_plan::{ByteSize, Engine, Space};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which bytes are filled, and how they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Block device or regular file. A file that does not exist is created, with a [`Length::Size`] in bytes.
    pub target: PathBuf,
    /// The first byte.
    pub offset: ByteSize,
    /// How many bytes.
    pub length: Length,
    /// How often the range is written, each time with new data.
    pub times: u32,
    /// Bytes of each write.
    pub block: ByteSize,
    /// Writes in flight.
    pub depth: u32,
    /// Executes the writes.
    pub engine: Engine,
    /// Writes through the page cache in place of direct I/O, and flushes at the end.
    pub buffered: bool,
    /// Allows writes to block devices.
    pub destroy: bool,
    /// Keeps a result with the record of each write in this directory, which must not exist; `None` keeps none.
    pub out: Option<PathBuf>,
}

impl Question {
    /// Fills a whole target as `iosonar fill TARGET` does.
    pub fn of(target: impl Into<PathBuf>) -> Question {
        Question {
            target: target.into(),
            offset: ByteSize(0),
            length: Length::ToEnd,
            times: 1,
            block: ByteSize(1 << 20),
            depth: 16,
            engine: Engine::default(),
            buffered: false,
            destroy: false,
            out: None,
        }
    }
}

/// How many bytes are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// All from the offset to the end of the target.
    ToEnd,
    /// Bytes, or a share of the target; the option is `--size`.
    Size(Space),
    /// A share of the target in percent; the option is `--percent`.
    Percent(u8),
}

impl Length {
    /// The length and the option that sets it.
    pub(super) fn parts(self) -> (Option<Space>, &'static str) {
        match self {
            Length::ToEnd => (None, "--size"),
            Length::Size(space) => (Some(space), "--size"),
            Length::Percent(percent) => (Some(Space::Percent(percent)), "--percent"),
        }
    }
}
