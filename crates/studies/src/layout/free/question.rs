//! Which file system.

use std::path::PathBuf;

/// Free space of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Directory or file on the file system.
    pub path: PathBuf,
    /// Whether the file system is flushed first: data in memory gets its place, and freed space is free.
    pub flushes: bool,
}
