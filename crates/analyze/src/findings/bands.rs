//! Bands: modes of the latency. Each is a way that requests take: a cache, a tier, the medium.

use crate::caution::{grouped, span};
use crate::findings::{TimeRange, percent};
use iosonar_plan::Op;
use serde::{Deserialize, Serialize};

/// A mode of the latency of one operation. Requests that a stall held are in none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyBand {
    /// `A` for the fastest of the operation, then `B`, and so on.
    pub letter: char,
    /// Reads or writes.
    pub op: Op,
    /// Where it begins: the valley to the faster band, or the fastest request.
    pub low_ns: u64,
    /// Where its requests are densest on the logarithmic scale.
    pub peak_ns: u64,
    /// Where it ends.
    pub high_ns: u64,
    /// Requests in it.
    pub requests: u64,
    /// They are this part of the operation's completed requests, those held by stalls left out; 0 to 1.
    pub share: f64,
    /// The same part among the requests that were submitted in the first third of the time.
    pub first_third_share: Option<f64>,
    /// The same part in the last third: a cache that warms up gives its fast band more.
    pub last_third_share: Option<f64>,
    /// The same part in 60 equal parts of the time; absent where nothing was submitted.
    pub share_over_time: Vec<Option<f64>>,
    /// First to last submission, to a time column.
    pub range: TimeRange,
}

impl LatencyBand {
    /// What a picture writes beside it: `A 90.0 µs, 34 %`.
    pub fn label(&self) -> String {
        format!("{} {}, {}", self.letter, span(self.peak_ns), percent(self.share))
    }

    /// In one plain sentence.
    pub fn sentence(&self) -> String {
        let (low, peak, high) = (span(self.low_ns), span(self.peak_ns), span(self.high_ns));
        let mut text = format!(
            "{}s, band {}: around {peak} ({low} to {high}), {} of them, {} requests",
            self.op.name(),
            self.letter,
            percent(self.share),
            grouped(self.requests)
        );
        if let (Some(first), Some(last)) = (self.first_third_share, self.last_third_share)
            && (first - last).abs() >= 0.1
        {
            text += &format!(
                "; {} in the first third of the time, {} in the last",
                percent(first),
                percent(last)
            );
        }
        text
    }
}
