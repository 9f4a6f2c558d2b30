//! The most requests that waited, or were in flight, at the same time.

use crate::Reorder;
use crate::sweep::Sweep;
use iosonar_archive::{Marks, Record};
use serde::{Deserialize, Serialize};

/// The time that a request waited, or was in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    from_ns: u64,
    to_ns: u64,
}

impl Wait {
    /// The time from due to submitted; `None` if the request did not wait or belongs to the ramp.
    pub fn of(record: &Record) -> Option<Wait> {
        let (due_ns, submitted_ns) = (record.due.0, record.submitted?.0);
        let counts = submitted_ns > due_ns && !record.marks.has(Marks::RAMP);
        counts.then_some(Wait { from_ns: due_ns, to_ns: submitted_ns })
    }

    /// The time from submitted to completed; `None` if incomplete or in the ramp.
    pub fn in_flight(record: &Record) -> Option<Wait> {
        let (from_ns, to_ns) = (record.submitted?.0, record.completed?.0);
        (!record.marks.has(Marks::RAMP)).then_some(Wait { from_ns, to_ns })
    }
}

/// Follows requests that waited, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backlog {
    order: Reorder<u64, u64>,
    inside: Sweep,
    peak: MostAtOnce,
}

/// The most requests at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MostAtOnce {
    /// How many. Exact up to 131 072, then right to 1 %.
    pub requests: u64,
    /// When this number was first reached.
    pub at_ns: u64,
}

impl MostAtOnce {
    fn see(&mut self, requests: u64, at_ns: u64) {
        if requests > self.requests {
            *self = MostAtOnce { requests, at_ns };
        }
    }
}

impl Backlog {
    /// Counts one more request, approximately in record order.
    pub(crate) fn add(&mut self, wait: Wait) {
        let Backlog { order, inside, peak } = self;
        order.push(wait.from_ns, wait.to_ns, &mut |from, to| peak.see(inside.enter(from, to), from));
    }

    /// The most at the same time.
    pub(crate) fn peak(self) -> MostAtOnce {
        self.exactly().0
    }

    /// Like [`Backlog::peak`], with a flag for exactness.
    pub(crate) fn exactly(mut self) -> (MostAtOnce, bool) {
        let Backlog { order, inside, peak } = &mut self;
        order.finish(&mut |from, to| peak.see(inside.enter(from, to), from));
        (*peak, order.late() == 0 && inside.is_exact())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn matches_brute_force_count(spans in prop::collection::vec((0u64..50, 1u64..90), 1..80)) {
            let mut backlog = Backlog::default();
            spans.iter().for_each(|(due, length)| backlog.add(Wait { from_ns: *due, to_ns: due + length }));
            let at = |now: u64| spans.iter().filter(|(due, length)| *due <= now && now < due + length).count() as u64;
            let peak = backlog.peak();
            prop_assert_eq!(peak.requests, (0..50).map(at).max().unwrap());
            prop_assert_eq!(peak.requests, at(peak.at_ns));
        }
    }
}
