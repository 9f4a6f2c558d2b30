//! A histogram of times in steps of 0.4 % or less, small enough to keep one for each block of a run.

use crate::log_scale::{begin_of, slot_of};

/// Steps of a factor of two, equal in width: 0.2 to 0.4 %.
const STEPS: u64 = 256;
/// Slots that are allocated together.
const PAGE: usize = 64;

/// Half of the widest step, as a difference of natural logarithms: the maximum error of a quantile.
pub(super) const HALF_STEP: f64 = 0.5 / STEPS as f64;

/// Counts of times. At most 60 KB, and pages that hold nothing are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LogHistogram {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    count: u64,
}

/// Least value of a slot.
fn lower_edge(slot: usize) -> f64 {
    begin_of::<STEPS>(slot) as f64
}

/// A place between two values of a histogram: all slots below `slot`, and this part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    slot: usize,
    part: f64,
}

impl Cut {
    /// The value there; linear inside of a step.
    pub(super) fn value(self) -> f64 {
        let (low, high) = (lower_edge(self.slot), lower_edge(self.slot + 1));
        if high - low <= 1.0 { low } else { low + self.part * (high - low) }
    }
}

impl LogHistogram {
    pub(super) fn add(&mut self, value: u64) {
        self.add_many(slot_of::<STEPS>(value), 1);
        self.count += 1;
    }

    fn add_many(&mut self, slot: usize, count: u32) {
        let page = slot / PAGE;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]));
        page[slot % PAGE] = page[slot % PAGE].saturating_add(count);
    }

    pub(super) fn merge(&mut self, other: &LogHistogram) {
        if self.pages.len() < other.pages.len() {
            self.pages.resize(other.pages.len(), None);
        }
        for (mine, theirs) in self.pages.iter_mut().zip(&other.pages) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => {
                    mine.iter_mut().zip(theirs.iter()).for_each(|(m, t)| *m = m.saturating_add(*t));
                }
                (None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
        self.count += other.count;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Slots that hold something, in ascending order.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let pages = self.pages.iter().enumerate().filter_map(|(i, page)| page.as_ref().map(|page| (i, page)));
        let slots = pages.flat_map(|(i, page)| (0..PAGE).map(move |slot| (i * PAGE + slot, page[slot])));
        slots.filter(|(_, count)| *count > 0)
    }

    /// Where the share `q` of all lies below; `None` if nothing was counted.
    pub(super) fn cut(&self, q: f64) -> Option<Cut> {
        let (rank, mut below, mut last) = (q * self.count as f64, 0.0, None);
        for (slot, count) in self.slots() {
            let count = f64::from(count);
            if below + count >= rank {
                return Some(Cut { slot, part: ((rank - below) / count).clamp(0.0, 1.0) });
            }
            below += count;
            last = Some(Cut { slot, part: 1.0 });
        }
        last
    }

    /// How many lie below a cut.
    pub(super) fn below(&self, cut: Cut) -> f64 {
        let (page, within) = (cut.slot / PAGE, cut.slot % PAGE);
        let sum = |counts: &[u32]| counts.iter().map(|n| u64::from(*n)).sum::<u64>();
        let whole: u64 = self.pages.iter().take(page).flatten().map(|page| sum(&page[..])).sum();
        let Some(Some(last)) = self.pages.get(page) else { return whole as f64 };
        (whole + sum(&last[..within])) as f64 + f64::from(last[within]) * cut.part
    }

    /// How many lie below a value.
    pub(super) fn below_value(&self, value: f64) -> f64 {
        let slot = slot_of::<STEPS>(value.max(0.0) as u64);
        let (low, high) = (lower_edge(slot), lower_edge(slot + 1));
        self.below(Cut { slot, part: ((value - low) / (high - low)).clamp(0.0, 1.0) })
    }

    /// Probability that a value of `other` is greater than one of these, equal ones counted half (Mann and
    /// Whitney's U ÷ product of the counts).
    pub(super) fn probability_less(&self, other: &LogHistogram) -> Option<f64> {
        let mut mine = self.slots().peekable();
        let (mut below, mut sum) = (0.0, 0.0);
        for (slot, theirs) in other.slots() {
            while let Some((_, count)) = mine.next_if(|(s, _)| *s < slot) {
                below += f64::from(count);
            }
            let equal = mine.peek().filter(|(s, _)| *s == slot).map_or(0.0, |(_, count)| f64::from(*count));
            sum += f64::from(theirs) * (below + equal / 2.0);
        }
        let pairs = self.count as f64 * other.count as f64;
        (pairs > 0.0).then(|| sum / pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> LogHistogram {
        let mut h = LogHistogram::default();
        values.iter().for_each(|v| h.add(*v));
        h
    }

    #[test]
    fn quantiles_of_known_values() {
        let h = of(&(1..=100_000).collect::<Vec<_>>());
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let cut = h.cut(q).unwrap();
            assert!((cut.value() / (q * 1e5) - 1.0).abs() < 0.002, "{q}: {}", cut.value());
            assert!((h.below(cut) - q * 1e5).abs() < 1e-6);
        }
        assert_eq!(LogHistogram::default().cut(0.5), None);
        assert_eq!(of(&[7; 5]).cut(0.5).unwrap().value(), 7.0);
    }

    #[test]
    fn computes_probability_of_being_slower() {
        assert_eq!(of(&[100, 200]).probability_less(&of(&[150])), Some(0.5));
        assert_eq!(of(&[100, 200]).probability_less(&of(&[300])), Some(1.0));
        assert_eq!(of(&[100, 200]).probability_less(&of(&[200])), Some(0.75));
        assert_eq!(of(&[]).probability_less(&of(&[200])), None);
    }

    proptest! {
        #[test]
        fn slot_bounds_contain_their_values(value: u64) {
            let slot = slot_of::<STEPS>(value);
            prop_assert!(slot < 58 * STEPS as usize);
            prop_assert!(lower_edge(slot) <= value as f64 && value as f64 <= lower_edge(slot + 1));
        }

        #[test]
        fn merging_equals_one_pass(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let whole = of(&[a, b].concat());
            prop_assert_eq!(merged.slots().collect::<Vec<_>>(), whole.slots().collect::<Vec<_>>());
            prop_assert_eq!(merged.count(), whole.count());
        }
    }
}
