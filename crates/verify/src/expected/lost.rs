//! Written sectors below a pointer whose state was given up.
//!
//! The sectors of a chunk are the bits of a mask. A pointer to a chunk that was given up is an odd number, a *code*, with
//! two ranges of sectors, or with blocks of 4 KiB where there are more ranges. A code for a leaf has one range; more
//! ranges are in a node: eight of them, or else the chunks that were written. So what is unknown was written, or lies in
//! the same block or chunk.

use super::CHUNK;
use super::arena::{FIRST, MARK};
use crate::Tag;

/// Chunks of a leaf.
pub(super) const LEAF: u64 = 256;
/// Sectors of a leaf, 16 MiB.
pub(super) const LEAF_SECTORS: u64 = LEAF * CHUNK;
/// Sectors of a block of 4 KiB.
const BLOCK: u64 = 8;
/// Ranges of a node.
const RANGES: usize = 8;

/// Whether a pointer is a code.
pub(super) fn is_code(pointer: u32) -> bool {
    pointer >= FIRST && pointer & 1 != 0
}

/// The bits of sectors of one chunk, `count` from `start` on.
pub(super) fn mask(start: u64, count: u64) -> u128 {
    if count == 0 { 0 } else { (u128::MAX >> (CHUNK - count)) << start }
}

/// The first range of ones, as its first sector and its length.
fn first_range(mask: u128) -> (u64, u64) {
    if mask == 0 {
        return (0, 0);
    }
    let start = u64::from(mask.trailing_zeros());
    (start, u64::from((mask >> start).trailing_ones()))
}

/// The pointer to a chunk of which these sectors are unknown, and the others were never written. Of many ranges whole
/// blocks become unknown.
pub(super) fn chunk_code(written: u128) -> u32 {
    match written {
        0 => return Tag::INITIAL.0,
        u128::MAX => return Tag::UNKNOWN.0,
        _ => {}
    }
    let first = first_range(written);
    let rest = written & !mask(first.0, first.1);
    let second = first_range(rest);
    if rest == mask(second.0, second.1) {
        // None of these is 128 sectors long.
        let [a, b, c, d] = [first.1, first.0, second.1, second.0].map(|number| number as u32);
        return (a << 21 | b << 14 | c << 7 | d) << 1 | 1;
    }
    let is_written = |block: &u64| written & mask(block * BLOCK, BLOCK) != 0;
    let blocks = (0..CHUNK / BLOCK).filter(is_written).fold(0, |blocks, block| blocks | 1 << block);
    if blocks == 0xffff { Tag::UNKNOWN.0 } else { MARK | blocks << 1 | 1 }
}

/// The sectors of a chunk that are unknown, by the code for it.
pub(super) fn chunk_mask(code: u32) -> u128 {
    let number = code >> 1;
    if code & MARK == 0 {
        let part = |shift: u32| u64::from(number >> shift & 0x7f);
        return mask(part(14), part(21)) | mask(part(0), part(7));
    }
    let blocks = (0..CHUNK / BLOCK).filter(|block| number >> block & 1 != 0);
    blocks.fold(0, |all, block| all | mask(block * BLOCK, BLOCK))
}

/// Remains of a node: the ranges of a leaf, or its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) words: [u32; RANGES],
    pub(super) has_ranges: bool,
}

impl Trace {
    /// The unknown sectors of a chunk.
    pub(super) fn chunk(&self, chunk: u64) -> u128 {
        if !self.has_ranges {
            let is_written = self.words[chunk as usize / 32] >> (chunk % 32) & 1 != 0;
            return if is_written { u128::MAX } else { 0 };
        }
        let ranges = self.words.iter().map(|word| (u64::from(word >> 16), u64::from(word & 0xffff)));
        ranges.fold(0, |all, (start, end)| all | part(chunk, start, end))
    }
}

/// The sectors from `start` to `end` of a leaf that are in a chunk.
fn part(chunk: u64, start: u64, end: u64) -> u128 {
    let first = chunk * CHUNK;
    let (start, end) = (start.max(first), end.min(first + CHUNK));
    if start < end { mask(start - first, end - start) } else { 0 }
}

/// The code for a leaf of which one range is unknown.
fn range_code(start: u64, end: u64) -> u32 {
    match (start, end) {
        (0, LEAF_SECTORS) => Tag::UNKNOWN.0,
        _ => ((end - start) as u32) << 16 | (start as u32) << 1 | 1,
    }
}

/// The unknown sectors of a chunk, by the code for its leaf.
pub(super) fn chunk_of_range(code: u32, chunk: u64) -> u128 {
    let (start, count) = (u64::from(code >> 1 & 0x7fff), u64::from(code >> 16));
    part(chunk, start, start + count)
}

/// The written sectors of a leaf.
pub(super) struct Leaf(pub(super) [u128; LEAF as usize]);

/// Storage of the written sectors of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafStorage {
    /// In the pointer.
    Pointer(u32),
    /// In a node; without memory for one, all from the first to the last become unknown, as encoded in the pointer.
    Node(Trace, u32),
}

impl Leaf {
    /// Adds sectors of the leaf.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        for chunk in start / CHUNK..end.div_ceil(CHUNK) {
            self.0[chunk as usize] |= part(chunk, start, end);
        }
    }

    /// Chooses the storage for them.
    pub(super) fn keep(&self) -> LeafStorage {
        let (mut ranges, mut chunks, mut count) = ([(0, 0); RANGES], [0; RANGES], 0);
        let mut last = (0, 0);
        for (chunk, &written) in (0..).zip(&self.0) {
            chunks[chunk as usize / 32] |= u32::from(written != 0) << (chunk % 32);
            let mut rest = written;
            while rest != 0 {
                let (start, length) = first_range(rest);
                rest &= !mask(start, length);
                let start = chunk * CHUNK + start;
                if count > 0 && last.1 == start {
                    last.1 += length;
                } else {
                    last = (start, start + length);
                    count += 1;
                }
                if count <= RANGES {
                    ranges[count - 1] = last;
                }
            }
        }
        match count {
            0 => LeafStorage::Pointer(Tag::INITIAL.0),
            1 => LeafStorage::Pointer(range_code(last.0, last.1)),
            _ => {
                let has_ranges = count <= RANGES;
                let words =
                    if has_ranges { ranges.map(|(start, end)| (start << 16 | end) as u32) } else { chunks };
                LeafStorage::Node(Trace { words, has_ranges }, range_code(ranges[0].0, last.1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_codes_store_two_ranges_or_widen_to_blocks() {
        let kept = |written: u128| match chunk_code(written) {
            0 => 0,
            code if code == Tag::UNKNOWN.0 => u128::MAX,
            code => {
                assert!(is_code(code));
                chunk_mask(code)
            }
        };
        for exact in [0, 1, 1 << 127, u128::MAX, u128::MAX >> 1, 0b1011, mask(3, 60) | mask(100, 28)] {
            assert_eq!(kept(exact), exact, "{exact:x}");
        }
        assert_eq!(kept(0b1010_1000), 0xff);
        assert_eq!(kept(1 << 17 | 1 << 19 | 1 << 127), 0xff << 16 | 0xff << 120);
        let one_of_each_block = (0..16).fold(0, |all, block| all | 1u128 << (block * 8));
        assert_eq!(kept(one_of_each_block), u128::MAX);
    }

    fn leaf(ranges: &[(u64, u64)]) -> Leaf {
        let mut leaf = Leaf([0; LEAF as usize]);
        ranges.iter().for_each(|(start, end)| leaf.add(*start, *end));
        leaf
    }

    #[test]
    fn leaf_stores_ranges_or_chunks() {
        assert_eq!(leaf(&[]).keep(), LeafStorage::Pointer(0));
        assert_eq!(leaf(&[(0, LEAF_SECTORS)]).keep(), LeafStorage::Pointer(Tag::UNKNOWN.0));
        for (start, end) in [(0, 1), (127, 129), (5, LEAF_SECTORS), (LEAF_SECTORS - 1, LEAF_SECTORS)] {
            let LeafStorage::Pointer(code) = leaf(&[(start, end)]).keep() else { panic!("one range") };
            assert!(is_code(code) && code & MARK == 0);
            for chunk in 0..LEAF {
                assert_eq!(chunk_of_range(code, chunk), part(chunk, start, end));
            }
        }
        let few: Vec<(u64, u64)> = (0..8).map(|n| (n * 4000 + 100, n * 4000 + 130)).collect();
        let LeafStorage::Node(trace, hull) = leaf(&few).keep() else { panic!("eight ranges") };
        assert!(trace.has_ranges);
        assert!((0..LEAF).all(|chunk| trace.chunk(chunk) == leaf(&few).0[chunk as usize]));
        assert_eq!(chunk_of_range(hull, 0), mask(100, 28));
        assert_eq!(chunk_of_range(hull, 3), u128::MAX);
        assert_eq!(chunk_of_range(hull, 219), mask(0, 98));
        assert_eq!(chunk_of_range(hull, 220), 0);
        let many: Vec<(u64, u64)> = (0..9).map(|n| (n * 3000, n * 3000 + 1)).collect();
        let LeafStorage::Node(trace, _) = leaf(&many).keep() else { panic!("nine ranges") };
        assert!(!trace.has_ranges);
        let is_written = |chunk: u64| many.iter().any(|range| range.0 / CHUNK == chunk);
        assert!((0..LEAF).all(|chunk| trace.chunk(chunk) == if is_written(chunk) { u128::MAX } else { 0 }));
    }
}
