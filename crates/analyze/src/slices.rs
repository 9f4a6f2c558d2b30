//! Sums over equal slices of a range from zero on, of time or of a target, in bounded memory.
//!
//! Slices are as wide as a power of two. When a value lies beyond the last possible one, the width doubles and neighbours are
//! merged. The width depends on the greatest value alone, so parts that were counted apart merge to what one pass yields.

use crate::fits::Fits;
use serde::{Deserialize, Serialize};

/// Sums that can be added up.
pub(crate) trait Merge: Clone + Default {
    /// Adds the sums of `other`.
    fn merge(&mut self, other: &Self);

    /// The sum of some of them.
    fn sum_of<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self
    where
        Self: 'a,
    {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.merge(part));
        sum
    }
}

/// At most `MOST` slices, at first of `1 << NARROWEST` each. At least half of them are in use if values begin at zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slices<S, const MOST: usize, const NARROWEST: u32> {
    shift: u32,
    /// Those in use.
    #[serde(
        with = "crate::sparse",
        bound(
            serialize = "S: Serialize + Default + PartialEq + Clone",
            deserialize = "S: Deserialize<'de> + Default + Clone"
        )
    )]
    list: Vec<S>,
}

impl<S, const MOST: usize, const NARROWEST: u32> Default for Slices<S, MOST, NARROWEST> {
    fn default() -> Self {
        Slices { shift: NARROWEST, list: Vec::new() }
    }
}

impl<S: Merge, const MOST: usize, const NARROWEST: u32> Slices<S, MOST, NARROWEST> {
    /// The slice of a value.
    #[inline]
    pub(crate) fn at(&mut self, value: u64) -> &mut S {
        if value >> self.shift >= self.list.len() as u64 {
            self.make_room(value);
        }
        &mut self.list[(value >> self.shift) as usize]
    }

    /// Widens the slices, and adds some, until a value has one.
    #[cold]
    fn make_room(&mut self, value: u64) {
        while value >> self.shift >= MOST as u64 {
            self.widen();
        }
        let needed = (value >> self.shift) as usize + 1;
        if needed > self.list.len() {
            self.list.resize_with(needed, S::default);
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        let mut wide: Vec<S> = Vec::with_capacity(MOST);
        for (index, slice) in std::mem::take(&mut self.list).into_iter().enumerate() {
            match wide.last_mut().filter(|_| index % 2 == 1) {
                Some(last) => last.merge(&slice),
                None => wide.push(slice),
            }
        }
        self.list = wide;
    }

    /// Widens the slices to those of `other`, if these are wider.
    pub(crate) fn widen_to(&mut self, other: &Self) {
        while self.shift < other.shift {
            self.widen();
        }
    }

    /// Merges `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.widen_to(other);
        if self.shift > other.shift {
            let mut wide = other.clone();
            wide.widen_to(self);
            return self.merge(&wide);
        }
        if other.list.len() > self.list.len() {
            self.list.resize_with(other.list.len(), S::default);
        }
        self.list.iter_mut().zip(&other.list).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// The slices in use, from zero on.
    pub(crate) fn list(&self) -> &[S] {
        &self.list
    }

    /// Drops all slices but the first ones.
    pub(crate) fn truncate(&mut self, slices: usize) {
        self.list.truncate(slices);
    }

    /// Width of a slice.
    pub(crate) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The first value of a slice.
    pub(crate) fn begin_of(&self, slice: usize) -> u64 {
        (slice as u64).saturating_mul(self.width())
    }
}

impl<S: Merge + Fits, const MOST: usize, const NARROWEST: u32> Fits for Slices<S, MOST, NARROWEST> {
    fn fits(&self, _: &Self) -> bool {
        let own = S::default();
        (NARROWEST..u64::BITS).contains(&self.shift)
            && self.list.len() <= MOST
            && self.list.iter().all(|slice| slice.fits(&own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Merge for u64 {
        fn merge(&mut self, other: &u64) {
            *self += other;
        }
    }

    type Counts = Slices<u64, 16, 3>;

    fn of(values: &[u64]) -> Counts {
        let mut counts = Counts::default();
        values.iter().for_each(|value| *counts.at(*value) += 1);
        counts
    }

    #[test]
    fn width_doubles_until_the_greatest_value_has_a_slice() {
        let counts = of(&[0, 7, 8, 127]);
        assert_eq!((counts.width(), counts.list().len(), counts.list()[..2].to_vec()), (8, 16, vec![2, 1]));
        let counts = of(&[0, 7, 8, 127, 128]);
        assert_eq!((counts.width(), counts.list().to_vec()), (16, vec![3, 0, 0, 0, 0, 0, 0, 1, 1]));
        assert_eq!((counts.begin_of(8), of(&[u64::MAX]).begin_of(15)), (128, 15 << 60));
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(values in prop::collection::vec((any::<u64>(), 0u32..64), 0..60), split in 0usize..60) {
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let whole = of(&values);
            let (left, right) = values.split_at(split.min(values.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(&merged, &whole);
            prop_assert_eq!(u64::sum_of(whole.list()), values.len() as u64);
            prop_assert!(whole.list().len() <= 16);
        }
    }
}
