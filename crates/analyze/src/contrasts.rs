//! Latency of completed reads and writes by their size and their place: which requests are slow.

use crate::sketch::Sketch;
use crate::slices::{Merge, Slices};
use iosonar_archive::Record;

/// Sizes by powers of two, from 512 bytes or less to 16 MiB or more.
const SIZES: usize = 16;
/// Power of two of the smallest size.
const SMALLEST: u32 = 9;
/// Most places; a place becomes wider when requests lie further up.
const PLACES: usize = 64;
/// Width of the first places as a power of two.
const NARROWEST: u32 = 12;

/// Latency of the requests of one size, or at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The first byte of a place, or the least size.
    pub from: u64,
    /// The end of the place, or the greatest size.
    pub to: u64,
    /// Number of requests.
    pub requests: u64,
    /// Median of their latencies, to 3 %.
    pub p50_ns: u64,
}

/// Latency by size, and by place on the only target.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrasts {
    sizes: [Size; SIZES],
    /// `None` for several targets: their places are different ones.
    places: Option<Places>,
}

/// Requests whose sizes have the same power of two.
#[derive(Debug, Clone, PartialEq)]
struct Size {
    least: u64,
    greatest: u64,
    latency: Sketch<16>,
}

/// Latency by offset.
type Places = Slices<Sketch<16>, PLACES, NARROWEST>;

impl Contrasts {
    pub(crate) fn new(targets: usize) -> Contrasts {
        Contrasts {
            sizes: std::array::from_fn(|_| Size::default()),
            places: (targets == 1).then(Places::default),
        }
    }

    /// Counts a completed read or write.
    pub(crate) fn add(&mut self, record: &Record, latency_ns: u64) {
        let length = record.requested.length;
        self.sizes[power_of(length)].add(length, latency_ns);
        if let Some(places) = &mut self.places {
            places.at(record.executed.offset).add(latency_ns);
        }
    }

    pub(crate) fn merge(&mut self, other: &Contrasts) {
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(mine, theirs)| mine.merge(theirs));
        if let (Some(mine), Some(theirs)) = (&mut self.places, &other.places) {
            mine.merge(theirs);
        }
    }

    /// The sizes that occur, ascending.
    pub fn sizes(&self) -> Vec<Group> {
        let used = self.sizes.iter().filter(|size| size.latency.count() > 0);
        used.map(|size| group(size.least, size.greatest, &size.latency)).collect()
    }

    /// The places that occur, ascending; empty for several targets.
    pub fn places(&self) -> Vec<Group> {
        let of = |places: &Places| {
            let begin = |place: usize| places.begin_of(place);
            let used = places.list().iter().enumerate().filter(|(_, latency)| latency.count() > 0);
            used.map(|(place, latency)| group(begin(place), begin(place + 1), latency)).collect()
        };
        self.places.as_ref().map_or_else(Vec::new, of)
    }
}

fn power_of(length: u64) -> usize {
    let power = length.max(1).ilog2().saturating_sub(SMALLEST) as usize;
    power.min(SIZES - 1)
}

fn group(from: u64, to: u64, latency: &Sketch<16>) -> Group {
    Group { from, to, requests: latency.count(), p50_ns: latency.median() }
}

impl Default for Size {
    fn default() -> Size {
        Size { least: u64::MAX, greatest: 0, latency: Sketch::default() }
    }
}

impl Size {
    fn add(&mut self, length: u64, latency_ns: u64) {
        self.least = self.least.min(length);
        self.greatest = self.greatest.max(length);
        self.latency.add(latency_ns);
    }

    fn merge(&mut self, other: &Size) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use iosonar_plan::{Extent, Op};
    use proptest::prelude::*;

    fn of(requests: &[(u64, u64, u64)], targets: usize) -> Contrasts {
        let mut contrasts = Contrasts::new(targets);
        for (offset, length, latency) in requests {
            let mut one = record(1, Op::Read, 0, 0, *latency);
            (one.requested, one.executed) =
                (Extent { offset: *offset, length: *length }, Extent { offset: *offset, length: *length });
            contrasts.add(&one, *latency);
        }
        contrasts
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(
            requests in prop::collection::vec((any::<u64>(), 0..1u64 << 30, 1..1u64 << 40), 1..60), split in 0usize..60,
        ) {
            let whole = of(&requests, 1);
            let (left, right) = requests.split_at(split.min(requests.len()));
            let mut merged = of(left, 1);
            merged.merge(&of(right, 1));
            prop_assert_eq!(merged.sizes(), whole.sizes());
            prop_assert_eq!(merged.places(), whole.places());
            let sum = |groups: Vec<Group>| groups.iter().map(|group| group.requests).sum::<u64>();
            prop_assert_eq!((sum(whole.sizes()), sum(whole.places())), (requests.len() as u64, requests.len() as u64));
        }
    }

    #[test]
    fn groups_have_their_range_and_median() {
        let slow = [(1 << 20, 4096, 9_000), (1 << 20, 8192, 9_000), (1 << 20, 12_288, 9_000)];
        let contrasts = of(&[&[(0, 4096, 1_000); 5], slow.as_slice()].concat(), 1);
        let sizes = contrasts.sizes();
        let ranges: Vec<(u64, u64, u64)> =
            sizes.iter().map(|size| (size.from, size.to, size.requests)).collect();
        assert_eq!(ranges, [(4096, 4096, 6), (8192, 12_288, 2)]);
        let [first, last] = contrasts.places()[..] else { panic!("{:?}", contrasts.places()) };
        assert!(first.p50_ns.abs_diff(1_000) < 40 && last.p50_ns.abs_diff(9_000) < 300);
        assert!(last.from <= 1 << 20 && last.to > 1 << 20 && last.requests == 3);
        assert!(of(&slow, 2).places().is_empty());
    }
}
