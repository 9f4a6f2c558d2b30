//! Which files.

use std::path::PathBuf;

/// Files in the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Files, and directories that are walked.
    pub files: Vec<PathBuf>,
}
