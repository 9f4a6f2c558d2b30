//! The rate while all targets were active: the window from the last target's start to the first target's end.
//!
//! A target starts with the first submission and ends with the last completion of a request that transferred data (XDD 6.5 manual,
//! 5.5, which means targets, not queue threads). A target that transferred nothing in a pass does not count in it. Records are read
//! twice: once to find the windows ([`SkewWindows`]), once to count transfers inside ([`Deskew`]). Each request counts with the
//! share of its time that lies in the window, so that those across an edge are right at any queue depth. Memory grows with targets
//! and passes only.

use iosonar_archive::Record;
use iosonar_plan::Nanos;
use std::collections::BTreeMap;

/// Number of a phase, and of a pass in it, both from 0.
pub type PassOf = (u16, u32);

fn pass_of(record: &Record) -> PassOf {
    (record.phase, record.pass)
}

/// First reading: when each target started and ended in each pass.
#[derive(Debug, Clone, Default)]
pub struct SkewWindows {
    /// Start and end, by phase and pass, and target.
    targets: BTreeMap<(PassOf, u16), (Nanos, Nanos)>,
}

impl SkewWindows {
    /// Adds a record, in any order.
    pub fn add(&mut self, record: &Record) {
        let Some(done) = Transfer::of(record) else { return };
        let span = self.targets.entry((pass_of(record), record.target)).or_insert((done.start, done.end));
        *span = (span.0.min(done.start), span.1.max(done.end));
    }

    /// The windows, ready for the second reading.
    pub fn measure(&self) -> Deskew {
        let mut passes: BTreeMap<PassOf, PassSkew> = BTreeMap::new();
        for (&(pass, _), &(start, end)) in &self.targets {
            let skew = passes.entry(pass).or_insert_with(|| PassSkew::one(start, end));
            skew.earliest_start = skew.earliest_start.min(start);
            skew.latest_start = skew.latest_start.max(start);
            skew.earliest_end = skew.earliest_end.min(end);
            skew.latest_end = skew.latest_end.max(end);
        }
        Deskew { passes }
    }
}

/// Second reading: transfers inside the windows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deskew {
    passes: BTreeMap<PassOf, PassSkew>,
}

impl Deskew {
    /// Adds a record, in any order: the same ones as in the first reading.
    pub fn add(&mut self, record: &Record) {
        let Some(done) = Transfer::of(record) else { return };
        if let Some(skew) = self.passes.get_mut(&pass_of(record)) {
            skew.bytes = skew.bytes.saturating_add(skew.share(&done));
        }
    }

    /// Every pass with transfers, with phase and pass from 0, in order.
    pub fn passes(&self) -> impl Iterator<Item = (PassOf, &PassSkew)> {
        self.passes.iter().map(|(pass, skew)| (*pass, skew))
    }

    /// The skew of a pass of the first phase, from 0.
    pub fn pass(&self, pass: u32) -> Option<&PassSkew> {
        self.passes.get(&(0, pass))
    }
}

/// Start and end of the targets of a pass, and their transfers while all were active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassSkew {
    /// Start of the first target.
    pub earliest_start: Nanos,
    /// Start of the last target: the window starts.
    pub latest_start: Nanos,
    /// End of the first target: the window ends.
    pub earliest_end: Nanos,
    /// End of the last target.
    pub latest_end: Nanos,
    /// Bytes inside the window.
    pub bytes: u64,
}

impl PassSkew {
    fn one(start: Nanos, end: Nanos) -> PassSkew {
        PassSkew { earliest_start: start, latest_start: start, earliest_end: end, latest_end: end, bytes: 0 }
    }

    /// Length of the window; `None` if the skew is too high: one target ended before another started.
    pub fn window(&self) -> Option<Nanos> {
        (self.latest_start < self.earliest_end).then(|| self.earliest_end.saturating_sub(self.latest_start))
    }

    /// From the first target's start to the last target's.
    pub fn front(&self) -> Nanos {
        self.latest_start.saturating_sub(self.earliest_start)
    }

    /// From the first target's end to the last target's.
    pub fn back(&self) -> Nanos {
        self.latest_end.saturating_sub(self.earliest_end)
    }

    /// Bytes of a transfer that fall into the window, as if they flowed evenly.
    fn share(&self, done: &Transfer) -> u64 {
        let (from, to) = (done.start.max(self.latest_start), done.end.min(self.earliest_end));
        if self.window().is_none() || from > to {
            return 0;
        }
        let inside = u128::from(to.saturating_sub(from).0);
        let whole = u128::from(done.end.saturating_sub(done.start).0);
        if inside == whole {
            return done.bytes;
        }
        // Bytes are below 2^63 and times below 2^64, so this fits; and the share is at most the bytes.
        ((u128::from(done.bytes) * inside + whole / 2) / whole) as u64
    }
}

/// A request that moved data.
struct Transfer {
    start: Nanos,
    end: Nanos,
    bytes: u64,
}

impl Transfer {
    fn of(record: &Record) -> Option<Transfer> {
        let bytes = u64::try_from(record.result).ok().filter(|bytes| *bytes > 0)?;
        let start = record.submitted?;
        let end = record.completed?.max(start);
        Some(Transfer { start, end, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(target: u16, start: u64, end: u64, bytes: i64) -> Record {
        let (submitted, completed) = (Some(Nanos(start)), Some(Nanos(end)));
        Record { target, submitted, completed, result: bytes, ..Record::default() }
    }

    fn deskewed(records: &[Record]) -> Deskew {
        let mut windows = SkewWindows::default();
        records.iter().for_each(|r| windows.add(r));
        let mut deskew = windows.measure();
        records.iter().for_each(|r| deskew.add(r));
        deskew
    }

    #[test]
    fn requests_across_an_edge_count_partially() {
        // Target 0: 0..100 and 100..200; target 1: 50..150. The window is 50..150.
        let deskew = deskewed(&[record(0, 0, 100, 1000), record(0, 100, 200, 4000), record(1, 50, 150, 77)]);
        let skew = deskew.pass(0).unwrap();
        assert_eq!((skew.front(), skew.back(), skew.window()), (Nanos(50), Nanos(50), Some(Nanos(100))));
        assert_eq!(skew.bytes, 500 + 2000 + 77);
    }

    #[test]
    fn requests_across_both_edges_count_partially() {
        // Two queue threads of target 0 at the same time, one over the whole pass.
        let deskew = deskewed(&[record(0, 0, 400, 4000), record(0, 0, 200, 2000), record(1, 100, 300, 10)]);
        assert_eq!(deskew.pass(0).unwrap().bytes, 2000 + 1000 + 10);
    }

    #[test]
    fn a_single_target_has_no_skew() {
        let deskew = deskewed(&[record(0, 5, 10, 3), record(0, 10, 10, 4), record(0, 10, 30, 5)]);
        let skew = deskew.pass(0).unwrap();
        assert_eq!((skew.bytes, skew.window(), skew.front()), (12, Some(Nanos(25)), Nanos(0)));
    }

    #[test]
    fn targets_without_overlap_have_excessive_skew() {
        let deskew = deskewed(&[record(0, 0, 10, 5), record(1, 10, 20, 5)]);
        assert_eq!((deskew.pass(0).unwrap().window(), deskew.pass(0).unwrap().bytes), (None, 0));
    }

    #[test]
    fn ignores_requests_that_transferred_nothing() {
        let failed = record(1, 0, 500, -5);
        let waiting = Record { target: 2, result: 9, ..Record::default() };
        let deskew = deskewed(&[record(0, 10, 20, 5), failed, waiting]);
        assert_eq!(deskew.pass(0).unwrap().window(), Some(Nanos(10)));
        assert_eq!(deskew.passes().count(), 1);
    }

    proptest! {
        #[test]
        fn window_bytes_never_exceed_transferred_bytes(
            raw in prop::collection::vec((0u16..3, any::<u64>(), any::<u64>(), any::<i64>()), 0..20)
        ) {
            let records: Vec<Record> = raw.iter().map(|&(t, a, b, bytes)| record(t, a, b, bytes)).collect();
            let moved = records.iter().map(|r| r.result.max(0) as u128).sum::<u128>();
            for (_, skew) in deskewed(&records).passes() {
                prop_assert!(u128::from(skew.bytes) <= moved);
            }
        }
    }
}
