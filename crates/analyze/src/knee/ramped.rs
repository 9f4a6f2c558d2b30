//! The figure of blkreplay's `determine-ramped-overload-iops.sh`: crude, for comparison with old results.

use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

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

/// Finds it in two readings of the records, in any order: first [`find`](RampedOverloadFinder::find), then
/// [`count`](RampedOverloadFinder::count). Requests that were pushed back do not count, as the original sees only upper-case
/// letters; its result lists requests as they complete.
#[derive(Debug, Clone, Copy, Default)]
pub struct RampedOverloadFinder {
    first: Option<Nanos>,
    found: RampedOverload,
}

impl RampedOverloadFinder {
    fn completion(record: &Record) -> Option<Nanos> {
        let counts = matches!(record.outcome, Outcome::Completed | Outcome::Failed) && !record.is_pushed();
        record.completed.filter(|_| counts)
    }

    /// Finds the first late request.
    pub fn find(&mut self, record: &Record) {
        if record.delay().is_some_and(|delay| delay > LATE)
            && let Some(completed) = Self::completion(record)
        {
            self.first = Some(self.first.map_or(completed, |first| first.min(completed)));
        }
    }

    /// Counts requests that complete from then on.
    pub fn count(&mut self, record: &Record) {
        if let (Some(first), Some(completed)) = (self.first, Self::completion(record))
            && completed >= first
        {
            self.found.ops += 1;
            self.found.from_ns = first.0;
            self.found.to_ns = self.found.to_ns.max(completed.0);
        }
    }

    /// The result; zeros if nothing was late.
    pub fn result(&self) -> RampedOverload {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::Marks;

    #[test]
    fn it_counts_from_the_first_late_one_on() {
        let record = |due: u64, delay_ms: u64, pushed: bool| Record {
            due: Nanos(due * 1_000_000_000),
            submitted: Some(Nanos(due * 1_000_000_000 + delay_ms * 1_000_000)),
            completed: Some(Nanos(due * 1_000_000_000 + (delay_ms + 500) * 1_000_000)),
            marks: Marks::default().with(Marks::PUSHED, pushed),
            ..Record::default()
        };
        let all = [
            record(1, 0, false),
            record(5, 3000, false),
            record(2, 1001, false),
            record(0, 2000, true),
            record(3, 900, false),
        ];
        let mut finder = RampedOverloadFinder::default();
        all.iter().for_each(|r| finder.find(r));
        all.iter().for_each(|r| finder.count(r));
        let found = finder.result();
        assert_eq!((found.ops, found.from_ns, found.to_ns), (3, 3_501_000_000, 8_500_000_000));
        assert!((found.iops().unwrap() - 3.0 / 4.999).abs() < 1e-9);
        assert_eq!(RampedOverloadFinder::default().result().iops(), None);
    }
}
