//! Alignment of requests.

use crate::Extent;
use serde::{Deserialize, Serialize};

/// Distinct alignments: powers of two from 1 byte to 1 MiB.
const POWERS: usize = 21;

/// Requests, counted by the greatest power of two of which both their offset and their length are multiples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Alignments([u64; POWERS]);

impl Alignments {
    /// Counts one more request.
    pub fn add(&mut self, extent: Extent) {
        let power = (extent.offset | extent.length).trailing_zeros() as usize;
        self.0[power.min(POWERS - 1)] += 1;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Alignments) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Number of counted requests.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Requests that are no whole blocks of `block` bytes, a power of two of at most 1 MiB.
    pub fn misaligned(&self, block: u64) -> u64 {
        let power = block.max(1).trailing_zeros() as usize;
        self.0[..power.min(POWERS - 1)].iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misalignment_covers_offset_and_length() {
        let mut all = Alignments::default();
        for (offset, length) in [(0, 4096), (512, 4096), (8192, 512), (0, 1 << 30), (1 << 20, 1 << 20)] {
            all.add(Extent { offset, length });
        }
        assert_eq!(
            [1, 512, 1024, 4096, 8192, 1 << 20].map(|block| all.misaligned(block)),
            [0, 0, 2, 2, 3, 3]
        );
        let mut twice = all;
        twice.merge(&all);
        assert_eq!((all.count(), twice.count(), twice.misaligned(4096)), (5, 10, 4));
    }
}
