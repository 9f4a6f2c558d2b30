//! The latest records of a run: those of a time window, up to a maximum number.

use iosonar_archive::Record;
use iosonar_plan::Nanos;
use std::collections::VecDeque;

/// Records that ended within the last `window`, the latest `most` of them.
#[derive(Debug)]
pub struct Recent {
    window: Nanos,
    most: usize,
    /// In the order of the archive: approximately that of their ends.
    records: VecDeque<Record>,
    /// Records since the start of the run.
    all: u64,
    end: Nanos,
    /// The window starts here if there are more than `most` records in it.
    cut: Nanos,
}

impl Recent {
    pub fn new(window: Nanos, most: usize) -> Recent {
        Recent { window, most, records: VecDeque::new(), all: 0, end: Nanos(0), cut: Nanos(0) }
    }

    pub fn add(&mut self, record: &Record) {
        self.all += 1;
        self.end = self.end.max(end(record));
        if end(record) >= self.from() {
            self.records.push_back(*record);
        }
        if self.records.len() > self.most {
            let removed = self.records.pop_front();
            // Of requests that ended at the same time as a removed one, the figures would have a part.
            self.cut =
                self.cut.max(removed.map_or(Nanos(0), |removed| Nanos(end(&removed).0.saturating_add(1))));
        }
        let from = self.from();
        while self.records.front().is_some_and(|first| end(first) < from) {
            self.records.pop_front();
        }
    }

    /// Start of the window on the run's own clock.
    pub fn from(&self) -> Nanos {
        self.end.saturating_sub(self.window).max(self.cut)
    }

    /// End of the window: the latest event.
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Number of records since the start of the run.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// The records of the window.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let from = self.from();
        self.records.iter().filter(move |record| end(record) >= from)
    }
}

/// Time at which a request left the run.
fn end(record: &Record) -> Nanos {
    record.completed.unwrap_or(record.due)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, end: u64) -> Record {
        Record { sequence: number, due: Nanos(0), completed: Some(Nanos(end)), ..Record::default() }
    }

    fn numbers(recent: &Recent) -> Vec<u64> {
        recent.records().map(|record| record.sequence).collect()
    }

    #[test]
    fn records_before_the_window_are_dropped() {
        let mut recent = Recent::new(Nanos(10), 100);
        // The second is overtaken by the third, and the last is too old.
        for (number, end) in [(0, 5), (1, 8), (2, 15), (3, 12), (4, 19), (5, 3)] {
            recent.add(&record(number, end));
        }
        assert_eq!(numbers(&recent), [2, 3, 4]);
        assert_eq!((recent.from(), recent.end(), recent.all()), (Nanos(9), Nanos(19), 6));
    }

    #[test]
    fn memory_is_bounded_and_the_window_is_shorter_then() {
        let mut recent = Recent::new(Nanos(1000), 10);
        (0..100).for_each(|number| recent.add(&record(number, number / 2)));
        assert!(recent.records.len() <= 10);
        assert_eq!(numbers(&recent), (90..100).collect::<Vec<_>>());
        assert_eq!((recent.from(), recent.end(), recent.all()), (Nanos(45), Nanos(49), 100));
    }

    #[test]
    fn a_short_run_is_shown_from_its_start() {
        let mut recent = Recent::new(Nanos(1000), 10);
        recent.add(&record(0, 7));
        assert_eq!((recent.from(), recent.end(), numbers(&recent)), (Nanos(0), Nanos(7), vec![0]));
    }
}
