//! A sample of requests in whole windows of time, in bounded memory: what a request has to do with those just before and after it can be
//! told without the order of all of them.
//!
//! Windows are chosen by a hash of their number. When too many requests are kept, half of the windows are given up. The choice depends on
//! the requests alone, so parts that were sampled apart merge to what one pass yields.

use crate::contrasts::Group;
use crate::sketch::Sketch;
use iosonar_archive::{Outcome, Record};
use iosonar_plan::{Direction, Extent, Nanos, Op};
use std::collections::BTreeMap;

/// Width of a window as a power of two: 4 ms.
const WINDOW: u32 = 22;
/// Most requests that are kept.
const MOST: usize = 1 << 15;
/// Longest time between two submissions of one batch; the page's viewer has the same.
const BATCH_NS: u64 = 100_000;

/// A completed read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sampled {
    target: u16,
    submitted_ns: u64,
    is_write: bool,
    executed: (u64, u64),
    latency_ns: u64,
}

/// Requests of some windows of the run, by their submission.
#[derive(Debug, Clone, Default)]
pub struct RequestSample {
    /// Of `1 << level` windows one is kept.
    level: u32,
    requests: Vec<Sampled>,
}

/// Latencies of requests of one operation and one size, by the number of requests that were submitted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batches {
    /// Reads or writes.
    pub op: Op,
    /// By the number of requests in a batch, ascending: powers of two. A request alone is a batch of 1.
    pub groups: Vec<Group>,
}

impl PartialEq for RequestSample {
    /// Whether the same requests are kept, in whatever order they came.
    fn eq(&self, other: &RequestSample) -> bool {
        self.level == other.level && self.in_order() == other.in_order()
    }
}

impl RequestSample {
    /// Counts a completed read or write.
    pub(crate) fn add(&mut self, record: &Record, latency_ns: u64) {
        let Some(submitted) = record.submitted else { return };
        if !self.is_kept(submitted.0) {
            return;
        }
        self.requests.push(Sampled {
            target: record.target,
            submitted_ns: submitted.0,
            is_write: record.op.direction() == Direction::Write,
            executed: (record.executed.offset, record.executed.length),
            latency_ns,
        });
        self.fit();
    }

    pub(crate) fn merge(&mut self, other: &RequestSample) {
        self.raise_to(self.level.max(other.level));
        let kept = other.requests.iter().filter(|one| is_kept(self.level, one.submitted_ns));
        self.requests.extend(kept);
        self.fit();
    }

    /// The kept requests as records, in the order of submission on each target.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.in_order().into_iter().map(|one| {
            let (offset, length) = one.executed;
            let executed = Extent { offset, length };
            Record {
                target: one.target,
                op: if one.is_write { Op::Write } else { Op::Read },
                due: Nanos(one.submitted_ns),
                submitted: Some(Nanos(one.submitted_ns)),
                completed: Some(Nanos(one.submitted_ns.saturating_add(one.latency_ns))),
                requested: executed,
                executed,
                result: length as i64,
                outcome: Outcome::Completed,
                ..Record::default()
            }
        })
    }

    /// Latencies by batch, of the most frequent operation and size alone: others take longer whatever comes with them.
    pub fn batches(&self) -> Option<Batches> {
        let requests = self.in_order();
        let kind = |one: &Sampled| (one.is_write, one.executed.1.max(1).ilog2());
        let mut kinds: BTreeMap<(bool, u32), u64> = BTreeMap::new();
        requests.iter().for_each(|one| *kinds.entry(kind(one)).or_default() += 1);
        let (most, _) = kinds.into_iter().max_by_key(|(_, count)| *count)?;
        let mut by_size: BTreeMap<u32, (u64, u64, Sketch<16>)> = BTreeMap::new();
        for batch in requests.chunk_by(is_one_batch).filter(|batch| self.is_whole(batch)) {
            let size = batch.len() as u64;
            let (least, greatest, latency) =
                by_size.entry(size.ilog2()).or_insert((size, size, Sketch::default()));
            (*least, *greatest) = (size.min(*least), size.max(*greatest));
            batch.iter().filter(|one| kind(one) == most).for_each(|one| latency.add(one.latency_ns));
        }
        let group = |(from, to, latency): (u64, u64, Sketch<16>)| Group {
            from,
            to,
            requests: latency.count(),
            p50_ns: latency.median(),
        };
        let op = if most.0 { Op::Write } else { Op::Read };
        let groups = by_size.into_values().map(group).filter(|group| group.requests > 0);
        Some(Batches { op, groups: groups.collect() })
    }

    /// Whether a batch lies inside of its window, so that all of it is known.
    fn is_whole(&self, batch: &[Sampled]) -> bool {
        let from_begin = |one: &Sampled| one.submitted_ns % (1 << WINDOW);
        let is_inside = |one: &Sampled| (BATCH_NS..(1 << WINDOW) - BATCH_NS).contains(&from_begin(one));
        self.level == 0 || batch.first().is_some_and(is_inside) && batch.last().is_some_and(is_inside)
    }

    fn in_order(&self) -> Vec<Sampled> {
        let mut requests = self.requests.clone();
        requests.sort_unstable();
        requests
    }

    fn is_kept(&self, submitted_ns: u64) -> bool {
        is_kept(self.level, submitted_ns)
    }

    /// Gives windows up until the rest fits.
    fn fit(&mut self) {
        while self.requests.len() > MOST {
            self.raise_to(self.level + 1);
        }
    }

    #[cold]
    fn raise_to(&mut self, level: u32) {
        self.level = level;
        self.requests.retain(|one| is_kept(level, one.submitted_ns));
    }
}

/// Whether the window of a time is kept: its hash begins with as many zeros.
fn is_kept(level: u32, submitted_ns: u64) -> bool {
    // By the golden ratio, as Knuth recommends (The Art of Computer Programming 3, section 6.4).
    let hash = ((submitted_ns >> WINDOW) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    level == 0 || hash.leading_zeros() >= level
}

fn is_one_batch(one: &Sampled, next: &Sampled) -> bool {
    one.target == next.target && next.submitted_ns - one.submitted_ns <= BATCH_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use proptest::prelude::*;

    fn of(submitted: impl IntoIterator<Item = (u64, u64)>) -> RequestSample {
        let mut sample = RequestSample::default();
        for (at, latency) in submitted {
            sample.add(&record(1, Op::Read, at, at, at + latency), latency);
        }
        sample
    }

    #[test]
    fn batches_are_requests_within_100_us_of_each_other() {
        let at = [0, 200_000, 250_000, 350_000, 500_000, 900_000, 990_000];
        let batches = of(at.map(|at| (at, at / 1000 + 10))).batches().unwrap();
        let groups: Vec<(u64, u64, u64)> =
            batches.groups.iter().map(|group| (group.from, group.to, group.requests)).collect();
        assert_eq!((batches.op, groups), (Op::Read, vec![(1, 1, 2), (2, 3, 5)]));
    }

    /// A million requests in batches of ten.
    #[test]
    fn long_runs_keep_whole_windows() {
        let submitted = |number: u64| number / 10 * 1_000_000 + number % 10 * 1_000;
        let sample = of((0..1_000_000).map(|number| (submitted(number), 100)));
        let kept = sample.requests.len();
        assert!((MOST / 4..=MOST).contains(&kept), "{kept}");
        let [batches] = sample.batches().unwrap().groups[..] else { panic!("only batches of ten") };
        assert_eq!((batches.from, batches.to), (10, 10));
        // Of four batches in a window, one may lie at its border.
        assert!(batches.requests as usize >= kept / 2, "{} of {kept}", batches.requests);
    }

    #[test]
    fn one_endless_batch_is_known_not_to_be_whole() {
        let sample = of((0..1_000_000).map(|number| (number * 1_000, 100)));
        assert_eq!(sample.batches().unwrap().groups, []);
        assert_eq!(RequestSample::default().batches(), None);
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(seed: u64, split in 0usize..100_000, step in 1u64..100_000) {
            let requests: Vec<(u64, u64)> = (0..100_000).map(|n| (n * step ^ seed >> 40, n)).collect();
            let (left, right) = requests.split_at(split);
            let mut merged = of(right.iter().copied());
            merged.merge(&of(left.iter().copied()));
            prop_assert!(merged == of(requests.iter().copied()));
            prop_assert!(merged.requests.len() <= MOST);
        }
    }
}
