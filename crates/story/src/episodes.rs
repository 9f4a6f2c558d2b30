//! Times in which requests took longer than normal, from the response over time alone.
//!
//! The reference is what most of the run looks like: the median over time of the mean latency of a slice, and of its mean delay, which counts
//! at most as much as the latency, or a run that is late all the time would be its own reference.

use iosonar_analyze::{LossSlice, Losses, TimeRange};
use std::ops::Range;

/// A slice has at least this many requests on average, or chance would decide.
const REQUESTS_IN_SLICE: u64 = 30;
/// A run in fewer slices is too coarse for events: it is short, or begins long after time zero.
const LEAST_SLICES: usize = 16;
/// An episode has a slice with this many times the normal response.
const HIGH: f64 = 3.0;
/// It lasts while the response is this many times the normal one.
const RAISED: f64 = 1.5;
/// It has lost this share of the time that all requests would normally take ...
const LEAST_LOST: f64 = 0.05;
/// ... or nothing completed for this share of the run, and this many times the normal response: in a closed loop few requests wait; ...
const LEAST_GAP: f64 = 0.005;
const GAP_TIMES: f64 = 100.0;
/// ... and it has lost this share of all lost time ...
const LEAST_SHARE: f64 = 0.03;
/// ... and this many times as much as a usual slice, for each of its slices.
const TIMES_USUAL: f64 = 5.0;
/// Most episodes that are kept, those with most lost time.
const MOST: usize = 64;

/// Mean times of a usual slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reference {
    /// Latency in nanoseconds.
    pub(crate) latency_ns: f64,
    /// Response.
    pub(crate) response_ns: f64,
}

/// A time in which requests took longer than normal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Episode {
    /// From the first due time to the last completion.
    pub(crate) range: TimeRange,
    /// Its slices.
    pub(crate) slices: Range<usize>,
    /// Sums over its slices.
    pub(crate) sum: LossSlice,
    /// Response beyond the reference, in nanoseconds.
    pub(crate) lost_ns: f64,
    /// The greatest mean response of a slice.
    pub(crate) worst_mean_ns: f64,
    /// The longest time without completions; empty if every slice has some.
    pub(crate) gap: TimeRange,
}

/// The response of a run over time, in slices that are long enough for a mean.
#[derive(Debug)]
pub(crate) struct ResponseCourse {
    /// From the first used slice on.
    pub(crate) slices: Vec<LossSlice>,
    pub(crate) width_ns: u64,
    /// Start of the first slice.
    begin_ns: u64,
    pub(crate) reference: Reference,
    /// Slices that may be too short for a mean.
    fine: FineSlices,
}

/// Slices of a course before they were joined.
#[derive(Debug)]
struct FineSlices {
    slices: Vec<LossSlice>,
    width_ns: u64,
    /// Start of the first slice.
    begin_ns: u64,
}

impl ResponseCourse {
    /// The course within a time, or of the whole run. `None` if nothing completed, or time is too coarse for events.
    pub(crate) fn of(losses: &Losses, within: Option<TimeRange>) -> Option<ResponseCourse> {
        let mut width_ns = losses.width_ns();
        let all = losses.slices();
        // A slice at the border has requests of both sides: it belongs to neither.
        let slices = within.map_or(0..all.len(), |time| {
            let end = (time.to_ns / width_ns).min(all.len() as u64);
            (time.from_ns.div_ceil(width_ns).min(end) as usize)..end as usize
        });
        let origin_ns = (slices.start as u64).saturating_mul(width_ns);
        let mut slices = all[slices].to_vec();
        let fine = FineSlices { slices: slices.clone(), width_ns, begin_ns: origin_ns };
        let requests: u64 = slices.iter().map(|slice| slice.requests).sum();
        let is_used = |slice: &LossSlice| slice.requests > 0;
        let used = |slices: &[LossSlice]| slices.iter().filter(|slice| is_used(slice)).count();
        while used(&slices) > LEAST_SLICES && requests < REQUESTS_IN_SLICE * used(&slices) as u64 {
            slices = slices.chunks(2).map(LossSlice::sum_of).collect();
            width_ns *= 2;
        }
        let first = slices.iter().position(is_used)?;
        slices.drain(..first);
        let latency_ns = weighted_median(&slices, |slice| slice.latency_ns)?;
        let delay_ns = weighted_median(&slices, |slice| slice.delay_ns)?;
        let reference = Reference { latency_ns, response_ns: latency_ns + delay_ns.min(latency_ns) };
        let begin_ns = origin_ns.saturating_add((first as u64).saturating_mul(width_ns));
        let course = ResponseCourse { slices, width_ns, begin_ns, reference, fine };
        (course.slices.len() >= LEAST_SLICES).then_some(course)
    }

    /// The start of a slice.
    pub(crate) fn begin_of(&self, slice: usize) -> u64 {
        self.begin_ns.saturating_add((slice as u64).saturating_mul(self.width_ns))
    }

    /// The slice of a time, or the nearest one.
    fn slice_of(&self, ns: u64) -> usize {
        let index = ns.saturating_sub(self.begin_ns) / self.width_ns;
        (index as usize).min(self.slices.len().saturating_sub(1))
    }

    /// Response of a slice beyond the reference.
    pub(crate) fn lost_ns(&self, slice: &LossSlice) -> f64 {
        (slice.response_ns() as f64 - slice.requests as f64 * self.reference.response_ns).max(0.0)
    }

    /// Response of all requests beyond the reference.
    pub(crate) fn total_lost_ns(&self) -> f64 {
        self.slices.iter().map(|slice| self.lost_ns(slice)).sum()
    }

    /// The episodes by onset.
    pub(crate) fn episodes(&self) -> Vec<Episode> {
        let total = self.total_lost_ns();
        let requests: u64 = self.slices.iter().map(|slice| slice.requests).sum();
        let normal = requests as f64 * self.reference.response_ns;
        let run_ns = self.slices.len() as f64 * self.width_ns as f64;
        let least_gap = (LEAST_GAP * run_ns).max(GAP_TIMES * self.reference.response_ns);
        let usual = self.usual_lost_ns();
        let matters = |episode: &Episode| {
            let is_long = episode.lost_ns > LEAST_LOST * normal || episode.gap.length_ns() as f64 > least_gap;
            is_long
                && episode.worst_mean_ns > HIGH * self.reference.response_ns
                && episode.lost_ns > LEAST_SHARE * total
                && episode.lost_ns > TIMES_USUAL * usual * episode.slices.len() as f64
        };
        let mut all: Vec<Episode> = self.raised().into_iter().map(|slices| self.episode(slices)).collect();
        all.retain(matters);
        all.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns));
        all.truncate(MOST);
        all.sort_by_key(|episode| episode.range.from_ns);
        all
    }

    /// Median of the lost time of the slices whose response is not raised.
    fn usual_lost_ns(&self) -> f64 {
        let calm = self.slices.iter().filter(|slice| slice.requests > 0 && !self.is_raised(slice));
        let mut lost: Vec<f64> = calm.map(|slice| self.lost_ns(slice)).collect();
        lost.sort_by(f64::total_cmp);
        lost.get(lost.len() / 2).copied().unwrap_or(0.0)
    }

    fn is_raised(&self, slice: &LossSlice) -> bool {
        slice.mean_response_ns() > RAISED * self.reference.response_ns
    }

    /// Runs of raised slices. Slices in which nothing was due belong to the run while its requests are not completed.
    fn raised(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<(Range<usize>, u64)> = Vec::new();
        for (index, slice) in self.slices.iter().enumerate().filter(|(_, slice)| self.is_raised(slice)) {
            let begin_ns = self.begin_of(index);
            match runs.last_mut() {
                Some((run, until)) if run.end == index || begin_ns <= *until => {
                    (run.end, *until) = (index + 1, slice.last_completed_ns.max(*until));
                }
                _ => runs.push((index..index + 1, slice.last_completed_ns)),
            }
        }
        runs.into_iter().map(|(run, _)| run).collect()
    }

    /// The episode of some slices.
    pub(crate) fn episode(&self, slices: Range<usize>) -> Episode {
        let part = &self.slices[slices.clone()];
        let sum = LossSlice::sum_of(part);
        let from_ns = sum.due.map_or(self.begin_of(slices.start), |(first, _)| first);
        let range = TimeRange { from_ns, to_ns: sum.last_completed_ns.max(from_ns) };
        Episode {
            lost_ns: part.iter().map(|slice| self.lost_ns(slice)).sum(),
            worst_mean_ns: part.iter().map(LossSlice::mean_response_ns).fold(0.0, f64::max),
            gap: self.longest_gap(range),
            range,
            slices,
            sum,
        }
    }

    /// The longest time in which nothing completed although requests were in flight; in short slices, if as many completions are missing as
    /// a slice for a mean has.
    fn longest_gap(&self, range: TimeRange) -> TimeRange {
        let [first, last] = [range.from_ns, range.to_ns].map(|ns| self.slice_of(ns));
        let coarse = longest_gap(&self.slices, first..last + 1, &|slice| self.begin_of(slice));
        let fine = self.fine.longest_gap(range);
        if fine.length_ns() > coarse.length_ns() { fine } else { coarse }
    }

    /// Completions per second in the slices of a time.
    pub(crate) fn done_per_second(&self, range: TimeRange) -> f64 {
        let [first, last] = [range.from_ns, range.to_ns].map(|ns| self.slice_of(ns));
        let part = &self.slices[first..=last];
        LossSlice::sum_of(part).completions as f64 * 1e9 / (part.len() as f64 * self.width_ns as f64)
    }
}

impl FineSlices {
    /// The longest gap of a time; empty if too few completions are missing in it.
    fn longest_gap(&self, range: TimeRange) -> TimeRange {
        let slice_of = |ns: u64| (ns.saturating_sub(self.begin_ns) / self.width_ns) as usize;
        let [first, last] = [range.from_ns, range.to_ns].map(|ns| slice_of(ns).min(self.slices.len()));
        let begin_of =
            |slice: usize| self.begin_ns.saturating_add((slice as u64).saturating_mul(self.width_ns));
        let gap = longest_gap(&self.slices, first..last.saturating_add(1), &begin_of);
        // Whole slices are about one slice shorter than the gap.
        let missing = gap.length_ns().saturating_add(self.width_ns) as f64 * self.completions_per_ns();
        if missing >= REQUESTS_IN_SLICE as f64 { gap } else { TimeRange { to_ns: gap.from_ns, ..gap } }
    }

    /// Completions per nanosecond, from the first one to the last one.
    fn completions_per_ns(&self) -> f64 {
        let used = |slice: &LossSlice| slice.completions > 0;
        let ends = self.slices.iter().position(used).zip(self.slices.iter().rposition(used));
        let slices = ends.map_or(1, |(first, last)| last + 1 - first);
        let completions: u64 = self.slices.iter().map(|slice| slice.completions).sum();
        completions as f64 / (slices as f64 * self.width_ns as f64)
    }
}

/// The longest time within some slices in which nothing completed although a request was in flight: one that was due before completes
/// after it, or it begins with the first due time. Idle time is no gap.
fn longest_gap(slices: &[LossSlice], within: Range<usize>, begin_of: &dyn Fn(usize) -> u64) -> TimeRange {
    let end = within.end.min(slices.len());
    let begin_ns = begin_of(within.start);
    let mut longest = TimeRange { from_ns: begin_ns, to_ns: begin_ns };
    // The latest completion of the requests that were due before a slice.
    let before = slices[..within.start.min(end)].iter().map(|slice| slice.last_completed_ns).max();
    let mut in_flight_until = before.unwrap_or(0);
    let mut number = within.start;
    while number < end {
        let length = slices[number..end].iter().take_while(|slice| slice.completions == 0).count();
        let empty = &slices[number..number + length];
        let to_ns = begin_of(number + length);
        let from_ns = match in_flight_until >= to_ns {
            true => begin_of(number),
            false => empty.iter().find_map(|slice| Some(slice.due?.0)).unwrap_or(to_ns),
        };
        if to_ns.saturating_sub(from_ns) > longest.length_ns() {
            longest = TimeRange { from_ns, to_ns };
        }
        let passed = &slices[number..(number + length + 1).min(end)];
        in_flight_until = passed.iter().map(|slice| slice.last_completed_ns).fold(in_flight_until, u64::max);
        number += length + 1;
    }
    longest
}

/// Median over the requests of the mean of their slice.
fn weighted_median(slices: &[LossSlice], sum: impl Fn(&LossSlice) -> u128) -> Option<f64> {
    let used = slices.iter().filter(|slice| slice.requests > 0);
    let mut means: Vec<(f64, u64)> =
        used.map(|slice| (sum(slice) as f64 / slice.requests as f64, slice.requests)).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = means.iter().map(|(_, requests)| requests).sum::<u64>().div_ceil(2);
    let mut below = 0;
    means.into_iter().find_map(|(mean, requests)| {
        below += requests;
        (below >= half).then_some(mean)
    })
}
