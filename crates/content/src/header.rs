//! What written sectors contain: a header that says whose they are, then zeros or incompressible bytes.
//!
//! Every 512-byte sector carries the header, so that a misplaced, lost, torn or damaged write can be told from
//! a right one later. The form is described in `docs/formats.md`.
//!
//! The issuing loop fills sectors, at best while it would wait. So a sector must cost little: [`crate::noise`] has the
//! incompressible bytes, and the checksum of a sector that is full of them.

use crate::noise;
use iosonar_plan::{Fill, SECTOR};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes of the header at the beginning of each sector.
pub const HEADER: usize = 64;

pub(crate) const MAGIC: [u8; 8] = *b"iosonar1";
const CHECKSUM: std::ops::Range<usize> = 60..64;
/// What the mask covers: all of the header but the mask's own seed.
const MASKED: std::ops::Range<usize> = 8..HEADER;

/// Whose a sector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorHeader {
    /// Run that wrote it.
    pub run_id: u64,
    /// Index of the target in the plan.
    pub target: u32,
    /// Phase of the plan, from 0.
    pub phase: u16,
    /// Pass of the phase, from 0.
    pub pass: u32,
    /// Address of this sector on the target, in sectors.
    pub sector: u64,
    /// Sequence number of the request.
    pub sequence: u64,
    /// When the request was due, in nanoseconds from the start of its pass; 0 for one without a time of its own.
    pub due_ns: u64,
}

/// Why a sector is not what it should be.
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
    pub fn after(self, sectors: u64) -> SectorHeader {
        SectorHeader { sector: self.sector + sectors, ..self }
    }

    fn words(&self) -> [u64; 4] {
        [self.run_id, self.sector, self.sequence, self.due_ns]
    }

    /// Reads and checks a sector as [`fill`] made it.
    pub fn decode(sector: &[u8; SECTOR as usize]) -> Result<SectorHeader, BadSector> {
        let mut plain = *sector;
        mask(&mut plain);
        if plain[8..16] != MAGIC {
            return Err(BadSector::NoHeader);
        }
        let stored: [u8; 4] = plain[CHECKSUM].try_into().expect("four bytes");
        plain[CHECKSUM].fill(0);
        let word = |at: usize| u64::from_le_bytes(plain[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_le_bytes(plain[at..at + 4].try_into().expect("four bytes"));
        if u32::from_le_bytes(stored) != crc32fast::hash(&plain) {
            return Err(BadSector::Checksum);
        }
        Ok(SectorHeader {
            run_id: word(16),
            sector: word(24),
            sequence: word(32),
            due_ns: word(40),
            target: half(48),
            pass: half(52),
            phase: u16::from_le_bytes([plain[56], plain[57]]),
        })
    }

    /// Seed of this sector's random bytes: a different one for each sector of each request of each run.
    pub(crate) fn seed(&self) -> u64 {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
        let hash = self.words().into_iter().fold(0x1051_0a72, mix);
        mix(mix(hash, u64::from(self.target)), u64::from(self.phase) << 32 | u64::from(self.pass))
    }
}

/// Fills the sectors of a write. `first` is the header of its first sector; the others follow from it. Bytes after the last
/// whole sector, which only buffered patterns of odd sizes have, are zeros.
pub fn fill(buffer: &mut [u8], first: SectorHeader, fill: Fill) {
    let random = SECTOR as usize * usize::from(fill.random_percent) / 100;
    let (sectors, rest) = buffer.as_chunks_mut::<{ SECTOR as usize }>();
    rest.fill(0);
    if random == SECTOR as usize {
        return noise::fill_whole(sectors, &first);
    }
    for (i, sector) in sectors.iter_mut().enumerate() {
        fill_sector(sector, &first.after(i as u64), random);
    }
}

fn fill_sector(sector: &mut [u8; SECTOR as usize], header: &SectorHeader, random: usize) {
    // A mask seed of 0 says that there is no mask.
    let seed = if random > 0 { header.seed().max(1) } else { 0 };
    let (noise, zeros) = sector[HEADER..].split_at_mut(random.saturating_sub(HEADER));
    noise::fill_part(noise, header.sector, seed);
    zeros.fill(0);
    header.put(sector, seed);
    // Over the whole sector at once, with zeros in its own place: three short pieces cost half as much again.
    let checksum = crc32fast::hash(sector);
    sector[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    mask(sector);
}

impl SectorHeader {
    /// Writes the header without mask and checksum.
    pub(crate) fn put(&self, sector: &mut [u8; SECTOR as usize], seed: u64) {
        sector[..8].copy_from_slice(&seed.to_le_bytes());
        sector[8..16].copy_from_slice(&MAGIC);
        for (i, word) in self.words().into_iter().enumerate() {
            sector[16 + i * 8..24 + i * 8].copy_from_slice(&word.to_le_bytes());
        }
        sector[48..52].copy_from_slice(&self.target.to_le_bytes());
        sector[52..56].copy_from_slice(&self.pass.to_le_bytes());
        sector[56..58].copy_from_slice(&self.phase.to_le_bytes());
        sector[58..HEADER].fill(0);
    }

    /// What masks the words of a header after its seed. Without it the headers alone would let a compressing device save an
    /// eighth of data that is meant to be incompressible.
    pub(crate) fn pad(seed: u64) -> [u64; MASKED.end / 8 - MASKED.start / 8] {
        // Not the sequence that fills the rest of the sector.
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(!seed);
        std::array::from_fn(|_| generator.next_u64())
    }
}

/// wyrand's output number `i` from state `seed`.
#[inline(always)]
pub(crate) fn noise(seed: u64, i: u64) -> u64 {
    let state = seed.wrapping_add(i.wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

/// Puts the mask on, or takes it off.
fn mask(sector: &mut [u8; SECTOR as usize]) {
    let seed = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
    if seed != 0 {
        let places = sector[MASKED].as_chunks_mut::<8>().0.iter_mut().zip(SectorHeader::pad(seed));
        places.for_each(|(word, pad)| *word = (u64::from_le_bytes(*word) ^ pad).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::collections::HashSet;
    use std::io::Write;

    const FIRST: SectorHeader =
        SectorHeader { run_id: 5, target: 1, phase: 3, pass: 2, sector: 1000, sequence: 7, due_ns: 99 };

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
    fn each_sector_says_whose_it_is() {
        for percent in [0, 50, 100] {
            for (i, sector) in sectors(&filled(8, FIRST, percent)).iter().enumerate() {
                let want = SectorHeader { sector: 1000 + i as u64, ..FIRST };
                assert_eq!(SectorHeader::decode(sector), Ok(want));
            }
        }
    }

    #[test]
    fn any_flipped_bit_is_seen() {
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
    fn the_share_of_incompressible_bytes_is_what_was_asked_for() {
        assert!(sectors(&filled(8, FIRST, 0)).iter().all(|s| s[HEADER..].iter().all(|b| *b == 0)));
        assert!(compressed_percent(0) < 10);
        assert!((45..=60).contains(&compressed_percent(50)), "{}", compressed_percent(50));
        assert!(compressed_percent(100) > 98, "{}", compressed_percent(100));
        let bytes = filled(4096, FIRST, 100);
        assert_eq!(sectors(&bytes).iter().collect::<HashSet<_>>().len(), 4096);
    }

    /// Words of every place of 8 bytes: no pattern shows across sectors, requests, or the whole of them.
    #[test]
    fn no_words_repeat() {
        let requests =
            (0..4).map(|n| filled(512, SectorHeader { sequence: n, sector: 512 * (n % 2), ..FIRST }, 100));
        let bytes: Vec<u8> = requests.flatten().collect();
        let words: HashSet<&[u8; 8]> = bytes.as_chunks().0.iter().collect();
        assert_eq!(words.len(), bytes.len() / 8);
    }

    #[test]
    fn equal_runs_write_equal_bytes_and_others_do_not() {
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
