//! Reads the header of a damaged sector where the sector proves what the header was.
//!
//! The seed of a sector depends on all fields of its header but index and length. So a header whose fields give the seed that
//! its mask, or its body, was made with is right, whatever else is damaged. Sectors without random bytes have no seed: there
//! the checksum of the sector as it should be is the proof. A single flipped bit in the header is found by trying all of them.

use crate::damage::damage;
use crate::header::{
    Form, HEADER, LENGTH, MASKED, SectorHeader, checksum_of, fill_sector, masked, random_bytes, seed_of,
};
use crate::noise::{self, Pattern};
use iosonar_plan::Fill;

/// A header, and the sector that it gives.
type Recovered = (SectorHeader, [u8; LENGTH]);

/// Bits of the fields after the magic that are tried: up to the index, up to the checksum.
const IDENTITY_BITS: std::ops::Range<usize> = 64..6 * 64;
const FIELD_BITS: std::ops::Range<usize> = 64..6 * 64 + 32;

/// The header of a damaged sector, if that is sure, and the sector that it gives.
pub(crate) fn recover(sector: &[u8; LENGTH], fill: Fill) -> Option<Recovered> {
    let seed = seed_of(sector);
    if let Some(found) = with_seed(sector, seed, fill) {
        return Some(found);
    }
    // The seed itself may be damaged. The body still has it, unless it has no random bytes.
    let of_body = if random_bytes(fill) == 0 { Some(0) } else { first_seed(sector, fill) };
    with_seed(sector, of_body.filter(|other| *other != seed)?, fill)
}

/// As [`recover`], with this seed of the mask.
fn with_seed(sector: &[u8; LENGTH], seed: u64, fill: Fill) -> Option<Recovered> {
    let plain = masked(sector, seed);
    // A sector with a mask has random bytes, also one of another run with another fill.
    let random = match random_bytes(fill) {
        _ if seed == 0 => 0,
        0 => LENGTH,
        random => random,
    };
    let candidates = Form::ALL.into_iter().flat_map(|form| candidates(&plain, form, seed));
    let sectors = candidates.map(|(header, form)| {
        let mut expected = [0; LENGTH];
        fill_sector(&mut expected, &header, form, random);
        (header, expected)
    });
    // Without a seed, a header is right if its sector has the checksum that was found, or all of it but a flipped bit.
    let stored = checksum_of(&plain);
    let is_proven = |(_, expected): &Recovered| {
        let flipped = (checksum_of(&masked(expected, seed)) ^ stored).count_ones();
        seed != 0 || flipped == 0 || flipped == 1 && is_like(sector, expected)
    };
    let bits = |(_, expected): &Recovered| damage(sector, expected).map_or(0, |damage| damage.bits);
    sectors.filter(is_proven).min_by_key(bits)
}

/// Whether a sector differs in a single bit.
fn is_like(sector: &[u8; LENGTH], expected: &[u8; LENGTH]) -> bool {
    damage(sector, expected).is_none_or(|damage| damage.bits == 1)
}

/// Headers that the words of one may have been: as they are, and with one bit flipped back. With a seed only those that
/// give it.
fn candidates(plain: &[u64; MASKED], form: Form, seed: u64) -> Vec<(SectorHeader, Form)> {
    let wrong_magic = (plain[0] ^ form.magic()).count_ones();
    if seed == 0 && wrong_magic > 1 {
        return Vec::new();
    }
    let gives_seed = |header: &SectorHeader| seed == 0 || header.seed() == seed;
    let as_found = SectorHeader::from_plain(plain, form).filter(gives_seed);
    let bits = match as_found {
        // One flipped bit is tried, not two.
        _ if wrong_magic > 0 => 0..0,
        // The seed proves the rest of the fields.
        Some(_) if seed != 0 => IDENTITY_BITS.end..FIELD_BITS.end,
        _ => FIELD_BITS,
    };
    let flipped = bits.filter_map(|bit| {
        let mut words = *plain;
        words[bit / 64] ^= 1 << (bit % 64);
        SectorHeader::from_plain(&words, form).filter(gives_seed)
    });
    as_found.into_iter().chain(flipped).map(|header| (header, form)).collect()
}

/// Random words of a body, whole ones.
fn random_words(sector: &[u8; LENGTH], fill: Fill) -> &[[u8; 8]] {
    sector[HEADER..random_bytes(fill).max(HEADER)].as_chunks().0
}

/// What each random word of a body says that the seed is, if the sector has this pattern.
fn seeds<'a>(
    words: &'a [[u8; 8]],
    pattern: &'a Pattern,
) -> impl DoubleEndedIterator<Item = u64> + Clone + 'a {
    words.iter().zip(pattern).map(|(word, random)| u64::from_le_bytes(*word) ^ random)
}

/// The first seed that two neighbouring words of a body agree on, whatever its address.
fn first_seed(sector: &[u8; LENGTH], fill: Fill) -> Option<u64> {
    let words = random_words(sector, fill);
    let of_pattern = |pattern| {
        let seeds = seeds(words, pattern);
        seeds
            .clone()
            .zip(seeds.skip(1))
            .enumerate()
            .find(|(_, (a, b))| a == b)
            .map(|(at, (seed, _))| (at, seed))
    };
    noise::patterns().iter().filter_map(of_pattern).min().map(|(_, seed)| seed)
}

/// The seed that the random body of a sector was made with, if all its words agree. `address` is that of the sector that
/// the body was made for. None where fewer than two words are random.
pub fn seed_of_body(sector: &[u8; LENGTH], address: u64, fill: Fill) -> Option<u64> {
    seed_of_tail(sector, address, fill).filter(|(_, from)| usize::from(*from) == HEADER).map(|(seed, _)| seed)
}

/// The seed that the last random words of a sector were made with, and the first byte of the words that agree on it: of a sector
/// that is torn inside, the version of its rest. None where fewer than two words agree.
pub fn seed_of_tail(sector: &[u8; LENGTH], address: u64, fill: Fill) -> Option<(u64, u16)> {
    let words = random_words(sector, fill);
    let mut seeds = seeds(words, noise::pattern(address)).rev();
    let seed = seeds.next()?;
    let equal = 1 + seeds.take_while(|other| *other == seed).count();
    (equal > 1).then(|| (seed, (HEADER + 8 * (words.len() - equal)) as u16))
}
