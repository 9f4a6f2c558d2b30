//! A contiguous range of bytes on a target.

use crate::SECTOR;

/// `length` bytes from `offset`. The end never overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// The largest file offset that Linux knows, plus one.
const LIMIT: u64 = 1 << 63;

impl Extent {
    /// The extent of `length` bytes from `offset`; `None` if it ends beyond 2^63 bytes, the largest file offset that
    /// Linux knows.
    pub const fn new(offset: u64, length: u64) -> Option<Extent> {
        match offset.checked_add(length) {
            Some(..=LIMIT) => Some(Extent { offset, length }),
            _ => None,
        }
    }

    /// The extent of `sectors` 512-byte sectors from `sector`; `None` if it ends beyond 2^63 bytes.
    pub fn from_sectors(sector: u64, sectors: u64) -> Option<Extent> {
        Extent::new(sector.checked_mul(SECTOR)?, sectors.checked_mul(SECTOR)?)
    }

    /// First byte after the extent.
    pub const fn end(self) -> u64 {
        self.offset + self.length
    }

    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }
}
