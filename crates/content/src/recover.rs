//! Reads the header of a damaged sector where the sector proves it.
//!
//! The seed of a sector depends on all fields of its header but index and length. So a header whose fields give the seed that
//! its mask, or its body, was made with is right if the magic or the checksum is whole, too. The seed proves less than its 64
//! bits promise, because some pairs of flipped bits in neighbouring fields leave it as it is: of sectors with two damaged bytes in
//! the header three in a million are taken for others (measured: 95 of 30 million).
//!
//! Sectors without random bytes have no seed: there the checksum of the sector as it should be is the proof. A single flipped
//! bit in the header is found, too.

use crate::damage::damage;
use crate::header::{Form, HEADER, LENGTH, MASKED, SectorHeader, checksum_of, masked, seed_of};
use crate::noise::{self, Pattern, Share};
use iosonar_plan::Fill;
use std::ops::Range;

/// A header, and the sector that it implies.
type Recovered = (SectorHeader, [u8; LENGTH]);

/// Words of a header after its seed: magic, fields, and the checksum in the upper half of the last.
type Words = [u64; MASKED];

/// Bits of the fields after the magic, and of those in the last word, which are index and length in version 2.
const FIELD_BITS: Range<usize> = 64..6 * 64 + 32;
const INDEX_BITS: Range<usize> = 6 * 64..FIELD_BITS.end;

/// The header of a damaged sector, if it is sure, and the sector that it implies.
pub(crate) fn recover(sector: &[u8; LENGTH], fill: Fill) -> Option<Recovered> {
    let seed = seed_of(sector);
    if let Some(found) = with_seed(sector, seed, fill) {
        return Some(found);
    }
    // The seed itself may be damaged. The body still has it, unless it has no random bytes.
    let of_body = if Share::of(fill).is_masked() { first_seed(sector, fill) } else { Some(0) };
    with_seed(sector, of_body.filter(|other| *other != seed)?, fill)
}

/// As [`recover`], with this seed of the mask.
fn with_seed(sector: &[u8; LENGTH], seed: u64, fill: Fill) -> Option<Recovered> {
    let plain = masked(sector, seed);
    // A sector with a mask has random bytes, also one of another run with another fill.
    let share = match Share::of(fill) {
        _ if seed == 0 => Share::of(Fill { random_percent: 0 }),
        share if !share.is_masked() => Share::of(Fill { random_percent: 100 }),
        share => share,
    };
    let header_of = |form| match seed {
        0 => by_checksum(sector, &plain, form, share),
        seed => by_seed(&plain, form, seed, share),
    };
    let sector_of = |(header, form)| (header, sector_of(&header, form, share));
    let bits = |(_, expected): &Recovered| damage(sector, expected).map_or(0, |damage| damage.bits);
    // With a damaged magic both versions may fit.
    let both = Form::ALL.into_iter().filter_map(|form| Some((header_of(form)?, form)));
    both.map(sector_of).min_by_key(bits)
}

fn sector_of(header: &SectorHeader, form: Form, share: &Share) -> [u8; LENGTH] {
    let mut sector = [0; LENGTH];
    share.fill_one(&mut sector, header, form);
    sector
}

/// The header of a sector with a mask: one that has the mask's seed.
fn by_seed(plain: &Words, form: Form, seed: u64, share: &Share) -> Option<SectorHeader> {
    let gives_seed = |words: &Words| SectorHeader::from_plain(words, form).filter(|h| h.seed() == seed);
    let differs = |header: &SectorHeader| {
        share.checksum(&header.plain(form, 0), header.sector, seed) ^ checksum_of(plain)
    };
    let is_marked = plain[0] == form.magic();
    let flipped = |mut bits: Range<usize>| {
        bits.find_map(|bit| gives_seed(&flip(plain, bit)).filter(|header| differs(header) == 0))
    };
    match gives_seed(plain) {
        Some(header) if differs(&header) == 0 => Some(header),
        // Index and length do not enter the seed: one of their bits may be flipped, or the checksum is damaged.
        Some(header) if is_marked => flipped(INDEX_BITS).or(Some(header)),
        Some(_) => None,
        // A flipped bit in one field has the same seed as some in the next one, so the checksum has to agree.
        None if is_marked => flipped(FIELD_BITS),
        None => None,
    }
}

/// The header of a sector without random bytes: one that matches the checksum, or all of the sector but a bit.
fn by_checksum(sector: &[u8; LENGTH], plain: &Words, form: Form, share: &Share) -> Option<SectorHeader> {
    if (plain[0] ^ form.magic()).count_ones() > 1 {
        return None;
    }
    let mut words = *plain;
    words[0] = form.magic();
    let header = SectorHeader::from_plain(&words, form);
    let differs = share.checksum(&words, 0, 0) ^ checksum_of(plain);
    let is_a_bit = |header: &SectorHeader| {
        damage(sector, &sector_of(header, form, share)).is_none_or(|damage| damage.bits == 1)
    };
    if differs == 0 || header.as_ref().is_some_and(is_a_bit) {
        return header;
    }
    let bit = flipped_bit(differs, FIELD_BITS)?;
    SectorHeader::from_plain(&flip(&words, bit), form)
}

fn flip(words: &Words, bit: usize) -> Words {
    let mut words = *words;
    words[bit / 64] ^= 1 << (bit % 64);
    words
}

/// The bit of a header that changes a checksum like this, if there is one.
fn flipped_bit(checksum: u32, mut bits: Range<usize>) -> Option<usize> {
    bits.find(|bit| noise::contribution_of(&flip(&[0; MASKED], *bit)) == checksum)
}

/// Random words of a body, whole ones.
fn random_words(sector: &[u8; LENGTH], fill: Fill) -> &[[u8; 8]] {
    sector[HEADER..Share::of(fill).random.max(HEADER)].as_chunks().0
}

/// The seed that each random word of a body implies, if the sector has this pattern.
fn seeds<'a>(
    words: &'a [[u8; 8]],
    pattern: &'a Pattern,
) -> impl DoubleEndedIterator<Item = u64> + Clone + 'a {
    words.iter().zip(pattern).map(|(word, random)| u64::from_le_bytes(*word) ^ random)
}

/// The first seed that two neighbouring words of a body agree on, at any address.
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
/// the body was made for. `None` where fewer than two words are random.
pub fn seed_of_body(sector: &[u8; LENGTH], address: u64, fill: Fill) -> Option<u64> {
    seed_of_tail(sector, address, fill).filter(|(_, from)| usize::from(*from) == HEADER).map(|(seed, _)| seed)
}

/// The seed that the last random words of a sector were made with, and the first byte of the words that agree on it: of a sector
/// that is torn inside, the version of its rest. `None` where fewer than two words agree.
pub fn seed_of_tail(sector: &[u8; LENGTH], address: u64, fill: Fill) -> Option<(u64, u16)> {
    let words = random_words(sector, fill);
    let mut seeds = seeds(words, noise::pattern(address)).rev();
    let seed = seeds.next()?;
    let equal = 1 + seeds.take_while(|other| *other == seed).count();
    (equal > 1).then(|| (seed, (HEADER + 8 * (words.len() - equal)) as u16))
}
