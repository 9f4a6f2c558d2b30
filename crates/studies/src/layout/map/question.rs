//! Which files, and what is kept of their maps.

use std::path::PathBuf;

/// Extent maps of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Files, and directories that are walked.
    pub files: Vec<PathBuf>,
    /// Whether files are flushed first; otherwise blocks that were not written yet have no address.
    pub flushes: bool,
    /// Whether all extents are kept, or only their figures.
    pub keeps_extents: bool,
}
