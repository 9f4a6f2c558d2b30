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

impl Extent {
    /// The extent of `sectors` 512-byte sectors from `sector`; `None` if it ends beyond 2^63 bytes, the
    /// largest file offset that Linux knows.
    pub fn from_sectors(sector: u64, sectors: u64) -> Option<Extent> {
        let end = sector.checked_add(sectors)?;
        (end <= (1 << 63) / SECTOR).then(|| Extent { offset: sector * SECTOR, length: sectors * SECTOR })
    }

    /// First byte behind the extent.
    pub const fn end(self) -> u64 {
        self.offset + self.length
    }

    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }
}
