//! Collapse: from when on the target cannot follow its timetable.

use crate::caution::{grouped, three_digits};
use crate::findings::{TimeRange, moment};
use serde::{Deserialize, Serialize};

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadKind {
    /// The backlog grows until the last request is due.
    Collapse,
    /// The demand fell, and the backlog was worked off.
    Recovered,
}

/// A time in which more was demanded than delivered, and what that means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// How it ends.
    pub kind: OverloadKind,
    /// From when on it could not follow; until the last due time, or until the backlog was worked off.
    pub range: TimeRange,
    /// Requests per second that were demanded at that time.
    pub demanded_per_second: f64,
    /// Requests per second that were delivered: 5 % of the windows of that time had no more.
    pub delivered_low_per_second: f64,
    /// 95 % of the windows had no more.
    pub delivered_high_per_second: f64,
    /// Requests that were due and not completed at the end of that time (of a recovered one: the most at any time).
    pub backlog_requests: u64,
    /// Evidence: slope of the backlog (median of all slopes between two points, Theil-Sen).
    pub backlog_slope_per_second: f64,
    /// How much later each second's requests are than those of the second before: 0 to 1, and above if the demand grows.
    pub lost_seconds_per_second: f64,
}

impl Overload {
    /// In one plain sentence.
    pub fn sentence(&self) -> String {
        let rates = format!(
            "demanded {} requests/s, delivered {} to {} (5 % to 95 % of the windows)",
            rate(self.demanded_per_second),
            rate(self.delivered_low_per_second),
            rate(self.delivered_high_per_second)
        );
        let (from, to, backlog) =
            (moment(self.range.from_ns), moment(self.range.to_ns), grouped(self.backlog_requests));
        match self.kind {
            OverloadKind::Collapse => format!(
                "cannot follow after {from}: {rates}; {backlog} requests behind at the end, {} s lost each second",
                three_digits(self.lost_seconds_per_second)
            ),
            OverloadKind::Recovered => format!(
                "overloaded from {from} to {to}, then recovered: {rates}; at most {backlog} requests behind"
            ),
        }
    }
}

fn rate(per_second: f64) -> String {
    if per_second >= 1000.0 { grouped(per_second.round() as u64) } else { three_digits(per_second) }
}
