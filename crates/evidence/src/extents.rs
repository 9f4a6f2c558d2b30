//! Layout of the used range of a file on its device.

use serde::{Deserialize, Serialize};

/// Extents of the used range of a file, with contiguous neighbours merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtentRuns {
    /// Number of contiguous runs.
    pub runs: u64,
    /// Bytes of the runs.
    pub bytes: u64,
    /// Bytes shared with another file (a reflink copy, a snapshot): a write goes elsewhere.
    #[serde(default)]
    pub shared_bytes: u64,
    /// Request size of the next two fields.
    pub request_bytes: u64,
    /// Number of requests of this size in the range, one after the other from its start.
    pub requests: u64,
    /// Number of requests that span two runs.
    pub crossing: u64,
    /// Whether only the first extents were read.
    #[serde(default)]
    pub is_cut: bool,
}

impl ExtentRuns {
    /// Mean length of a run in bytes; 0 without runs.
    pub fn mean_bytes(self) -> u64 {
        self.bytes.checked_div(self.runs).unwrap_or(0)
    }

    /// Share of the requests that span two runs.
    pub fn crossing_share(self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.crossing as f64 / self.requests as f64 }
    }
}
