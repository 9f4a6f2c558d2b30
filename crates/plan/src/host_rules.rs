//! Rules of a run on several machines.

use crate::Nanos;
use crate::strict::is_default;
use serde::{Deserialize, Serialize};

/// Requirements on the machines of a run, and the behavior when one is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRules {
    /// Behavior of the other hosts when one is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: LostHost,
    /// The run is refused if the clock of a host is not known to this time before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clock_error: Option<Nanos>,
    /// Source of the differences between the clocks of the hosts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock: HostClocks,
    /// Contents of the result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub collect: Collect,
}

/// Source of the differences between the clocks of the machines of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostClocks {
    /// Messages there and back.
    #[default]
    Exchanges,
    /// Their wall clocks, which chrony or PTP keeps equal, with the error that each kernel knows.
    System,
}

/// Contents of the result of a run on several machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collect {
    /// All records.
    #[default]
    Records,
    /// Counts for summary and pictures. The records stay on the hosts, until they are collected.
    Summary,
}

/// Behavior of the other hosts when one is lost: its connection ends, or it gives no sign of life for 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostHost {
    /// They stop issuing, and what is recorded is kept.
    #[default]
    Stop,
    /// They continue to the end of the plan.
    Continue,
}
