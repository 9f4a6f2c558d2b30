//! Free space of a file system: its ranges counted by size and by allocation group.

use crate::{Fragment, Groups, Sizes, Volume};
use std::ops::Range;
use std::path::PathBuf;

/// The free space reported by a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeReport {
    /// The named file or directory.
    pub path: PathBuf,
    /// Its file system.
    pub volume: Volume,
    /// Whether the file system was flushed before its free ranges were read.
    pub is_synced: bool,
    /// Bytes that statfs counts as free.
    pub statfs_free: u64,
    /// Bytes available to users other than root.
    pub statfs_available: u64,
    /// Its free ranges.
    pub free: FreeSpace,
}

/// The free ranges of a file system, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FreeSpace {
    sizes: Sizes,
    bytes: u64,
    groups: Option<(Groups, Vec<GroupFree>)>,
}

/// The free ranges of an allocation group. Sizes are in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupFree {
    /// Number of ranges that start in it.
    pub ranges: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// The largest one; 0 without any.
    pub largest: u64,
}

impl FreeSpace {
    /// Empty free space of a file system, with these allocation groups if it has some.
    pub fn new(groups: Option<Groups>) -> FreeSpace {
        FreeSpace { groups: groups.map(|groups| (groups, Vec::new())), ..FreeSpace::default() }
    }

    /// Counts a range of `length` bytes that starts at the address `start`.
    pub fn add(&mut self, start: u64, length: u64) {
        self.sizes.add(length);
        self.bytes = self.bytes.saturating_add(length);
        let Some((groups, of_groups)) = &mut self.groups else { return };
        let number = groups.of(start).0;
        // Garbage from a damaged file system must not take unlimited memory.
        let Some(place) = usize::try_from(number).ok().filter(|_| number < groups.count) else { return };
        of_groups.resize(of_groups.len().max(place + 1), GroupFree::default());
        let group = &mut of_groups[place];
        group.ranges += 1;
        group.bytes = group.bytes.saturating_add(length);
        group.largest = group.largest.max(length);
    }

    /// Sizes of the ranges.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Number of ranges.
    pub fn ranges(&self) -> u64 {
        self.sizes.count()
    }

    /// Bytes in all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Each allocation group with its number, even without free space; `None` if the file system has no groups.
    pub fn groups(&self) -> Option<Vec<(u64, GroupFree)>> {
        let (groups, of_groups) = self.groups.as_ref()?;
        let of = |number: u64| of_groups.get(number as usize).copied().unwrap_or_default();
        Some((0..groups.count).map(|number| (number, of(number))).collect())
    }
}

/// For each fragment, the remaining bytes of its free range after it; `None` if it does not lie in a range. `ranges` are
/// ascending and without overlaps.
pub fn left_after(fragments: &[Fragment], ranges: &[Range<u64>]) -> Vec<Option<u64>> {
    let left = |fragment: &Fragment| {
        let next = ranges.partition_point(|range| range.start <= fragment.address);
        let range = &ranges[next.checked_sub(1)?];
        range.end.checked_sub(fragment.address.saturating_add(fragment.bytes))
    };
    fragments.iter().map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_free_bytes_left_after_each_fragment() {
        let ranges = [4096..16_384, 65_536..131_072];
        let at = |address, bytes| Fragment { offset: 0, address, bytes };
        let fragments = [at(4096, 8192), at(65_536, 65_536), at(8192, 16_384), at(0, 4096), at(1 << 20, 1)];
        assert_eq!(left_after(&fragments, &ranges), [Some(4096), Some(0), None, None, None]);
        assert_eq!(left_after(&fragments[..1], &[]), [None]);
    }

    #[test]
    fn ranges_belong_to_the_group_in_which_they_start() {
        let mut free = FreeSpace::new(Some(Groups { count: 3, bytes: 1 << 20 }));
        let ranges = [(4096, 8192), (1 << 19, 1 << 19), ((2 << 20) + 4096, 4096), (9 << 20, 4096)];
        ranges.into_iter().for_each(|(start, length)| free.add(start, length));
        let groups = free.groups().unwrap();
        let first = GroupFree { ranges: 2, bytes: (1 << 19) + 8192, largest: 1 << 19 };
        assert_eq!((groups[0], groups[1]), ((0, first), (1, GroupFree::default())));
        assert_eq!((groups[2].1.ranges, groups.len()), (1, 3));
        assert_eq!((free.ranges(), free.bytes()), (4, (1 << 19) + 16_384));
        assert_eq!(free.sizes().at_least(8192), 2);
        assert_eq!(FreeSpace::new(None).groups(), None);
    }
}
