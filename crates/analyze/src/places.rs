//! Location of requests: their range on each target, the bytes touched, and their alignment.

use crate::fits::{ByTarget, Fits};
use crate::mix::mix;
use iosonar_archive::Record;
use iosonar_plan::{Alignments, Direction};
use serde::{Deserialize, Serialize};

/// Places kept in the sketch; the estimate of their number is right to 6 %.
const KEPT: usize = 256;
/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The range of requests on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The lowest byte.
    pub low: u64,
    /// The end of the highest one.
    pub high: u64,
}

impl Reach {
    const NOTHING: Reach = Reach { low: u64::MAX, high: 0 };

    /// Bytes from the lowest to the highest.
    pub fn span(self) -> u64 {
        self.high.saturating_sub(self.low)
    }

    fn merge(&mut self, other: Reach) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// Location and alignment of reads and writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// One for each target, and one for records of targets that the plan does not have.
    reach: Vec<Reach>,
    distinct: Distinct,
    reads: Alignments,
    writes: Alignments,
}

impl Places {
    pub(crate) fn new(targets: usize) -> Places {
        Places {
            reach: vec![Reach::NOTHING; targets + 1],
            distinct: Distinct::default(),
            reads: Alignments::default(),
            writes: Alignments::default(),
        }
    }

    /// Counts a record.
    pub(crate) fn add(&mut self, record: &Record) {
        let (extent, direction) = (record.executed, record.op.direction());
        if record.completed.is_none() || extent.length == 0 || direction == Direction::Other {
            return;
        }
        let unknown = self.reach.len() - 1;
        let target = usize::from(record.target).min(unknown);
        self.reach[target].merge(Reach { low: extent.offset, high: extent.end() });
        self.distinct.add(record.target, extent.offset, extent.length);
        let aligned = if direction == Direction::Write { &mut self.writes } else { &mut self.reads };
        aligned.add(extent);
    }

    pub(crate) fn merge(&mut self, other: &Places) {
        self.reach.iter_mut().zip(&other.reach).for_each(|(mine, theirs)| mine.merge(*theirs));
        self.distinct.merge(&other.distinct);
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
    }

    /// The range of requests on a target; `None` if empty.
    pub fn reach_of(&self, target: usize) -> Option<Reach> {
        self.reach.get(target).copied().filter(|reach| reach.span() > 0)
    }

    /// Upper bound of the bytes touched, each counted once: the distinct places of requests (estimated above 256 of them), limited to the
    /// span from the lowest to the highest byte. Requests that overlap in part count twice.
    pub fn touched_bytes(&self) -> u64 {
        let spans = self.reach.iter().map(|reach| reach.span()).fold(0, u64::saturating_add);
        spans.min(self.distinct.bytes())
    }

    /// How the reads are aligned.
    pub fn reads(&self) -> &Alignments {
        &self.reads
    }

    /// How the writes are aligned.
    pub fn writes(&self) -> &Alignments {
        &self.writes
    }
}

/// Distinct places of requests, by the smallest of their hashes (bottom-k sketch).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Distinct {
    /// Hash and length of a place, in the order of the hashes.
    kept: Vec<(u64, u64)>,
}

impl Fits for Places {
    fn fits(&self, own: &Self) -> bool {
        self.reach.len() == own.reach.len() && self.distinct.kept.len() <= KEPT
    }
}

impl ByTarget for Places {
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool {
        self.reach.iter().enumerate().all(|(target, reach)| is_own(target) || *reach == Reach::NOTHING)
    }
}

/// Spreads the bits of a number over all 64 (the output function of SplitMix64): regular places must not have regular hashes.
fn mixed(number: u64) -> u64 {
    mix(number.wrapping_add(GOLDEN))
}

impl Distinct {
    fn add(&mut self, target: u16, offset: u64, length: u64) {
        let hash = mixed(mixed(offset ^ u64::from(target) << 48).wrapping_add(length));
        self.keep(hash, length);
    }

    fn keep(&mut self, hash: u64, length: u64) {
        let is_full = self.kept.len() == KEPT;
        if is_full && self.kept.last().is_some_and(|(most, _)| hash > *most) {
            return;
        }
        let Err(place) = self.kept.binary_search_by_key(&hash, |(hash, _)| *hash) else { return };
        if is_full {
            self.kept.pop();
        }
        self.kept.insert(place, (hash, length));
    }

    fn merge(&mut self, other: &Distinct) {
        other.kept.iter().for_each(|(hash, length)| self.keep(*hash, *length));
    }

    /// Sum of the lengths of all distinct places.
    fn bytes(&self) -> u64 {
        let sum = self.kept.iter().map(|(_, length)| *length).fold(0, u64::saturating_add);
        let Some((most, _)) = self.kept.last().filter(|_| self.kept.len() == KEPT) else { return sum };
        // Share of the hash range that the kept places cover.
        let share = *most as f64 / u64::MAX as f64;
        (sum as f64 * (KEPT - 1) as f64 / KEPT as f64 / share) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Extent, Nanos, Op};

    fn record(op: Op, offset: u64, length: u64) -> Record {
        let (submitted, completed) = (Some(Nanos(1)), Some(Nanos(2)));
        Record { op, submitted, completed, executed: Extent { offset, length }, ..Record::default() }
    }

    fn of(records: impl Iterator<Item = Record>) -> Places {
        let mut places = Places::new(1);
        records.for_each(|record| places.add(&record));
        places
    }

    #[test]
    fn revisited_location_counts_once() {
        let places = of((0..10_000).map(|n| record(Op::Read, n % 100 * 4096, 4096)));
        assert_eq!(places.touched_bytes(), 100 * 4096);
        assert_eq!(places.reach_of(0), Some(Reach { low: 0, high: 100 * 4096 }));
        assert_eq!((places.reach_of(1), of(std::iter::empty()).touched_bytes()), (None, 0));
    }

    #[test]
    fn many_locations_are_estimated() {
        let spread = |n: u64| n.wrapping_mul(7_919) % 100_003 * (1 << 20);
        let places = of((0..50_000).map(|n| record(Op::Read, spread(n % 20_000), 4096)));
        let share = places.touched_bytes() as f64 / (20_000.0 * 4096.0);
        assert!((0.8..1.2).contains(&share), "{share}");
        // Overlapping requests touch no more than the range that they lie in.
        let dense = of((0..50_000).map(|n| record(Op::Read, n * 512 % (1 << 20), 65_536)));
        assert!(dense.touched_bytes() <= (1 << 20) + 65_536);
    }

    #[test]
    fn tracks_alignment_of_reads_and_writes_separately() {
        let writes = [(0, 4096), (4096, 512), (512, 4096), (8192, 8192)];
        let reads = [record(Op::Read, 512, 512)];
        let places =
            of(writes.map(|(offset, length)| record(Op::Write, offset, length)).into_iter().chain(reads));
        assert_eq!((places.writes().count(), places.writes().misaligned(4096)), (4, 2));
        assert_eq!((places.reads().count(), places.reads().misaligned(4096)), (1, 1));
    }

    #[test]
    fn separately_read_parts_merge_to_the_whole() {
        let records: Vec<Record> = (0..5_000).map(|n| record(Op::Write, n * 37 % 991 * 512, 512)).collect();
        let whole = of(records.iter().cloned());
        let (early, late) = records.split_at(700);
        let (mut merged, late) = (of(early.iter().cloned()), of(late.iter().cloned()));
        merged.merge(&late);
        assert_eq!(merged, whole);
    }
}
