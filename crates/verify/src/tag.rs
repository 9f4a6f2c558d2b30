//! The short name of a version: 32 bits in place of the identity of the write that made it.
//!
//! Two versions of one sector share a tag with probability 2^-32. Then a stale read is missed; it is never a false
//! alarm.

use iosonar_archive::WriteId;

/// Short name of the content of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub(crate) u32);

impl Tag {
    /// Content that was not written by this run.
    pub const INITIAL: Tag = Tag(0);
    /// The state was given up: any content is legal.
    pub const UNKNOWN: Tag = Tag(2);
    /// Any content is legal, because of the operation, for example a discard.
    pub const ANY: Tag = Tag(3);
    /// Zeros that this run has written.
    pub const ZEROS: Tag = Tag(4);
    /// Content that may consist of parts of several legal versions; the records of the run prove it.
    pub const MIXED: Tag = Tag(5);
    /// Tags of versions are not smaller.
    pub(crate) const FIRST_VERSION: u32 = 16;

    /// The short name of a write of this run, as the header of each of its sectors names it.
    pub const fn of(write: WriteId) -> Tag {
        let place = (write.target as u64) << 48 | (write.phase as u64) << 32 | write.pass as u64;
        let mixed = mix(mix(place) ^ write.sequence);
        // The product's upper half lies in 0..(2^32 - 16), spread evenly.
        let span = u32::MAX as u64 + 1 - Tag::FIRST_VERSION as u64;
        Tag(Tag::FIRST_VERSION + (((mixed >> 32) * span) >> 32) as u32)
    }

    /// Whether a read of a place with this tag may find any content.
    pub(crate) const fn allows_all(self) -> bool {
        matches!(self, Tag::UNKNOWN | Tag::ANY)
    }
}

/// Each bit of the result depends on each bit of `x` (the finalizer of SplitMix64).
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tags_of_versions_are_unique() {
        let mut tags = HashSet::new();
        for target in 0..4 {
            for phase in 0..4 {
                for pass in 0..4 {
                    for sequence in 0..100 {
                        let tag = Tag::of(WriteId { target, phase, pass, sequence });
                        assert!(tag.0 >= Tag::FIRST_VERSION);
                        tags.insert(tag);
                    }
                }
            }
        }
        // 6400 of 2^32: the probability of one pair is 0.5 %, and the tags are always the same.
        assert_eq!(tags.len(), 6400);
    }
}
