//! The figure of blkreplay's `determine-ramped-overload-iops.sh`: crude, for comparison with old results.

use crate::DISPLACEMENT;
use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Requests that complete from the first one on that was issued more than a second late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RampedOverload {
    /// Number of requests.
    pub ops: u64,
    /// Earliest completion.
    pub from_ns: u64,
    /// Latest completion.
    pub to_ns: u64,
}

impl RampedOverload {
    /// `ops` ÷ (`to` − `from`); `None` if nothing was late, or all ended at once.
    pub fn iops(&self) -> Option<f64> {
        let span = self.to_ns.saturating_sub(self.from_ns);
        (span > 0).then(|| self.ops as f64 / (span as f64 / 1e9))
    }
}

/// A delay above this is overload.
const LATE: Nanos = Nanos::SECOND;

/// Finds it in one reading of the records, which are roughly in the order of their completions. Requests that were pushed back do not
/// count, as the original sees only upper-case letters; its result lists requests as they complete.
#[derive(Debug, Clone, Default)]
pub struct RampedOverloadFinder {
    /// Earliest completion of a late request.
    first: Option<Nanos>,
    /// Counts from `first` on.
    found: RampedOverload,
    /// Latest completions before `first`: an earlier late request may still follow.
    recent: VecDeque<Nanos>,
    /// The latest completion that was removed from `recent`.
    forgotten: Option<Nanos>,
}

impl RampedOverloadFinder {
    fn completion(record: &Record) -> Option<Nanos> {
        let counts = matches!(record.outcome, Outcome::Completed | Outcome::Failed) && !record.is_pushed();
        record.completed.filter(|_| counts)
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        let Some(completed) = Self::completion(record) else { return };
        let is_late = record.delay().is_some_and(|delay| delay > LATE);
        if is_late && self.first.is_none_or(|first| completed < first) {
            self.begin_at(completed);
        }
        match self.first {
            Some(first) if completed >= first => self.count(completed),
            _ => self.remember(completed),
        }
    }

    /// Counts from an earlier completion on.
    fn begin_at(&mut self, first: Nanos) {
        self.first = Some(first);
        self.found.from_ns = first.0;
        let recent = std::mem::take(&mut self.recent);
        let (counted, before): (VecDeque<Nanos>, _) = recent.into_iter().partition(|at| *at >= first);
        counted.into_iter().for_each(|at| self.count(at));
        self.recent = before;
    }

    fn count(&mut self, completed: Nanos) {
        self.found.ops += 1;
        self.found.to_ns = self.found.to_ns.max(completed.0);
    }

    fn remember(&mut self, completed: Nanos) {
        if self.recent.len() == DISPLACEMENT {
            self.forgotten = self.forgotten.max(self.recent.pop_front());
        }
        self.recent.push_back(completed);
    }

    /// The result; zeros if nothing was late. `None` if requests completed so far out of order that [`RampedOverloadFinder::again`] has to
    /// read them once more.
    pub fn result(&self) -> Option<RampedOverload> {
        let misses_some = self.first.is_some_and(|first| self.forgotten.is_some_and(|at| at >= first));
        (!misses_some).then_some(self.found)
    }

    /// A finder for another reading of the same records, in any order. Its result is exact.
    #[must_use]
    pub fn again(&self) -> RampedOverloadFinder {
        let from_ns = self.first.map_or(0, |first| first.0);
        RampedOverloadFinder {
            first: self.first,
            found: RampedOverload { from_ns, ..RampedOverload::default() },
            ..RampedOverloadFinder::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::Marks;
    use proptest::prelude::*;

    fn record(due: u64, delay_ms: u64, pushed: bool) -> Record {
        Record {
            due: Nanos(due * 1_000_000_000),
            submitted: Some(Nanos(due * 1_000_000_000 + delay_ms * 1_000_000)),
            completed: Some(Nanos(due * 1_000_000_000 + (delay_ms + 500) * 1_000_000)),
            marks: Marks::default().with(Marks::PUSHED, pushed),
            ..Record::default()
        }
    }

    fn finder_of(records: &[Record]) -> RampedOverloadFinder {
        let mut finder = RampedOverloadFinder::default();
        records.iter().for_each(|record| finder.add(record));
        finder
    }

    #[test]
    fn counts_from_the_first_late_request() {
        let all = [
            record(1, 0, false),
            record(5, 3000, false),
            record(2, 1001, false),
            record(0, 2000, true),
            record(3, 900, false),
        ];
        let found = finder_of(&all).result().unwrap();
        assert_eq!((found.ops, found.from_ns, found.to_ns), (3, 3_501_000_000, 8_500_000_000));
        assert!((found.iops().unwrap() - 3.0 / 4.999).abs() < 1e-9);
        assert_eq!(finder_of(&[]).result().unwrap().iops(), None);
    }

    #[test]
    fn a_late_request_that_comes_too_late_asks_for_another_reading() {
        // The late request completed before all others, and its record is the last one.
        let mut all = vec![record(9, 0, false); DISPLACEMENT + 2];
        all.push(record(1, 2000, false));
        let finder = finder_of(&all);
        assert_eq!(finder.result(), None);
        let mut again = finder.again();
        all.iter().for_each(|record| again.add(record));
        let found = again.result().unwrap();
        assert_eq!((found.ops, found.from_ns, found.to_ns), (all.len() as u64, 3_500_000_000, 9_500_000_000));
    }

    proptest! {
        #[test]
        fn one_reading_in_any_order_finds_the_same_as_two(
            times in prop::collection::vec((0u64..20, 0u64..3000, any::<bool>()), 0..200),
        ) {
            let all: Vec<Record> = times.into_iter().map(|(due, ms, pushed)| record(due, ms, pushed)).collect();
            let counted = || all.iter().filter(|record| !record.is_pushed());
            let late = counted().filter(|record| record.delay().is_some_and(|delay| delay > LATE));
            let first = late.filter_map(|record| record.completed).min();
            let ends: Vec<Nanos> =
                counted().filter_map(|record| record.completed).filter(|at| Some(*at) >= first).collect();
            let expected = first.map_or_else(RampedOverload::default, |first| RampedOverload {
                ops: ends.len() as u64,
                from_ns: first.0,
                to_ns: ends.iter().max().map_or(0, |at| at.0),
            });
            prop_assert_eq!(finder_of(&all).result(), Some(expected));
        }
    }
}
