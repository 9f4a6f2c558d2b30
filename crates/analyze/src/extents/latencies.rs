//! Latencies of a group of requests, and whether those of one group are longer than those of another.

use crate::compare::critical_t;
use crate::sketch::Sketch;
use serde::Serialize;

/// Latencies in few bytes: as many steps as they need, of which 64 make a factor of two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    steps: Sketch<64>,
    total_ns: u64,
}

/// Latencies of a group in figures. Percentiles are right to 0.8 %, the others are exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyFigures {
    /// Requests of the group.
    pub requests: u64,
    /// Sum of their latencies.
    pub total_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile; absent below 100 requests.
    pub p99_ns: Option<u64>,
    /// Greatest.
    pub max_ns: u64,
}

impl Latencies {
    /// Counts one.
    pub fn add(&mut self, ns: u64) {
        self.steps.add(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    /// Counts all of `other` too.
    pub fn merge(&mut self, other: &Latencies) {
        self.steps.merge(&other.steps);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }

    /// In figures; absent without requests.
    pub fn figures(&self) -> Option<LatencyFigures> {
        let requests = self.steps.count();
        (requests > 0).then(|| LatencyFigures {
            requests,
            total_ns: self.total_ns,
            mean_ns: self.total_ns as f64 / requests as f64,
            p50_ns: self.steps.median(),
            p99_ns: self.steps.p99(),
            max_ns: self.steps.max(),
        })
    }
}

/// Requests of each group below which no comparison is made.
const ENOUGH: u64 = 10;

/// Whether requests of one group take longer than those of another: of all pairs of one of each, in how many the one of the
/// first group took longer, equal ones counted as half (the statistic of Mann and Whitney).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slower {
    /// Share of the pairs in percent; 50 is no difference.
    pub percent: f64,
    /// 95 % interval of it (Hanley and McNeil, Radiology 143, 1982), as if requests did not depend on each other.
    pub interval_percent: [f64; 2],
    /// Whether the interval excludes 50.
    pub is_shown: bool,
    /// The first group.
    pub first: LatencyFigures,
    /// The second group.
    pub second: LatencyFigures,
}

impl Slower {
    /// Compares two groups; none where one of them has fewer than 10 requests.
    pub fn of(first: &Latencies, second: &Latencies) -> Option<Slower> {
        let (a, b) = (first.figures()?, second.figures()?);
        if a.requests < ENOUGH || b.requests < ENOUGH {
            return None;
        }
        let share = share_of_pairs(&first.steps.coarse::<64>(), &second.steps.coarse::<64>());
        let error = standard_error(share, a.requests as f64, b.requests as f64);
        let reach = critical_t(0.05, f64::INFINITY) * error;
        let interval_percent = [share - reach, share + reach].map(|end| end.clamp(0.0, 1.0) * 100.0);
        let is_shown = interval_percent[0] > 50.0 || interval_percent[1] < 50.0;
        Some(Slower { percent: share * 100.0, interval_percent, is_shown, first: a, second: b })
    }
}

/// Values and counts, by ascending value.
fn share_of_pairs(first: &[(u64, u64)], second: &[(u64, u64)]) -> f64 {
    let (mut below, mut wins) = (0.0, 0.0);
    let mut others = second.iter().peekable();
    for (value, count) in first {
        while let Some((_, n)) = others.next_if(|(other, _)| other < value) {
            below += *n as f64;
        }
        let equal = others.peek().filter(|(other, _)| other == value).map_or(0.0, |(_, n)| *n as f64);
        wins += *count as f64 * (below + equal / 2.0);
    }
    let sum = |counts: &[(u64, u64)]| counts.iter().map(|(_, n)| *n as f64).sum::<f64>();
    wins / (sum(first) * sum(second))
}

fn standard_error(share: f64, n: f64, m: f64) -> f64 {
    let square = share * share;
    let (q1, q2) = (share / (2.0 - share), 2.0 * square / (1.0 + share));
    let variance = share * (1.0 - share) + (n - 1.0) * (q1 - square) + (m - 1.0) * (q2 - square);
    (variance.max(0.0) / (n * m)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn latencies(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|ns| latencies.add(*ns));
        latencies
    }

    proptest! {
        #[test]
        fn the_share_is_that_of_all_pairs(
            a in proptest::collection::vec(0u64..60, 10..40), b in proptest::collection::vec(0u64..60, 10..40),
        ) {
            // Below 64 each value has a step of its own.
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let wins: f64 = pairs.map(|(x, y)| if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 }).sum();
            let slower = Slower::of(&latencies(&a), &latencies(&b)).unwrap();
            let expected = wins / (a.len() * b.len()) as f64 * 100.0;
            prop_assert!((slower.percent - expected).abs() < 1e-9, "{} {expected}", slower.percent);
            let [low, high] = slower.interval_percent;
            prop_assert!((0.0..=100.0).contains(&low) && low <= slower.percent && slower.percent <= high);
        }
    }

    #[test]
    fn a_clear_difference_is_shown_and_a_small_sample_tells_nothing() {
        let fast: Vec<u64> = (0..200).map(|n| 100_000 + n * 13 % 997).collect();
        let slow: Vec<u64> = fast.iter().map(|ns| ns * 2).collect();
        let slower = Slower::of(&latencies(&slow), &latencies(&fast)).unwrap();
        assert!(slower.is_shown && slower.percent > 99.0, "{slower:?}");
        assert!((slower.first.mean_ns / slower.second.mean_ns - 2.0).abs() < 1e-9);
        let same = Slower::of(&latencies(&fast), &latencies(&fast)).unwrap();
        assert!(!same.is_shown && (same.percent - 50.0).abs() < 1e-9, "{same:?}");
        assert_eq!(Slower::of(&latencies(&slow[..9]), &latencies(&fast)), None);
    }

    #[test]
    fn figures_are_those_of_the_values() {
        assert_eq!(latencies(&[]).figures(), None);
        let figures = latencies(&[10, 20, 60]).figures().unwrap();
        assert_eq!((figures.requests, figures.total_ns, figures.mean_ns), (3, 90, 30.0));
        assert_eq!((figures.p50_ns, figures.p99_ns, figures.max_ns), (20, None, 60));
    }
}
