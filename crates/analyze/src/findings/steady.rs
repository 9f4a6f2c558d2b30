//! Steady state: whether the level stayed the same, and from when on.

use crate::findings::{TimeRange, moment, percent};
use serde::{Deserialize, Serialize};

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyQuantity {
    /// Completed requests per second.
    Requests,
    /// Transferred bytes per second.
    Bytes,
    /// Mean logarithm of the latency.
    Latency,
}

/// What the split test says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitResult {
    /// No change of the level shown.
    Steady,
    /// The level changed by more than 15 %.
    Changed,
    /// The level changed by more than 50 %.
    ChangedMuch,
}

/// The greatest change of the level at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitTest {
    /// What was looked at.
    pub quantity: SteadyQuantity,
    /// What it says.
    pub result: SplitResult,
    /// Equal time bins that were compared.
    pub bins: usize,
    /// The time that parts both levels best.
    pub at_ns: u64,
    /// Median level of the bins before: requests or bytes per second, or nanoseconds.
    pub before: f64,
    /// Median level of the bins behind.
    pub behind: f64,
    /// Evidence: difference of the levels in units of its standard error; above 6 is a change.
    pub t: f64,
    /// The greater level divided by the smaller; absent if the smaller is 0.
    pub level_ratio: Option<f64>,
}

/// The last five rounds of a quantity, by the rule of the SNIA SSS PTS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SniaWindow {
    /// What was looked at.
    pub quantity: SteadyQuantity,
    /// First window of five rounds that was steady: number of its first round, from 0.
    pub first_steady_round: Option<u32>,
    /// Whether the last five rounds were steady.
    pub is_steady_at_end: bool,
    /// Of the last five rounds: greatest minus least, divided by the mean; at most 0.2.
    pub range_over_mean: f64,
    /// Of the last five rounds: rise or fall of the fitted line over them, divided by the mean; at most 0.1.
    pub slope_over_mean: f64,
}

/// The SNIA rule, for information: it accepts windows of runs that are not steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SniaSteady {
    /// Length of a round.
    pub round_ns: u64,
    /// Number of rounds.
    pub rounds: u32,
    /// One for each quantity.
    pub windows: Vec<SniaWindow>,
}

/// Whether the level stayed the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// The time that was looked at.
    pub range: TimeRange,
    /// From when on the run was steady by the split test, in all quantities; `None` if never for half a minute of bins.
    pub steady_from_ns: Option<u64>,
    /// One for each quantity.
    pub split: Vec<SplitTest>,
    /// The rule of the SNIA; absent where there are too few requests.
    pub snia: Option<SniaSteady>,
}

impl Steady {
    /// The worst result of the split tests.
    pub fn result(&self) -> SplitResult {
        self.split.iter().map(|s| s.result).max().unwrap_or(SplitResult::Steady)
    }

    /// In one plain sentence.
    pub fn sentence(&self) -> String {
        let worst =
            self.split.iter().filter(|s| s.result != SplitResult::Steady).max_by(|a, b| a.t.total_cmp(&b.t));
        let Some(split) = worst else { return "steady from the start (split test)".to_string() };
        let what = match split.quantity {
            SteadyQuantity::Requests => "completed requests/s",
            SteadyQuantity::Bytes => "transferred bytes/s",
            SteadyQuantity::Latency => "the latency",
        };
        let change = match split.level_ratio {
            Some(_) if split.before > 0.0 => format!("changed to {}", percent(split.behind / split.before)),
            _ => "began or ended".to_string(),
        };
        let from = match self.steady_from_ns {
            Some(ns) => format!("steady from {} on", moment(ns)),
            None => "never steady".to_string(),
        };
        format!("not steady: at {} {what} {change}; {from} (split test)", moment(split.at_ns))
    }
}
