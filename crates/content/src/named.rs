//! Data that a plan selects by name: how it is made, and how it is checked.
//!
//! Every byte is a function of its place, and for random data of the request, so nothing has to be remembered to check
//! it.

use crate::deduped::Words;
use crate::{Sector, SectorHeader, inspect, intact_each, is_poisoned, regenerate};
use iosonar_plan::{Data, ExpectedData, Fill};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bad bytes found by a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// The first bad byte, from the start of the request.
    pub at: u64,
    /// The expected byte.
    pub expected: u8,
    /// The byte found.
    pub found: u8,
    /// Number of bad bytes.
    pub bytes: u64,
}

impl Bad {
    /// Whether the sector of the first bad byte still has the mark of [`crate::poison`]: the read did not transfer it.
    pub fn is_untransferred(&self, buffer: &[u8], poison: u64) -> bool {
        is_poisoned(&buffer[self.at as usize / LENGTH * LENGTH..], poison)
    }
}

/// Properties of a request that determine its bytes.
#[derive(Debug, Clone, Copy)]
pub struct DataPlace {
    /// Start of the request.
    pub offset: u64,
    /// Number of its target.
    pub target: u16,
    /// Separates random requests.
    pub seed: u64,
}

/// Fills a request.
pub fn fill(buffer: &mut [u8], data: &Data, place: DataPlace) {
    match data {
        Data::Byte(byte) => buffer.fill(*byte),
        Data::Ascii(text) => {
            let text = &text.as_bytes()[..text.len().min(buffer.len())];
            buffer[..text.len()].copy_from_slice(text);
            buffer[text.len()..].fill(0);
        }
        Data::Sequenced => by_word(buffer, place.offset, |at| at),
        Data::Random => Xoshiro256PlusPlus::seed_from_u64(place.seed).fill_bytes(buffer),
        Data::Dedupe(dedupe) => {
            let mut words = Words::new(*dedupe, place.target);
            by_word(buffer, place.offset, |at| words.at(at));
        }
    }
}

/// Fills with words that are a function of their offset, a multiple of eight, wherever the request starts.
fn by_word(buffer: &mut [u8], offset: u64, mut word: impl FnMut(u64) -> u64) {
    let lead = (offset.next_multiple_of(8) - offset).min(buffer.len() as u64) as usize;
    let (head, rest) = buffer.split_at_mut(lead);
    if !head.is_empty() {
        let before = (offset & 7) as usize;
        head.copy_from_slice(&word(offset & !7).to_le_bytes()[before..before + lead]);
    }
    let first = offset + lead as u64;
    let (words, tail) = rest.as_chunks_mut::<8>();
    let behind = first + 8 * words.len() as u64;
    for (at, place) in (first..).step_by(8).zip(words) {
        *place = word(at).to_le_bytes();
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&word(behind).to_le_bytes()[..tail.len()]);
    }
}

/// Compares the data of a request with the expected data; `None` if nothing is bad.
pub fn check(buffer: &[u8], what: ExpectedData, data: Option<&Data>, place: DataPlace) -> Option<Bad> {
    match (what, data) {
        (ExpectedData::Location, _) => {
            let location = place.offset.to_le_bytes();
            let length = buffer.len().min(8);
            compare(&buffer[..length], 0, |i| location[i as usize])
        }
        // Headers need no place in the plan's words: see [`check_headers`].
        (ExpectedData::Contents, None) | (ExpectedData::Headers, _) => None,
        (ExpectedData::Contents, Some(Data::Byte(byte))) => compare(buffer, 0, |_| *byte),
        (ExpectedData::Contents, Some(Data::Ascii(text))) => {
            compare(buffer, 0, |i| text.as_bytes().get(i as usize).copied().unwrap_or(0))
        }
        (ExpectedData::Contents, Some(Data::Sequenced)) => {
            compare_pieces(buffer, |piece, at| by_word(piece, place.offset + at, |at| at))
        }
        (ExpectedData::Contents, Some(Data::Random)) => {
            // A generator's bytes do not depend on how they are requested, as long as all pieces but the last are whole words.
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(place.seed);
            compare_pieces(buffer, |piece, _| generator.fill_bytes(piece))
        }
        (ExpectedData::Contents, Some(Data::Dedupe(dedupe))) => {
            let mut words = Words::new(*dedupe, place.target);
            compare_pieces(buffer, |piece, at| by_word(piece, place.offset + at, |at| words.at(at)))
        }
    }
}

/// Bytes of a sector.
const LENGTH: usize = 512;

/// Compares the whole sectors of a request with their headers: each must be one that a run wrote to this place. `None`: nothing is
/// bad, or the place is not one of whole sectors. `poison` is the mark of sectors that the read did not transfer.
pub fn check_headers(buffer: &[u8], fill: Fill, offset: u64, poison: u64) -> Option<Bad> {
    if !offset.is_multiple_of(LENGTH as u64) {
        return None;
    }
    let (sectors, first) = (buffer.as_chunks::<LENGTH>().0, offset / LENGTH as u64);
    let mut bad: Option<Bad> = None;
    intact_each(sectors, fill, &mut |index, header| {
        let header = header.or_else(|| SectorHeader::decode(&sectors[index]).ok());
        if header.is_none_or(|header| header.sector != first + index as u64) {
            let new = bad_sector(&sectors[index], fill, poison);
            let at = (index * LENGTH) as u64 + new.at;
            bad = Some(bad.map_or(Bad { at, ..new }, |old| Bad { bytes: old.bytes + new.bytes, ..old }));
        }
    });
    bad
}

/// The bad bytes of one sector: those that differ from the content that its header implies, or all, where that cannot be read or is
/// of another place.
fn bad_sector(sector: &[u8; LENGTH], fill: Fill, poison: u64) -> Bad {
    let Sector::Damaged { header, damage } = inspect(sector, fill, poison) else {
        return Bad { at: 0, expected: !sector[0], found: sector[0], bytes: LENGTH as u64 };
    };
    let (at, whole) = (usize::from(damage.first), regenerate(&header, fill));
    Bad { at: at as u64, expected: whole[at], found: sector[at], bytes: damage.bytes.into() }
}

fn compare(buffer: &[u8], base: u64, expected: impl Fn(u64) -> u8) -> Option<Bad> {
    let mut bad: Option<Bad> = None;
    for (i, found) in (base..).zip(buffer) {
        let expected = expected(i);
        if expected != *found {
            bad.get_or_insert(Bad { at: i, expected, found: *found, bytes: 0 }).bytes += 1;
        }
    }
    bad
}

/// Compares with data that is made again piece by piece, in order, so that no memory is needed. `fill` makes the piece that starts
/// at the given offset in the request.
fn compare_pieces(buffer: &[u8], mut fill: impl FnMut(&mut [u8], u64)) -> Option<Bad> {
    let mut bad: Option<Bad> = None;
    let mut expected = [0; 4096];
    for (number, piece) in buffer.chunks(expected.len()).enumerate() {
        let expected = &mut expected[..piece.len()];
        let base = (number * 4096) as u64;
        fill(expected, base);
        if let Some(new) = compare(piece, base, |i| expected[(i - base) as usize]) {
            bad = Some(bad.map_or(new, |old| Bad { bytes: old.bytes + new.bytes, ..old }));
        }
    }
    bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poison;
    use iosonar_plan::{ByteSize, Dedupe};
    use proptest::prelude::*;

    #[test]
    fn sequenced_word_contains_its_offset() {
        let mut buffer = vec![0xff; 4096];
        fill(&mut buffer, &Data::Sequenced, at(10_240));
        for (i, word) in buffer.as_chunks::<8>().0.iter().enumerate() {
            assert_eq!(u64::from_le_bytes(*word), 10_240 + 8 * i as u64);
        }
        assert_eq!(check(&buffer, ExpectedData::Location, None, at(10_240)), None);
        let elsewhere = check(&buffer, ExpectedData::Location, None, at(10_241)).unwrap();
        assert_eq!((elsewhere.at, elsewhere.expected, elsewhere.found, elsewhere.bytes), (0, 1, 0, 1));
    }

    fn at(offset: u64) -> DataPlace {
        DataPlace { offset, target: 0, seed: 0 }
    }

    proptest! {
        /// Where requests begin and end does not matter to data that is a function of place.
        #[test]
        fn offset_based_data_does_not_depend_on_requests(
            is_sequenced: bool, offset in 0u64..10_000, length in 1usize..5_000, cut: prop::sample::Index,
        ) {
            let dedupe = Dedupe { constant_percent: 40, local_percent: 50, ..Dedupe::of(60, ByteSize(512)) };
            let data = if is_sequenced { Data::Sequenced } else { Data::Dedupe(dedupe) };
            let (mut whole, mut parts) = (vec![0; length], vec![0; length]);
            fill(&mut whole, &data, at(offset));
            let cut = cut.index(length);
            let (first, second) = parts.split_at_mut(cut);
            fill(first, &data, at(offset));
            fill(second, &data, at(offset + cut as u64));
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn accepts_filled_data_and_detects_any_change(
            kind in 0usize..5, length in 1usize..10_000, offset in 0u64..1 << 40, seed: u64, at: prop::sample::Index,
        ) {
            let dedupe = Data::Dedupe(Dedupe { constant_percent: 50, ..Dedupe::of(50, ByteSize(4096)) });
            let data =
                [Data::Byte(0x78), Data::Ascii("HELLO".into()), Data::Sequenced, Data::Random, dedupe][kind].clone();
            let place = DataPlace { offset, target: 3, seed };
            let mut buffer = vec![0xee; length];
            fill(&mut buffer, &data, place);
            prop_assert_eq!(check(&buffer, ExpectedData::Contents, Some(&data), place), None);
            let at = at.index(length);
            buffer[at] ^= 0x40;
            let bad = check(&buffer, ExpectedData::Contents, Some(&data), place).unwrap();
            prop_assert_eq!((bad.at, bad.bytes, bad.expected ^ bad.found), (at as u64, 1, 0x40));
        }

        /// The earlier content of the buffer must not pass, wherever a transfer ended.
        #[test]
        fn a_sector_that_was_not_read_is_seen(
            kind in 0usize..5, length in 8usize..3_000, offset in 0u64..1 << 40, is_location: bool, from: prop::sample::Index,
        ) {
            const POISON: u64 = 0x9e37_79b9_7f4a_7c15;
            // A shorter mark may be equal to the data by chance.
            prop_assume!(length % 512 == 0 || length % 512 >= 8);
            let dedupe = Data::Dedupe(Dedupe { constant_percent: 50, ..Dedupe::of(50, ByteSize(4096)) });
            let data =
                [Data::Byte(0x78), Data::Ascii("HELLO".repeat(200)), Data::Sequenced, Data::Random, dedupe][kind].clone();
            let what = if is_location { ExpectedData::Location } else { ExpectedData::Contents };
            let place = at(offset);
            let mut right = vec![0; length];
            fill(&mut right, &data, place);
            if is_location {
                right[..8].copy_from_slice(&offset.to_le_bytes());
            }
            let mut buffer = right.clone();
            poison(&mut buffer, POISON);
            // The last sector, or one before it, was not transferred.
            let sector = if is_location { 0 } else { from.index(length) / 512 };
            buffer[..sector * 512].copy_from_slice(&right[..sector * 512]);
            let bad = check(&buffer, what, Some(&data), place).unwrap();
            prop_assert_eq!(bad.at / 512, sector as u64);
            prop_assert!(bad.is_untransferred(&buffer, POISON));
            buffer.copy_from_slice(&right);
            prop_assert_eq!(check(&buffer, what, Some(&data), place), None);
            buffer[0] ^= 0x40;
            let bad = check(&buffer, what, Some(&data), place).unwrap();
            prop_assert!(!bad.is_untransferred(&buffer, POISON));
        }
    }
}
