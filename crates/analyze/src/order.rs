//! Sorts requests by another key than their order of arrival, in bounded memory.
//!
//! Records arrive in the order of completion. Counts along due times or submissions need those orders, and a request of a
//! long stall arrives long after those that overtook it. So requests are held back until [`DISPLACEMENT`] others have
//! arrived: a request overtaken by no more than that many keeps its place. The others are released late, and counted.

use crate::memory;

/// Number of places by which a request may be late and still be sorted correctly.
pub const DISPLACEMENT: usize = 1 << 17;

/// Like [`DISPLACEMENT`], where memory is scarce (see [`spare_memory`](crate::spare_memory)).
const SCARCE: usize = 1 << 12;

/// Number of places by which a request may be late in this process and still be sorted correctly.
pub fn displacement() -> usize {
    memory::of(DISPLACEMENT, SCARCE)
}

/// Holds items back and releases them by ascending key.
#[derive(Debug, Clone)]
pub struct Reorder<K, T> {
    waiting: Vec<(K, T)>,
    /// Minimum number of items to hold back.
    keep: usize,
    /// Greatest key released so far.
    passed: Option<K>,
    late: u64,
}

impl<K: Ord + Copy, T: Copy> Reorder<K, T> {
    /// Holds back [`displacement`] items.
    pub fn new() -> Reorder<K, T> {
        Reorder::keeping(displacement())
    }

    /// Holds back `keep` items.
    pub fn keeping(keep: usize) -> Reorder<K, T> {
        Reorder { waiting: Vec::new(), keep, passed: None, late: 0 }
    }

    /// Adds an item; releases those that have waited long enough. Equal keys keep the order of arrival.
    pub fn push(&mut self, key: K, item: T, out: &mut impl FnMut(K, T)) {
        self.waiting.push((key, item));
        if self.waiting.len() >= 2 * self.keep {
            self.release(self.keep, out);
        }
    }

    /// Releases all remaining items.
    pub fn finish(&mut self, out: &mut impl FnMut(K, T)) {
        self.release(self.waiting.len(), out);
    }

    /// Number of items that came too late for their place.
    pub fn late(&self) -> u64 {
        self.late
    }

    fn release(&mut self, count: usize, out: &mut impl FnMut(K, T)) {
        // Stable, and fast on mostly sorted input.
        self.waiting.sort_by_key(|(key, _)| *key);
        for (key, item) in self.waiting.drain(..count) {
            self.late += u64::from(self.passed.is_some_and(|passed| key < passed));
            self.passed = self.passed.max(Some(key));
            out(key, item);
        }
    }
}

impl<K: Ord + Copy, T: Copy> Default for Reorder<K, T> {
    fn default() -> Self {
        Reorder::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(keep: usize, keys: &[u64]) -> (Vec<u64>, u64) {
        let (mut reorder, mut out) = (Reorder::keeping(keep), Vec::new());
        keys.iter().for_each(|key| reorder.push(*key, (), &mut |k, ()| out.push(k)));
        reorder.finish(&mut |k, ()| out.push(k));
        (out, reorder.late())
    }

    proptest! {
        #[test]
        fn sorts_items_displaced_less_than_window(
            steps in prop::collection::vec(0u64..20, 0..300), keep in 1usize..40,
        ) {
            // Each key lies less than `keep` places from where it belongs.
            let mut keys: Vec<(u64, u64)> = (0u64..).zip(&steps).map(|(i, step)| (i + step % keep as u64, i)).collect();
            keys.sort();
            let keys: Vec<u64> = keys.into_iter().map(|(_, key)| key).collect();
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            prop_assert_eq!(order(keep, &keys), (sorted, 0));
        }

        #[test]
        fn never_loses_items(keys in prop::collection::vec(0u64..50, 0..300), keep in 1usize..40) {
            let (mut out, late) = order(keep, &keys);
            prop_assert_eq!(late == 0, out.is_sorted());
            let mut keys = keys;
            keys.sort_unstable();
            out.sort_unstable();
            prop_assert_eq!(out, keys);
        }
    }
}
