//! A part of the run's time.

use serde::{Deserialize, Serialize};

/// A part of the run, on its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// Start.
    pub from_ns: u64,
    /// End, not before the start.
    pub to_ns: u64,
}

impl TimeRange {
    /// How long it is.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Length of the overlap with `other`.
    pub fn overlap_ns(&self, other: TimeRange) -> u64 {
        self.to_ns.min(other.to_ns).saturating_sub(self.from_ns.max(other.from_ns))
    }
}
