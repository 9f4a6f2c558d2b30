//! Counts of requests, of how they ended, and of their special features.

use iosonar_archive::{Marks, Outcome, Record};
use iosonar_plan::Direction;
use serde::{Deserialize, Serialize};

/// Counts of requests. `total` = `completed` + `failed` + `dropped` + `cancelled`; the ramp is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Every request of the window, without the ramp.
    pub total: u64,
    /// They transferred all their bytes.
    pub completed: u64,
    /// The kernel refused them, or they stayed short.
    pub failed: u64,
    /// The overlap policy dropped them.
    pub dropped: u64,
    /// The run was stopped before they could be submitted.
    pub cancelled: u64,
    /// They waited on the push-back list.
    pub pushed: u64,
    /// They waited for a conflict under `order`.
    pub ordered: u64,
    /// Their address lay beyond the target and was wrapped.
    pub wrapped: u64,
    /// They would have crossed the end of the target and were moved down.
    pub at_border: u64,
    /// They were widened to whole logical blocks.
    pub rounded: u64,
    /// They transferred less than asked at least once.
    pub short: u64,
    /// They belonged to the ramp before the measured time, and are excluded from all other figures.
    pub ramp: u64,
    /// Requests of the ramp that the kernel refused, or that stayed short.
    pub ramp_failed: u64,
    /// Bytes that the source requested, of all requests.
    pub demanded_bytes: u64,
    /// Bytes that completed requests transferred.
    pub transferred_bytes: u64,
    /// Writes whose data had to be on stable storage when they completed (FUA).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fua: u64,
    /// Writes before which the target's write cache was emptied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub preflush: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Counts::default()
    }

    /// Counts a record.
    pub fn add(&mut self, record: &Record) {
        if record.marks.has(Marks::RAMP) {
            self.ramp += 1;
            self.ramp_failed += u64::from(record.outcome == Outcome::Failed);
            return;
        }
        self.total += 1;
        match record.outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Dropped => self.dropped += 1,
            Outcome::Cancelled => self.cancelled += 1,
        }
        // Without branches: this is done for every request.
        let one_if = |mark| u64::from(record.marks.has(mark));
        self.pushed += one_if(Marks::PUSHED);
        self.ordered += one_if(Marks::ORDERED);
        self.wrapped += one_if(Marks::WRAPPED);
        self.at_border += one_if(Marks::AT_BORDER);
        self.rounded += one_if(Marks::ROUNDED);
        self.short += one_if(Marks::SHORT);
        self.fua += one_if(Marks::FUA);
        self.preflush += one_if(Marks::PREFLUSH);
        self.demanded_bytes = self.demanded_bytes.saturating_add(record.requested.length);
        if record.is_completed() {
            let transferred = u64::try_from(record.result).unwrap_or(0);
            self.transferred_bytes = self.transferred_bytes.saturating_add(transferred);
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Counts) {
        self.total += other.total;
        self.completed += other.completed;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.cancelled += other.cancelled;
        self.pushed += other.pushed;
        self.ordered += other.ordered;
        self.wrapped += other.wrapped;
        self.at_border += other.at_border;
        self.rounded += other.rounded;
        self.short += other.short;
        self.fua += other.fua;
        self.preflush += other.preflush;
        self.ramp += other.ramp;
        self.ramp_failed += other.ramp_failed;
        self.demanded_bytes = self.demanded_bytes.saturating_add(other.demanded_bytes);
        self.transferred_bytes = self.transferred_bytes.saturating_add(other.transferred_bytes);
    }
}

/// Counts of requests that transfer data, and of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CountsByOp {
    /// Reads and writes.
    pub all: Counts,
    /// Reads.
    pub read: Counts,
    /// Writes.
    pub write: Counts,
    /// Requests that transfer no data, such as flushes. They are not in `all`.
    #[serde(default, skip_serializing_if = "Counts::is_empty")]
    pub other: Counts,
}

impl CountsByOp {
    /// The counts of each operation, and the sum of those that transfer data.
    pub fn of(read: Counts, write: Counts, other: Counts) -> CountsByOp {
        let mut all = read;
        all.merge(&write);
        CountsByOp { all, read, write, other }
    }

    /// Requests of every operation, including the ramp: one per record.
    pub fn records(&self) -> u64 {
        self.all.total + self.all.ramp + self.other.total + self.other.ramp
    }

    /// Failed requests of every operation.
    pub fn failed(&self) -> u64 {
        self.all.failed + self.other.failed
    }
}

/// Counts of one target: each request is counted once, sums are made when they are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct TargetCounts {
    read: Counts,
    write: Counts,
    other: Counts,
}

impl TargetCounts {
    pub(crate) fn add(&mut self, record: &Record) {
        match record.op.direction() {
            Direction::Read => self.read.add(record),
            Direction::Write => self.write.add(record),
            Direction::Other => self.other.add(record),
        }
    }

    pub(crate) fn merge(&mut self, other: &TargetCounts) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.other.merge(&other.other);
    }

    pub(crate) fn by_op(&self) -> CountsByOp {
        CountsByOp::of(self.read, self.write, self.other)
    }
}
