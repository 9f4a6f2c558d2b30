//! A run cut into blocks of equal time, each with its counts: the input of comparisons.

use super::histogram::LogHistogram;
use crate::Records;
use crate::mix::mix;
use crate::slices::{Merge, Slices};
use iosonar_archive::{Fields, Marks, Outcome, Record};
use iosonar_plan::Op;
use std::io;

/// Most blocks.
pub(super) const BLOCKS: usize = 256;
/// Width of the first blocks as a power of two: a microsecond.
const FIRST_SHIFT: u32 = 10;

/// Times that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Quantity {
    /// submitted to completed.
    Latency = 0,
    /// due to submitted.
    Delay = 1,
    /// due to completed.
    Response = 2,
}

impl Quantity {
    /// All of them, in the order of tables.
    pub const ALL: [Quantity; 3] = [Quantity::Latency, Quantity::Delay, Quantity::Response];

    /// The word in names of figures.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Latency => "latency",
            Quantity::Delay => "delay",
            Quantity::Response => "response",
        }
    }

    fn of(self, record: &Record) -> Option<u64> {
        let time = match self {
            Quantity::Latency => record.latency(),
            Quantity::Delay => record.delay(),
            Quantity::Response => record.response(),
        };
        time.map(|t| t.0)
    }
}

/// Which requests are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Every completed request that transfers data.
    All,
    /// Completed reads.
    Read,
    /// Completed writes.
    Write,
    /// Completed flushes.
    Flush,
}

/// Requests that are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Reads.
    Read = 0,
    /// Writes.
    Write = 1,
    /// Flushes.
    Flush = 2,
}

impl Kind {
    /// The kind of an operation; `None` if it is not compared.
    fn of(op: Op) -> Option<Kind> {
        match op {
            Op::Read => Some(Kind::Read),
            Op::Write => Some(Kind::Write),
            op if op.is_flush() => Some(Kind::Flush),
            _ => None,
        }
    }
}

impl Who {
    /// All of them, in the order of tables.
    pub const ALL: [Who; 4] = [Who::All, Who::Read, Who::Write, Who::Flush];

    /// The prefix in names of figures; empty for all requests.
    pub fn prefix(self) -> &'static str {
        match self {
            Who::All => "",
            Who::Read => "read.",
            Who::Write => "write.",
            Who::Flush => "flush.",
        }
    }

    pub(super) fn kinds(self) -> &'static [Kind] {
        match self {
            Who::All => &[Kind::Read, Kind::Write],
            Who::Read => &[Kind::Read],
            Who::Write => &[Kind::Write],
            Who::Flush => &[Kind::Flush],
        }
    }
}

/// Times of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Times {
    pub(super) histogram: LogHistogram,
    pub(super) sum: u128,
    pub(super) max: u64,
}

impl Times {
    fn add(&mut self, ns: u64) {
        self.histogram.add(ns);
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    pub(super) fn merge(&mut self, other: &Times) {
        self.histogram.merge(&other.histogram);
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// Requests that completed within a block.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Done {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// One block: the times of the requests that began in it, and what completed in it, by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Block {
    times: [[Times; 3]; 3],
    done: [Done; 3],
}

impl Block {
    pub(super) fn times(&self, quantity: Quantity, kind: Kind) -> &Times {
        &self.times[quantity as usize][kind as usize]
    }

    pub(super) fn done(&self, kind: Kind) -> Done {
        self.done[kind as usize]
    }
}

impl Merge for Block {
    fn merge(&mut self, other: &Block) {
        let (mine, theirs) = (self.times.as_flattened_mut(), other.times.as_flattened());
        mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.done.iter_mut().zip(&other.done) {
            mine.requests += theirs.requests;
            mine.bytes = mine.bytes.saturating_add(theirs.bytes);
        }
    }
}

/// The blocks of a run, and its totals.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    by_due: bool,
    blocks: Slices<Block, BLOCKS, FIRST_SHIFT>,
    /// Requests that transfer data, after the ramp.
    pub(super) requests: u64,
    pub(super) completed: u64,
    pub(super) failed: u64,
    first_ns: u64,
    last_ns: u64,
    issued: u64,
}

impl Blocks {
    /// Empty blocks. `by_due`: a request belongs to the block of its due time, else of its submission.
    fn new(by_due: bool) -> Blocks {
        Blocks {
            by_due,
            blocks: Slices::default(),
            requests: 0,
            completed: 0,
            failed: 0,
            first_ns: u64::MAX,
            last_ns: 0,
            issued: 0,
        }
    }

    /// Reads a run once. `by_due`: its requests have a timetable.
    pub fn read(records: &dyn Records, by_due: bool) -> io::Result<Blocks> {
        let wanted = [Fields::OP, Fields::OUTCOME, Fields::DUE, Fields::SUBMITTED, Fields::COMPLETED]
            .into_iter()
            .chain([Fields::REQUESTED, Fields::RESULT, Fields::MARKS, Fields::ORIGIN])
            .fold(Fields::SEQUENCE, Fields::and);
        let mut blocks = Blocks::new(by_due);
        for part in 0..records.parts() {
            records.read_part(part, wanted, &mut |piece| piece.iter().for_each(|r| blocks.add(r)))?;
        }
        Ok(blocks)
    }

    fn add(&mut self, record: &Record) {
        if record.marks.has(Marks::RAMP) {
            return;
        }
        self.issued = self.issued.wrapping_add(identity(record));
        let Some(kind) = Kind::of(record.op) else { return };
        let transfers = u64::from(kind != Kind::Flush);
        self.requests += transfers;
        if record.outcome == Outcome::Failed {
            self.failed += transfers;
        }
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        if !record.is_completed() {
            return;
        }
        self.completed += transfers;
        let begin = if self.by_due { record.due.0 } else { submitted.0 };
        self.first_ns = self.first_ns.min(begin);
        self.last_ns = self.last_ns.max(completed.0.max(begin));
        let block = self.blocks.at(begin);
        for quantity in Quantity::ALL {
            quantity
                .of(record)
                .into_iter()
                .for_each(|ns| block.times[quantity as usize][kind as usize].add(ns));
        }
        let done = &mut self.blocks.at(completed.0).done[kind as usize];
        done.requests += 1;
        done.bytes = done.bytes.saturating_add(u64::try_from(record.result).unwrap_or(0));
    }

    /// The blocks in use, from time zero on.
    pub(super) fn list(&self) -> &[Block] {
        self.blocks.list()
    }

    /// These blocks as wide as `other`'s, if those are wider.
    pub(super) fn as_wide_as(&self, other: &Blocks) -> Blocks {
        let mut wide = self.clone();
        wide.blocks.widen_to(&other.blocks);
        wide
    }

    /// Drops everything after the first `blocks` blocks.
    pub(super) fn cut_off(&mut self, blocks: usize) {
        self.blocks.truncate(blocks);
        self.last_ns = self.last_ns.min(blocks as u64 * self.width_ns());
        self.first_ns = self.first_ns.min(self.last_ns);
    }

    /// Bytes that were transferred.
    pub(super) fn bytes(&self) -> u64 {
        self.list().iter().flat_map(|block| block.done).map(|done| done.bytes).sum()
    }

    /// Width of a block in nanoseconds.
    pub(super) fn width_ns(&self) -> u64 {
        self.blocks.width()
    }

    /// From the first beginning to the last completion, in nanoseconds; 0 if nothing completed.
    pub(super) fn duration_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// First and last time at which anything completed began or ended.
    pub(super) fn span_ns(&self) -> (u64, u64) {
        (self.first_ns.min(self.last_ns), self.last_ns)
    }

    /// Equal for runs that executed the same requests: a sum over all of them, so that their order in the file does
    /// not count.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// Times of the whole run.
    pub(super) fn total(&self, quantity: Quantity, who: Who) -> Times {
        self.sum(0..self.list().len(), quantity, who)
    }

    /// Times of some blocks together; those that do not exist hold nothing.
    pub(super) fn sum(&self, blocks: std::ops::Range<usize>, quantity: Quantity, who: Who) -> Times {
        let mut sum = Times::default();
        let all = self.list();
        let range = blocks.start.min(all.len())..blocks.end.min(all.len());
        for block in &all[range] {
            who.kinds().iter().for_each(|kind| sum.merge(block.times(quantity, *kind)));
        }
        sum
    }
}

/// A hash of what a request was to do.
fn identity(record: &Record) -> u64 {
    let words = [
        u64::from(record.phase) << 48 | u64::from(record.target) << 32 | u64::from(record.pass),
        record.sequence,
        record.op.index() as u64,
        record.requested.offset,
        record.requested.length,
    ];
    words
        .iter()
        .fold(1, |hash, word| mix(hash ^ mix(word.wrapping_add(0x9e37_79b9_7f4a_7c15))).wrapping_add(hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_records, record};
    use proptest::prelude::*;

    #[test]
    fn blocks_widen_to_a_bounded_number() {
        let records: Vec<Record> = (0..5_000u64)
            .map(|i| record(i, Op::Read, i * 1_000_000, i * 1_000_000, i * 1_000_000 + 80_000))
            .collect();
        let blocks = Blocks::read(&records, true).unwrap();
        assert!((BLOCKS / 2..=BLOCKS).contains(&blocks.list().len()), "{}", blocks.list().len());
        assert_eq!(blocks.width_ns(), 1 << 25);
        let total = blocks.total(Quantity::Latency, Who::All);
        assert_eq!((total.histogram.count(), total.max, total.sum), (5_000, 80_000, 400_000_000));
        assert_eq!(blocks.total(Quantity::Latency, Who::Write).histogram.count(), 0);
    }

    proptest! {
        #[test]
        fn any_order_yields_the_same_blocks(records in any_records(), by_due: bool) {
            let forth = Blocks::read(&records, by_due).unwrap();
            let back: Vec<Record> = records.iter().rev().copied().collect();
            prop_assert_eq!(&Blocks::read(&back, by_due).unwrap().issued(), &forth.issued());
            prop_assert_eq!(Blocks::read(&back, by_due).unwrap().total(Quantity::Response, Who::All).sum,
                forth.total(Quantity::Response, Who::All).sum);
            let counted: u64 = [Who::Read, Who::Write].iter().map(|w| forth.total(Quantity::Latency, *w).histogram.count()).sum();
            prop_assert_eq!(counted, forth.completed);
            let done: u64 = forth.list().iter().map(|b| b.done(Kind::Read).requests + b.done(Kind::Write).requests).sum();
            prop_assert_eq!(done, forth.completed);
        }
    }
}
