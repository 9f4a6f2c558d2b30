//! How often pages are used: ranks, shares of the accesses, Zipf's exponent.

use super::table::Entry;
use super::{FrequencyFacts, FrequencyGroup, HotPage, MassMarker, RankPoint};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Numbers of accesses below this have a preallocated slot.
const FEW: usize = 4096;
/// Hottest pages that are named.
const HOTTEST: usize = 10;
/// Ranks of a curve at most.
const SAMPLES: u32 = 512;
/// Shares that are marked: 1 divided by these.
const SHARES: [u64; 7] = [64, 32, 16, 8, 4, 2, 1];

/// Pages by number of accesses.
#[derive(Debug, Clone)]
pub(super) struct Frequency {
    few: Vec<u64>,
    many: BTreeMap<u64, u64>,
    /// In the order of the answer.
    hottest: Vec<HotPage>,
}

impl Frequency {
    pub(super) fn new() -> Frequency {
        Frequency { few: vec![0; FEW], many: BTreeMap::new(), hottest: Vec::new() }
    }

    /// Adds a page that stands for 2^`log_weight` with as many accesses.
    pub(super) fn add(&mut self, device: u16, entry: &Entry, accesses: u64, log_weight: u32) {
        if accesses == 0 {
            return;
        }
        match self.few.get_mut(accesses as usize) {
            Some(pages) => *pages += 1 << log_weight,
            None => *self.many.entry(accesses).or_default() += 1 << log_weight,
        }
        let page = HotPage { device, page: entry.page(), accesses };
        let rank = |p: &HotPage| (Reverse(p.accesses), p.device, p.page);
        if self.hottest.len() == HOTTEST && self.hottest.last().is_some_and(|last| rank(last) <= rank(&page))
        {
            return;
        }
        let at = self.hottest.partition_point(|p| rank(p) < rank(&page));
        self.hottest.insert(at, page);
        self.hottest.truncate(HOTTEST);
    }

    /// The curve: groups of equally hot pages, hottest first.
    pub(super) fn groups(&self) -> Vec<FrequencyGroup> {
        let many = self.many.iter().rev().map(|(accesses, pages)| (*accesses, *pages));
        let few = self.few.iter().enumerate().rev().map(|(accesses, pages)| (accesses as u64, *pages));
        let groups = many.chain(few).filter(|(_, pages)| *pages > 0);
        groups.map(|(accesses, pages)| FrequencyGroup { accesses, pages }).collect()
    }

    /// Figures of the curve; `accesses` is the true number.
    pub(super) fn facts(self, curve: &Curve, accesses: u64) -> FrequencyFacts {
        FrequencyFacts {
            distinct_pages: curve.pages,
            accesses,
            hottest: self.hottest,
            markers: curve.markers(),
            zipf_exponent: zipf_exponent(&curve.samples()),
        }
    }
}

/// Accesses by rank.
pub(super) struct Curve<'a> {
    groups: &'a [FrequencyGroup],
    pages: u64,
    accesses: u64,
}

impl Curve<'_> {
    pub(super) fn of(groups: &[FrequencyGroup]) -> Curve<'_> {
        let pages = groups.iter().map(|g| g.pages).sum();
        let accesses = groups.iter().map(|g| g.pages * g.accesses).sum();
        Curve { groups, pages, accesses }
    }

    /// Least rank whose accumulated accesses reach `part`.
    fn rank_of(&self, part: u64) -> u64 {
        let (mut rank, mut sum) = (0, 0);
        for g in self.groups {
            if sum + g.pages * g.accesses >= part {
                return rank + (part - sum).div_ceil(g.accesses);
            }
            (rank, sum) = (rank + g.pages, sum + g.pages * g.accesses);
        }
        rank
    }

    fn point(&self, rank: u64) -> RankPoint {
        let (mut left, mut accesses) = (rank, 0);
        for g in self.groups {
            let pages = g.pages.min(left);
            (left, accesses) = (left - pages, accesses + pages * g.accesses);
        }
        RankPoint {
            rank,
            accesses,
            pages_percent: 100.0 * rank as f64 / self.pages as f64,
            speedup: self.accesses as f64 / (self.accesses - accesses + rank) as f64,
        }
    }

    fn markers(&self) -> Vec<MassMarker> {
        if self.pages == 0 {
            return Vec::new();
        }
        let mut labelled = 0;
        let marker = |one_of: u64| {
            let fewest = self.rank_of(self.accesses.div_ceil(one_of));
            labelled = fewest.max(labelled + 1);
            let label = (labelled <= self.pages).then(|| self.point(labelled));
            MassMarker { one_of, fewest: self.point(fewest), label }
        };
        SHARES.into_iter().map(marker).collect()
    }

    /// Ranks at equal distances on a log axis, with their accesses.
    pub(super) fn samples(&self) -> Vec<(u64, u64)> {
        if self.pages == 0 {
            return Vec::new();
        }
        let spaced = |i: u32| (self.pages as f64).powf(f64::from(i) / f64::from(SAMPLES - 1)).round() as u64;
        let mut ranks: Vec<u64> = (0..SAMPLES).map(|i| spaced(i).clamp(1, self.pages)).collect();
        ranks.dedup();
        let mut groups = self.groups.iter();
        let (mut end, mut accesses) = (0, 0);
        let accesses_of = |rank: u64| {
            while end < rank {
                let Some(g) = groups.next() else { break };
                (end, accesses) = (end + g.pages, g.accesses);
            }
            (rank, accesses)
        };
        ranks.into_iter().map(accesses_of).collect()
    }
}

/// Negative slope of the least-squares line through the logarithms. Samples lie equally dense on the log axis, so
/// that a long tail does not outweigh the head.
fn zipf_exponent(samples: &[(u64, u64)]) -> Option<f64> {
    let [(_, most), .., (_, least)] = samples else { return None };
    if samples.len() < 3 {
        return None;
    }
    // The line through equal logarithms would be tilted by rounding alone.
    if most == least {
        return Some(0.0);
    }
    let points = || samples.iter().map(|(rank, accesses)| ((*rank as f64).ln(), (*accesses as f64).ln()));
    let n = samples.len() as f64;
    let (x, y) = points().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) =
        points().fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x).powi(2)));
    Some(-xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups(counts: &[u64]) -> Vec<FrequencyGroup> {
        let mut frequency = Frequency::new();
        counts.iter().for_each(|n| frequency.add(0, &Entry::of(1), *n, 0));
        frequency.groups()
    }

    proptest! {
        #[test]
        fn ranks_match_the_sorted_list(mut counts in prop::collection::vec(1u64..10_000, 1..60)) {
            let groups = groups(&counts);
            let curve = Curve::of(&groups);
            counts.sort_unstable_by_key(|n| Reverse(*n));
            let total: u64 = counts.iter().sum();
            let sum = |rank: usize| counts[..rank].iter().sum::<u64>();
            let mut limits = SHARES.into_iter().peekable();
            for rank in 1..=counts.len() {
                let Some(share) = limits.next_if(|share| sum(rank) * share >= total) else { continue };
                let marker = curve.markers().into_iter().find(|m| m.one_of == share).unwrap();
                let label = marker.label.unwrap();
                prop_assert_eq!((label.rank, label.accesses), (rank as u64, sum(rank)));
                let fewest = (1..=counts.len()).find(|n| sum(*n) * share >= total).unwrap();
                prop_assert_eq!(marker.fewest.rank, fewest as u64);
            }
            for (rank, accesses) in curve.samples() {
                prop_assert_eq!(counts[rank as usize - 1], accesses);
            }
        }
    }

    #[test]
    fn estimates_the_exponent() {
        let counts: Vec<u64> = (1..=5_000u64).map(|rank| (1e9 / (rank as f64).powf(0.8)) as u64).collect();
        let groups = groups(&counts);
        let s = zipf_exponent(&Curve::of(&groups).samples()).unwrap();
        assert!((s - 0.8).abs() < 0.001, "{s}");
        assert_eq!(zipf_exponent(&[(1, 5), (2, 5)]), None);
        assert_eq!(zipf_exponent(&[(1, 5), (2, 5), (3, 5)]), Some(0.0));
        assert_eq!(Curve::of(&[]).markers(), []);
    }
}
