//! Periods: what comes again and again at equal distances.

use crate::caution::span;
use crate::findings::TimeRange;
use serde::{Deserialize, Serialize};

/// In which quantity the period shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodQuantity {
    /// Number of completed requests.
    Completions,
    /// Share of requests that are slower than the run's 99th percentile.
    SlowShare,
}

/// Who makes the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodCause {
    /// The demanded requests have it too.
    Load,
    /// The load does not have it, so it comes from the target or from what lies above it: a guess.
    Target,
}

/// Something that comes at equal distances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// From one time to the next.
    pub period_ns: u64,
    /// Where it shows.
    pub quantity: PeriodQuantity,
    /// Who makes it.
    pub cause: PeriodCause,
    /// Evidence: autocorrelation at this distance; 1 is perfect repetition.
    pub strength: f64,
    /// Evidence: what noise without a period stays below.
    pub threshold: f64,
    /// Autocorrelation of the demanded requests at the same distance.
    pub demanded_strength: Option<f64>,
    /// The time that was looked at.
    pub range: TimeRange,
}

impl Period {
    /// In one plain sentence.
    pub fn sentence(&self) -> String {
        let what = match self.quantity {
            PeriodQuantity::Completions => "the number of completed requests",
            PeriodQuantity::SlowShare => "the share of slow requests",
        };
        let cause = match self.cause {
            PeriodCause::Load => "the load itself has this period",
            PeriodCause::Target => "the load does not have it; this is a guess from the completions alone",
        };
        format!(
            "{what} repeats every {} (autocorrelation {:.2}): {cause}",
            span(self.period_ns),
            self.strength
        )
    }
}
