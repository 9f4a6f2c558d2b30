//! Distribution of a time: an HDR histogram with exact sum, least and greatest value.

use crate::class::CLASSES;
use crate::fits::Fits;
use crate::{ByScope, Class};
use hdrhistogram::Histogram;
use iosonar_plan::Decimal;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// 146 years: longer than any run, so no percentile is clipped.
const LONGEST_NS: u64 = 1 << 62;
/// Significant digits of the histogram: percentiles are right to 0.1 %.
const DIGITS: u8 = 3;

/// Times of any number of requests in bounded memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// `None` without a request: a histogram has 400 KiB.
    #[serde(with = "stored_histogram")]
    histogram: Option<Box<Histogram<u64>>>,
    sum: u128,
    /// Exact as long as it is below 2^128: for a million times of half a day each.
    squares: u128,
    min: u64,
    max: u64,
}

/// The histogram of no requests.
static NOTHING: LazyLock<Histogram<u64>> = LazyLock::new(empty_histogram);

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are valid")
}

/// A histogram is stored as the values of its buckets that hold requests, with their counts.
mod stored_histogram {
    use super::empty_histogram;
    use hdrhistogram::Histogram;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        histogram: &Option<Box<Histogram<u64>>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let buckets = histogram.iter().flat_map(|histogram| histogram.iter_recorded());
        let counts = buckets.map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        counts.collect::<Vec<(u64, u64)>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Histogram<u64>>>, D::Error> {
        let mut histogram = None;
        for (value, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            let histogram = histogram.get_or_insert_with(|| Box::new(empty_histogram()));
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution { histogram: None, sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }
}

impl Distribution {
    /// Counts one time in nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.histogram.get_or_insert_with(|| Box::new(empty_histogram())).saturating_record(ns);
        self.sum += u128::from(ns);
        self.squares = self.squares.saturating_add(u128::from(ns) * u128::from(ns));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Merges `other`.
    pub fn merge(&mut self, other: &Distribution) {
        match (&mut self.histogram, &other.histogram) {
            (_, None) => {}
            (None, theirs) => self.histogram.clone_from(theirs),
            (Some(mine), Some(theirs)) => mine.add(&**theirs).expect("both have the same bounds"),
        }
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.histogram().len()
    }

    /// Exact sum in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The histogram itself, for export.
    pub fn histogram(&self) -> &Histogram<u64> {
        self.histogram.as_deref().unwrap_or(&NOTHING)
    }

    /// The figures; `None` if nothing was counted.
    pub fn stats(&self) -> Option<TimeStats> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let mean = (self.sum + u128::from(count) / 2) / u128::from(count);
        Some(TimeStats {
            count,
            min_ns: self.min,
            mean_ns: u64::try_from(mean).expect("a mean lies below the greatest value"),
            stddev_ns: self.standard_deviation(),
            p50_ns: self.quantile(0.5),
            p90_ns: self.resolved(10, 0.9),
            p95_ns: self.resolved(20, 0.95),
            p99_ns: self.resolved(100, 0.99),
            p99_9_ns: self.resolved(1_000, 0.999),
            p99_99_ns: self.resolved(10_000, 0.999_9),
            p99_999_ns: self.resolved(100_000, 0.999_99),
            max_ns: self.max,
        })
    }

    /// Standard deviation of a sample: the squares of the differences from the mean, summed and divided by one less than
    /// the number, as in fio. The difference of two large integers is taken before anything is rounded.
    fn standard_deviation(&self) -> Option<u64> {
        let count = u128::from(self.count());
        let others = count.checked_sub(1).filter(|others| *others > 0)?;
        let of_mean = self.sum.checked_mul(self.sum).map(|square| square / count);
        let deviations = match of_mean {
            Some(of_mean) => self.squares.saturating_sub(of_mean) as f64,
            None => (self.squares as f64 - (self.sum as f64).powi(2) / count as f64).max(0.0),
        };
        Some((deviations / others as f64).sqrt().round() as u64)
    }

    /// A histogram bucket ends above its values, so the exact bounds are kept.
    fn quantile(&self, q: f64) -> u64 {
        self.histogram().value_at_quantile(q).clamp(self.min, self.max)
    }

    /// A percentile, if at least one request lies above it; 100 is the greatest value.
    fn percentile(&self, percent: Decimal) -> Option<u64> {
        let above = Decimal::whole(100).parts().checked_sub(percent.parts())?;
        if above == 0 {
            return (self.count() > 0).then_some(self.max);
        }
        let whole = Decimal::whole(100).parts();
        // One division, so that 99.9 % is the same number as 0.999.
        self.resolved(whole.div_ceil(above), percent.parts() as f64 / whole as f64)
    }

    /// The quantile if at least one of `least` requests lies above it; with fewer it would only repeat the greatest value
    /// under a better-sounding name.
    fn resolved(&self, least: u64, q: f64) -> Option<u64> {
        (self.count() >= least).then(|| self.quantile(q))
    }
}

impl Fits for Distribution {
    fn fits(&self, _: &Self) -> bool {
        let count = u128::from(self.count());
        // Rounding a mean adds half of the count.
        let rounded = self.sum.checked_add(count / 2);
        match count {
            0 => (self.sum, self.squares, self.min, self.max) == (0, 0, u64::MAX, 0),
            _ => self.min <= self.max && rounded.is_some_and(|sum| sum / count <= u128::from(self.max)),
        }
    }
}

impl Fits for ByClass {
    fn fits(&self, own: &Self) -> bool {
        self.0.iter().zip(&own.0).all(|(theirs, own)| theirs.fits(own))
    }
}

/// Figures of a distribution, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeStats {
    /// Number of requests.
    pub count: u64,
    /// Least, exact.
    pub min_ns: u64,
    /// Exact sum divided by the number, rounded.
    pub mean_ns: u64,
    /// Standard deviation of the sample, from exact sums, rounded; absent below 2 requests.
    pub stddev_ns: Option<u64>,
    /// Half of the requests took no longer; right to 0.1 %, as are all percentiles.
    pub p50_ns: u64,
    /// Absent below 10 requests.
    pub p90_ns: Option<u64>,
    /// Absent below 20 requests.
    pub p95_ns: Option<u64>,
    /// Absent below 100 requests.
    pub p99_ns: Option<u64>,
    /// Absent below 1 000 requests.
    pub p99_9_ns: Option<u64>,
    /// Absent below 10 000 requests.
    pub p99_99_ns: Option<u64>,
    /// Absent below 100 000 requests.
    pub p99_999_ns: Option<u64>,
    /// Greatest, exact.
    pub max_ns: u64,
}

/// A percentile of the latency, of all requests, of reads and of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentile {
    /// The percentage.
    pub percent: Decimal,
    /// In nanoseconds; absent with too few requests, as in [`TimeStats`].
    pub all_ns: Option<u64>,
    /// The same for reads.
    pub read_ns: Option<u64>,
    /// The same for writes.
    pub write_ns: Option<u64>,
}

impl Percentile {
    /// Computes a percentile of these latencies.
    pub(crate) fn of(latency: &ByScope<Distribution>, percent: Decimal) -> Percentile {
        let of = |distribution: &Distribution| distribution.percentile(percent);
        let [all_ns, read_ns, write_ns] = [&latency.all, &latency.read, &latency.write].map(of);
        Percentile { percent, all_ns, read_ns, write_ns }
    }
}

/// A distribution for each class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ByClass([Distribution; CLASSES]);

impl ByClass {
    pub(crate) fn add(&mut self, class: Class, ns: u64) {
        self.0[class.index()].add(ns);
    }

    pub(crate) fn merge(&mut self, other: &ByClass) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    pub(crate) fn by_scope(&self) -> ByScope<Distribution> {
        ByScope::from_fn(|scope| {
            let mut sum = Distribution::default();
            Class::ALL.iter().filter(|c| scope.contains(**c)).for_each(|c| sum.merge(&self.0[c.index()]));
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unresolved_percentiles_are_absent() {
        let mut d = Distribution::default();
        assert_eq!(d.stats(), None);
        (1..=99).for_each(|n| d.add(n * 1000));
        let s = d.stats().unwrap();
        assert_eq!((s.count, s.min_ns, s.mean_ns, s.max_ns), (99, 1000, 50_000, 99_000));
        assert!(s.p50_ns.abs_diff(50_000) <= 50, "{}", s.p50_ns);
        assert!(s.p90_ns.is_some() && s.p99_ns.is_none());
    }

    #[test]
    fn zero_and_multi_day_values_are_exact() {
        let mut d = Distribution::default();
        d.add(0);
        let days = 3 * 86_400_000_000_000;
        (0..11).for_each(|_| d.add(days));
        let s = d.stats().unwrap();
        assert_eq!((s.min_ns, s.p50_ns, s.max_ns), (0, days, days));
    }

    #[test]
    fn computes_sample_standard_deviation() {
        let mut d = Distribution::default();
        d.add(1_000_000_000_000);
        assert_eq!(d.stats().unwrap().stddev_ns, None);
        // 2, 4, 4, 4, 5, 5, 7, 9 above a million seconds: the squares differ in their last digits only.
        let mut d = Distribution::default();
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|n| d.add(1_000_000_000_000_000 + n * 1000));
        assert_eq!(d.stats().unwrap().stddev_ns, Some(2138));
    }

    proptest! {
        #[test]
        fn merging_equals_one_pass(a in prop::collection::vec(0u64..1 << 40, 0..50), b in prop::collection::vec(0u64..1 << 40, 0..50)) {
            let of = |v: &[u64]| { let mut d = Distribution::default(); v.iter().for_each(|n| d.add(*n)); d };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let whole = of(&[a, b].concat());
            prop_assert_eq!(merged.stats(), whole.stats());
            prop_assert_eq!(merged, whole);
        }
    }
}
