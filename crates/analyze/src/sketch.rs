//! A small histogram of durations: equal steps of the logarithm, no more of them than its values need.

use crate::fits::Fits;
use crate::log_scale::{begin_of, slot_of};
use crate::slices::Merge;
use serde::{Deserialize, Serialize};

/// Counts of values with `STEPS` steps for each factor of two. `STEPS` is a power of two; a quantile is right to
/// 1 / (2 · `STEPS`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Sketch<const STEPS: u64> {
    /// Slot of the first count.
    first: usize,
    counts: Vec<u64>,
    max: u64,
}

/// The value in the middle of a slot.
fn middle_of<const STEPS: u64>(slot: usize) -> u64 {
    ((begin_of::<STEPS>(slot) + begin_of::<STEPS>(slot + 1)) / 2) as u64
}

impl<const STEPS: u64> Merge for Sketch<STEPS> {
    fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        self.make_room(other.first, other.first + other.counts.len() - 1);
        let mine = &mut self.counts[other.first - self.first..];
        mine.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.max = self.max.max(other.max);
    }
}

impl<const STEPS: u64> Fits for Sketch<STEPS> {
    fn fits(&self, _: &Self) -> bool {
        self.first.saturating_add(self.counts.len()) <= slot_of::<STEPS>(u64::MAX) + 1
    }
}

impl<const STEPS: u64> Sketch<STEPS> {
    /// Counts a value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let slot = slot_of::<STEPS>(value);
        match self.counts.get_mut(slot.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => {
                self.make_room(slot, slot);
                self.counts[slot - self.first] += 1;
            }
        }
        self.max = self.max.max(value);
    }

    /// Extends the counts to the slots from `low` to `high`.
    #[cold]
    fn make_room(&mut self, low: usize, high: usize) {
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - low));
            self.first = low;
        }
        if high >= self.first + self.counts.len() {
            self.counts.resize(high - self.first + 1, 0);
        }
    }

    /// Number of counted values.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Start and count of each non-empty step, with fewer `COARSE` steps for each factor of two.
    pub(crate) fn coarse<const COARSE: u64>(&self) -> Vec<(u64, u64)> {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for (place, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let begin = begin_of::<COARSE>(slot_of::<COARSE>(middle_of::<STEPS>(self.first + place))) as u64;
            match steps.last_mut() {
                Some((last, sum)) if *last == begin => *sum += count,
                _ => steps.push((begin, *count)),
            }
        }
        steps
    }

    /// Number of values above the step of `value`.
    pub(crate) fn above(&self, value: u64) -> u64 {
        let behind = (slot_of::<STEPS>(value) + 1).saturating_sub(self.first).min(self.counts.len());
        self.counts[behind..].iter().sum()
    }

    /// The greatest, exact; 0 if nothing was counted.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The median; 0 if nothing was counted.
    pub(crate) fn median(&self) -> u64 {
        self.at_rank(self.count().div_ceil(2))
    }

    /// The 99th percentile; `None` below 100 values, where it would only repeat the greatest.
    pub(crate) fn p99(&self) -> Option<u64> {
        let count = self.count();
        (count >= 100).then(|| self.at_rank(count - count / 100))
    }

    /// The value of a rank, from 1; 0 if nothing was counted.
    pub(crate) fn at_rank(&self, rank: u64) -> u64 {
        let mut below = 0;
        let place = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        place.map_or(0, |place| middle_of::<STEPS>(self.first + place).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const STEPS: u64>(value: u64) -> Result<(), TestCaseError> {
        let slot = slot_of::<STEPS>(value);
        let middle = middle_of::<STEPS>(slot);
        prop_assert!(slot < 62 * STEPS as usize);
        prop_assert_eq!(slot_of::<STEPS>(middle), slot);
        prop_assert!(middle.abs_diff(value) <= value / (2 * STEPS) + 1);
        Ok(())
    }

    proptest! {
        #[test]
        fn step_bounds_contain_their_values(value: u64, shift in 0u32..64) {
            check::<8>(value >> shift)?;
            check::<64>(value >> shift)?;
        }

        #[test]
        fn ranks_match_the_sorted_values(
            mut values in prop::collection::vec((any::<u64>(), 0u32..64), 1..200), split in 0usize..200,
        ) {
            let mut values: Vec<u64> = values.drain(..).map(|(v, shift)| v >> shift).collect();
            let of = |values: &[u64]| {
                let mut sketch = Sketch::<64>::default();
                values.iter().for_each(|v| sketch.add(*v));
                sketch
            };
            let (left, right) = values.split_at(split.min(values.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(&merged, &of(&values));
            values.sort_unstable();
            for (index, value) in values.iter().enumerate() {
                let found = merged.at_rank(index as u64 + 1);
                prop_assert!(found.abs_diff(*value) <= value / 128 + 1, "{} {}", found, value);
            }
            prop_assert_eq!(merged.max(), *values.last().unwrap());
            prop_assert_eq!(merged.above(u64::MAX), 0);
            prop_assert_eq!(merged.p99().is_some(), values.len() >= 100);
        }
    }
}
