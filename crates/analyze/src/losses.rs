//! Lost time by due time: response beyond normal, and the reasons of waiting.

use crate::fits::{ByTarget, Fits};
use crate::sketch::Sketch;
use crate::slices::{Merge, Slices};
use crate::story::Normal;
use crate::time_range::TimeRange;
use iosonar_archive::{Marks, Record};
use iosonar_plan::Direction;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most slices of time: at least half of them are in use if the run starts at time zero.
const SLICES: usize = 4096;
/// Width of the first slices as a power of two: about 1 µs.
const NARROWEST: u32 = 10;
/// Most slices with a distribution: they are eight times as wide.
const DISTRIBUTIONS: usize = SLICES / 8;
/// Width of the first of them as a power of two.
const NARROWEST_DISTRIBUTION: u32 = NARROWEST + 3;

/// Reads and writes that were due in a slice of time. Failed and unfinished ones are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LossSlice {
    /// Completed requests.
    pub requests: u64,
    /// Sum of their latencies in nanoseconds. All sums of times have room for any run.
    pub latency_ns: u128,
    /// Sum of their delays.
    pub delay_ns: u128,
    /// The part of the delays of requests that waited for a conflict.
    pub conflict_ns: u128,
    /// The part of the delays of requests that waited for their turn: the depth was used up, or one before them waited.
    pub turn_ns: u128,
    /// The longest response.
    pub max_response_ns: u64,
    /// Sum of the requested bytes.
    pub bytes: u64,
    /// Writes among the requests.
    pub writes: u64,
    /// First and last due time; absent without requests.
    pub due: Option<(u64, u64)>,
    /// The latest completion.
    pub last_completed_ns: u64,
    /// Requests of any operation that completed in this slice, whenever they were due.
    pub completions: u64,
}

/// Most targets that are kept apart: each has up to [`DISTRIBUTIONS`] distributions.
const MOST_TARGETS: usize = 8;

/// Response over time of each target, if there are at most [`MOST_TARGETS`]; otherwise of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LossesByTarget(
    #[serde(deserialize_with = "crate::sparse::at_most::<_, _, MOST_TARGETS>")] Vec<Losses>,
);

impl LossesByTarget {
    pub(crate) fn new(targets: usize) -> LossesByTarget {
        let kept_apart = if targets <= MOST_TARGETS { targets.max(1) } else { 1 };
        LossesByTarget(vec![Losses::default(); kept_apart])
    }

    /// The part of a target; records of targets that the plan does not have belong to the last one.
    pub(crate) fn of_record(&mut self, target: u16) -> &mut Losses {
        let last = self.0.len() - 1;
        &mut self.0[usize::from(target).min(last)]
    }

    pub(crate) fn merge(&mut self, other: &LossesByTarget) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// All targets together.
    pub(crate) fn all(&self) -> Cow<'_, Losses> {
        match self.0.as_slice() {
            [only] => Cow::Borrowed(only),
            several => {
                let mut all = Losses::default();
                several.iter().for_each(|one| all.merge(one));
                Cow::Owned(all)
            }
        }
    }

    /// By target; one element if targets are not kept apart.
    pub(crate) fn each(&self) -> &[Losses] {
        &self.0
    }
}

/// Response over time, in bounded memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Losses {
    slices: Slices<LossSlice, SLICES, NARROWEST>,
    /// Distribution of the response, by due time.
    responses: Slices<Sketch<16>, DISTRIBUTIONS, NARROWEST_DISTRIBUTION>,
}

impl Fits for LossSlice {}

impl Fits for Losses {
    fn fits(&self, own: &Self) -> bool {
        self.slices.fits(&own.slices) && self.responses.fits(&own.responses)
    }
}

impl Fits for LossesByTarget {
    fn fits(&self, own: &Self) -> bool {
        self.0.len() == own.0.len() && self.0.iter().zip(&own.0).all(|(theirs, own)| theirs.fits(own))
    }
}

impl ByTarget for LossesByTarget {
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool {
        let mut each = self.0.iter().enumerate();
        self.0.len() == 1 || each.all(|(target, losses)| is_own(target) || *losses == Losses::default())
    }
}

impl Merge for LossSlice {
    fn merge(&mut self, other: &LossSlice) {
        self.requests += other.requests;
        self.latency_ns += other.latency_ns;
        self.delay_ns += other.delay_ns;
        self.conflict_ns += other.conflict_ns;
        self.turn_ns += other.turn_ns;
        self.max_response_ns = self.max_response_ns.max(other.max_response_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.writes += other.writes;
        self.due = match (self.due, other.due) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
        self.last_completed_ns = self.last_completed_ns.max(other.last_completed_ns);
        self.completions += other.completions;
    }
}

impl LossSlice {
    /// The sum of some slices.
    pub fn sum_of(slices: &[LossSlice]) -> LossSlice {
        Merge::sum_of(slices)
    }

    /// Sum of the response times.
    pub fn response_ns(&self) -> u128 {
        self.latency_ns + self.delay_ns
    }

    /// Mean response; 0 without requests.
    pub fn mean_response_ns(&self) -> f64 {
        self.response_ns() as f64 / self.requests.max(1) as f64
    }

    /// Due requests per second, between the first and the last; `None` below three requests.
    pub fn due_per_second(&self) -> Option<f64> {
        let (first, last) = self.due.filter(|(first, last)| last > first && self.requests > 2)?;
        Some((self.requests - 1) as f64 * 1e9 / (last - first) as f64)
    }
}

impl Losses {
    /// Counts a completion of a request that transfers no data: the target did something then.
    pub(crate) fn complete(&mut self, completed_ns: u64) {
        self.slices.at(completed_ns).completions += 1;
    }

    /// Counts a completed read or write that is measured.
    pub(crate) fn add(&mut self, record: &Record, delay_ns: u64, latency_ns: u64) {
        let due = record.due.0;
        let completed = record.completed.map_or(due, |completed| completed.0);
        let response_ns = delay_ns.saturating_add(latency_ns);
        self.complete(completed.max(due));
        let slice = self.slices.at(due);
        slice.requests += 1;
        slice.latency_ns += u128::from(latency_ns);
        slice.delay_ns += u128::from(delay_ns);
        if record.marks.has(Marks::PUSHED) || record.marks.has(Marks::ORDERED) {
            slice.conflict_ns += u128::from(delay_ns);
        } else if record.marks.has(Marks::HELD) {
            slice.turn_ns += u128::from(delay_ns);
        }
        slice.max_response_ns = slice.max_response_ns.max(response_ns);
        slice.bytes = slice.bytes.saturating_add(record.requested.length);
        slice.writes += u64::from(record.op.direction() == Direction::Write);
        let (first, last) = slice.due.unwrap_or((due, due));
        slice.due = Some((first.min(due), last.max(due)));
        slice.last_completed_ns = slice.last_completed_ns.max(completed);
        self.responses.at(due).add(response_ns);
    }

    /// Merges `other`.
    pub(crate) fn merge(&mut self, other: &Losses) {
        self.slices.merge(&other.slices);
        self.responses.merge(&other.responses);
    }

    /// The slices from time zero on.
    pub fn slices(&self) -> &[LossSlice] {
        self.slices.list()
    }

    /// Width of a slice.
    pub fn width_ns(&self) -> u64 {
        self.slices.width()
    }

    /// Median and 99th percentile of the response of requests that were due outside of some times; `None` without such requests. All
    /// of the time of a distribution has to be outside.
    pub fn normal_outside(&self, times: &[TimeRange]) -> Option<Normal> {
        let time = |slice: usize| {
            let from_ns = self.responses.begin_of(slice);
            TimeRange { from_ns, to_ns: from_ns.saturating_add(self.responses.width()) }
        };
        let is_kept = |slice: usize| times.iter().all(|range| range.overlap_ns(time(slice)) == 0);
        let responses = self.responses.list().iter().enumerate();
        let all =
            Sketch::sum_of(responses.filter(|(slice, _)| is_kept(*slice)).map(|(_, response)| response));
        (all.count() > 0).then(|| Normal {
            requests: all.count(),
            p50_ns: all.median(),
            p99_ns: all.at_rank((all.count() * 99).div_ceil(100)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use iosonar_plan::Op;
    use proptest::prelude::*;

    fn of(requests: &[(u64, u64, u64)]) -> Losses {
        let mut losses = Losses::default();
        for (due, delay, latency) in requests {
            let one = record(1, Op::Read, *due, due + delay, due + delay + latency);
            losses.add(&one, *delay, *latency);
        }
        losses
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(
            requests in prop::collection::vec((0..1u64 << 40, 0..1u64 << 30, 1..1u64 << 30), 1..100), split in 0usize..100,
        ) {
            let whole = of(&requests);
            let (left, right) = requests.split_at(split.min(requests.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(merged.slices(), whole.slices());
            prop_assert_eq!(merged.width_ns(), whole.width_ns());
            let sum = LossSlice::sum_of(whole.slices());
            prop_assert_eq!((sum.requests, sum.completions), (requests.len() as u64, requests.len() as u64));
            prop_assert_eq!(sum.delay_ns, requests.iter().map(|one| u128::from(one.1)).sum::<u128>());
            prop_assert!(whole.slices().len() <= SLICES);
        }
    }

    #[test]
    fn targets_are_kept_apart_up_to_a_limit() {
        let counts = |targets: usize| {
            let mut by_target = LossesByTarget::new(targets);
            for target in [0, 1, 1, 99] {
                let mut one = record(1, Op::Read, 0, 0, 10);
                one.target = target;
                by_target.of_record(target).add(&one, 0, 10);
            }
            let requests = |losses: &Losses| LossSlice::sum_of(losses.slices()).requests;
            (by_target.each().iter().map(requests).collect::<Vec<_>>(), requests(&by_target.all()))
        };
        assert_eq!(counts(1), (vec![4], 4));
        assert_eq!(counts(2), (vec![1, 3], 4));
        assert_eq!(counts(MOST_TARGETS + 1), (vec![4], 4));
    }

    /// Waits of half a year each, and times at the end of the clock.
    #[test]
    fn sums_and_ends_never_overflow() {
        let mut losses = of(&[(u64::MAX - 10, 0, 5), (0, 1 << 54, 1 << 54)]);
        for _ in 0..1 << 12 {
            losses.merge(&of(&[(1, 1 << 54, 1 << 54)]));
        }
        let sum = LossSlice::sum_of(losses.slices());
        assert_eq!(sum.response_ns(), 5 + 2 * (1u128 << 54) * 4097);
        assert!(losses.normal_outside(&[TimeRange { from_ns: u64::MAX - 1, to_ns: u64::MAX }]).is_some());
    }

    #[test]
    fn normal_response_excludes_times() {
        let calm = (0..1000u64).map(|n| (n * 1_000_000, 0, 100_000));
        let slow = (0..1000u64).map(|n| (1_000_000_000 + n * 1_000_000, 0, 900_000));
        let losses = of(&calm.chain(slow).collect::<Vec<_>>());
        let late = TimeRange { from_ns: 1_000_000_000, to_ns: 2_000_000_000 };
        let normal = losses.normal_outside(&[late]).unwrap();
        assert!(normal.p99_ns.abs_diff(100_000) < 4_000 && normal.requests >= 990, "{normal:?}");
        let all = losses.normal_outside(&[]).unwrap();
        assert!(all.p99_ns.abs_diff(900_000) < 30_000 && all.requests == 2000, "{all:?}");
        assert_eq!(losses.normal_outside(&[TimeRange { from_ns: 0, to_ns: u64::MAX }]), None);
    }
}
