//! Changes to the bytes of a write. Nothing here does I/O.

use iosonar_plan::{InjectionKind, SECTOR};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

pub(super) const BYTES: usize = SECTOR as usize;
const PAGE: u64 = 4096;
/// Maximum number of flipped bits, or header bytes, of a sector.
const MOST_BITS: u64 = 64;
/// Offset of the data of a sector, after its header.
const DATA: usize = 64;
/// Bytes of a header's magic.
const MAGIC: Range<usize> = 8..16;
/// Number of attempts of a random choice.
const TRIES: u32 = 64;

/// A random number below `end`, which is above 0.
pub(super) fn below(random: &mut Xoshiro256PlusPlus, end: u64) -> u64 {
    random.next_u64() % end
}

/// A run of at most `most` of `sectors` sectors, as bytes.
pub(super) fn some_sectors(random: &mut Xoshiro256PlusPlus, sectors: u64, most: u64) -> Range<usize> {
    let count = most.clamp(1, sectors);
    let first = below(random, sectors - count + 1);
    (first * SECTOR) as usize..((first + count) * SECTOR) as usize
}

/// The bytes of a write at `offset` that keep the earlier content, so that its data is torn: the end, the start or a hole, at most
/// `most` sectors.
pub(super) fn torn(
    kind: InjectionKind,
    random: &mut Xoshiro256PlusPlus,
    (offset, length): (u64, u64),
    most: Option<u64>,
) -> Option<Range<usize>> {
    let is_page = kind == InjectionKind::TornPage;
    let unit = if is_page { PAGE } else { SECTOR };
    // Borders are multiples of the unit of the target; the operation's own ends are no borders.
    let first = (offset / unit + 1) * unit - offset;
    let inner = (length - 1).checked_sub(first).map_or(0, |rest| rest / unit + 1);
    let point = |number: u64| match number {
        0 => 0,
        number if number > inner => length,
        number => first + (number - 1) * unit,
    };
    let is_border_of_page = |at: u64| at == 0 || at == length || (offset + at).is_multiple_of(PAGE);
    let most = most.map_or(length, |sectors| sectors.saturating_mul(SECTOR));
    (0..TRIES).find_map(|_| {
        let start = below(random, inner + 1);
        let reach = (most / unit + 1).min(inner + 1 - start);
        let (start, end) = (point(start), point(start + 1 + below(random, reach)));
        let is_part = end - start < length && end - start <= most;
        let has_borders = is_page || !(is_border_of_page(start) && is_border_of_page(end));
        (is_part && has_borders).then_some(start as usize..end as usize)
    })
}

/// An offset to cut a sector at, so that it has bytes of the new content before and of the old one after.
pub(super) fn cut(random: &mut Xoshiro256PlusPlus, new: &[u8], old: &[u8]) -> Option<usize> {
    let differs = |at: &usize| new[*at] != old[*at];
    let first = (0..new.len()).find(differs)?;
    let last = (0..new.len()).rev().find(differs)?;
    (last > first).then(|| first + 1 + below(random, (last - first) as u64) as usize)
}

/// Flips 1 to 64 bits after the header; returns their numbers in the sector, ascending.
pub(super) fn flip(random: &mut Xoshiro256PlusPlus, sector: &mut [u8]) -> Vec<u64> {
    let count = 1 + below(random, MOST_BITS);
    let mut bits = Vec::new();
    while (bits.len() as u64) < count {
        let bit = DATA as u64 * 8 + below(random, (BYTES - DATA) as u64 * 8);
        if !bits.contains(&bit) {
            sector[(bit / 8) as usize] ^= 1 << (bit % 8);
            bits.push(bit);
        }
    }
    bits.sort_unstable();
    bits
}

/// Changes more than 64 bits after the header; returns the range of bytes.
pub(super) fn corrupt(random: &mut Xoshiro256PlusPlus, sector: &mut [u8]) -> Range<usize> {
    // With four bits of each byte in the mean, 64 bytes nearly always have 65.
    let length = 64 + below(random, (BYTES - DATA - 64) as u64) as usize;
    let first = DATA + below(random, (BYTES - DATA - length + 1) as u64) as usize;
    let mut changed = 0;
    for byte in &mut sector[first..first + length] {
        // At least three bits of each, so that the whole has enough.
        let bits = random.next_u64() as u8 | 0b0010_0101;
        *byte ^= bits;
        changed += u64::from(bits.count_ones());
    }
    debug_assert!(changed > MOST_BITS);
    first..first + length
}

/// Changes bytes of a header, one of its magic among them; returns the range of bytes.
pub(super) fn damage_header(random: &mut Xoshiro256PlusPlus, sector: &mut [u8]) -> Range<usize> {
    let certain = MAGIC.start + below(random, MAGIC.len() as u64) as usize;
    let mut range = certain..certain + 1;
    for (at, byte) in sector.iter_mut().enumerate().take(DATA).skip(MAGIC.start) {
        if at == certain || below(random, 4) == 0 {
            *byte ^= 1 + below(random, 255) as u8;
            range = range.start.min(at)..range.end.max(at + 1);
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    #[test]
    fn tears_lie_at_page_boundaries_or_within_sectors() {
        let mut random = random();
        let mut patterns = [0; 3];
        for i in 0..3000u64 {
            let (offset, length) = (i % 11 * 512, (i % 37 + 2) * 512);
            for kind in [InjectionKind::TornPage, InjectionKind::TornSector] {
                let extent = iosonar_plan::Extent { offset, length };
                let most = (i % 3 == 0).then_some(i % 5 + 1);
                let Some(hit) = torn(kind, &mut random, (offset, length), most) else {
                    assert!(
                        most.is_some()
                            || !kind.suits(iosonar_plan::Op::Write, iosonar_plan::Durability::NONE, extent),
                        "{kind} {extent:?}"
                    );
                    continue;
                };
                let (start, end) = (hit.start as u64, hit.end as u64);
                assert!(end - start < length && start < end && end <= length);
                assert!(most.is_none_or(|most| end - start <= most * 512));
                let mut ends = [start, end].into_iter().filter(|at| *at > 0 && *at < length);
                let is_page = ends.all(|at| (offset + at).is_multiple_of(PAGE));
                assert_eq!(is_page, kind == InjectionKind::TornPage, "{kind} {extent:?} {hit:?}");
                patterns[if start == 0 { 0 } else { 1 + usize::from(end == length) }] += 1;
            }
        }
        assert!(patterns.iter().all(|count| *count > 100), "{patterns:?}");
    }

    #[test]
    fn tear_falls_between_differing_bytes() {
        let mut random = random();
        let (new, mut old) = ([1u8; 512], [1u8; 512]);
        assert_eq!(cut(&mut random, &new, &old), None);
        old[100] = 2;
        assert_eq!(cut(&mut random, &new, &old), None);
        old[103] = 2;
        for _ in 0..100 {
            assert!((101..=103).contains(&cut(&mut random, &new, &old).unwrap()));
        }
    }

    #[test]
    fn each_damage_kind_changes_its_own_bytes() {
        let mut random = random();
        for _ in 0..2000 {
            let plain = [0x5a; BYTES];
            let differing = |sector: &[u8]| -> (Vec<usize>, u32) {
                let pairs = || sector.iter().zip(&plain).enumerate();
                let bytes = pairs().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
                (bytes, pairs().map(|(_, (a, b))| (a ^ b).count_ones()).sum())
            };
            let mut sector = plain;
            let bits = flip(&mut random, &mut sector);
            let (bytes, count) = differing(&sector);
            assert!((1..=64).contains(&count) && count as usize == bits.len() && bytes[0] >= DATA);
            let mut sector = plain;
            let range = corrupt(&mut random, &mut sector);
            let (bytes, count) = differing(&sector);
            assert!(count > 64 && bytes[0] == range.start && bytes[0] >= DATA);
            assert_eq!(bytes.last(), Some(&(range.end - 1)));
            let mut sector = plain;
            let range = damage_header(&mut random, &mut sector);
            let (bytes, _) = differing(&sector);
            assert!(bytes.iter().any(|at| MAGIC.contains(at)) && bytes[0] == range.start);
            assert!(bytes[0] >= 8 && range.end <= DATA && bytes.last() == Some(&(range.end - 1)));
        }
    }
}
