//! Incompressible bytes of sectors, and the checksums of sectors without a look at their bytes.
//!
//! Word i of a sector is word i of one of [`PATTERNS`] fixed random patterns, XOR the seed of the sector. Neighbouring sectors
//! have different patterns, and sectors of the same pattern different seeds, so no bytes repeat.
//!
//! CRC-32 is linear: the checksum of A XOR B follows from those of A and B. So tables hold what each part of a sector
//! contributes. To compute the checksum of bytes that were written some instructions before stalls the processor, which cannot
//! forward narrow stores to wide loads; that was most of the cost of a sector.

use crate::header::{Form, HEADER, LENGTH, MASKED, SectorHeader, noise, pad};
use std::array::from_fn;
use std::sync::LazyLock;

/// Patterns: they span 32 KiB, so that they stay in the nearest cache.
pub(crate) const PATTERNS: usize = 64;
/// Words of a sector, those of its header, and those of its body.
const WORDS: usize = LENGTH / 8;
const HEADER_WORDS: usize = HEADER / 8;
pub(crate) const BODY_WORDS: usize = WORDS - HEADER_WORDS;

/// The fixed random words of a body.
pub(crate) type Pattern = [u64; BODY_WORDS];
/// What each byte of a word contributes to a checksum.
type Contributions = [[u32; 256]; 8];

struct Tables {
    patterns: [Pattern; PATTERNS],
    /// What the patterns contribute.
    sums: [u32; PATTERNS],
    /// The seed, at the start of the header and in every word after the header.
    seed: Contributions,
    /// The seed at the start of the header alone.
    mask_seed: Contributions,
    /// The other words of the header. Of the last one the lower half, which the checksum follows.
    header: [Contributions; MASKED],
    /// What remains in a sector of zeros.
    zeros: u32,
    /// The state of a checksum after the zeros that take the place of the header.
    after_header: u32,
}

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| Box::new(Tables::new()));

/// What a sector contributes to the checksum of its XOR with another one.
fn contribution(sector: &[u8; LENGTH]) -> u32 {
    crc32fast::hash(sector) ^ crc32fast::hash(&[0; LENGTH])
}

/// What a word contributes that stands at all of these places.
fn contributions(places: impl Iterator<Item = usize> + Clone) -> Contributions {
    let sum_of = |word: u64| {
        let mut sector = [0; LENGTH];
        let words = sector.as_chunks_mut::<8>().0;
        places.clone().for_each(|place| words[place] = word.to_le_bytes());
        contribution(&sector)
    };
    from_fn(|byte| {
        let bits: [u32; 8] = from_fn(|bit| sum_of(1 << (8 * byte + bit)));
        from_fn(|value| (0..8).filter(|bit| value >> bit & 1 == 1).fold(0, |sum, bit| sum ^ bits[bit]))
    })
}

impl Tables {
    fn new() -> Tables {
        let patterns = from_fn(|n| from_fn(|i| noise(0, (1 + n * BODY_WORDS + i) as u64)));
        let sum = |pattern: &Pattern| {
            let mut sector = [0; LENGTH];
            let places = sector.as_chunks_mut::<8>().0[HEADER_WORDS..].iter_mut();
            places.zip(pattern).for_each(|(place, word)| *place = word.to_le_bytes());
            contribution(&sector)
        };
        Tables {
            sums: patterns.each_ref().map(sum),
            patterns,
            seed: contributions((0..1).chain(HEADER_WORDS..WORDS)),
            mask_seed: contributions(0..1),
            header: from_fn(|i| contributions(1 + i..2 + i)),
            zeros: crc32fast::hash(&[0; LENGTH]),
            after_header: crc32fast::hash(&[0; HEADER]),
        }
    }

    /// What the words of a header after the seed contribute, whatever checksum the last one holds.
    #[inline]
    fn header(&self, plain: &[u64; MASKED]) -> u32 {
        let [whole @ .., last] = plain;
        let sum = whole.iter().zip(&self.header).fold(0, |sum, (word, table)| sum ^ look_up(table, *word));
        sum ^ look_up_half(&self.header[MASKED - 1], *last as u32)
    }
}

#[inline]
fn look_up(table: &Contributions, word: u64) -> u32 {
    let bytes = word.to_le_bytes();
    (0..8).fold(0, |sum, byte| sum ^ table[byte][usize::from(bytes[byte])])
}

#[inline]
fn look_up_half(table: &Contributions, half: u32) -> u32 {
    let bytes = half.to_le_bytes();
    (0..4).fold(0, |sum, byte| sum ^ table[byte][usize::from(bytes[byte])])
}

/// Computes what is computed once, so that no first request has to.
pub fn prepare() {
    LazyLock::force(&TABLES);
}

/// The pattern of the sector at an address.
#[inline]
pub(crate) fn pattern(address: u64) -> &'static Pattern {
    &TABLES.patterns[address as usize % PATTERNS]
}

/// All patterns.
pub(crate) fn patterns() -> &'static [Pattern; PATTERNS] {
    &TABLES.patterns
}

/// Fills the bytes after the header of a sector, or the first of them.
pub(crate) fn fill_part(bytes: &mut [u8], address: u64, seed: u64) {
    let pattern = pattern(address);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    let count = words.len();
    words.iter_mut().zip(pattern).for_each(|(word, random)| *word = (random ^ seed).to_le_bytes());
    let last = pattern.get(count).map_or([0; 8], |random| (random ^ seed).to_le_bytes());
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Whether these bytes are what [`fill_part`] makes.
#[inline]
pub(crate) fn is_part(bytes: &[u8], address: u64, seed: u64) -> bool {
    let pattern = pattern(address);
    let (words, rest) = bytes.as_chunks::<8>();
    let last = pattern.get(words.len()).map_or([0; 8], |random| (random ^ seed).to_le_bytes());
    // All of them, without a branch for each: the compiler makes wide instructions of it.
    let differ = |(word, random): (&[u8; 8], &u64)| u64::from_le_bytes(*word) ^ random ^ seed;
    words.iter().zip(pattern).map(differ).fold(0, |all, one| all | one) == 0 && rest == &last[..rest.len()]
}

/// Whether the body of a sector is what [`fill_whole`] makes.
#[inline]
pub(crate) fn is_whole(sector: &[u8; LENGTH], address: u64, seed: u64) -> bool {
    let body: &[u8; LENGTH - HEADER] = sector.last_chunk().expect("a sector is longer than its header");
    let words = body.as_chunks::<8>().0.iter().zip(pattern(address));
    words.map(|(word, random)| u64::from_le_bytes(*word) ^ random ^ seed).fold(0, |all, one| all | one) == 0
}

/// The checksum of a sector that is full of incompressible bytes.
#[inline]
pub(crate) fn checksum_of_whole(plain: &[u64; MASKED], address: u64, seed: u64) -> u32 {
    let tables = &**TABLES;
    let body = tables.sums[address as usize % PATTERNS] ^ look_up(&tables.seed, seed);
    tables.zeros ^ body ^ tables.header(plain)
}

/// The checksum of a sector with this header, seed and body.
#[inline]
pub(crate) fn checksum_of_part(plain: &[u64; MASKED], seed: u64, body: &[u8]) -> u32 {
    let tables = &**TABLES;
    // Zeros, all of them, contribute nothing, and only they have no seed.
    let body = if seed == 0 {
        tables.zeros
    } else {
        let mut hasher = crc32fast::Hasher::new_with_initial(tables.after_header);
        hasher.update(body);
        hasher.finalize()
    };
    body ^ look_up(&tables.mask_seed, seed) ^ tables.header(plain)
}

/// Fills whole sectors with incompressible bytes. `first` is the header of the first one.
pub(crate) fn fill_whole(sectors: &mut [[u8; LENGTH]], first: &SectorHeader) {
    let tables = &**TABLES;
    let [_, _, address, .., last] = &tables.header;
    // What all of these sectors have in common.
    let common = SectorHeader { sector: 0, index: 0, ..*first };
    let common = tables.zeros ^ tables.header(&common.plain(Form::Two, 0));
    for (i, sector) in sectors.iter_mut().enumerate() {
        let header = first.after(i as u64);
        let (seed, pattern) = (header.seed(), header.sector as usize % PATTERNS);
        let [low, high] = header.index.to_le_bytes();
        let checksum = common
            ^ tables.sums[pattern]
            ^ look_up(&tables.seed, seed)
            ^ look_up(address, header.sector)
            ^ last[0][usize::from(low)]
            ^ last[1][usize::from(high)];
        let words = sector.as_chunks_mut::<8>().0;
        let (head, body) = words.split_at_mut(HEADER_WORDS);
        head[0] = seed.to_le_bytes();
        let plain = header.plain(Form::Two, checksum);
        let places = head[1..].iter_mut().zip(plain).zip(pad(seed));
        places.for_each(|((place, word), pad)| *place = (word ^ pad).to_le_bytes());
        let random = body.iter_mut().zip(&tables.patterns[pattern]);
        random.for_each(|(place, word)| *place = (word ^ seed).to_le_bytes());
    }
}
