//! Lengths of requests, each counted separately.

use super::{SizeCount, SizeFacts};
use iosonar_plan::Op;
use std::collections::BTreeMap;

/// Lengths below this have a preallocated slot.
const SHORT: usize = 1024;
/// Maximum number of different longer lengths; any others are counted by power of two.
const MOST_LENGTHS: usize = 1 << 16;
/// No length in bytes that 64 bits hold has more sectors than this power of two.
const CLASSES: usize = 56;

/// Reads and writes of each length.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    short: Vec<[u64; 2]>,
    long: BTreeMap<u64, [u64; 2]>,
    /// By binary logarithm.
    classes: [[u64; 2]; CLASSES],
}

impl Sizes {
    pub(super) fn new() -> Sizes {
        Sizes { short: vec![[0; 2]; SHORT], long: BTreeMap::new(), classes: [[0; 2]; CLASSES] }
    }

    pub(super) fn add(&mut self, sectors: u64, op: Op) {
        self.at(sectors)[usize::from(op.is_write())] += 1;
    }

    fn at(&mut self, sectors: u64) -> &mut [u64; 2] {
        if sectors < SHORT as u64 {
            return &mut self.short[sectors as usize];
        }
        if self.long.len() < MOST_LENGTHS || self.long.contains_key(&sectors) {
            return self.long.entry(sectors).or_default();
        }
        &mut self.classes[sectors.ilog2() as usize]
    }

    pub(super) fn merge(&mut self, other: &Sizes) {
        let add = |mine: &mut [u64; 2], theirs: &[u64; 2]| (0..2).for_each(|op| mine[op] += theirs[op]);
        self.short.iter_mut().zip(&other.short).for_each(|(mine, theirs)| add(mine, theirs));
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| add(mine, theirs));
        other.long.iter().for_each(|(sectors, counts)| add(self.at(*sectors), counts));
    }

    /// Every length or class that occurs, shortest first.
    pub(super) fn counts(&self) -> Vec<SizeCount> {
        let one = |first: u64, last: u64, [reads, writes]: [u64; 2]| SizeCount { first, last, reads, writes };
        let short = self.short.iter().enumerate().map(|(n, counts)| one(n as u64, n as u64, *counts));
        let long = self.long.iter().map(|(n, counts)| one(*n, *n, *counts));
        let classes = self.classes.iter().enumerate().map(|(log, c)| one(1 << log, (2 << log) - 1, *c));
        let mut counts: Vec<SizeCount> = short.chain(long).chain(classes).collect();
        counts.retain(|c| c.reads + c.writes > 0);
        counts.sort_by_key(|c| (c.first, c.last));
        counts
    }
}

/// Figures of one scope of requests, whose `sectors` are known exactly.
pub(super) fn facts(counts: &[SizeCount], of: impl Fn(&SizeCount) -> u64, sectors: u64) -> Option<SizeFacts> {
    let used: Vec<&SizeCount> = counts.iter().filter(|c| of(c) > 0).collect();
    let (shortest, longest) = (used.first()?, used.last()?);
    let requests: u64 = used.iter().map(|c| of(c)).sum();
    // The first of equally frequent ones.
    let top = used.iter().rev().max_by_key(|c| of(c))?;
    Some(SizeFacts {
        distinct: used.len() as u64,
        min_sectors: shortest.first,
        mean_sectors: sectors as f64 / requests as f64,
        max_sectors: longest.last,
        most_frequent_sectors: (top.first == top.last).then_some(top.first),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_many_lengths_into_classes() {
        let mut sizes = Sizes::new();
        (0..200_000u64).for_each(|n| sizes.add(n, Op::Read));
        sizes.add(u64::from(u32::MAX), Op::Write);
        let counts = sizes.counts();
        assert_eq!(counts.iter().map(|c| c.reads + c.writes).sum::<u64>(), 200_001);
        assert!(counts.len() <= SHORT + MOST_LENGTHS + 32);
        assert_eq!((counts[5].first, counts[5].last, counts[5].reads), (5, 5, 1));
        let facts = facts(&counts, |c| c.writes, u64::from(u32::MAX)).unwrap();
        assert_eq!((facts.distinct, facts.most_frequent_sectors), (1, None));
        assert_eq!(super::facts(&[], |c| c.reads, 0), None);
    }

    #[test]
    fn the_most_frequent_length_is_the_shortest_of_equals() {
        let mut sizes = Sizes::new();
        [8, 8, 16, 16, 1].into_iter().for_each(|n| sizes.add(n, Op::Write));
        let facts = facts(&sizes.counts(), |c| c.writes, 49).unwrap();
        assert_eq!((facts.min_sectors, facts.max_sectors, facts.mean_sectors), (1, 16, 9.8));
        assert_eq!(facts.most_frequent_sectors, Some(8));
    }
}
