//! Lateness over the run, in bounded memory and in one pass, without knowing the run's length before.
//!
//! Each slice of time holds small logarithmic histograms.

use crate::fits::Fits;
use crate::slices::{Merge, Slices};
use serde::{Deserialize, Serialize};

/// Most slices: of a run that starts at time zero at least half of them are in use.
const SLICES: usize = 128;
/// Width of the first slices as a power of two: about 1 µs.
const NARROWEST: u32 = 10;
/// Eight steps for each factor of two: a median is right to 1/16.
type Sketch = crate::sketch::Sketch<8>;
/// Fewest requests in a tenth of the run for a meaningful median.
const LEAST_IN_TENTH: u64 = 10;

/// Lateness of requests over their due times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Timeline {
    slices: Slices<Slice, SLICES, NARROWEST>,
}

/// Lateness of the requests that were due in one slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Slice {
    /// Delay of requests that did not have to wait.
    free: Sketch,
    /// Delay of those that had to wait for others.
    held: Sketch,
    /// Response of all.
    response: Sketch,
}

/// How the issue delay changed from the start of the run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Median of the requests that were due in the first tenth of the time; right to 6 %.
    pub first_tenth_p50_ns: u64,
    /// Median of those in the last tenth.
    pub last_tenth_p50_ns: u64,
    /// The last minus the first: above 0 if requests were issued later and later.
    pub drift_ns: i64,
}

/// Lateness of the last requests: those of the last slices of time, at least one in a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtEnd {
    /// Number of these requests.
    pub requests: u64,
    /// Median of their delays, for any reason; right to 6 %.
    pub delay_p50_ns: u64,
    /// The greatest of their delays, exact.
    pub delay_max_ns: u64,
    /// Median of their responses; right to 6 %.
    pub response_p50_ns: u64,
}

impl Fits for Slice {
    fn fits(&self, own: &Self) -> bool {
        let sketches = [&self.free, &self.held, &self.response];
        sketches.iter().all(|sketch| sketch.fits(&own.free))
    }
}

impl Fits for Timeline {
    fn fits(&self, own: &Self) -> bool {
        self.slices.fits(&own.slices)
    }
}

impl Timeline {
    /// Counts a submitted request. `is_held`: it waited for others, not for the generator.
    pub(crate) fn add(&mut self, due_ns: u64, delay_ns: u64, response_ns: u64, is_held: bool) {
        let slice = self.slices.at(due_ns);
        let delays = if is_held { &mut slice.held } else { &mut slice.free };
        delays.add(delay_ns);
        slice.response.add(response_ns);
    }

    /// Merges `other`.
    pub(crate) fn merge(&mut self, other: &Timeline) {
        self.slices.merge(&other.slices);
    }

    /// The slices from the first request on.
    fn used(&self) -> &[Slice] {
        let slices = self.slices.list();
        let first = slices.iter().position(|s| s.response.count() > 0).unwrap_or(0);
        &slices[first..]
    }

    /// Drift of the delay of requests that did not have to wait; `None` with too few of them in either tenth.
    pub(crate) fn drift(&self) -> Option<Drift> {
        let used = self.used();
        let tenth = used.len().div_ceil(10);
        let median = |slices: &[Slice]| {
            let sum = Sketch::sum_of(slices.iter().map(|s| &s.free));
            (used.len() >= 10 && sum.count() >= LEAST_IN_TENTH).then(|| sum.median())
        };
        let first = median(&used[..tenth])?;
        let last = median(&used[used.len() - tenth..])?;
        Some(Drift {
            first_tenth_p50_ns: first,
            last_tenth_p50_ns: last,
            drift_ns: last.saturating_sub(first) as i64 - first.saturating_sub(last) as i64,
        })
    }

    /// Lateness of the last requests; `None` without any.
    pub(crate) fn at_end(&self) -> Option<AtEnd> {
        let slices = self.slices.list();
        let total: u64 = slices.iter().map(|s| s.response.count()).sum();
        let (mut begin, mut requests) = (slices.len(), 0);
        while begin > 0 && requests * 100 < total.max(1) {
            begin -= 1;
            requests += slices[begin].response.count();
        }
        let last = &slices[begin..];
        let delay = Sketch::sum_of(last.iter().flat_map(|s| [&s.free, &s.held]));
        (requests > 0).then(|| AtEnd {
            requests,
            delay_p50_ns: delay.median(),
            delay_max_ns: delay.max(),
            response_p50_ns: Sketch::sum_of(last.iter().map(|s| &s.response)).median(),
        })
    }
}

impl Merge for Slice {
    fn merge(&mut self, other: &Slice) {
        self.free.merge(&other.free);
        self.held.merge(&other.held);
        self.response.merge(&other.response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(requests: &[(u64, u64, bool)]) -> Timeline {
        let mut timeline = Timeline::default();
        requests.iter().for_each(|(due, delay, held)| timeline.add(*due, *delay, *delay + 7, *held));
        timeline
    }

    #[test]
    fn growing_delay_is_drift_but_transient_stall_is_not() {
        let growing: Vec<_> = (0..10_000u64).map(|i| (i * 1_000_000, i * 1_000, false)).collect();
        let drift = of(&growing).drift().unwrap();
        assert!(drift.first_tenth_p50_ns.abs_diff(500_000) < 100_000, "{drift:?}");
        assert!(drift.last_tenth_p50_ns.abs_diff(9_500_000) < 1_000_000, "{drift:?}");
        assert_eq!(drift.drift_ns, (drift.last_tenth_p50_ns - drift.first_tenth_p50_ns) as i64);
        // For 500 ms in the middle of ten seconds nothing was issued.
        let stalled: Vec<_> = (0..10_000u64)
            .map(|i| {
                (
                    i * 1_000_000,
                    if (5_000..5_500).contains(&i) { (5_500 - i) * 1_000_000 } else { 900 },
                    false,
                )
            })
            .collect();
        let timeline = of(&stalled);
        assert_eq!(timeline.drift().unwrap().drift_ns, 0);
        let end = timeline.at_end().unwrap();
        assert_eq!(end.delay_max_ns, 900);
        assert!((100..400).contains(&end.requests), "{end:?}");
    }

    #[test]
    fn drift_ignores_held_requests_and_small_samples() {
        let held: Vec<_> = (0..1_000u64).map(|i| (i * 1_000, i * 1_000, i % 2 == 0)).collect();
        let free: Vec<_> = held.iter().map(|r| (r.0, if r.2 { r.1 } else { 5 }, r.2)).collect();
        assert_eq!(of(&free).drift().unwrap().drift_ns, 0);
        assert_eq!(of(&held[..12]).drift(), None);
        assert_eq!(Timeline::default().drift(), None);
        assert_eq!(Timeline::default().at_end(), None);
    }

    #[test]
    fn drift_ignores_idle_time_before_first_request() {
        let late: Vec<_> = (0..10_000u64).map(|i| (1_000_000_000 + i * 50_000, i, false)).collect();
        let drift = of(&late).drift().unwrap();
        assert!(drift.first_tenth_p50_ns < 700 && drift.last_tenth_p50_ns > 9_000, "{drift:?}");
    }

    proptest! {
        #[test]
        fn any_split_yields_the_same_timeline(
            requests in prop::collection::vec((0u32..64, any::<u64>(), any::<u64>(), any::<bool>()), 0..60),
            parts in 1usize..5,
        ) {
            let requests: Vec<_> =
                requests.iter().map(|(shift, due, delay, held)| (due >> shift, delay >> 1, *held)).collect();
            let mut merged = Timeline::default();
            for part in (0..parts).rev() {
                let some: Vec<_> = requests.iter().copied().skip(part).step_by(parts).collect();
                merged.merge(&of(&some));
            }
            prop_assert!(merged.slices.list().len() <= SLICES);
            prop_assert_eq!(merged, of(&requests));
        }
    }
}
