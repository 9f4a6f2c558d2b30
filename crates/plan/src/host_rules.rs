//! Rules of a run on several machines.

use crate::Nanos;
use crate::strict::is_default;
use serde::{Deserialize, Serialize};

/// What is required of the machines of a run, and what becomes of it when one is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRules {
    /// What the others do when a host is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: LostHost,
    /// The run is refused if the clock of a host is not known to this time before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clock_error: Option<Nanos>,
}

/// What the other hosts do when one is lost: its connection ends, or it gives no sign of life for 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostHost {
    /// They stop issuing, and what is recorded is kept.
    #[default]
    Stop,
    /// They go on to the end of the plan.
    Continue,
}
