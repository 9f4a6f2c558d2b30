//! Data that a plan asks for by name: how it is made, and how it is checked.
//!
//! Every byte is a function of its place, and for random data of the request, so nothing has to be remembered to check
//! it.

use iosonar_plan::{Checked, Data};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a check found bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bad {
    /// The first bad byte, from the start of the request.
    pub(crate) at: u64,
    pub(crate) expected: u8,
    pub(crate) found: u8,
    /// How many are bad.
    pub(crate) bytes: u64,
}

/// Fills a request that starts at `offset`; `seed` tells random requests apart.
pub(crate) fn fill(buffer: &mut [u8], data: &Data, offset: u64, seed: u64) {
    match data {
        Data::Byte(byte) => buffer.fill(*byte),
        Data::Ascii(text) => {
            let text = &text.as_bytes()[..text.len().min(buffer.len())];
            buffer[..text.len()].copy_from_slice(text);
            buffer[text.len()..].fill(0);
        }
        Data::Sequenced => sequence(buffer, offset),
        Data::Random => Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(buffer),
    }
}

/// Each eight bytes hold their own offset, wherever the request starts.
fn sequence(buffer: &mut [u8], offset: u64) {
    let lead = (offset.next_multiple_of(8) - offset).min(buffer.len() as u64) as usize;
    let (head, rest) = buffer.split_at_mut(lead);
    for (i, byte) in head.iter_mut().enumerate() {
        *byte = sequenced_byte(offset + i as u64);
    }
    let first = offset + lead as u64;
    let (words, tail) = rest.as_chunks_mut::<8>();
    for (i, word) in words.iter_mut().enumerate() {
        *word = (first + 8 * i as u64).to_le_bytes();
    }
    let behind = first + 8 * words.len() as u64;
    for (i, byte) in tail.iter_mut().enumerate() {
        *byte = sequenced_byte(behind + i as u64);
    }
}

fn sequenced_byte(place: u64) -> u8 {
    (place & !7).to_le_bytes()[(place & 7) as usize]
}

/// Compares the data of a request with what it should be; none: nothing is bad.
pub(crate) fn check(
    buffer: &[u8],
    what: Checked,
    data: Option<&Data>,
    offset: u64,
    seed: u64,
) -> Option<Bad> {
    match (what, data) {
        (Checked::Location, _) => {
            let place = offset.to_le_bytes();
            let length = buffer.len().min(8);
            compare(&buffer[..length], 0, |i| place[i as usize])
        }
        (Checked::Contents, None) => None,
        (Checked::Contents, Some(Data::Byte(byte))) => compare(buffer, 0, |_| *byte),
        (Checked::Contents, Some(Data::Ascii(text))) => {
            compare(buffer, 0, |i| text.as_bytes().get(i as usize).copied().unwrap_or(0))
        }
        (Checked::Contents, Some(Data::Sequenced)) => compare(buffer, 0, |i| sequenced_byte(offset + i)),
        (Checked::Contents, Some(Data::Random)) => check_random(buffer, seed),
    }
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

/// Made again piece by piece, so that no memory is needed; a generator's bytes do not depend on how they are requested,
/// as long as all pieces but the last are whole words.
fn check_random(buffer: &[u8], seed: u64) -> Option<Bad> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bad: Option<Bad> = None;
    let mut expected = [0; 4096];
    for (number, piece) in buffer.chunks(expected.len()).enumerate() {
        let expected = &mut expected[..piece.len()];
        generator.fill_bytes(expected);
        let base = (number * 4096) as u64;
        if let Some(new) = compare(piece, base, |i| expected[(i - base) as usize]) {
            bad = Some(bad.map_or(new, |old| Bad { bytes: old.bytes + new.bytes, ..old }));
        }
    }
    bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_holds_its_own_place() {
        let mut buffer = vec![0xff; 4096];
        fill(&mut buffer, &Data::Sequenced, 10_240, 0);
        for (i, word) in buffer.as_chunks::<8>().0.iter().enumerate() {
            assert_eq!(u64::from_le_bytes(*word), 10_240 + 8 * i as u64);
        }
        assert_eq!(check(&buffer, Checked::Location, None, 10_240, 0), None);
        let elsewhere = check(&buffer, Checked::Location, None, 10_241, 0).unwrap();
        assert_eq!((elsewhere.at, elsewhere.expected, elsewhere.found, elsewhere.bytes), (0, 1, 0, 1));
    }

    proptest! {
        #[test]
        fn what_was_filled_is_right_and_any_change_is_seen(
            kind in 0usize..4, length in 1usize..10_000, offset in 0u64..1 << 40, seed: u64, at: prop::sample::Index,
        ) {
            let data = [Data::Byte(0x78), Data::Ascii("HELLO".into()), Data::Sequenced, Data::Random][kind].clone();
            let mut buffer = vec![0xee; length];
            fill(&mut buffer, &data, offset, seed);
            prop_assert_eq!(check(&buffer, Checked::Contents, Some(&data), offset, seed), None);
            let at = at.index(length);
            buffer[at] ^= 0x40;
            let bad = check(&buffer, Checked::Contents, Some(&data), offset, seed).unwrap();
            prop_assert_eq!((bad.at, bad.bytes, bad.expected ^ bad.found), (at as u64, 1, 0x40));
        }
    }
}
