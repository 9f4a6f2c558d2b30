//! Sums in windows of equal width, which become wider with the length of the run.

/// Windows of a series at most. Above it, two neighbours become one.
pub(super) const MOST_STEPS: usize = 1 << 18;

/// Some counts for each step of a key (a second, a window, a GiB) from zero. A step is one key wide at first, then a power
/// of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes {
    lanes: usize,
    most: usize,
    shift: u32,
    cells: Vec<u64>,
}

impl Lanes {
    pub(super) fn new(lanes: usize, most: usize) -> Lanes {
        Lanes { lanes, most, shift: 0, cells: Vec::new() }
    }

    /// Binary logarithm of the number of keys in a step.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Number of steps so far.
    pub(super) fn steps(&self) -> usize {
        self.cells.len() / self.lanes
    }

    /// The counts of the step that holds `key`; makes room for it.
    pub(super) fn at(&mut self, key: u64) -> &mut [u64] {
        while (key >> self.shift) >= self.most as u64 {
            self.widen();
        }
        let from = (key >> self.shift) as usize * self.lanes;
        if from >= self.cells.len() {
            self.cells.resize(from + self.lanes, 0);
        }
        &mut self.cells[from..from + self.lanes]
    }

    /// The counts of the step that holds `key`, if there is room for it already.
    pub(super) fn get(&mut self, key: u64) -> Option<&mut [u64]> {
        let from = usize::try_from(key >> self.shift).ok()?.checked_mul(self.lanes)?;
        self.cells.get_mut(from..from.checked_add(self.lanes)?)
    }

    fn widen(&mut self) {
        let steps = self.steps();
        for step in 0..steps {
            for lane in 0..self.lanes {
                let count = std::mem::take(&mut self.cells[step * self.lanes + lane]);
                self.cells[step / 2 * self.lanes + lane] += count;
            }
        }
        self.cells.truncate(steps.div_ceil(2) * self.lanes);
        self.shift += 1;
    }

    /// Adds all of `other`, which has as many lanes.
    pub(super) fn merge(&mut self, mut other: Lanes) {
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        self.cells.resize(self.cells.len().max(other.cells.len()), 0);
        self.cells.iter_mut().zip(&other.cells).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The first `steps` counts of one lane; zeros after what was counted.
    pub(super) fn lane(&self, lane: usize, steps: usize) -> Vec<u64> {
        let counted = self.cells.iter().skip(lane).step_by(self.lanes).copied();
        counted.chain(std::iter::repeat(0)).take(steps).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_all_counts_in_bounded_memory(keys in prop::collection::vec(0u64..=u64::MAX, 1..40), cut in 0usize..40) {
            let mut whole = Lanes::new(2, 64);
            keys.iter().for_each(|k| whole.at(*k)[(k % 2) as usize] += 1);
            prop_assert!(whole.steps() <= 64);
            for key in &keys {
                let shift = whole.shift();
                let same = keys.iter().filter(|k| **k >> shift == key >> shift);
                prop_assert_eq!(whole.get(*key).unwrap().iter().sum::<u64>(), same.count() as u64);
            }
            let (a, b) = keys.split_at(cut.min(keys.len()));
            let of = |keys: &[u64]| {
                let mut lanes = Lanes::new(2, 64);
                keys.iter().for_each(|k| lanes.at(*k)[(k % 2) as usize] += 1);
                lanes
            };
            let mut merged = of(a);
            merged.merge(of(b));
            prop_assert_eq!(merged, whole);
        }
    }
}
