//! Extra reads between the requests of a workload that reads.

use crate::{ByteSize, Extent};
use serde::{Deserialize, Serialize};

/// Two extra reads before every [`ExtraReads::every`] requests, the first one included: at the start of the target, and at
/// [`ExtraReads::SECOND`]. They disturb the kernel's read-ahead (IOzone's jitter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraReads {
    /// Requests from one pair of extra reads to the next, at least 1.
    pub every: u64,
    /// Bytes of an extra read, 1 byte to 4 KiB.
    pub size: ByteSize,
}

impl ExtraReads {
    /// Offset of the second one of a pair.
    pub const SECOND: u64 = 4096;
    /// Extra reads before every [`ExtraReads::every`] requests.
    pub const PAIR: u64 = 2;

    /// First byte after both.
    pub fn end(self) -> u64 {
        ExtraReads::SECOND + self.size.0
    }

    /// Extent of request `number`, if it is an extra read.
    pub fn extent(self, number: u64) -> Option<Extent> {
        let place = number % (self.every + ExtraReads::PAIR);
        (place < ExtraReads::PAIR).then(|| Extent { offset: place * ExtraReads::SECOND, length: self.size.0 })
    }

    /// Number of extra reads among `requests` other requests.
    pub fn count(self, requests: u64) -> u64 {
        requests.div_ceil(self.every) * ExtraReads::PAIR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_read_pairs_precede_every_n_requests() {
        let extra = ExtraReads { every: 3, size: ByteSize(1) };
        let places: Vec<Option<u64>> =
            (0..7).map(|number| extra.extent(number).map(|extent| extent.offset)).collect();
        assert_eq!(places, [Some(0), Some(4096), None, None, None, Some(0), Some(4096)]);
        assert_eq!([0, 1, 3, 4].map(|requests| extra.count(requests)), [0, 2, 2, 4]);
    }
}
