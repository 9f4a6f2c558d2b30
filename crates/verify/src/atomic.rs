//! The unit in which an access method moves data, and content that consists of parts of several writes.

use crate::observation::Bytes;

/// Unit in which a request reads or writes: of a unit, one request that overlaps another in time has all or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Atomic {
    /// A sector: direct I/O, and `write(2)` into the page cache, which copies each page under its lock.
    #[default]
    Sector,
    /// A byte: a copy to or from a mapping, and a read from the page cache, which locks nothing.
    Byte,
}

/// Least bytes of a part of a version that lies between two others. Copies move whole words, so that fewer are damage.
const LEAST_PART: usize = 4;

/// Whether each byte of a sector is that of one of these versions. `has_unknown`: other content may be among them, too.
///
/// The copy may have been interrupted anywhere, so parts at the ends of the sector have any length.
pub(crate) fn is_mixed(bytes: &Bytes, versions: &[Bytes], has_unknown: bool) -> bool {
    // The bounds of the longest run of equal bytes around one, in any version.
    let around = |at: usize| {
        let of_version = |version: &Bytes| {
            let is_same = |n: &usize| bytes[*n] == version[*n];
            let before = (0..=at).rev().take_while(is_same).count();
            let after = (at..bytes.len()).take_while(is_same).count();
            (at + 1 - before.min(at + 1), at + after, before > 0)
        };
        let runs = versions.iter().map(of_version).filter(|(.., is_same)| *is_same);
        runs.max_by_key(|(start, end, _)| end - start).map(|(start, end, _)| (start, end))
    };
    let is_part =
        |(start, end): (usize, usize)| start == 0 || end == bytes.len() || end - start >= LEAST_PART;
    let mut at = 0;
    while at < bytes.len() {
        let part = match around(at) {
            Some(run) => run,
            None if has_unknown => {
                (at, (at..bytes.len()).find(|n| around(*n).is_some()).unwrap_or(bytes.len()))
            }
            None => return false,
        };
        if !is_part(part) {
            return false;
        }
        at = part.1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(seed: u8) -> Bytes {
        std::array::from_fn(|at| (at as u8).wrapping_mul(31).wrapping_add(seed.wrapping_mul(97)) ^ seed)
    }

    /// Parts of versions, each up to a byte.
    fn mixed(parts: &[(u8, usize)]) -> Bytes {
        let mut bytes = [0; 512];
        let mut at = 0;
        for (seed, end) in parts {
            bytes[at..*end].copy_from_slice(&version(*seed)[at..*end]);
            at = *end;
        }
        bytes
    }

    #[test]
    fn accepts_partial_versions_with_any_boundary() {
        let versions = [version(1), version(2), version(3)];
        for end in 0..=512 {
            assert!(is_mixed(&mixed(&[(1, end), (2, 512)]), &versions, false), "{end}");
        }
        assert!(is_mixed(&mixed(&[(1, 64), (2, 72), (3, 80), (1, 512)]), &versions, false));
        assert!(!is_mixed(&mixed(&[(1, 200), (4, 512)]), &versions, false));
        assert!(is_mixed(&mixed(&[(1, 200), (4, 512)]), &versions, true));
        assert!(is_mixed(&mixed(&[(1, 200), (4, 300), (2, 512)]), &versions, true));
    }

    #[test]
    fn rejects_damage_between_partial_versions() {
        let versions = [version(1), version(2)];
        for at in 5..500 {
            for (bit, has_unknown) in [(1, false), (0x80, true)] {
                let mut bytes = mixed(&[(1, 256), (2, 512)]);
                bytes[at] ^= bit;
                // Not at the border, where a part may end anywhere.
                assert!(at.abs_diff(256) < LEAST_PART || !is_mixed(&bytes, &versions, has_unknown), "{at}");
            }
        }
    }
}
