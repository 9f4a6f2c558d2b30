//! Stalls: times without completions although requests were in flight.

use crate::caution::{grouped, span};
use crate::findings::{TimeRange, moment};
use iosonar_plan::Op;
use serde::{Deserialize, Serialize};

/// What stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// Nothing at all completed while several requests were in flight: empty space below the slow requests of a sonar.
    Lash,
    /// Nothing of one operation completed, while the other went on.
    Needle,
    /// Requests of one operation piled up and completed together, while others of the same operation went on.
    Queue,
    /// Nothing completed, but a single request is all that was in flight: it flies above the others.
    Hang,
}

/// A time without completions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionStall {
    /// What stood still.
    pub kind: StallKind,
    /// The operation that stood still; `None` if everything did.
    pub op: Option<Op>,
    /// From the last completion before it (or the first submission into an idle target) to the next.
    pub range: TimeRange,
    /// Reads that were submitted before its end and completed at its end or later.
    pub held_reads: u64,
    /// The same for writes.
    pub held_writes: u64,
    /// From its end until the last of those was done.
    pub drain_ns: u64,
    /// Longest latency among those.
    pub longest_latency_ns: u64,
    /// Evidence: gaps between completions longer than this count as stalls in this run.
    pub threshold_ns: u64,
}

impl CompletionStall {
    /// Requests that it held.
    pub fn held(&self) -> u64 {
        self.held_reads + self.held_writes
    }

    /// In one plain sentence, without a number.
    pub fn sentence(&self) -> String {
        let what = match (self.kind, self.op) {
            (StallKind::Lash, _) => "nothing completed (lash)".to_string(),
            (StallKind::Hang, _) => "the only request in flight hung".to_string(),
            (StallKind::Needle, Some(op)) => {
                format!("no {} completed, the others went on (needle)", op.name())
            }
            (StallKind::Queue, Some(op)) => {
                format!("{}s piled up and completed together, others went on (needle)", op.name())
            }
            (_, None) => "requests piled up (needle)".to_string(),
        };
        let held = match (self.held_reads, self.held_writes) {
            (reads, 0) => format!("{} held, reads", grouped(reads)),
            (0, writes) => format!("{} held, writes", grouped(writes)),
            (reads, writes) => format!(
                "{} held, {} reads and {} writes",
                grouped(reads + writes),
                grouped(reads),
                grouped(writes)
            ),
        };
        format!(
            "at {} for {}: {what}, {held}, worked off after {}, longest latency {}",
            moment(self.range.from_ns),
            span(self.range.length_ns()),
            span(self.drain_ns),
            span(self.longest_latency_ns)
        )
    }
}
