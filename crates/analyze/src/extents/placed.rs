//! Location of requests in the map of their file.

use iosonar_layout::{Extent, Fragment, Kind, Map, fragments};
use std::ops::Range;

/// Location of a request in the map of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// All of it in one fragment.
    Inside,
    /// It crosses from one fragment into another.
    Across,
    /// Partly unknown: a hole, a read of preallocated space, compressed data, or blocks that had not been written yet.
    Unplaced,
}

impl Spot {
    /// All of them.
    pub const ALL: [Spot; 3] = [Spot::Inside, Spot::Across, Spot::Unplaced];

    /// The location in words.
    pub fn words(self) -> &'static str {
        match self {
            Spot::Inside => "within one fragment",
            Spot::Across => "across fragments",
            Spot::Unplaced => "without a known place",
        }
    }
}

/// Distance on the disk between the start of a request and the end of the previous one on the same file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jump {
    /// Directly after it.
    Next,
    /// At most 1 MiB further.
    Near,
    /// At most 64 MiB further.
    Far,
    /// More than that further.
    Farther,
    /// Backward by at most 1 MiB.
    NearBack,
    /// Backward by at most 64 MiB.
    FarBack,
    /// Backward by more than that.
    FartherBack,
}

impl Jump {
    /// All of them.
    pub const ALL: [Jump; 7] =
        [Jump::Next, Jump::Near, Jump::Far, Jump::Farther, Jump::NearBack, Jump::FarBack, Jump::FartherBack];

    /// The jump from the end of one request to the start of the next one.
    pub fn between(end: u64, start: u64) -> Jump {
        const NEAR: u64 = 1 << 20;
        const FAR: u64 = 64 << 20;
        let classes = match start < end {
            false if start == end => return Jump::Next,
            false => [Jump::Near, Jump::Far, Jump::Farther],
            true => [Jump::NearBack, Jump::FarBack, Jump::FartherBack],
        };
        let distance = start.abs_diff(end);
        classes[usize::from(distance > NEAR) + usize::from(distance > FAR)]
    }

    /// The distance in words.
    pub fn words(self) -> &'static str {
        match self {
            Jump::Next => "directly after",
            Jump::Near => "up to 1 MiB further",
            Jump::Far => "up to 64 MiB further",
            Jump::Farther => "more than 64 MiB further",
            Jump::NearBack => "up to 1 MiB back",
            Jump::FarBack => "up to 64 MiB back",
            Jump::FartherBack => "more than 64 MiB back",
        }
    }
}

/// A part of a request that is contiguous on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedPart {
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Address on the disk.
    pub address: u64,
    /// Number of its fragment.
    pub fragment: usize,
}

/// A map for looking up requests.
#[derive(Debug)]
pub struct PlacedMap {
    extents: Vec<(Extent, Option<usize>)>,
    fragments: Vec<Fragment>,
    /// First address of the file, and the end of its last.
    addresses: Range<u64>,
}

impl PlacedMap {
    /// Builds it from a map whose rows were kept.
    pub fn new(map: &Map) -> PlacedMap {
        let (extents, fragments) = fragments(map.rows.as_deref().unwrap_or_default());
        let places = || extents.iter().filter_map(|(extent, _)| extent.place());
        let from = places().map(|place| place.start).min().unwrap_or(0);
        let to = places().map(|place| place.end).max().unwrap_or(0);
        PlacedMap { extents, fragments, addresses: from..to }
    }

    /// Its fragments, in the order of the file.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// First address of the file, and the end of its last; empty without addresses.
    pub fn addresses(&self) -> Range<u64> {
        self.addresses.clone()
    }

    /// Puts the parts of a range of the file into `parts`, and returns its location. `reads`: preallocated space is not read
    /// from the disk.
    pub fn look_up(&self, offset: u64, length: u64, reads: bool, parts: &mut Vec<PlacedPart>) -> Spot {
        parts.clear();
        let end = offset.saturating_add(length);
        let first = self.extents.partition_point(|(extent, _)| extent.end() <= offset);
        let mut placed = 0;
        for (extent, fragment) in self.extents[first..].iter().take_while(|(extent, _)| extent.offset < end) {
            let is_read_as_zeros = reads && extent.kind == Kind::Unwritten;
            let Some((place, fragment)) = extent.place().zip(*fragment).filter(|_| !is_read_as_zeros) else {
                continue;
            };
            let (from, to) = (extent.offset.max(offset), extent.end().min(end));
            let address = place.start + (from - extent.offset);
            placed += to - from;
            match parts.last_mut() {
                // Mapping records of one fragment lie together, unless a hole of the file lies between them.
                Some(last) if last.address + last.length == address && last.fragment == fragment => {
                    last.length += to - from;
                }
                _ => parts.push(PlacedPart { offset: from, length: to - from, address, fragment }),
            }
        }
        let is_one = parts.windows(2).all(|pair| pair[0].fragment == pair[1].fragment);
        match (placed == length, is_one) {
            (false, _) => Spot::Unplaced,
            (true, true) => Spot::Inside,
            (true, false) => Spot::Across,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::testing::map;

    const BLOCK: u64 = 4096;

    #[test]
    fn maps_ranges_to_fragments() {
        const UNWRITTEN: u32 = 0x800;
        // Two records of one fragment, another fragment, a hole, a preallocated block that continues nothing.
        let map = PlacedMap::new(&map(&[
            (0, 100 * BLOCK, 2 * BLOCK, 0),
            (2 * BLOCK, 102 * BLOCK, 2 * BLOCK, 0),
            (4 * BLOCK, 50 * BLOCK, 4 * BLOCK, 0),
            (10 * BLOCK, 10 * BLOCK, BLOCK, UNWRITTEN),
        ]));
        let mut parts = Vec::new();
        let mut at = |offset, length, reads| {
            let spot = map.look_up(offset, length, reads, &mut parts);
            (spot, parts.iter().map(|part| (part.address / BLOCK, part.length)).collect::<Vec<_>>())
        };
        assert_eq!(at(BLOCK, 2 * BLOCK, true), (Spot::Inside, vec![(101, 2 * BLOCK)]));
        assert_eq!(at(3 * BLOCK, 2 * BLOCK, true), (Spot::Across, vec![(103, BLOCK), (50, BLOCK)]));
        assert_eq!(at(7 * BLOCK, 2 * BLOCK, true), (Spot::Unplaced, vec![(53, BLOCK)]));
        assert_eq!(at(10 * BLOCK, BLOCK, true), (Spot::Unplaced, vec![]));
        assert_eq!(at(10 * BLOCK, BLOCK, false), (Spot::Inside, vec![(10, BLOCK)]));
        assert_eq!(at(20 * BLOCK, BLOCK, false), (Spot::Unplaced, vec![]));
        assert_eq!(at(512, 512, true), (Spot::Inside, vec![(100, 512)]));
        assert_eq!((map.fragments().len(), map.addresses()), (3, 10 * BLOCK..104 * BLOCK));
    }

    #[test]
    fn classifies_jumps_by_distance_and_direction() {
        let from = 1 << 40;
        let to = |distance: i64| Jump::between(from, from.saturating_add_signed(distance));
        let near = [(0, Jump::Next), (1, Jump::Near), (1 << 20, Jump::Near), (-1, Jump::NearBack)];
        let far = [((1 << 20) + 1, Jump::Far), (1 << 30, Jump::Farther), (-(1 << 26), Jump::FarBack)];
        for (distance, jump) in near.into_iter().chain(far).chain([(-(1 << 27), Jump::FartherBack)]) {
            assert_eq!(to(distance), jump, "{distance}");
        }
    }
}
