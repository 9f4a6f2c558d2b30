//! The most requests that waited at the same time.

use crate::Reorder;
use crate::sweep::Sweep;
use iosonar_archive::{Marks, Record};

/// A request that was submitted after it was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    due_ns: u64,
    submitted_ns: u64,
}

impl Wait {
    /// Of a record; none if it did not wait, or belongs to the ramp.
    pub fn of(record: &Record) -> Option<Wait> {
        let (due_ns, submitted_ns) = (record.due.0, record.submitted?.0);
        let counts = submitted_ns > due_ns && !record.marks.has(Marks::RAMP);
        counts.then_some(Wait { due_ns, submitted_ns })
    }
}

/// Follows requests that waited, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backlog {
    order: Reorder<u64, u64>,
    inside: Sweep,
    most: u64,
}

impl Backlog {
    /// Counts one more, in about the order of the records.
    pub(crate) fn add(&mut self, wait: Wait) {
        let Backlog { order, inside, most } = self;
        order.push(wait.due_ns, wait.submitted_ns, &mut |due, submitted| {
            *most = inside.enter(due, submitted).max(*most);
        });
    }

    /// The most at the same time. Exact up to 131 072, then right to 1 %.
    pub(crate) fn most(mut self) -> u64 {
        let Backlog { order, inside, most } = &mut self;
        order.finish(&mut |due, submitted| *most = inside.enter(due, submitted).max(*most));
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_many_as_a_slow_count_says(spans in prop::collection::vec((0u64..50, 1u64..90), 1..80)) {
            let mut backlog = Backlog::default();
            spans.iter().for_each(|(due, length)| backlog.add(Wait { due_ns: *due, submitted_ns: due + length }));
            let at = |now: u64| spans.iter().filter(|(due, length)| *due <= now && now < due + length).count() as u64;
            prop_assert_eq!(backlog.most(), (0..50).map(at).max().unwrap());
        }
    }
}
