//! Which run.

use std::path::PathBuf;

/// Latencies of a run by the place of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Archive of a run on files, or the result of the experiment on layout.
    pub result: PathBuf,
}
