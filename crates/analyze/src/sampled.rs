//! A sample of requests in whole windows of time, in bounded memory: which requests take longer, by their size, their place, and those
//! that came just before and after them.
//!
//! Windows are chosen by a hash of their number. When too many requests are kept, half of the windows are given up. The choice depends on
//! the requests alone, so parts that were sampled apart merge to what one pass yields.

use crate::extents::{Groups, Slower};
use crate::fits::{ByTarget, Fits};
use iosonar_archive::{Marks, Outcome, Record};
use iosonar_plan::{Direction, Extent, Nanos, Op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Width of a window as a power of two: 4 ms.
const WINDOW: u32 = 22;
/// Most requests that are kept.
const MOST: usize = 1 << 15;
/// Most requests of all samples that are merged: as many as of some hosts.
const MOST_OF_ALL: usize = 8 * MOST;
/// Most requests of each sample, if there are very many.
const LEAST_OF_EACH: usize = MOST / 16;
/// Longest time between two submissions of one batch; the page's viewer has the same.
const BATCH_NS: u64 = 100_000;
/// A longer chain of submissions is a stream, and no batch.
const LONGEST_BATCH_NS: u64 = 1_000_000;
/// Batches of one size are compared from this number on: one alone may have met anything.
const LEAST_BATCHES: usize = 10;
/// ... and if they have this many requests.
const LEAST_REQUESTS: usize = crate::LEAST_REQUESTS as usize;
/// Times of the run in which batches are compared apart: the target may be slower later.
const TIMES: u64 = 16;
/// Most places; they are as wide as a power of two, of at least [`NARROWEST`].
const PLACES: u64 = 64;
/// Power of two of the narrowest place.
const NARROWEST: u32 = 12;
/// Power of two of the smallest size; smaller ones are one group.
const SMALLEST: u32 = 9;

/// A completed read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Sampled {
    target: u16,
    submitted_ns: u64,
    is_write: bool,
    /// Whether it waited for a conflict or its turn: then others decided when it came.
    was_held: bool,
    requested_bytes: u64,
    offset: u64,
    executed_bytes: u64,
    latency_ns: u64,
}

/// Requests of some windows of the run, by their submission.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RequestSample {
    /// Of `1 << level` windows one is kept.
    level: u32,
    requests: Vec<Sampled>,
}

/// Latency of the requests of one size, or at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The first byte of a place, or the least size.
    pub from: u64,
    /// The end of the place, or the greatest size.
    pub to: u64,
    /// Number of requests in the sample.
    pub requests: u64,
    /// Median of their latencies.
    pub p50_ns: u64,
}

/// Requests of the most frequent target, operation and size: those of the largest batches against those of the smallest ones, at the same
/// times.
#[derive(Debug, Clone, PartialEq)]
pub struct Batches {
    /// Reads or writes.
    pub op: Op,
    /// Least and greatest number of requests in one of the large batches.
    pub large: (u64, u64),
    /// The same of the small ones; a request alone is a batch of 1.
    pub small: (u64, u64),
    /// Whether the first take longer.
    pub slower: Slower,
}

/// Batches of about one size.
#[derive(Default)]
struct BatchSize {
    least: u64,
    greatest: u64,
    batches: usize,
    /// Submission and latency of the requests that are compared.
    requests: Vec<(u64, u64)>,
}

impl PartialEq for RequestSample {
    /// Whether the same requests are kept, in whatever order they came.
    fn eq(&self, other: &RequestSample) -> bool {
        self.level == other.level && self.in_order() == other.in_order()
    }
}

impl Fits for RequestSample {
    fn fits(&self, _: &Self) -> bool {
        self.level <= u64::BITS && self.requests.len() <= MOST
    }
}

impl ByTarget for RequestSample {
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool {
        self.requests.iter().all(|one| is_own(one.target.into()))
    }
}

impl RequestSample {
    /// Counts a completed read or write.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record, delay_ns: u64, latency_ns: u64) {
        let submitted_ns = record.submitted.map_or(0, |submitted| submitted.0);
        if is_kept(self.level, submitted_ns) {
            self.keep(record, submitted_ns, delay_ns, latency_ns);
        }
    }

    fn keep(&mut self, record: &Record, submitted_ns: u64, delay_ns: u64, latency_ns: u64) {
        let has_waited =
            [Marks::HELD, Marks::PUSHED, Marks::ORDERED].iter().any(|mark| record.marks.has(*mark));
        self.requests.push(Sampled {
            target: record.target,
            submitted_ns,
            is_write: record.op.direction() == Direction::Write,
            was_held: has_waited || delay_ns > BATCH_NS,
            requested_bytes: record.requested.length,
            offset: record.executed.offset,
            executed_bytes: record.executed.length,
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

    /// Number of requests in it.
    pub fn requests(&self) -> u64 {
        self.requests.len() as u64
    }

    /// The kept requests as records, in the order of submission on each target.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.in_order().into_iter().map(|one| {
            let executed = Extent { offset: one.offset, length: one.executed_bytes };
            Record {
                target: one.target,
                op: if one.is_write { Op::Write } else { Op::Read },
                due: Nanos(one.submitted_ns),
                submitted: Some(Nanos(one.submitted_ns)),
                completed: Some(Nanos(one.submitted_ns.saturating_add(one.latency_ns))),
                requested: executed,
                executed,
                result: executed.length as i64,
                outcome: Outcome::Completed,
                ..Record::default()
            }
        })
    }

    /// The sizes that occur by powers of two, ascending.
    pub fn sizes(&self) -> Vec<Group> {
        let power = |one: &Sampled| one.requested_bytes.max(1).ilog2().max(SMALLEST);
        let group = |requests: Vec<&Sampled>| {
            let sizes = || requests.iter().map(|one| one.requested_bytes);
            let (from, to) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
            Group { from, to, requests: requests.len() as u64, p50_ns: median(&requests) }
        };
        self.grouped(power).into_values().map(group).collect()
    }

    /// The places that occur, ascending; empty if requests go to several targets, as their places are different ones.
    pub fn places(&self) -> Vec<Group> {
        let Some(first) = self.requests.first() else { return Vec::new() };
        if self.requests.iter().any(|one| one.target != first.target) {
            return Vec::new();
        }
        let end = self.requests.iter().map(|one| one.offset).max().unwrap_or(0);
        let shift = (NARROWEST..).find(|shift| end >> shift < PLACES).unwrap_or(NARROWEST);
        let group = |(place, requests): (u64, Vec<&Sampled>)| Group {
            from: place << shift,
            to: (place << shift).saturating_add(1 << shift),
            requests: requests.len() as u64,
            p50_ns: median(&requests),
        };
        self.grouped(|one| one.offset >> shift).into_iter().map(group).collect()
    }

    fn grouped<K: Ord>(&self, key: impl Fn(&Sampled) -> K) -> BTreeMap<K, Vec<&Sampled>> {
        let mut groups: BTreeMap<K, Vec<&Sampled>> = BTreeMap::new();
        self.requests.iter().for_each(|one| groups.entry(key(one)).or_default().push(one));
        groups
    }

    /// Latencies in large and in small batches; `None` without enough of both. Batches with requests that waited are none: they show how a
    /// queue was worked off.
    pub fn batches(&self) -> Option<Batches> {
        let kind = |one: &Sampled| (one.target, one.is_write, one.requested_bytes.max(1).ilog2());
        let (most, _) = self.grouped(kind).into_iter().max_by_key(|(_, requests)| requests.len())?;
        let mut requests = self.in_order();
        requests.retain(|one| one.target == most.0);
        let span = (requests.first()?.submitted_ns, requests.last()?.submitted_ns);
        let mut sizes: BTreeMap<u32, BatchSize> = BTreeMap::new();
        for batch in requests.chunk_by(is_one_batch).filter(|batch| self.is_batch(batch)) {
            let compared = batch.iter().filter(|one| kind(one) == most);
            sizes.entry(batch.len().ilog2()).or_default().add(batch.len() as u64, compared);
        }
        sizes.retain(|_, size| size.batches >= LEAST_BATCHES && size.requests.len() >= LEAST_REQUESTS);
        let (_, large) = sizes.pop_last()?;
        let (_, small) = sizes.pop_first()?;
        let mut groups = Groups::default();
        for (is_large, size) in [(true, &large), (false, &small)] {
            let time = |at: u64| {
                (u128::from(at - span.0) * u128::from(TIMES) / (u128::from(span.1 - span.0) + 1)) as u32
            };
            size.requests.iter().for_each(|(at, latency_ns)| groups.add_to(time(*at), is_large, *latency_ns));
        }
        Some(Batches {
            op: if most.1 { Op::Write } else { Op::Read },
            large: (large.least, large.greatest),
            small: (small.least, small.greatest),
            slower: groups.slower()?,
        })
    }

    /// Whether requests came at once: all of them are known, and none waited.
    fn is_batch(&self, batch: &[Sampled]) -> bool {
        let [Some(first), Some(last)] = [batch.first(), batch.last()] else { return false };
        let from_begin = |one: &Sampled| one.submitted_ns % (1 << WINDOW);
        let is_inside = |one: &Sampled| (BATCH_NS..(1 << WINDOW) - BATCH_NS).contains(&from_begin(one));
        let is_whole = self.level == 0 || is_inside(first) && is_inside(last);
        is_whole
            && last.submitted_ns - first.submitted_ns <= LONGEST_BATCH_NS
            && batch.iter().all(|one| !one.was_held)
    }

    fn in_order(&self) -> Vec<Sampled> {
        let mut requests = self.requests.clone();
        requests.sort_unstable();
        requests
    }

    /// Gives windows up until the rest fits.
    fn fit(&mut self) {
        self.thin_to(MOST);
    }

    /// Gives windows up until at most this many requests remain.
    pub(crate) fn thin_to(&mut self, most: usize) {
        while self.requests.len() > most {
            self.raise_to(self.level + 1);
        }
    }

    /// Gives windows up, as one of many samples that are merged.
    pub(crate) fn thin_for(&mut self, samples: usize) {
        self.thin_to((MOST_OF_ALL / samples.max(1)).clamp(LEAST_OF_EACH, MOST));
    }

    #[cold]
    fn raise_to(&mut self, level: u32) {
        self.level = level;
        self.requests.retain(|one| is_kept(level, one.submitted_ns));
    }
}

impl BatchSize {
    fn add<'a>(&mut self, size: u64, requests: impl Iterator<Item = &'a Sampled>) {
        self.least = if self.batches == 0 { size } else { size.min(self.least) };
        self.greatest = self.greatest.max(size);
        self.batches += 1;
        self.requests.extend(requests.map(|one| (one.submitted_ns, one.latency_ns)));
    }
}

/// Whether the window of a time is kept: its hash begins with as many zeros.
fn is_kept(level: u32, submitted_ns: u64) -> bool {
    // By the golden ratio, as Knuth recommends (The Art of Computer Programming 3, section 6.4).
    let hash = ((submitted_ns >> WINDOW) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash.leading_zeros() >= level
}

fn is_one_batch(one: &Sampled, next: &Sampled) -> bool {
    one.target == next.target && next.submitted_ns - one.submitted_ns <= BATCH_NS
}

fn median(requests: &[&Sampled]) -> u64 {
    let mut latencies: Vec<u64> = requests.iter().map(|one| one.latency_ns).collect();
    let middle = latencies.len().saturating_sub(1) / 2;
    if latencies.is_empty() { 0 } else { *latencies.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use proptest::prelude::*;

    fn of(submitted: impl IntoIterator<Item = (u64, u64)>) -> RequestSample {
        let mut sample = RequestSample::default();
        for (at, latency) in submitted {
            sample.add(&record(1, Op::Read, at, at, at + latency), 0, latency);
        }
        sample
    }

    /// Each 2 ms requests alone, or some within 10 µs; `latency` by the number of the batch and the place in it.
    fn batches_of(size: u64, latency: impl Fn(u64, u64) -> u64) -> RequestSample {
        let in_batch = |number: u64| if number.is_multiple_of(4) { size } else { 1 };
        let submitted = |number: u64, place: u64| number * 2_000_000 + 1_000_000 + place * 1_000;
        let batch = |number: u64| (0..in_batch(number)).map(move |place| (number, place));
        of((0..1_000)
            .flat_map(batch)
            .map(|(number, place)| (submitted(number, place), latency(number, place))))
    }

    #[test]
    fn requests_of_large_batches_are_compared_with_those_alone() {
        let found = batches_of(10, |_, place| (place + 1) * 100).batches().unwrap();
        assert_eq!((found.op, found.large, found.small), (Op::Read, (10, 10), (1, 1)));
        let (large, small) = (found.slower.first, found.slower.second);
        assert_eq!((large.requests, small.requests), (2500, 750));
        assert!(found.slower.percent > 90.0 && large.p50_ns.abs_diff(500) < 10, "{found:?}");
    }

    /// A target that becomes slower makes no batch slower.
    #[test]
    fn other_times_are_compared_apart() {
        for change in [100, 375, 500, 800] {
            let found = batches_of(10, |number, _| if number < change { 100_000 } else { 180_000 }).batches();
            let percent = found.unwrap().slower.percent;
            assert!((percent - 50.0).abs() < 2.0, "{percent}");
        }
    }

    #[test]
    fn a_queue_that_is_worked_off_and_a_stream_are_no_batches() {
        let mut worked_off = RequestSample::default();
        for number in 0..1_000u64 {
            let at = number * 2_000_000 + number % 2;
            let mut one = record(1, Op::Read, at, at, at + 100);
            one.marks = Marks::HELD;
            worked_off.add(&one, 0, 100);
        }
        assert_eq!(worked_off.batches(), None);
        assert_eq!(of((0..20_000).map(|number| (number * 10_000, 100))).batches(), None);
        assert_eq!(of((0..1_000_000).map(|number| (number * 1_000, 100))).batches(), None);
        // Nine batches are too few.
        assert!(batches_of(10, |_, _| 100).batches().is_some());
        let few = (0..9).flat_map(|batch| (0..10).map(move |place| (batch * 9_000_000 + place, 900)));
        assert_eq!(
            of(few.chain((0..99).map(|number| (number * 9_000_000 + 5_000_000, 100)))).batches(),
            None
        );
        assert_eq!(RequestSample::default().batches(), None);
    }

    #[test]
    fn long_runs_keep_whole_windows() {
        let submitted = |number: u64| number / 10 * 1_000_000 + number % 10 * 1_000;
        let sample = of((0..1_000_000).map(|number| (submitted(number), 100)));
        assert!((MOST / 4..=MOST).contains(&sample.requests.len()), "{}", sample.requests.len());
    }

    #[test]
    fn groups_have_their_range_and_median() {
        let mut sample = RequestSample::default();
        let slow = [(1 << 20, 4096, 9_000), (1 << 20, 8192, 9_000), (1 << 20, 12_288, 9_000)];
        for (offset, length, latency) in [(0, 4096, 1_000); 5].into_iter().chain(slow) {
            let mut one = record(1, Op::Read, 0, 0, latency);
            (one.requested, one.executed) = (Extent { offset, length }, Extent { offset, length });
            sample.add(&one, 0, latency);
        }
        let sizes = sample.sizes();
        let ranges: Vec<(u64, u64, u64)> =
            sizes.iter().map(|size| (size.from, size.to, size.requests)).collect();
        assert_eq!(ranges, [(4096, 4096, 6), (8192, 12_288, 2)]);
        let [first, last] = sample.places()[..] else { panic!("{:?}", sample.places()) };
        assert_eq!((first.p50_ns, last.p50_ns, last.requests), (1_000, 9_000, 3));
        assert!(last.from <= 1 << 20 && last.to > 1 << 20);
        let mut other = record(1, Op::Read, 0, 0, 1);
        other.target = 1;
        sample.add(&other, 0, 1);
        assert!(sample.places().is_empty());
    }

    #[test]
    fn the_viewer_has_the_same_longest_time_between_two_submissions() {
        let viewer = include_str!("../../../web/src/model/neighbours.ts");
        let line = viewer.lines().find(|line| line.contains("const BATCH_NS")).expect("a constant");
        let number: String = line.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(number.parse(), Ok(BATCH_NS), "{line}");
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(seed: u64, split in 0usize..100_000, step in 1u64..100_000) {
            let requests: Vec<(u64, u64)> = (0..100_000).map(|n| ((n * step) ^ (seed >> 40), n)).collect();
            let (left, right) = requests.split_at(split);
            let mut merged = of(right.iter().copied());
            merged.merge(&of(left.iter().copied()));
            prop_assert!(merged == of(requests.iter().copied()));
            prop_assert!(merged.requests.len() <= MOST);
        }

        #[test]
        fn groups_of_any_requests_add_up(
            requests in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..60),
        ) {
            let mut sample = RequestSample::default();
            for (offset, length, at, latency) in &requests {
                let mut one = record(1, Op::Write, *at, *at, *at);
                (one.requested.length, one.executed) = (*length, Extent { offset: *offset, length: *length });
                sample.add(&one, 0, *latency);
            }
            let sum = |groups: Vec<Group>| groups.iter().map(|group| group.requests).sum::<u64>();
            prop_assert_eq!((sum(sample.sizes()), sum(sample.places())), (requests.len() as u64, requests.len() as u64));
            prop_assert_eq!(sample.records().count(), requests.len());
            sample.batches();
        }
    }
}
