//! One request as its source issued it.

use iosonar_archive::Record;
use iosonar_plan::{Extent, Op};

/// Bytes of a sector, whatever the block size of the device.
pub const SECTOR_BYTES: u64 = 512;
/// Sectors of a page.
pub const SECTORS_PER_PAGE: u64 = 8;
/// Bytes of a page, the unit in which caches are thought of.
pub const PAGE_BYTES: u64 = SECTOR_BYTES * SECTORS_PER_PAGE;

/// One request as its source requested it, regardless of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// When it is due, nanoseconds from time zero.
    pub time_ns: u64,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Address space: requests of different devices never share a place.
    pub device: u16,
    /// Read or write.
    pub op: Op,
}

impl Demand {
    /// The demand of a record's source: due time and requested range, rounded outward to whole sectors. Each target is a
    /// separate device. `None` for operations without data: a flush has no address.
    pub fn of(record: &Record) -> Option<Demand> {
        let demand = || Demand::at(record.due.0, record.target, record.op, record.requested);
        record.op.is_transfer().then(demand)
    }

    /// The demand of a read or write, from its parts.
    pub fn at(time_ns: u64, device: u16, op: Op, extent: Extent) -> Demand {
        let (offset, length) = (extent.offset, extent.length);
        let sector = offset / SECTOR_BYTES;
        let sectors = offset.saturating_add(length).div_ceil(SECTOR_BYTES) - sector;
        Demand { time_ns, sector, sectors, device, op }
    }

    /// First sector after the request.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use iosonar_plan::Extent;

    #[test]
    fn a_range_is_rounded_outward_to_sectors() {
        for (offset, length, sector, sectors) in [
            (0, 512, 0, 1),
            (511, 2, 0, 2),
            (512, 0, 1, 0),
            (1, 0, 0, 1),
            (4096, 8192, 8, 16),
            (512, 1 << 42, 1, 1 << 33),
            (u64::MAX, 9, u64::MAX / 512, 1),
        ] {
            let mut r = record(3, Op::Write, 7, 8, 9);
            (r.requested, r.target) = (Extent { offset, length }, 2);
            let d = Demand::of(&r).unwrap();
            assert_eq!((d.time_ns, d.sector, d.sectors, d.device, d.op), (7, sector, sectors, 2, Op::Write));
        }
    }
}
