//! Counts of a map.

use crate::{Extent, Groups, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// Counts and sums of a map, up to the end of the file unless they say otherwise. Sizes are in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Mapping records: the lines of the map that are not holes.
    pub records: u64,
    /// Contiguous pieces of the file: a record starts a new one unless it lies directly after the record before it, or as
    /// far after it as in the file. Encoded and inline extents, and those without an address, are not counted.
    pub fragments: u64,
    /// Lower bound of the fragments of encoded extents: their length on the device is unknown, but an extent that starts before its
    /// predecessor, or farther after it than that is long in the file, cannot follow it.
    pub encoded_fragments: u64,
    /// Holes.
    pub holes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes in extents that others use, too. The other sums include them.
    pub shared_bytes: u64,
    /// Records after the end of the file.
    pub beyond_records: u64,
    /// Bytes in them: space that holds no data.
    pub beyond_bytes: u64,
    /// Sum of the distances on the device between each counted record and the next one, without their signs.
    pub gap_bytes: u64,
    /// Records that lie before the end of the counted record before them.
    pub backward_jumps: u64,
    /// Sizes of the records.
    pub sizes: Sizes,
    bytes: [u64; Kind::ALL.len()],
    groups: BTreeSet<u64>,
    /// The last record that was counted for fragments.
    last: Option<Extent>,
    /// The last encoded record.
    last_encoded: Option<Extent>,
}

impl Figures {
    /// Lower bound of the fragments of all kinds; exact if no extent is encoded.
    pub fn least_fragments(&self) -> u64 {
        self.fragments.saturating_add(self.encoded_fragments)
    }

    /// Whether there may be more fragments than counted.
    pub fn may_have_more_fragments(&self) -> bool {
        self.encoded_fragments > 0
    }

    /// Bytes of the file in extents of a kind.
    pub fn bytes_of(&self, kind: Kind) -> u64 {
        self.bytes[kind as usize]
    }

    /// Bytes of the file in extents of all kinds.
    pub fn mapped_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Allocation groups in which the file has extents.
    pub fn groups_used(&self) -> u64 {
        self.groups.len() as u64
    }

    /// Mean size of a fragment in bytes; absent without one.
    pub fn mean_fragment(&self) -> Option<f64> {
        let located = self.bytes_of(Kind::Written) + self.bytes_of(Kind::Unwritten);
        (self.fragments > 0).then(|| located as f64 / self.fragments as f64)
    }

    pub(crate) fn add_hole(&mut self, length: u64) {
        self.holes += 1;
        self.hole_bytes += length;
    }

    pub(crate) fn add_beyond(&mut self, extent: &Extent) {
        self.beyond_records += 1;
        self.beyond_bytes += extent.length;
    }

    pub(crate) fn add(&mut self, extent: &Extent, groups: Option<Groups>) {
        self.records += 1;
        self.bytes[extent.kind as usize] += extent.length;
        self.shared_bytes += if extent.is_shared { extent.length } else { 0 };
        self.sizes.add(extent.length);
        if let (Some(groups), Some(address)) = (groups, extent.address) {
            self.groups.insert(groups.of(address).0);
        }
        if let Some(place) = extent.place() {
            self.follow(extent, place.start);
        } else if let Some(address) = extent.address {
            let last = self.last_encoded.replace(*extent);
            let may_follow = |last: &Extent| {
                last.address
                    .is_some_and(|before| (before..=before.saturating_add(last.length)).contains(&address))
            };
            self.encoded_fragments += u64::from(!last.as_ref().is_some_and(may_follow));
        }
    }

    fn follow(&mut self, extent: &Extent, address: u64) {
        let last = self.last.replace(*extent);
        let Some((last, place)) = last.and_then(|last| Some((last, last.place()?))) else {
            self.fragments += 1;
            return;
        };
        let continues = extent.continues(&last) == Some(true);
        self.fragments += u64::from(!continues);
        self.backward_jumps += u64::from(address < place.end);
        self.gap_bytes = self.gap_bytes.saturating_add(address.abs_diff(place.end));
    }

    /// Adds the figures of another file. Groups are those of one file system, so a sum has none.
    pub fn merge(&mut self, other: &Figures) {
        let sums = [
            (&mut self.records, other.records),
            (&mut self.fragments, other.fragments),
            (&mut self.encoded_fragments, other.encoded_fragments),
            (&mut self.holes, other.holes),
            (&mut self.hole_bytes, other.hole_bytes),
            (&mut self.shared_bytes, other.shared_bytes),
            (&mut self.beyond_records, other.beyond_records),
            (&mut self.beyond_bytes, other.beyond_bytes),
            (&mut self.gap_bytes, other.gap_bytes),
            (&mut self.backward_jumps, other.backward_jumps),
        ];
        let kinds = self.bytes.iter_mut().zip(other.bytes);
        // Sparse files can exceed 2^64 bytes in total.
        sums.into_iter().chain(kinds).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.sizes.merge(&other.sizes);
        (self.last, self.last_encoded) = (None, None);
    }
}

/// Sizes of extents, or of free ranges, and how often each occurs: few numbers, also for many extents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes(BTreeMap<u64, u64>);

/// A class of sizes from one power of two up to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeClass {
    /// The smallest size of it in bytes, a power of two.
    pub from_bytes: u64,
    /// Extents of it.
    pub extents: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Sizes {
    pub(crate) fn add(&mut self, length: u64) {
        *self.0.entry(length).or_default() += 1;
    }

    fn merge(&mut self, other: &Sizes) {
        other.0.iter().for_each(|(length, n)| *self.0.entry(*length).or_default() += n);
    }

    /// Number of extents.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The smallest size.
    pub fn min(&self) -> Option<u64> {
        self.0.keys().next().copied()
    }

    /// The largest size.
    pub fn max(&self) -> Option<u64> {
        self.0.keys().next_back().copied()
    }

    /// The median; of two middle sizes the smaller.
    pub fn median(&self) -> Option<u64> {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        self.0.iter().find_map(|(length, n)| {
            seen += n;
            (seen >= half).then_some(*length)
        })
    }

    /// The mean size.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        let sum: f64 = self.0.iter().map(|(length, n)| *length as f64 * *n as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// Number of extents of at least `bytes`.
    pub fn at_least(&self, bytes: u64) -> u64 {
        self.0.range(bytes..).map(|(_, n)| n).sum()
    }

    /// Counts in each class from one power of two up to the next, ascending; empty classes are skipped.
    pub fn classes(&self) -> Vec<SizeClass> {
        let mut classes: Vec<SizeClass> = Vec::new();
        for (length, n) in &self.0 {
            let from_bytes = 1u64 << length.max(&1).ilog2();
            let bytes = length.saturating_mul(*n);
            match classes.last_mut().filter(|class| class.from_bytes == from_bytes) {
                Some(class) => {
                    class.extents += n;
                    class.bytes = class.bytes.saturating_add(bytes);
                }
                None => classes.push(SizeClass { from_bytes, extents: *n, bytes }),
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_median_and_classes() {
        let mut sizes = Sizes::default();
        assert_eq!((sizes.median(), sizes.mean(), sizes.min(), sizes.max()), (None, None, None, None));
        [4096, 4096, 8191, 8192, 1 << 20].into_iter().for_each(|length| sizes.add(length));
        assert_eq!((sizes.min(), sizes.median(), sizes.max()), (Some(4096), Some(8191), Some(1 << 20)));
        let classes: Vec<(u64, u64)> = sizes.classes().iter().map(|c| (c.from_bytes, c.extents)).collect();
        assert_eq!(classes, [(4096, 3), (8192, 1), (1 << 20, 1)]);
        assert_eq!((sizes.count(), sizes.at_least(4097), sizes.at_least((1 << 20) + 1)), (5, 3, 0));
        assert_eq!(sizes.mean(), Some((4096.0 * 2.0 + 8191.0 + 8192.0 + 1_048_576.0) / 5.0));
    }

    #[test]
    fn groups_are_counted_once_and_sums_add_up() {
        let groups = Some(Groups { count: 4, bytes: 1 << 20 });
        let mut figures = Figures::default();
        for (n, address) in [5 << 10, 2 << 20, 9 << 10].into_iter().enumerate() {
            figures.add(&Extent::new(n as u64 * 4096, address, 4096, 0), groups);
        }
        assert_eq!((figures.groups_used(), figures.fragments, figures.backward_jumps), (2, 3, 1));
        let mut both = figures.clone();
        both.merge(&figures);
        assert_eq!((both.records, both.fragments, both.mapped_bytes()), (6, 6, 6 * 4096));
        assert_eq!(both.mean_fragment(), Some(4096.0));
    }
}
