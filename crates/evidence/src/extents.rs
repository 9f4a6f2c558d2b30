//! How the used range of a file lies on its device.

use serde::{Deserialize, Serialize};

/// Extents of the used range of a file, neighbours that lie side by side on the device joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtentRuns {
    /// Runs of bytes that lie side by side.
    pub runs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that another file shares (a copy by reference, a snapshot): a write puts them elsewhere.
    #[serde(default)]
    pub shared_bytes: u64,
    /// Size of the requests that the other two figures are about.
    pub request_bytes: u64,
    /// Places of requests of this size, one after the other from the start of the range.
    pub requests: u64,
    /// Those that reach from one run into another.
    pub crossing: u64,
    /// There are more extents: the first ones alone were looked at.
    #[serde(default)]
    pub is_cut: bool,
}

impl ExtentRuns {
    /// Mean length of a run in bytes; 0 where there is none.
    pub fn mean_bytes(self) -> u64 {
        self.bytes.checked_div(self.runs).unwrap_or(0)
    }

    /// The share of the requests that reach from one run into another.
    pub fn crossing_share(self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.crossing as f64 / self.requests as f64 }
    }
}
