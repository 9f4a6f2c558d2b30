//! The free ranges, counted.

use iosonar_archive::TOOL;
use iosonar_layout::{FreeJson, FreeReport};

/// Free space of a file system.
#[derive(Debug)]
pub struct Answer {
    /// The free ranges, counted.
    pub report: FreeReport,
}

impl Answer {
    /// The answer as JSON.
    pub fn json(&self) -> FreeJson<'_> {
        FreeJson { tool: TOOL, report: &self.report }
    }
}
