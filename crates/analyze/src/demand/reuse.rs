//! Reuse distances and what they say about caches: the miss-ratio curve.
//!
//! An LRU cache of C pages holds a page that is used again if fewer than C other pages were used since (Mattson et al.,
//! "Evaluation techniques for storage hierarchies", 1970). So a histogram of distances yields the misses of every size at
//! once.

use super::{ByOp, Knee, MissRatio, MissRatioFacts, MissRatioPoint, PAGE_BYTES};
use crate::log_scale::{begin_of, slot_of};
use iosonar_plan::Op;

/// Parts of each power of two; distances below this have a bucket each.
const PARTS: u64 = 16;
const BUCKETS: usize = (PARTS as usize) * (64 - PARTS.ilog2() as usize + 1);

/// A curve that stays closer to the straight line than this has no knee.
const LEAST_BEND: f64 = 0.05;

/// Page accesses by reuse distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reuse {
    /// Reads and writes of each bucket.
    buckets: Vec<[u64; 2]>,
    /// First uses.
    first: [u64; 2],
}

/// First distance after a bucket: the size in pages from which on a cache holds all that is in it.
fn bucket_end(bucket: usize) -> u64 {
    begin_of::<PARTS>(bucket + 1).try_into().unwrap_or(u64::MAX)
}

impl Reuse {
    pub(super) fn new() -> Reuse {
        Reuse { buckets: vec![[0; 2]; BUCKETS], first: [0; 2] }
    }

    /// Counts first uses, each of which stands for 2^`log_weight` of them.
    pub(super) fn first(&mut self, op: Op, uses: u32, log_weight: u32) {
        self.first[usize::from(op.is_write())] += u64::from(uses) << log_weight;
    }

    /// Counts uses with a distance in sampled pages, each of which stands for 2^`log_weight`.
    pub(super) fn again(&mut self, op: Op, distance: u64, uses: u32, log_weight: u32) {
        self.buckets[slot_of::<PARTS>(distance << log_weight)][usize::from(op.is_write())] +=
            u64::from(uses) << log_weight;
    }

    pub(super) fn merge(&mut self, other: &Reuse) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            (0..2).for_each(|op| mine[op] += theirs[op]);
        }
        (0..2).for_each(|op| self.first[op] += other.first[op]);
    }

    /// The curve, given the true numbers of accesses by reads and by writes.
    ///
    /// With sampled pages, the difference between the true number and the sampled one is added to the shortest distance
    /// (SHARDS-adj of Waldspurger et al., FAST '15, section 4.3): it comes from the few hottest pages.
    pub(super) fn curve(&self, accesses: [u64; 2]) -> Vec<MissRatioPoint> {
        let used = self.buckets.iter().rposition(|b| b[0] + b[1] > 0).map_or(0, |last| last + 1);
        let sampled: [u64; 2] =
            std::array::from_fn(|op| self.first[op] + self.buckets.iter().map(|b| b[op]).sum::<u64>());
        let mut hits: [i128; 2] =
            std::array::from_fn(|op| i128::from(accesses[op]) - i128::from(sampled[op]));
        let point = |(bucket, counts): (usize, &[u64; 2])| {
            (0..2).for_each(|op| hits[op] += i128::from(counts[op]));
            let misses: [i128; 2] = std::array::from_fn(|op| {
                let all = i128::from(accesses[op]);
                (all - hits[op]).clamp(0, all)
            });
            MissRatioPoint { cache_pages: bucket_end(bucket), miss: ratios(misses, accesses) }
        };
        self.buckets[..used].iter().enumerate().map(point).collect()
    }

    /// Figures of the curve.
    pub(super) fn facts(&self, curve: &[MissRatioPoint], accesses: [u64; 2]) -> MissRatioFacts {
        let powers = curve.iter().filter(|p| p.cache_pages.is_power_of_two());
        let at = |p: &MissRatioPoint| MissRatio {
            cache_bytes: p.cache_pages.saturating_mul(PAGE_BYTES),
            miss: p.miss,
        };
        let knee = |of: fn(&ByOp<f64>) -> f64| knee(curve.iter().map(|p| (p.cache_pages, of(&p.miss))));
        MissRatioFacts {
            at: powers.map(at).collect(),
            first_use: ratios(self.first.map(i128::from), accesses).map(|r| r.min(1.0)),
            knee: ByOp { all: knee(|m| m.all), read: knee(|m| m.read), write: knee(|m| m.write) },
        }
    }
}

fn ratios(part: [i128; 2], whole: [u64; 2]) -> ByOp<f64> {
    let of = |part: i128, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    ByOp {
        all: of(part[0] + part[1], whole[0] + whole[1]),
        read: of(part[0], whole[0]),
        write: of(part[1], whole[1]),
    }
}

/// The point farthest below the straight line from no cache to the smallest one that reaches the least misses
/// (Satopää et al., "Finding a Kneedle in a haystack", 2011; both axes linear and scaled to 1).
fn knee(curve: impl Iterator<Item = (u64, f64)> + Clone) -> Option<Knee> {
    let least = curve.clone().map(|(_, miss)| miss).fold(1.0, f64::min);
    let (end, _) = curve.clone().find(|(_, miss)| *miss <= least)?;
    if least >= 1.0 {
        return None;
    }
    let gain = |(pages, miss): (u64, f64)| (1.0 - miss) / (1.0 - least) - pages as f64 / end as f64;
    let best = curve.take_while(|(pages, _)| *pages <= end).max_by(|a, b| gain(*a).total_cmp(&gain(*b)))?;
    (gain(best) >= LEAST_BEND).then(|| Knee { cache_bytes: best.0.saturating_mul(PAGE_BYTES), miss: best.1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bucket_bounds_contain_their_distances(bits in 0u32..64, low: u64) {
            let distance = (1 << bits) | (low & ((1 << bits) - 1));
            let bucket = slot_of::<PARTS>(distance);
            prop_assert!(bucket < BUCKETS);
            prop_assert!(distance < bucket_end(bucket) || bucket_end(bucket) == u64::MAX);
            prop_assert!(bucket == 0 || bucket_end(bucket - 1) <= distance);
        }
    }

    #[test]
    fn finds_the_bend_of_the_curve() {
        // Half of the accesses go to 8 pages, the others to a thousand.
        let mut reuse = Reuse::new();
        (0..1000).for_each(|_| reuse.again(Op::Read, 7, 1, 0));
        reuse.again(Op::Read, 1000, 1000, 0);
        (0..10).for_each(|_| reuse.first(Op::Read, 1, 0));
        let curve = reuse.curve([2010, 0]);
        let facts = reuse.facts(&curve, [2010, 0]);
        let knee = facts.knee.all.unwrap();
        assert_eq!((knee.cache_bytes, knee.miss), (8 * PAGE_BYTES, 1010.0 / 2010.0));
        assert_eq!(facts.first_use.read, 10.0 / 2010.0);
        assert_eq!(facts.knee.write, None);
    }
}
