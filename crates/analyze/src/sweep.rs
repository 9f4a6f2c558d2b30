//! Number of requests in a state when another one enters it: in flight, or waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ends that are counted separately. With more, neighbours are merged, and numbers above this are no longer exact.
const ENDS: usize = 1 << 17;

/// Follows requests in order of their entry into the state, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    /// Exit times in units of 2^shift nanoseconds, and the number of requests at each.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    shift: u32,
    inside: u64,
}

impl Sweep {
    /// Adds a request that is in the state from `begin_ns` up to, but not at, `end_ns`. Returns the number of requests in
    /// the state just after its entry, itself included. Starts must not descend.
    pub(crate) fn enter(&mut self, begin_ns: u64, end_ns: u64) -> u64 {
        let now = begin_ns >> self.shift;
        while let Some(Reverse((end, count))) = self.ends.peek().copied()
            && end <= now
        {
            self.ends.pop();
            self.inside -= count;
        }
        self.ends.push(Reverse((end_ns >> self.shift, 1)));
        self.inside += 1;
        while self.ends.len() > ENDS {
            self.coarsen();
        }
        self.inside
    }

    /// Whether all numbers were exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    fn coarsen(&mut self) {
        self.shift += 1;
        let mut ends: Vec<(u64, u64)> = self.ends.drain().map(|Reverse((end, n))| (end >> 1, n)).collect();
        ends.sort_unstable();
        ends.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        self.ends = ends.into_iter().map(Reverse).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn matches_brute_force_count(spans in prop::collection::vec((0u64..50, 1u64..90), 1..80)) {
            let mut spans: Vec<(u64, u64)> = spans.into_iter().map(|(begin, length)| (begin, begin + length)).collect();
            spans.sort_unstable();
            let mut sweep = Sweep::default();
            for (i, (begin, end)) in spans.iter().enumerate() {
                let inside = spans[..=i].iter().filter(|(_, end)| end > begin).count();
                prop_assert_eq!(sweep.enter(*begin, *end), inside as u64);
            }
        }
    }

    #[test]
    fn long_queue_is_estimated_in_bounded_memory() {
        let mut sweep = Sweep::default();
        let total = 10 * ENDS as u64;
        for i in 0..total {
            // All of them are due at once, and leave one after the other.
            let inside = sweep.enter(i, 1_000_000_000 + i * 1_000);
            assert_eq!(inside, i + 1);
        }
        assert!(sweep.ends.len() <= ENDS);
        let half = 1_000_000_000 + total / 2 * 1_000;
        let inside = sweep.enter(half, half + 1) as f64;
        assert!((inside / (total / 2) as f64 - 1.0).abs() < 1e-2, "{inside}");
    }
}
