//! Number of requests in a state at the same time, from their start and end times in any order.
//!
//! Records arrive in order of completion, and a request in a long stall arrives long after those that
//! overtook it, so a sweep over events would need memory without bound. Two things are kept instead, both in
//! fixed memory and constant time for each request:
//!
//! - the *integral* of the number over each column, exact to the nanosecond: time-weighted means are exact;
//! - the *number itself* at a million equidistant instants (65 536 with coarse columns), exact at each of them: least,
//!   median and greatest number of a column are those of its instants. A peak shorter than the distance of two instants may
//!   fall between them; the engine's own maximum in the summary does not miss it.

use crate::axis::fold_pairs;
use crate::fits::Fits;
use crate::resolution::Resolution;
use crate::{Class, Scope, TimeAxis};
use serde::{Deserialize, Serialize};

/// Maximum instants at which the number is known.
const FINE_STEPS: usize = 1 << 20;
/// Maximum instants with coarse columns.
const COARSE_STEPS: usize = 1 << 16;

/// Number of requests in a state over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    columns: TimeAxis,
    instants: TimeAxis,
    /// Change of the number of requests that fill a column wholly, from the column before to this one.
    #[serde(with = "crate::sparse")]
    whole: Vec<i64>,
    /// Nanoseconds of requests that fill a column partly.
    #[serde(with = "crate::sparse")]
    partial: Vec<u128>,
    /// Change of the number from the instant before to this one; empty without a request.
    #[serde(with = "crate::sparse")]
    change: Vec<i32>,
}

/// The number of requests during one column of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Band {
    /// Least number at an instant.
    pub min: u64,
    /// Median number over the instants of the column.
    pub median: u64,
    /// Greatest number at an instant, and never below the mean.
    pub max: u64,
    /// Exact time-weighted mean.
    pub mean: f64,
}

impl Occupancy {
    /// An empty occupancy for a run that ends at about `end_ns`, with at most `most` columns, a power of two. Both axes
    /// widen as later times are added.
    pub(crate) fn new(end_ns: u64, most: usize, resolution: Resolution) -> Occupancy {
        let steps = resolution.of(FINE_STEPS, COARSE_STEPS);
        let (columns, instants) = (TimeAxis::new(end_ns, most), TimeAxis::new(end_ns, steps));
        let (whole, partial) = (vec![0; most + 1], vec![0; most]);
        Occupancy { columns, instants, whole, partial, change: Vec::new() }
    }

    /// The columns of the exact means.
    pub fn axis(&self) -> TimeAxis {
        self.columns
    }

    /// Counts a request that is in the state from `begin_ns` up to, but not at, `end_ns`.
    pub fn add(&mut self, begin_ns: u64, end_ns: u64) {
        if begin_ns >= end_ns {
            return;
        }
        // The instants are finer: if they reach, so do the columns.
        if self.instants.column(end_ns) >= self.instants.columns() {
            self.reach(end_ns);
        }
        let width = self.columns.width_ns();
        let (first, last) = (self.columns.column(begin_ns), self.columns.column(end_ns));
        if first == last {
            self.partial[first] += u128::from(end_ns - begin_ns);
        } else {
            self.partial[first] += u128::from((first as u64 + 1) * width - begin_ns);
            self.partial[last] += u128::from(end_ns - last as u64 * width);
            self.whole[first + 1] += 1;
            self.whole[last] -= 1;
        }
        // The instants inside are those from the first at or after the start to the last before the end.
        let (from, to) = (self.instants.next_column(begin_ns), self.instants.next_column(end_ns));
        if self.change.is_empty() {
            self.change.resize(self.instants.most() + 1, 0);
        }
        self.change[from] += 1;
        self.change[to] -= 1;
    }

    /// Extends the axes to `end_ns`.
    pub(crate) fn reach(&mut self, end_ns: u64) {
        while !self.columns.holds(end_ns) {
            self.fold_columns();
        }
        while !self.instants.holds(end_ns) {
            self.fold_instants();
        }
        self.columns = self.columns.reaching(end_ns);
        self.instants = self.instants.reaching(end_ns);
    }

    /// Extends the axes to `end_ns`, where the run ended.
    pub(crate) fn finish(&mut self, end_ns: u64) {
        self.reach(end_ns);
        self.settle();
    }

    /// Converts columns that are filled wholly to nanoseconds, like those filled partly.
    fn settle(&mut self) {
        let integral = self.integral_ns();
        self.whole.fill(0);
        self.partial[..integral.len()].copy_from_slice(&integral);
    }

    fn fold_columns(&mut self) {
        self.settle();
        fold_pairs(&mut self.partial, u128::saturating_add);
        self.columns = self.columns.widened();
    }

    fn fold_instants(&mut self) {
        // A change belongs to the first instant at or after it, so an odd one moves to the next remaining one.
        let used = self.change.len().min(self.instants.columns() + 1);
        for instant in 0..used {
            let change = std::mem::take(&mut self.change[instant]);
            let sum = &mut self.change[instant.div_ceil(2)];
            *sum = sum.saturating_add(change);
        }
        self.instants = self.instants.widened();
    }

    /// Merges `other`, whose columns may be wider or narrower.
    pub fn merge(&mut self, mut other: Occupancy) {
        self.match_axes(&other);
        other.match_axes(self);
        // Counts of another process may be wrong, and must not end this one.
        self.whole.iter_mut().zip(&other.whole).for_each(|(m, t)| *m = m.saturating_add(*t));
        self.partial.iter_mut().zip(&other.partial).for_each(|(m, t)| *m = m.saturating_add(*t));
        match self.change.is_empty() {
            true => self.change = other.change,
            false => self.change.iter_mut().zip(&other.change).for_each(|(m, t)| *m = m.saturating_add(*t)),
        }
    }

    fn match_axes(&mut self, other: &Occupancy) {
        while self.columns.width_ns() < other.columns.width_ns() {
            self.fold_columns();
        }
        while self.instants.width_ns() < other.instants.width_ns() {
            self.fold_instants();
        }
        // The finer axis shows the end of the other one more exactly.
        self.reach(other.instants.end_ns() - 1);
    }

    /// Exact nanoseconds of requests in each column.
    pub fn integral_ns(&self) -> Vec<u128> {
        let mut filling = 0i64;
        let width = u128::from(self.columns.width_ns());
        self.partial[..self.columns.columns()]
            .iter()
            .zip(&self.whole)
            .map(|(partial, change)| {
                filling = filling.saturating_add(*change);
                let whole = u128::try_from(filling).unwrap_or(0).saturating_mul(width);
                partial.saturating_add(whole)
            })
            .collect()
    }

    /// The bands of at most `most` equal groups of columns. The last may be shorter than the others.
    pub fn bands(&self, most: usize) -> Vec<Band> {
        let group = self.columns.columns().div_ceil(most);
        let span = group as u64 * self.columns.width_ns();
        let mut bands = self.levels_by(span);
        for (band, integrals) in bands.iter_mut().zip(self.integral_ns().chunks(group)) {
            let time = integrals.len() as u64 * self.columns.width_ns();
            band.mean = integrals.iter().sum::<u128>() as f64 / time as f64;
            band.max = band.max.max(band.mean.ceil() as u64);
            band.min = band.min.min(band.mean.floor() as u64);
        }
        bands
    }

    /// Nanoseconds that each band of [`Occupancy::bands`] covers.
    pub fn band_ns(&self, most: usize) -> u64 {
        self.columns.columns().div_ceil(most) as u64 * self.columns.width_ns()
    }

    fn levels_by(&self, span: u64) -> Vec<Band> {
        let count = self.columns.end_ns().div_ceil(span) as usize;
        let mut groups: Vec<Vec<u64>> = vec![Vec::new(); count];
        let mut level = 0i64;
        for instant in 0..self.instants.columns() {
            level += i64::from(self.change.get(instant).copied().unwrap_or(0));
            let group = (instant as u64 * self.instants.width_ns() / span) as usize;
            groups[group.min(count - 1)].push(u64::try_from(level).unwrap_or(0));
        }
        groups.iter_mut().map(|levels| band_of(levels)).collect()
    }
}

/// Whether no sum of the first changes is negative: no request ends before it begins.
fn is_level<T: Copy + Into<i64>>(changes: &[T]) -> bool {
    let mut level = 0i64;
    changes.iter().all(|change| {
        level = level.saturating_add((*change).into());
        level >= 0
    })
}

impl Fits for Occupancy {
    fn fits(&self, own: &Self) -> bool {
        let lengths = |of: &Self| (of.whole.len(), of.partial.len());
        self.columns.fits(&own.columns)
            && self.instants.fits(&own.instants)
            && lengths(self) == lengths(own)
            && [0, own.instants.most() + 1].contains(&self.change.len())
            && is_level(&self.whole)
            && is_level(&self.change)
    }
}

/// An occupancy for each class that transfers data: a request is counted once, even if it belongs to several scopes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassOccupancy([Occupancy; 4]);

impl Fits for ClassOccupancy {
    fn fits(&self, own: &Self) -> bool {
        self.0.iter().zip(&own.0).all(|(theirs, own)| theirs.fits(own))
    }
}

impl ClassOccupancy {
    /// Empty occupancies; see [`Occupancy::new`].
    pub(crate) fn new(end_ns: u64, most: usize, resolution: Resolution) -> ClassOccupancy {
        ClassOccupancy(std::array::from_fn(|_| Occupancy::new(end_ns, most, resolution)))
    }

    /// The sum of the classes of a scope.
    pub fn scope(&self, scope: Scope) -> Occupancy {
        let mut classes = Class::TRANSFERS.into_iter().filter(|class| scope.contains(*class));
        let first = classes.next().expect("every scope has a class");
        let mut sum = self.0[first.index()].clone();
        classes.for_each(|class| sum.merge(self.0[class.index()].clone()));
        sum
    }

    pub(crate) fn add(&mut self, class: Class, begin_ns: u64, end_ns: u64) {
        self.0[class.index()].add(begin_ns, end_ns);
    }

    pub(crate) fn merge(&mut self, other: ClassOccupancy) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    pub(crate) fn finish(&mut self, end_ns: u64) {
        self.0.iter_mut().for_each(|occupancy| occupancy.finish(end_ns));
    }
}

fn band_of(levels: &mut [u64]) -> Band {
    levels.sort_unstable();
    match (levels.first(), levels.last()) {
        (Some(min), Some(max)) => Band { min: *min, median: levels[levels.len() / 2], max: *max, mean: 0.0 },
        _ => Band::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn occupancy(end_ns: u64, most: usize) -> Occupancy {
        Occupancy::new(end_ns, most, Resolution::Fine)
    }

    #[test]
    fn matches_hand_calculation() {
        let mut o = occupancy(1023, 8);
        o.add(50, 250);
        o.add(150, 151);
        o.add(900, 999);
        assert_eq!(o.axis().width_ns(), 128);
        assert_eq!(o.integral_ns(), [78, 123, 0, 0, 0, 0, 0, 99]);
        let bands = o.bands(8);
        assert_eq!((bands[1].min, bands[1].median, bands[1].max, bands[1].mean), (0, 1, 2, 123.0 / 128.0));
        assert_eq!((bands[0].min, bands[0].max), (0, 1));
        assert_eq!(o.bands(1)[0].max, 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn integral_and_levels_match_brute_force_count(
            spans in prop::collection::vec((0u64..500, 0u64..500), 0..40), most in 0u32..6, split in 0usize..40,
        ) {
            let of = |spans: &[(u64, u64)], end: u64| {
                let mut o = occupancy(end, 1 << most);
                spans.iter().for_each(|(begin, length)| o.add(*begin, begin + length));
                o
            };
            let mut o = of(&spans[..split.min(spans.len())], 0);
            o.merge(of(&spans[split.min(spans.len())..], 0));
            o.reach(999);
            let level = |t: u64| spans.iter().filter(|(b, l)| *b <= t && t < b + l).count() as u64;
            for (column, integral) in o.integral_ns().iter().enumerate() {
                let from = column as u64 * o.axis().width_ns();
                let levels: Vec<u64> = (from..from + o.axis().width_ns()).map(level).collect();
                prop_assert_eq!(u128::from(levels.iter().sum::<u64>()), *integral);
            }
            let highest = (0..1000).map(level).max().unwrap();
            prop_assert_eq!(o.bands(1)[0].max, highest);
        }

        #[test]
        fn unknown_run_length_yields_the_same_levels(gap in 1u64..2_000, length in 1u64..3_000) {
            let (mut narrow, mut wide) = (occupancy(0, 8), occupancy(6_000_000 * 700, 8));
            for i in 0..3_000 {
                let begin = i * gap * 700;
                narrow.add(begin, begin + length * 700);
                wide.add(begin, begin + length * 700);
            }
            let end = (3_000 * gap + length) * 700;
            for o in [&mut narrow, &mut wide] {
                while o.instants.width_ns() < 1 << 13 {
                    o.fold_instants();
                }
                o.finish(end.max(6_000_000 * 700));
            }
            prop_assert!(narrow.change == wide.change);
        }

        #[test]
        fn folding_keeps_levels_at_instants(spans in prop::collection::vec((0u64..500, 0u64..500), 0..40)) {
            let mut o = occupancy(1023, 8);
            spans.iter().for_each(|(begin, length)| o.add(*begin, begin + length));
            o.fold_instants();
            o.fold_instants();
            let mut level = 0i64;
            for (instant, change) in o.change.iter().take(256).enumerate() {
                level += i64::from(*change);
                let t = instant as u64 * 4;
                let slow = spans.iter().filter(|(b, l)| *b <= t && t < b + l).count() as i64;
                prop_assert_eq!(level, slow, "at {}", t);
            }
        }
    }
}
