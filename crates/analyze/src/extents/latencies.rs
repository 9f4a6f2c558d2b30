//! Latencies of a group of requests, and a test whether one group is slower than another.

use crate::compare::critical_t;
use crate::sketch::Sketch;
use crate::slices::Merge;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// Counts a latency.
    pub fn add(&mut self, ns: u64) {
        self.steps.add(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    /// Merges `other`.
    pub fn merge(&mut self, other: &Latencies) {
        self.steps.merge(&other.steps);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }

    /// The figures; `None` without requests.
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

/// Minimum requests of each group for a comparison.
const ENOUGH: u64 = 10;

/// Two groups of requests to compare, by request length: longer ones take longer wherever they lie.
#[derive(Debug, Clone, Default)]
pub struct Groups(BTreeMap<u32, [Latencies; 2]>);

impl Groups {
    /// Counts a request of `bytes` in the first or in the second group.
    pub fn add(&mut self, is_first: bool, bytes: u64, ns: u64) {
        self.add_to(bytes.max(1).ilog2(), is_first, ns);
    }

    /// Counts a request of another kind of stratum, such as a time, in the first or in the second group.
    pub(crate) fn add_to(&mut self, stratum: u32, is_first: bool, ns: u64) {
        self.0.entry(stratum).or_default()[usize::from(!is_first)].add(ns);
    }

    /// The groups of the stratum with most requests of both: medians over several would be those of other lengths, too.
    #[must_use]
    pub fn of_largest_stratum(&self) -> Groups {
        let both = |groups: &[Latencies; 2]| groups.iter().map(|group| group.steps.count()).min();
        let largest = self.0.iter().max_by_key(|(_, groups)| both(groups));
        Groups(largest.map(|(stratum, groups)| (*stratum, groups.clone())).into_iter().collect())
    }

    /// Requests in the first and in the second group.
    pub fn requests(&self) -> [u64; 2] {
        [0, 1].map(|group| self.0.values().map(|groups| groups[group].steps.count()).sum())
    }

    /// Whether the first group takes longer; `None` if either has fewer than 10 requests of lengths that both have.
    pub fn slower(&self) -> Option<Slower> {
        let is_in_both = |groups: &&[Latencies; 2]| groups.iter().all(|group| group.steps.count() > 0);
        let strata: Vec<&[Latencies; 2]> = self.0.values().filter(is_in_both).collect();
        let [a, b] = [0, 1].map(|group| {
            let mut all = Latencies::default();
            strata.iter().for_each(|groups| all.merge(&groups[group]));
            all
        });
        let (first, second) = (a.figures()?, b.figures()?);
        if first.requests < ENOUGH || second.requests < ENOUGH {
            return None;
        }
        let (mut weights, mut share, mut variance) = (0.0, 0.0, 0.0);
        for [a, b] in strata {
            let pairs = Pairs::of(&a.steps.coarse::<64>(), &b.steps.coarse::<64>());
            let weight = pairs.n * pairs.m / (pairs.n + pairs.m + 1.0);
            weights += weight;
            share += weight * pairs.share;
            variance += weight * weight * pairs.variance;
        }
        let share = share / weights;
        // If all pairs agree the variance is 0, which a few requests do not prove.
        let least = 0.5 / first.requests.min(second.requests) as f64;
        let error = (variance.sqrt() / weights).max(least / 2.0);
        let reach = critical_t(0.05, f64::INFINITY) * error;
        let interval_percent = [share - reach, share + reach].map(|end| end.clamp(0.0, 1.0) * 100.0);
        let is_shown = interval_percent[0] > 50.0 || interval_percent[1] < 50.0;
        Some(Slower { percent: share * 100.0, interval_percent, is_shown, first, second })
    }
}

/// Result of the test whether requests of one group take longer than those of another: among all pairs of one of each, both of about
/// the same length (within a factor of two), the share in which the first took longer, ties counted as half. This is the statistic of
/// Mann and Whitney, over lengths with the weights of van Elteren (1960).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slower {
    /// Share of the pairs in percent; 50 is no difference.
    pub percent: f64,
    /// 95 % interval of it (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988), as if requests did not depend on each other.
    pub interval_percent: [f64; 2],
    /// Whether the interval excludes 50.
    pub is_shown: bool,
    /// The first group, of lengths that both have.
    pub first: LatencyFigures,
    /// The second group, of lengths that both have.
    pub second: LatencyFigures,
}

/// Pairs of one request of each of two groups.
struct Pairs {
    n: f64,
    m: f64,
    /// Share of pairs in which the request of the first group took longer.
    share: f64,
    variance: f64,
}

impl Pairs {
    /// Compares values with counts, by ascending value.
    fn of(first: &[(u64, u64)], second: &[(u64, u64)]) -> Pairs {
        let sum = |counts: &[(u64, u64)]| counts.iter().map(|(_, n)| *n as f64).sum::<f64>();
        let (n, m) = (sum(first), sum(second));
        let (of_first, of_second) = (shares_below(first, second, m), shares_below(second, first, n));
        let (share, spread) = mean_and_variance(first, &of_first, n);
        let (_, other_spread) = mean_and_variance(second, &of_second, m);
        Pairs { n, m, share, variance: spread / n + other_spread / m }
    }
}

/// For each value of `of` the share of `others`, `all` in number, that lie below it, equal ones counted as half.
fn shares_below(of: &[(u64, u64)], others: &[(u64, u64)], all: f64) -> Vec<f64> {
    let (mut below, mut others) = (0.0, others.iter().peekable());
    let share = |(value, _): &(u64, u64)| {
        while let Some((_, count)) = others.next_if(|(other, _)| other < value) {
            below += *count as f64;
        }
        let equal = others.peek().filter(|(other, _)| other == value).map_or(0.0, |(_, count)| *count as f64);
        (below + equal / 2.0) / all
    };
    of.iter().map(share).collect()
}

/// Mean and variance of `shares`, each weighted by the count of its value.
fn mean_and_variance(counts: &[(u64, u64)], shares: &[f64], all: f64) -> (f64, f64) {
    let weighted = |of: &dyn Fn(f64) -> f64| -> f64 {
        counts.iter().zip(shares).map(|((_, count), share)| *count as f64 * of(*share)).sum()
    };
    let mean = weighted(&|share| share) / all;
    (mean, weighted(&|share| (share - mean).powi(2)) / (all - 1.0).max(1.0))
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

    fn groups(first: &[u64], second: &[u64]) -> Groups {
        let mut groups = Groups::default();
        first.iter().for_each(|ns| groups.add(true, 4096, *ns));
        second.iter().for_each(|ns| groups.add(false, 4096, *ns));
        groups
    }

    proptest! {
        #[test]
        fn share_matches_all_pairs(
            a in proptest::collection::vec(0u64..60, 10..40), b in proptest::collection::vec(0u64..60, 10..40),
        ) {
            // Below 64 each value has a separate step.
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let wins: f64 = pairs.map(|(x, y)| if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 }).sum();
            let slower = groups(&a, &b).slower().unwrap();
            let expected = wins / (a.len() * b.len()) as f64 * 100.0;
            prop_assert!((slower.percent - expected).abs() < 1e-9, "{} {expected}", slower.percent);
            let [low, high] = slower.interval_percent;
            prop_assert!((0.0..=100.0).contains(&low) && low <= slower.percent && slower.percent <= high);
            prop_assert!(low < high);
        }
    }

    #[test]
    fn shows_clear_differences_but_not_small_samples() {
        let fast: Vec<u64> = (0..200).map(|n| 100_000 + n * 13 % 997).collect();
        let slow: Vec<u64> = fast.iter().map(|ns| ns * 2).collect();
        let slower = groups(&slow, &fast).slower().unwrap();
        assert!(slower.is_shown && slower.percent > 99.0, "{slower:?}");
        assert!((slower.first.mean_ns / slower.second.mean_ns - 2.0).abs() < 1e-9);
        let same = groups(&fast, &fast).slower().unwrap();
        assert!(!same.is_shown && (same.percent - 50.0).abs() < 1e-9, "{same:?}");
        assert_eq!(groups(&slow[..9], &fast).slower(), None);
        // Ten against ten show little, even where all pairs agree.
        let [low, _] = groups(&slow[..10], &fast[..10]).slower().unwrap().interval_percent;
        assert!(low < 97.0, "{low}");
    }

    /// Ten values of each group whose interval was computed by hand from the placements.
    #[test]
    fn interval_matches_delong() {
        let (a, b) = ([10, 20, 30, 40, 50, 11, 21, 31, 41, 51], [5, 15, 25, 35, 45, 6, 16, 26, 36, 46]);
        let slower = groups(&a, &b).slower().unwrap();
        let place = |x: u64, of: &[u64]| of.iter().filter(|y| **y < x).count() as f64 / of.len() as f64;
        let variance = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
        };
        let spread = variance(a.iter().map(|x| place(*x, &b)).collect()) / 10.0
            + variance(b.iter().map(|x| place(*x, &a)).collect()) / 10.0;
        let reach = 1.959_963_98 * spread.sqrt() * 100.0;
        assert!((slower.interval_percent[0] - (slower.percent - reach)).abs() < 0.1, "{slower:?} {reach}");
    }

    /// Long requests take longer and cross more borders: among requests of the same length there is no difference.
    #[test]
    fn requests_of_different_lengths_are_not_compared() {
        let mut mixed = Groups::default();
        for n in 0..400 {
            mixed.add(n % 10 == 0, 4096, 80_000 + n * 7919 % 1000);
            mixed.add(n % 10 != 0, 1 << 20, 400_000 + n * 7919 % 1000);
        }
        let slower = mixed.slower().unwrap();
        assert!(!slower.is_shown, "{slower:?}");
        assert_eq!(mixed.requests(), [400, 400]);
    }

    #[test]
    fn figures_match_the_values() {
        assert_eq!(latencies(&[]).figures(), None);
        let figures = latencies(&[10, 20, 60]).figures().unwrap();
        assert_eq!((figures.requests, figures.total_ns, figures.mean_ns), (3, 90, 30.0));
        assert_eq!((figures.p50_ns, figures.p99_ns, figures.max_ns), (20, None, 60));
    }
}
