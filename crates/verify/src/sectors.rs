//! A range of a target in sectors of 512 bytes, the unit of content.

use iosonar_plan::{Extent, SECTOR};

/// `count` sectors from `start`. The end must not overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sectors {
    /// First sector.
    pub start: u64,
    /// Number of sectors.
    pub count: u64,
}

impl Sectors {
    /// `count` sectors from `start`.
    pub const fn new(start: u64, count: u64) -> Sectors {
        Sectors { start, count }
    }

    /// The sectors from `start` to before `end`.
    pub const fn between(start: u64, end: u64) -> Sectors {
        Sectors { start, count: end - start }
    }

    /// The sectors that share a byte with `extent`.
    pub const fn covering(extent: Extent) -> Sectors {
        let start = extent.offset / SECTOR;
        match extent.length {
            0 => Sectors { start, count: 0 },
            _ => Sectors::between(start, extent.end().div_ceil(SECTOR)),
        }
    }

    /// The range widened to whole blocks of `block` sectors each.
    pub const fn in_blocks(self, block: u64) -> Sectors {
        Sectors::between(self.start / block * block, self.end().next_multiple_of(block))
    }

    /// First sector after the range.
    pub const fn end(self) -> u64 {
        self.start + self.count
    }

    /// Whether the two share a sector.
    pub const fn overlaps(self, other: Sectors) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_partially_covered_sectors() {
        let covering = |offset, length| Sectors::covering(Extent::new(offset, length).unwrap());
        assert_eq!(covering(512, 512), Sectors::new(1, 1));
        assert_eq!(covering(511, 2), Sectors::new(0, 2));
        assert_eq!(covering(700, 0).count, 0);
        assert!(!Sectors::new(0, 4).overlaps(Sectors::new(4, 1)));
    }

    #[test]
    fn widens_ranges_to_whole_blocks() {
        assert_eq!(Sectors::new(9, 8).in_blocks(8), Sectors::new(8, 16));
        assert_eq!(Sectors::new(8, 8).in_blocks(8), Sectors::new(8, 8));
        assert_eq!(Sectors::new(9, 3).in_blocks(1), Sectors::new(9, 3));
    }
}
