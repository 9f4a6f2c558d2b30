//! A tally of records that pass through memory once, in the order of the archive: while they are encoded, for example.
//!
//! It equals the result of [`pass`](crate::pass()) on the same records.

use crate::backlog::{Backlog, Wait};
use crate::{Limits, Tally};
use iosonar_archive::Record;

/// Figures of the records seen so far, in bounded memory.
#[derive(Debug, Clone)]
pub struct Passing {
    tally: Tally,
    backlog: Backlog,
    records: u64,
}

impl Passing {
    /// An empty tally of a run with `targets` targets.
    pub fn new(targets: usize, limits: &Limits) -> Passing {
        Passing { tally: Tally::new(targets, limits), backlog: Backlog::default(), records: 0 }
    }

    /// Adds the next records.
    pub fn add(&mut self, records: &[Record]) {
        self.records += records.len() as u64;
        for record in records {
            self.tally.add(record);
            if let Some(wait) = Wait::of(record) {
                self.backlog.add(wait);
            }
        }
    }

    /// Number of records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The tally of all of them.
    pub fn finish(self) -> Tally {
        let mut tally = self.tally;
        tally.most_waiting = Some(self.backlog.peak().requests);
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, any_records};
    use crate::{Wanted, pass};
    use proptest::prelude::*;

    fn check(records: &[Record], piece: usize) {
        let limits = Limits::default();
        let wanted = Wanted { tally: true, ..Wanted::nothing() };
        let read = pass(&records.to_vec(), 2, &limits, &wanted).unwrap();
        let mut passing = Passing::new(2, &limits);
        records.chunks(piece).for_each(|some| passing.add(some));
        assert_eq!(passing.records(), read.records);
        assert_eq!(Some(passing.finish()), read.tally);
    }

    #[test]
    fn live_run_has_the_same_tally_as_its_records() {
        [1, 7, 128, 5000].into_iter().for_each(|piece| check(&Fixture::mixed().records, piece));
        check(&[], 1);
    }

    proptest! {
        #[test]
        fn live_tally_equals_tally_of_any_records(records in any_records(), piece in 1usize..200) {
            check(&records, piece);
        }
    }
}
