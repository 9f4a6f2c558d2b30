//! From a range of a target to sectors of the device whose events are recorded.

use iosonar_analyze::extents::{PlacedMap, PlacedPart, Spot};
use iosonar_layout::{Addresses, Map};
use iosonar_plan::{Extent, Op, SECTOR};
use iosonar_trace::kernel::Device;

/// Location of a target on the device whose events are recorded.
#[derive(Debug)]
pub struct Place {
    device: Device,
    /// First byte of the partition on its disk; 0 for a whole device.
    start: u64,
    /// The blocks of a file; `None` for a device.
    file: Option<PlacedMap>,
}

/// Sectors of a device that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// First sector.
    pub sector: u64,
    /// First sector after it.
    pub end: u64,
}

impl Place {
    /// A device, or a partition that begins at this byte of the device.
    pub fn of_device(device: Device, start: u64) -> Place {
        Place { device, start, file: None }
    }

    /// A file whose file system lies on the device, from this byte on. `None` if the map has no addresses of the device.
    pub fn of_file(device: Device, start: u64, map: &Map) -> Option<Place> {
        let is_on_device = map.volume.addresses == Addresses::Device && map.rows.is_some();
        is_on_device.then(|| Place { device, start, file: Some(PlacedMap::new(map)) })
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Puts the sectors of a range into `parts`, in the order of the range. Returns whether all of it has a known place; without one the
    /// kernel has no requests that could be found, as for a flush, a hole, or a read of preallocated blocks.
    pub fn parts(&self, op: Op, range: Extent, parts: &mut Vec<Part>) -> bool {
        parts.clear();
        if !op.has_place() || range.length == 0 {
            return false;
        }
        let Some(map) = &self.file else { return self.add(range.offset, range.length, parts) };
        let mut placed: Vec<PlacedPart> = Vec::new();
        map.look_up(range.offset, range.length, op == Op::Read, &mut placed) != Spot::Unplaced
            && placed.iter().all(|part| self.add(part.address, part.length, parts))
    }

    /// Adds bytes of the partition; returns whether they are whole sectors.
    fn add(&self, offset: u64, length: u64, parts: &mut Vec<Part>) -> bool {
        let Some(begin) = self.start.checked_add(offset) else { return false };
        let Some(end) = begin.checked_add(length) else { return false };
        if begin % SECTOR != 0 || end % SECTOR != 0 {
            return false;
        }
        let (sector, end) = (begin / SECTOR, end / SECTOR);
        match parts.last_mut() {
            Some(last) if last.end == sector => last.end = end,
            _ => parts.push(Part { sector, end }),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_layout::{Extent as Blocks, Scan, Volume};
    use std::sync::Arc;

    fn file(extents: &[(u64, u64, u64, u32)], addresses: Addresses) -> Map {
        let mut scan = Scan::new(1 << 20, 4096, None, true);
        extents.iter().for_each(|(o, p, l, f)| scan.add(Blocks::new(*o, *p, *l, *f)));
        let (figures, kept) = scan.finish();
        let (rows, beyond) = kept.unzip();
        let volume = Arc::new(Volume {
            kind: "ext4".into(),
            mount_point: None,
            source: None,
            block_bytes: 4096,
            groups: None,
            bytes: None,
            addresses,
        });
        Map {
            path: "f".into(),
            volume,
            size: 1 << 20,
            extent_size_hint: 0,
            is_synced: true,
            figures,
            rows,
            beyond,
        }
    }

    fn parts(place: &Place, op: Op, offset: u64, length: u64) -> Option<Vec<(u64, u64)>> {
        let mut parts = Vec::new();
        let is_placed = place.parts(op, Extent { offset, length }, &mut parts);
        is_placed.then(|| parts.iter().map(|part| (part.sector, part.end)).collect())
    }

    #[test]
    fn partitions_start_at_their_place_on_the_disk() {
        let device = Device::new(8, 16).unwrap();
        assert_eq!(parts(&Place::of_device(device, 0), Op::Read, 4096, 8192), Some(vec![(8, 24)]));
        let partition = Place::of_device(device, 1 << 20);
        assert_eq!(parts(&partition, Op::Write, 4096, 512), Some(vec![(2056, 2057)]));
        assert_eq!(parts(&partition, Op::Flush, 0, 0), None);
        // Not whole sectors, and beyond any device.
        assert_eq!(parts(&partition, Op::Read, 100, 512), None);
        assert_eq!(parts(&partition, Op::Read, u64::MAX - 511, 512), None);
    }

    #[test]
    fn files_lie_in_fragments_and_may_have_no_place() {
        const UNWRITTEN: u32 = 0x800;
        let extents = [
            (0, 100 * 4096, 8192, 0),
            (8192, 102 * 4096, 4096, 0),
            (12_288, 50 * 4096, 4096, 0),
            (20_480, 60 * 4096, 4096, UNWRITTEN),
        ];
        let device = Device::new(8, 16).unwrap();
        assert!(Place::of_file(device, 0, &file(&extents, Addresses::Logical)).is_none());
        let place = Place::of_file(device, 4096, &file(&extents, Addresses::Device)).unwrap();
        assert_eq!(parts(&place, Op::Read, 4096, 8192), Some(vec![(816, 832)]));
        assert_eq!(parts(&place, Op::Read, 8192, 8192), Some(vec![(824, 832), (408, 416)]));
        assert_eq!(parts(&place, Op::Read, 12_288, 8192), None);
        assert_eq!(parts(&place, Op::Read, 20_480, 4096), None);
        assert_eq!(parts(&place, Op::Write, 20_480, 4096), Some(vec![(488, 496)]));
    }
}
