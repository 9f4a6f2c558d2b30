//! The header of each written sector, which identifies the writer of the sector, and the filling of the sectors of a write.
//!
//! Every 512-byte sector carries the header, so that a misplaced, lost, torn or damaged write can be distinguished from a right one
//! later. The form is described in `docs/formats.md`.
//!
//! The issuing loop fills sectors, at best while it would wait. So a sector must cost little: [`crate::noise`] has the
//! incompressible bytes, and the checksum of a sector that is full of them.

use crate::noise::Share;
use iosonar_plan::{Fill, SECTOR};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes of the header at the beginning of each sector.
pub const HEADER: usize = 64;
/// Bytes of a sector.
pub(crate) const LENGTH: usize = SECTOR as usize;
/// Words of a header after the seed of its mask, which the mask covers.
pub(crate) const MASKED: usize = HEADER / 8 - 1;
/// Position of the checksum, the upper half of the last of these words.
const CHECKSUM: std::ops::Range<usize> = 60..64;

/// Identity of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SectorHeader {
    /// Run that wrote it.
    pub run_id: u64,
    /// Index of the target in the plan.
    pub target: u16,
    /// Phase of the plan, from 0.
    pub phase: u16,
    /// Pass of the phase, from 0.
    pub pass: u32,
    /// Address of this sector on the target, in sectors.
    pub sector: u64,
    /// Sequence number of the request.
    pub sequence: u64,
    /// When the request was due, in nanoseconds from the start of its pass; 0 for one without a due time.
    pub due_ns: u64,
    /// Index of this sector in the request, at most 65 535; 0 in version 1 of the form.
    pub index: u16,
    /// Length of the request in sectors, at most 65 535; 0 in version 1 of the form.
    pub length: u16,
}

/// Versions of the header's form. The program writes the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The form without index and length.
    One,
    /// The form with index and length.
    Two,
}

impl Form {
    pub(crate) const ALL: [Form; 2] = [Form::Two, Form::One];

    /// The word that marks a header of this form.
    pub(crate) const fn magic(self) -> u64 {
        match self {
            Form::One => u64::from_le_bytes(*b"iosonar1"),
            Form::Two => u64::from_le_bytes(*b"iosonar2"),
        }
    }
}

/// Why a sector is not intact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSector {
    /// No run wrote it.
    #[error("it carries no header: no run wrote it, or the header is damaged")]
    NoHeader,
    /// It was written and something changed it.
    #[error("its checksum does not match: something changed it after it was written")]
    Checksum,
}

impl SectorHeader {
    /// The header of the sector that lies `sectors` after this one in the same request.
    #[must_use]
    pub fn after(self, sectors: u64) -> SectorHeader {
        let index = (u64::from(self.index) + sectors).min(u64::from(u16::MAX)) as u16;
        // A header that was read may name any address.
        SectorHeader { sector: self.sector.wrapping_add(sectors), index, ..self }
    }

    /// Reads and checks a sector as [`fill`] made it, by its checksum.
    pub fn decode(sector: &[u8; LENGTH]) -> Result<SectorHeader, BadSector> {
        Ok(SectorHeader::decode_form(sector)?.0)
    }

    /// As [`SectorHeader::decode`], with the version of its form.
    fn decode_form(sector: &[u8; LENGTH]) -> Result<(SectorHeader, Form), BadSector> {
        let mut plain = *sector;
        let words = masked(sector, seed_of(sector));
        put_words(&mut plain, &words);
        let form = Form::ALL.into_iter().find(|form| form.magic() == words[0]).ok_or(BadSector::NoHeader)?;
        plain[CHECKSUM].fill(0);
        if checksum_of(&words) != crc32fast::hash(&plain) {
            return Err(BadSector::Checksum);
        }
        // No plan has that many targets.
        let header = SectorHeader::from_plain(&words, form).ok_or(BadSector::NoHeader)?;
        Ok((header, form))
    }

    /// Seed of this sector's random bytes: a different one for each sector of each request of each run.
    pub fn seed(&self) -> u64 {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
        let hash = [self.run_id, self.sector, self.sequence, self.due_ns].into_iter().fold(0x1051_0a72, mix);
        let hash = mix(mix(hash, u64::from(self.target)), u64::from(self.phase) << 32 | u64::from(self.pass));
        // A mask seed of 0 means no mask.
        hash.max(1)
    }

    /// The words of a header after the seed, without their mask.
    #[inline]
    pub(crate) fn plain(&self, form: Form, checksum: u32) -> [u64; MASKED] {
        let (target, phase, pass) = (u64::from(self.target), u64::from(self.phase), u64::from(self.pass));
        let (identity, low) = match form {
            Form::One => (target | pass << 32, phase),
            Form::Two => {
                (target | phase << 16 | pass << 32, u64::from(self.index) | u64::from(self.length) << 16)
            }
        };
        let last = low | u64::from(checksum) << 32;
        [form.magic(), self.run_id, self.sector, self.sequence, self.due_ns, identity, last]
    }

    /// Decodes a header; `None` if invalid in this version.
    #[inline]
    pub(crate) fn from_plain(words: &[u64; MASKED], form: Form) -> Option<SectorHeader> {
        let [_, run_id, sector, sequence, due_ns, identity, last] = *words;
        let (high, low) = ((identity >> 16) as u16, [last as u16, (last >> 16) as u16]);
        let (phase, [index, length]) = match form {
            Form::One if high == 0 && low[1] == 0 => (low[0], [0, 0]),
            Form::One => return None,
            Form::Two => (high, low),
        };
        let (target, pass) = (identity as u16, (identity >> 32) as u32);
        Some(SectorHeader { run_id, target, phase, pass, sector, sequence, due_ns, index, length })
    }
}

/// Fills the sectors of a write. `first` is the header of its first sector; the others follow from it. Bytes after the last
/// whole sector, which only buffered patterns of odd sizes have, are zeros.
pub fn fill(buffer: &mut [u8], first: SectorHeader, fill: Fill) {
    let (sectors, rest) = buffer.as_chunks_mut();
    rest.fill(0);
    Share::of(fill).fill(sectors, &first);
}

/// A sector as [`fill`] makes it from this header.
pub fn regenerate(header: &SectorHeader, fill: Fill) -> [u8; LENGTH] {
    let mut sector = [0; LENGTH];
    Share::of(fill).fill_one(&mut sector, header, Form::Two);
    sector
}

/// A checksum of a sector, to see whether it has changed (CRC-32).
pub fn checksum(sector: &[u8; LENGTH]) -> u32 {
    crc32fast::hash(sector)
}

/// The mask of the words of a header after its seed. Without it the headers alone would let a compressing device save an eighth of
/// data that is meant to be incompressible.
#[inline]
fn pad(seed: u64) -> [u64; MASKED] {
    // Not the sequence that fills the rest of the sector.
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(!seed);
    std::array::from_fn(|_| generator.next_u64())
}

/// The words of a header after its seed with the mask taken off, or put on.
#[inline]
pub(crate) fn masked(sector: &[u8; LENGTH], seed: u64) -> [u64; MASKED] {
    let words = sector.as_chunks::<8>().0;
    mask(std::array::from_fn(|i| u64::from_le_bytes(words[1 + i])), seed)
}

/// Puts the mask on, or takes it off.
#[inline]
pub(crate) fn mask(words: [u64; MASKED], seed: u64) -> [u64; MASKED] {
    if seed == 0 {
        return words;
    }
    let pad = pad(seed);
    std::array::from_fn(|i| words[i] ^ pad[i])
}

#[inline]
pub(crate) fn put_words(sector: &mut [u8; LENGTH], words: &[u64; MASKED]) {
    let places = sector.as_chunks_mut::<8>().0[1..].iter_mut();
    places.zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
}

/// The seed of the mask, as stored in a sector.
#[inline]
pub(crate) fn seed_of(sector: &[u8; LENGTH]) -> u64 {
    u64::from_le_bytes(*sector.first_chunk().expect("a sector has eight bytes"))
}

/// The checksum in the words of a header.
#[inline]
pub(crate) fn checksum_of(plain: &[u64; MASKED]) -> u32 {
    (plain[MASKED - 1] >> 32) as u32
}

/// wyrand's output number `i` from state `seed`.
#[inline(always)]
pub(crate) fn noise(seed: u64, i: u64) -> u64 {
    let state = seed.wrapping_add(i.wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::collections::HashSet;
    use std::io::Write;

    const FIRST: SectorHeader = SectorHeader {
        run_id: 5,
        target: 1,
        phase: 3,
        pass: 2,
        sector: 1000,
        sequence: 7,
        due_ns: 99,
        index: 0,
        length: 8,
    };

    fn filled(sectors: usize, first: SectorHeader, random_percent: u8) -> Vec<u8> {
        let mut bytes = vec![0xaa; sectors * 512];
        fill(&mut bytes, first, Fill { random_percent });
        bytes
    }

    fn sectors(bytes: &[u8]) -> &[[u8; 512]] {
        bytes.as_chunks().0
    }

    fn compressed_percent(random_percent: u8) -> usize {
        let bytes = filled(2048, FIRST, random_percent);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap().len() * 100 / bytes.len()
    }

    #[test]
    fn sector_headers_identify_their_request() {
        for percent in [0, 50, 100] {
            for (i, sector) in sectors(&filled(8, FIRST, percent)).iter().enumerate() {
                let want = SectorHeader { sector: 1000 + i as u64, index: i as u16, ..FIRST };
                assert_eq!(SectorHeader::decode(sector), Ok(want));
            }
        }
    }

    #[test]
    fn detects_any_flipped_bit() {
        for percent in [0, 100] {
            let good = sectors(&filled(1, FIRST, percent))[0];
            for byte in 0..512 {
                let mut bad = good;
                bad[byte] ^= 0x10;
                assert!(SectorHeader::decode(&bad).is_err(), "byte {byte}, fill {percent}");
            }
        }
    }

    #[test]
    fn foreign_data_has_no_header() {
        assert_eq!(SectorHeader::decode(&[0; 512]), Err(BadSector::NoHeader));
    }

    #[test]
    fn incompressible_share_matches_the_request() {
        assert!(sectors(&filled(8, FIRST, 0)).iter().all(|s| s[HEADER..].iter().all(|b| *b == 0)));
        assert!(compressed_percent(0) < 10);
        assert!((45..=60).contains(&compressed_percent(50)), "{}", compressed_percent(50));
        assert!(compressed_percent(100) > 98, "{}", compressed_percent(100));
        let bytes = filled(4096, FIRST, 100);
        assert_eq!(sectors(&bytes).iter().collect::<HashSet<_>>().len(), 4096);
    }

    /// Words of every place of 8 bytes: no pattern shows across sectors, requests, or the whole of them.
    #[test]
    fn no_data_words_repeat() {
        let requests =
            (0..4).map(|n| filled(512, SectorHeader { sequence: n, sector: 512 * (n % 2), ..FIRST }, 100));
        let bytes: Vec<u8> = requests.flatten().collect();
        let words: HashSet<&[u8; 8]> = bytes.as_chunks().0.iter().collect();
        assert_eq!(words.len(), bytes.len() / 8);
    }

    #[test]
    fn only_equal_runs_write_equal_bytes() {
        assert_eq!(filled(8, FIRST, 100), filled(8, FIRST, 100));
        for other in [
            SectorHeader { run_id: 6, ..FIRST },
            SectorHeader { sequence: 8, ..FIRST },
            SectorHeader { target: 0, ..FIRST },
            SectorHeader { pass: 0, ..FIRST },
        ] {
            let (a, b) = (filled(8, FIRST, 100), filled(8, other, 100));
            assert!(sectors(&a).iter().zip(sectors(&b)).all(|(a, b)| a[64..] != b[64..]));
        }
    }
}
