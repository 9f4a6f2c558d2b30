//! Effect of wraparound on a device of a given size.

use super::{Demand, SECTOR_BYTES, Wraparound};

/// Requests against one size.
#[derive(Debug, Clone)]
pub(super) struct Wrap {
    bytes: u64,
    /// Whole sectors of the device.
    sectors: u64,
    remapped: u64,
    crossing: u64,
}

impl Wrap {
    pub(super) fn new(bytes: u64) -> Wrap {
        Wrap { bytes, sectors: bytes / SECTOR_BYTES, remapped: 0, crossing: 0 }
    }

    pub(super) fn add(&mut self, d: &Demand) {
        if d.end() <= self.sectors {
            return;
        }
        self.remapped += 1;
        // A device without a whole sector: everything lands at 0.
        let place = d.sector.checked_rem(self.sectors).unwrap_or(0);
        self.crossing += u64::from(place + d.sectors > self.sectors);
    }

    pub(super) fn merge(&mut self, other: &Wrap) {
        self.remapped += other.remapped;
        self.crossing += other.crossing;
    }

    /// The figures, given the highest end of all requests.
    pub(super) fn facts(&self, highest_end: u64) -> Wraparound {
        // The factor of a zero-size device would be infinite, which JSON cannot express.
        let factor =
            if self.bytes == 0 { 0.0 } else { highest_end as f64 * SECTOR_BYTES as f64 / self.bytes as f64 };
        Wraparound { device_bytes: self.bytes, factor, remapped: self.remapped, crossing: self.crossing }
    }
}
