//! How the program's own cost is measured.

use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Number and length of rounds, and the place of the file that they read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Rounds of each measurement.
    pub rounds: u32,
    /// Length of a round, 10 ms to 1 s.
    pub length: Nanos,
    /// Directory of the file, which is removed at the end; `None` takes that of temporary files.
    pub dir: Option<PathBuf>,
}

impl Default for Question {
    fn default() -> Question {
        Question { rounds: 5, length: Nanos(50_000_000), dir: None }
    }
}
