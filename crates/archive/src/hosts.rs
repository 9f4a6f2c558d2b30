//! Facts about the machines of a run on several.

use serde::{Deserialize, Serialize};

/// A process of a run on several machines, or that on this one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostRun {
    /// Name in the plan; absent for this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Numbers of its targets.
    pub targets: Vec<u16>,
    /// Its clock, as read from this machine; absent where both are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
    /// When it was lost; absent if it reported the end of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<HostLost>,
    /// Directory of its records on that machine, where they stay until they are collected; absent if the result has them, or if it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
}

/// The clock of another machine, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostClock {
    /// How exactly it is known.
    #[serde(flatten)]
    pub known: ClockFacts,
    /// The exchanges that decide; times between them are interpolated.
    pub readings: Vec<ClockReading>,
}

/// How exactly the clock of another machine is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Number of exchanges of a message and its answer.
    pub exchanges: u64,
    /// The shortest of them.
    pub least_round_trip_ns: u64,
    /// Greatest error of a time of the run on that machine, in the run's time.
    pub max_error_ns: u64,
    /// Greatest error of the agreed start of the first phase.
    pub start_error_ns: u64,
    /// Its rate against that of this machine, in parts per billion; absent if the run is too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ppb: Option<i64>,
    /// Time of a step that neither the error nor a drift of 500 ppm explains; no order of events is known after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped_at_ns: Option<u64>,
}

/// A reading of another machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockReading {
    /// Time of the run; negative before its start.
    pub at_ns: i64,
    /// The other clock minus that of this machine.
    pub ahead_ns: i64,
    /// Greatest error of `ahead_ns`.
    pub error_ns: u64,
}

/// A machine that was lost during the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostLost {
    /// Time of the run.
    pub at_ns: u64,
    /// Reason.
    pub why: String,
    /// Directory of its records on that machine, if it has reported one, until they are collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// Whether its records were collected later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_collected: bool,
}
