//! Data that a plan selects by name: how it is made, and how it is checked.
//!
//! Every byte is a function of its place, and for random data of the request, so nothing has to be remembered to check
//! it.

use crate::deduped::Words;
use crate::{Sector, SectorHeader, inspect, intact_each, regenerate};
use iosonar_plan::{Checked, Data, Fill};
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

/// Properties of a request that determine its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Start of the request.
    pub offset: u64,
    /// Number of its target.
    pub target: u16,
    /// Separates random requests.
    pub seed: u64,
}

/// Fills a request.
pub fn fill(buffer: &mut [u8], data: &Data, place: Place) {
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
pub fn check(buffer: &[u8], what: Checked, data: Option<&Data>, place: Place) -> Option<Bad> {
    match (what, data) {
        (Checked::Location, _) => {
            let location = place.offset.to_le_bytes();
            let length = buffer.len().min(8);
            compare(&buffer[..length], 0, |i| location[i as usize])
        }
        // Headers need no place in the plan's words: see [`check_headers`].
        (Checked::Contents, None) | (Checked::Headers, _) => None,
        (Checked::Contents, Some(Data::Byte(byte))) => compare(buffer, 0, |_| *byte),
        (Checked::Contents, Some(Data::Ascii(text))) => {
            compare(buffer, 0, |i| text.as_bytes().get(i as usize).copied().unwrap_or(0))
        }
        (Checked::Contents, Some(Data::Sequenced)) => {
            compare_pieces(buffer, |piece, at| by_word(piece, place.offset + at, |at| at))
        }
        (Checked::Contents, Some(Data::Random)) => {
            // A generator's bytes do not depend on how they are requested, as long as all pieces but the last are whole words.
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(place.seed);
            compare_pieces(buffer, |piece, _| generator.fill_bytes(piece))
        }
        (Checked::Contents, Some(Data::Dedupe(dedupe))) => {
            let mut words = Words::new(*dedupe, place.target);
            compare_pieces(buffer, |piece, at| by_word(piece, place.offset + at, |at| words.at(at)))
        }
    }
}

/// Bytes at the start of each sector that mark it before it is read.
const MARK: usize = 8;
/// Bytes of a sector.
const LENGTH: usize = 512;

/// Marks a buffer before it is read into: the first bytes of each of its sectors, also of a last one that is shorter, become the
/// complement of what [`check`] expects there. So a read that transfers nothing cannot pass the check by what the buffer held before.
///
/// Random data is checked only where a buffer holds it since its write: see [`spoil_written`].
pub fn spoil(buffer: &mut [u8], what: Checked, data: Option<&Data>, place: Place) {
    let length = marked(what, buffer.len());
    for (number, sector) in buffer[..length].chunks_mut(LENGTH).enumerate() {
        let mark = sector.len().min(MARK);
        if expect(&mut sector[..mark], what, data, place, (number * LENGTH) as u64) {
            sector[..mark].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// The first bytes of a sector with a header before it is read: no seed of a mask, but by chance.
const UNREAD: [u8; MARK] = *b"unread!!";

/// Compares the whole sectors of a request with their headers: each must be one that a run wrote to this place. `None`: nothing is
/// bad, or the place is not one of whole sectors.
pub fn check_headers(buffer: &[u8], fill: Fill, offset: u64) -> Option<Bad> {
    if !offset.is_multiple_of(LENGTH as u64) {
        return None;
    }
    let (sectors, first) = (buffer.as_chunks::<LENGTH>().0, offset / LENGTH as u64);
    let mut bad: Option<Bad> = None;
    intact_each(sectors, fill, &mut |index, header| {
        let header = header.or_else(|| SectorHeader::decode(&sectors[index]).ok());
        if header.is_none_or(|header| header.sector != first + index as u64) {
            let new = bad_sector(&sectors[index], fill);
            let at = (index * LENGTH) as u64 + new.at;
            bad = Some(bad.map_or(Bad { at, ..new }, |old| Bad { bytes: old.bytes + new.bytes, ..old }));
        }
    });
    bad
}

/// The bad bytes of one sector: those that differ from the content that its header implies, or all, where that cannot be read or is
/// of another place.
fn bad_sector(sector: &[u8; LENGTH], fill: Fill) -> Bad {
    let Sector::Damaged { header, damage } = inspect(sector, fill, u64::from_le_bytes(UNREAD)) else {
        return Bad { at: 0, expected: !sector[0], found: sector[0], bytes: LENGTH as u64 };
    };
    let (at, whole) = (usize::from(damage.first), regenerate(&header, fill));
    Bad { at: at as u64, expected: whole[at], found: sector[at], bytes: damage.bytes.into() }
}

/// The same of a buffer that was written and is read back, and so holds the expected content.
pub fn spoil_written(buffer: &mut [u8]) {
    let marks = buffer.chunks_mut(LENGTH).flat_map(|sector| sector.iter_mut().take(MARK));
    marks.for_each(|byte| *byte = !*byte);
}

/// Whether the sector of a bad byte still has the mark of [`spoil`]: the read did not transfer it.
pub fn is_spoiled(buffer: &[u8], what: Checked, data: Option<&Data>, place: Place, bad: &Bad) -> bool {
    let start = bad.at as usize / LENGTH * LENGTH;
    let mark = (marked(what, buffer.len()) - start).min(MARK);
    let mut expected = [0; MARK];
    expect(&mut expected[..mark], what, data, place, start as u64)
        && buffer[start..].iter().zip(&expected[..mark]).all(|(found, expected)| *found == !expected)
}

/// Bytes of a request that [`check`] compares.
fn marked(what: Checked, length: usize) -> usize {
    if what == Checked::Location { length.min(MARK) } else { length }
}

/// Makes the bytes that [`check`] expects `at` bytes after the start of a request; returns whether they are known from the place
/// alone.
fn expect(bytes: &mut [u8], what: Checked, data: Option<&Data>, place: Place, at: u64) -> bool {
    match (what, data) {
        (Checked::Location, _) => bytes.copy_from_slice(&place.offset.to_le_bytes()[..bytes.len()]),
        (Checked::Headers, _) => bytes.copy_from_slice(&UNREAD.map(|byte| !byte)[..bytes.len()]),
        (Checked::Contents, None | Some(Data::Random)) => return false,
        (Checked::Contents, Some(Data::Ascii(text))) => {
            let text = text.as_bytes().get(at as usize..).unwrap_or_default();
            bytes.iter_mut().zip(text.iter().copied().chain(std::iter::repeat(0))).for_each(|(b, t)| *b = t);
        }
        (Checked::Contents, Some(data)) => fill(bytes, data, Place { offset: place.offset + at, ..place }),
    }
    true
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
    use iosonar_plan::{ByteSize, Dedupe};
    use proptest::prelude::*;

    #[test]
    fn a_word_holds_its_own_place() {
        let mut buffer = vec![0xff; 4096];
        fill(&mut buffer, &Data::Sequenced, at(10_240));
        for (i, word) in buffer.as_chunks::<8>().0.iter().enumerate() {
            assert_eq!(u64::from_le_bytes(*word), 10_240 + 8 * i as u64);
        }
        assert_eq!(check(&buffer, Checked::Location, None, at(10_240)), None);
        let elsewhere = check(&buffer, Checked::Location, None, at(10_241)).unwrap();
        assert_eq!((elsewhere.at, elsewhere.expected, elsewhere.found, elsewhere.bytes), (0, 1, 0, 1));
    }

    fn at(offset: u64) -> Place {
        Place { offset, target: 0, seed: 0 }
    }

    proptest! {
        /// Where requests begin and end does not matter to data that is a function of place.
        #[test]
        fn data_by_place_does_not_depend_on_requests(
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
        fn what_was_filled_is_right_and_any_change_is_seen(
            kind in 0usize..5, length in 1usize..10_000, offset in 0u64..1 << 40, seed: u64, at: prop::sample::Index,
        ) {
            let dedupe = Data::Dedupe(Dedupe { constant_percent: 50, ..Dedupe::of(50, ByteSize(4096)) });
            let data =
                [Data::Byte(0x78), Data::Ascii("HELLO".into()), Data::Sequenced, Data::Random, dedupe][kind].clone();
            let place = Place { offset, target: 3, seed };
            let mut buffer = vec![0xee; length];
            fill(&mut buffer, &data, place);
            prop_assert_eq!(check(&buffer, Checked::Contents, Some(&data), place), None);
            let at = at.index(length);
            buffer[at] ^= 0x40;
            let bad = check(&buffer, Checked::Contents, Some(&data), place).unwrap();
            prop_assert_eq!((bad.at, bad.bytes, bad.expected ^ bad.found), (at as u64, 1, 0x40));
        }

        /// The earlier content of the buffer must not pass, wherever a transfer ended.
        #[test]
        fn a_spoiled_sector_that_was_not_read_is_seen(
            kind in 0usize..4, length in 1usize..3_000, offset in 0u64..1 << 40, is_location: bool, from: prop::sample::Index,
        ) {
            let dedupe = Data::Dedupe(Dedupe { constant_percent: 50, ..Dedupe::of(50, ByteSize(4096)) });
            let data = [Data::Byte(0x78), Data::Ascii("HELLO".repeat(200)), Data::Sequenced, dedupe][kind].clone();
            let what = if is_location { Checked::Location } else { Checked::Contents };
            let place = at(offset);
            let mut right = vec![0; length];
            fill(&mut right, &data, place);
            if is_location {
                let mark = length.min(8);
                right[..mark].copy_from_slice(&offset.to_le_bytes()[..mark]);
            }
            let mut buffer = right.clone();
            spoil(&mut buffer, what, Some(&data), place);
            // The last sector, or one before it, was not transferred.
            let sector = if is_location { 0 } else { from.index(length) / 512 };
            buffer[..sector * 512].copy_from_slice(&right[..sector * 512]);
            let bad = check(&buffer, what, Some(&data), place).unwrap();
            prop_assert_eq!(bad.at, sector as u64 * 512);
            prop_assert!(is_spoiled(&buffer, what, Some(&data), place, &bad));
            buffer.copy_from_slice(&right);
            prop_assert_eq!(check(&buffer, what, Some(&data), place), None);
            buffer[0] ^= 0x40;
            let bad = check(&buffer, what, Some(&data), place).unwrap();
            prop_assert!(!is_spoiled(&buffer, what, Some(&data), place, &bad));
            spoil_written(&mut right);
            prop_assert_eq!(check(&right, what, Some(&data), place).map(|bad| bad.at), Some(0));
        }
    }
}
