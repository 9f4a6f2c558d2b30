//! A window of time.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// Half-open window of a load's own time: `start ≤ t < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// First time inside.
    #[serde(default)]
    pub start: Nanos,
    /// First time after it; `None` means up to the end of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Nanos>,
}

impl Window {
    /// Whether `time` lies inside.
    pub fn contains(&self, time: Nanos) -> bool {
        time >= self.start && !self.is_behind(time)
    }

    /// Whether `time` lies at or beyond the end.
    pub fn is_behind(&self, time: Nanos) -> bool {
        self.end.is_some_and(|end| time >= end)
    }
}
