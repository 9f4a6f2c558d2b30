//! Incompressible bytes of sectors, and the checksums of sectors without a look at their bytes.
//!
//! Word i of a sector is word i of one of [`PATTERNS`] fixed random patterns, XOR the seed of the sector. Neighbouring sectors
//! have different patterns, and sectors of the same pattern different seeds, so no bytes repeat.
//!
//! CRC-32 is linear: the checksum of A XOR B follows from those of A and B. So tables hold what each part of a sector
//! contributes. To compute the checksum of bytes that were written some instructions before stalls the processor, which cannot
//! forward narrow stores to wide loads; that was most of the cost of a sector.

use crate::header::{HEADER, MAGIC, SectorHeader, noise};
use iosonar_plan::SECTOR;
use std::array::from_fn;
use std::sync::LazyLock;

/// Patterns: they span 32 KiB, so that they stay in the nearest cache.
const PATTERNS: usize = 64;
const LENGTH: usize = SECTOR as usize;
/// Words of a sector, and those of its header.
const WORDS: usize = LENGTH / 8;
const HEADER_WORDS: usize = HEADER / 8;

/// Where the address of a sector stands in its header.
const ADDRESS_AT: usize = 24;

/// What each byte of a word contributes to a checksum.
type Contributions = [[u32; 256]; 8];

struct Tables {
    patterns: [[u64; WORDS - HEADER_WORDS]; PATTERNS],
    /// What the patterns contribute.
    sums: [u32; PATTERNS],
    /// The seed, at the start of the header and in every word after the header.
    seed: Contributions,
    address: Contributions,
}

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| Box::new(Tables::new()));

/// What a sector contributes to the checksum of its XOR with another one.
fn contribution(sector: &[u8; LENGTH]) -> u32 {
    crc32fast::hash(sector) ^ crc32fast::hash(&[0; LENGTH])
}

/// A sector whose words from `from` on, up to `to`, are the same, and 0 elsewhere.
fn with_words(sector: &mut [u8; LENGTH], words: std::ops::Range<usize>, word: u64) {
    sector.as_chunks_mut::<8>().0[words].fill(word.to_le_bytes());
}

fn contributions(sector_with: impl Fn(u64) -> [u8; LENGTH]) -> Contributions {
    from_fn(|byte| from_fn(|value| contribution(&sector_with((value as u64) << (8 * byte)))))
}

impl Tables {
    fn new() -> Tables {
        let words = WORDS - HEADER_WORDS;
        let patterns = from_fn(|n| from_fn(|i| noise(0, (1 + n * words + i) as u64)));
        let sum = |pattern: &[u64; WORDS - HEADER_WORDS]| {
            let mut sector = [0; LENGTH];
            let places = sector.as_chunks_mut::<8>().0[HEADER_WORDS..].iter_mut();
            places.zip(pattern).for_each(|(place, word)| *place = word.to_le_bytes());
            contribution(&sector)
        };
        let seed = contributions(|seed| {
            let mut sector = [0; LENGTH];
            with_words(&mut sector, 0..1, seed);
            with_words(&mut sector, HEADER_WORDS..WORDS, seed);
            sector
        });
        let address = contributions(|address| {
            let mut sector = [0; LENGTH];
            with_words(&mut sector, ADDRESS_AT / 8..ADDRESS_AT / 8 + 1, address);
            sector
        });
        Tables { sums: patterns.each_ref().map(sum), patterns, seed, address }
    }
}

fn look_up(table: &Contributions, word: u64) -> u32 {
    let bytes = word.to_le_bytes();
    (0..8).fold(0, |sum, byte| sum ^ table[byte][usize::from(bytes[byte])])
}

/// Computes what is computed once, so that no first request has to.
pub fn prepare() {
    LazyLock::force(&TABLES);
}

/// Fills the bytes after the header of a sector, or the first of them.
pub(crate) fn fill_part(bytes: &mut [u8], address: u64, seed: u64) {
    let pattern = &TABLES.patterns[address as usize % PATTERNS];
    let (words, rest) = bytes.as_chunks_mut::<8>();
    let count = words.len();
    words.iter_mut().zip(pattern).for_each(|(word, random)| *word = (random ^ seed).to_le_bytes());
    let last = pattern.get(count).map_or([0; 8], |random| (random ^ seed).to_le_bytes());
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Fills whole sectors with incompressible bytes. `first` is the header of the first one.
pub(crate) fn fill_whole(sectors: &mut [[u8; LENGTH]], first: &SectorHeader) {
    let tables = &**TABLES;
    // What all of these sectors have in common.
    let mut common = [0; LENGTH];
    SectorHeader { sector: 0, ..*first }.put(&mut common, 0);
    let common = crc32fast::hash(&common);
    for (i, sector) in sectors.iter_mut().enumerate() {
        let header = first.after(i as u64);
        let (seed, pattern) = (header.seed().max(1), header.sector as usize % PATTERNS);
        let checksum = common
            ^ tables.sums[pattern]
            ^ look_up(&tables.seed, seed)
            ^ look_up(&tables.address, header.sector);
        let words = sector.as_chunks_mut::<8>().0;
        let (head, body) = words.split_at_mut(HEADER_WORDS);
        head[0] = seed.to_le_bytes();
        let plain = header.plain(checksum);
        let places = head[1..].iter_mut().zip(plain).zip(SectorHeader::pad(seed));
        places.for_each(|((place, word), pad)| *place = (word ^ pad).to_le_bytes());
        let random = body.iter_mut().zip(&tables.patterns[pattern]);
        random.for_each(|(place, word)| *place = (word ^ seed).to_le_bytes());
    }
}

impl SectorHeader {
    /// The words of a header after the seed, without their mask.
    fn plain(&self, checksum: u32) -> [u64; HEADER_WORDS - 1] {
        [
            u64::from_le_bytes(MAGIC),
            self.run_id,
            self.sector,
            self.sequence,
            self.due_ns,
            u64::from(self.target) | u64::from(self.pass) << 32,
            u64::from(self.phase) | u64::from(checksum) << 32,
        ]
    }
}
