//! First and last times of a run.

use iosonar_archive::{Marks, Record};
use serde::{Deserialize, Serialize};

/// First and last due time, and last completion; on the run's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Least due time; absent without requests.
    pub first_due_ns: Option<u64>,
    /// Greatest due time.
    pub last_due_ns: Option<u64>,
    /// Greatest completion time, failed requests included; absent if nothing completed.
    pub last_completed_ns: Option<u64>,
    /// Last due time or completion of the ramp; absent without a ramp. The other times are those of requests after the
    /// ramp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_end_ns: Option<u64>,
}

impl Span {
    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        let completed = record.completed.map(|c| c.0);
        if record.marks.has(Marks::RAMP) {
            self.ramp_end_ns = self.ramp_end_ns.max(completed.max(Some(record.due.0)));
            return;
        }
        let due = record.due.0;
        self.first_due_ns = Some(self.first_due_ns.map_or(due, |first| first.min(due)));
        self.last_due_ns = self.last_due_ns.max(Some(due));
        self.last_completed_ns = self.last_completed_ns.max(completed);
    }

    /// The span of both.
    pub fn merge(&mut self, other: &Span) {
        self.first_due_ns = [self.first_due_ns, other.first_due_ns].into_iter().flatten().min();
        self.last_due_ns = self.last_due_ns.max(other.last_due_ns);
        self.last_completed_ns = self.last_completed_ns.max(other.last_completed_ns);
        self.ramp_end_ns = self.ramp_end_ns.max(other.ramp_end_ns);
    }

    /// Last due time or completion, including the ramp; 0 for an empty run.
    pub fn end_ns(&self) -> u64 {
        self.last_due_ns.max(self.last_completed_ns).max(self.ramp_end_ns).unwrap_or(0)
    }

    /// From the first due time to the last completion; `None` if that time is empty.
    pub fn duration_ns(&self) -> Option<u64> {
        self.last_completed_ns?.checked_sub(self.first_due_ns?).filter(|d| *d > 0)
    }

    /// From the first due time to the last; `None` if all were due at once.
    pub fn demanded_ns(&self) -> Option<u64> {
        self.last_due_ns?.checked_sub(self.first_due_ns?).filter(|d| *d > 0)
    }
}
