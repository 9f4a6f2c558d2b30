//! Incompressible bytes of sectors, and the checksums of sectors without a look at their bytes.
//!
//! Word i of a sector is word i of one of [`PATTERNS`] fixed random patterns, XOR the seed of the sector. Neighbouring sectors
//! have different patterns, and sectors of the same pattern different seeds, so no bytes repeat.
//!
//! CRC-32 is linear: the checksum of A XOR B follows from those of A and B. So tables hold the contribution of each part of a
//! sector. To compute the checksum of bytes that were written some instructions before stalls the processor, which cannot forward
//! narrow stores to wide loads; that was most of the cost of a sector.

use crate::header::{Form, HEADER, LENGTH, MASKED, SectorHeader, mask, noise, put_words, seed_of};
use iosonar_plan::Fill;
use std::array::from_fn;
use std::sync::{LazyLock, OnceLock};

/// Patterns: they span 32 KiB, so that they stay in the nearest cache.
const PATTERNS: usize = 64;
/// Bytes and words after the header.
const BODY: usize = LENGTH - HEADER;
const BODY_WORDS: usize = BODY / 8;
const WHOLE: &str = "a sector is longer than its header";

/// The fixed random words of a body.
pub(crate) type Pattern = [u64; BODY_WORDS];
/// Contribution of each byte of a word to a checksum.
type Contributions = [[u32; 256]; 8];

/// Contributions of the header, and the patterns of bodies.
struct Tables {
    patterns: [Pattern; PATTERNS],
    /// The words of a header after the seed; of the last one the lower half, which the checksum follows.
    header: [Contributions; MASKED],
    /// The checksum of a sector of zeros.
    zeros: u32,
}

/// Contributions of the body of a sector of which a share is random.
pub(crate) struct Share {
    /// Bytes of a sector before the zeros, its header included. With 0 the header has no mask.
    pub(crate) random: usize,
    /// Contributions of the patterns.
    sums: [u32; PATTERNS],
    /// The seed, at the start of the header and in every random word after the header.
    seed: Contributions,
}

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| Box::new(Tables::new()));
/// Shares by percentage.
static SHARES: [OnceLock<Box<Share>>; 101] = [const { OnceLock::new() }; 101];

/// Contribution of a sector to the checksum of its XOR with another one.
fn contribution(sector: &[u8; LENGTH]) -> u32 {
    crc32fast::hash(sector) ^ crc32fast::hash(&[0; LENGTH])
}

/// Contributions of a word to the sectors that are made of it.
fn contributions(sector_of: impl Fn(u64) -> [u8; LENGTH]) -> Contributions {
    from_fn(|byte| {
        let bits: [u32; 8] = from_fn(|bit| contribution(&sector_of(1 << (8 * byte + bit))));
        from_fn(|value| (0..8).filter(|bit| value >> bit & 1 == 1).fold(0, |sum, bit| sum ^ bits[bit]))
    })
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

impl Tables {
    fn new() -> Tables {
        let header = |place: usize| {
            contributions(|word| {
                let mut sector = [0; LENGTH];
                sector.as_chunks_mut::<8>().0[place] = word.to_le_bytes();
                sector
            })
        };
        Tables {
            patterns: from_fn(|n| from_fn(|i| noise(0, (1 + n * BODY_WORDS + i) as u64))),
            header: from_fn(|i| header(1 + i)),
            zeros: crc32fast::hash(&[0; LENGTH]),
        }
    }

    /// Contribution of the words of a header after the seed, for any checksum in the last one.
    #[inline]
    fn header(&self, plain: &[u64; MASKED]) -> u32 {
        let [whole @ .., last] = plain;
        let sum = whole.iter().zip(&self.header).fold(0, |sum, (word, table)| sum ^ look_up(table, *word));
        sum ^ look_up_half(&self.header[MASKED - 1], *last as u32)
    }
}

/// Computes the tables in advance, so that no first request has to.
pub fn prepare(fill: Fill) {
    Share::of(fill);
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

/// Contribution of the words of a header after the seed to the checksum of a sector.
pub(crate) fn contribution_of(plain: &[u64; MASKED]) -> u32 {
    TABLES.header(plain)
}

/// Fills the body of a sector of which `random` bytes are random.
#[inline]
fn fill_body(body: &mut [u8; BODY], random: usize, pattern: &Pattern, seed: u64) {
    let words = body.as_chunks_mut::<8>().0;
    // Of a length known to the compiler, so that it uses wide instructions.
    if random == LENGTH {
        return words.iter_mut().zip(pattern).for_each(|(word, noise)| *word = (noise ^ seed).to_le_bytes());
    }
    let (noise, zeros) = body.split_at_mut(random.saturating_sub(HEADER));
    zeros.fill(0);
    let (words, rest) = noise.as_chunks_mut::<8>();
    let count = words.len();
    words.iter_mut().zip(pattern).for_each(|(word, noise)| *word = (noise ^ seed).to_le_bytes());
    rest.copy_from_slice(&(pattern[count] ^ seed).to_le_bytes()[..rest.len()]);
}

/// Whether the body of a sector is as made by [`fill_body`].
#[inline]
fn is_body(body: &[u8; BODY], random: usize, pattern: &Pattern, seed: u64) -> bool {
    // All of them, without a branch for each: the compiler makes wide instructions of it.
    let differ = |(word, noise): (&[u8; 8], &u64)| u64::from_le_bytes(*word) ^ noise ^ seed;
    if random == LENGTH {
        return body.as_chunks().0.iter().zip(pattern).map(differ).fold(0, |all, one| all | one) == 0;
    }
    let (noise, zeros) = body.split_at(random.saturating_sub(HEADER));
    let (words, rest) = noise.as_chunks::<8>();
    let last = (pattern[words.len()] ^ seed).to_le_bytes();
    words.iter().zip(pattern).map(differ).fold(0, |all, one| all | one) == 0
        && *rest == last[..rest.len()]
        && zeros.iter().fold(0, |all, byte| all | byte) == 0
}

/// The headers of successive sectors of a request, at less cost than each for itself: their common part is computed once.
pub(crate) struct Successive<'a> {
    share: &'a Share,
    tables: &'a Tables,
    first: SectorHeader,
    /// The checksum of the common part.
    common: u32,
}

/// A header of version 2 as it is written.
pub(crate) struct Words {
    pub(crate) header: SectorHeader,
    pub(crate) seed: u64,
    /// The words after the seed, without their mask.
    pub(crate) plain: [u64; MASKED],
}

impl Successive<'_> {
    /// The words of the sector `sectors` after the first one.
    #[inline(always)]
    pub(crate) fn words(&self, sectors: u64) -> Words {
        let [_, _, address, .., last] = &self.tables.header;
        let header = self.first.after(sectors);
        let seed = if self.share.is_masked() { header.seed() } else { 0 };
        let [low, high] = header.index.to_le_bytes().map(usize::from);
        let checksum = self.common
            ^ self.share.contribution(header.sector, seed)
            ^ look_up(address, header.sector)
            ^ last[0][low]
            ^ last[1][high];
        Words { header, seed, plain: header.plain(Form::Two, checksum) }
    }

    /// The header of a sector if it is the one which lies `sectors` after the first one, and every byte is right.
    #[inline]
    pub(crate) fn is_next(&self, sector: &[u8; LENGTH], sectors: u64) -> Option<SectorHeader> {
        let Words { header, seed, plain } = self.words(sectors);
        let words = sector.as_chunks::<8>().0;
        let differ = mask(plain, seed).into_iter().zip(&words[1..]);
        let differ =
            differ.fold(seed_of(sector) ^ seed, |all, (own, word)| all | own ^ u64::from_le_bytes(*word));
        (differ == 0 && self.share.is_body(sector, header.sector, seed)).then_some(header)
    }
}

impl Share {
    /// The share of a plan's fill.
    #[inline]
    pub(crate) fn of(fill: Fill) -> &'static Share {
        let percent = usize::from(fill.random_percent.min(100));
        SHARES[percent].get_or_init(|| Box::new(Share::new(LENGTH * percent / 100)))
    }

    fn new(random: usize) -> Share {
        let body_of = |pattern: &Pattern, seed| {
            let mut sector = [0; LENGTH];
            fill_body(sector.last_chunk_mut().expect(WHOLE), random, pattern, seed);
            sector
        };
        let seed = contributions(|seed| {
            let mut sector = body_of(&[0; BODY_WORDS], seed);
            sector[..8].copy_from_slice(&seed.to_le_bytes());
            sector
        });
        Share { random, sums: from_fn(|n| contribution(&body_of(&TABLES.patterns[n], 0))), seed }
    }

    /// Whether any byte is random: then the header has a mask.
    #[inline]
    pub(crate) fn is_masked(&self) -> bool {
        self.random > 0
    }

    /// Contribution of the seed and the body of the sector at an address.
    #[inline]
    fn contribution(&self, address: u64, seed: u64) -> u32 {
        self.sums[address as usize % PATTERNS] ^ look_up(&self.seed, seed)
    }

    /// The checksum of a sector with these words in its header, for any checksum in them.
    #[inline]
    pub(crate) fn checksum(&self, plain: &[u64; MASKED], address: u64, seed: u64) -> u32 {
        TABLES.zeros ^ TABLES.header(plain) ^ self.contribution(address, seed)
    }

    /// Whether a sector has the body that belongs to an address and a seed.
    #[inline]
    pub(crate) fn is_body(&self, sector: &[u8; LENGTH], address: u64, seed: u64) -> bool {
        is_body(sector.last_chunk().expect(WHOLE), self.random, pattern(address), seed)
    }

    /// Makes a sector.
    pub(crate) fn fill_one(&self, sector: &mut [u8; LENGTH], header: &SectorHeader, form: Form) {
        let seed = if self.is_masked() { header.seed() } else { 0 };
        let checksum = self.checksum(&header.plain(form, 0), header.sector, seed);
        self.put(sector, header.sector, seed, &header.plain(form, checksum));
    }

    /// Makes successive sectors of a request. `first` is the header of the first one.
    pub(crate) fn fill(&self, sectors: &mut [[u8; LENGTH]], first: &SectorHeader) {
        let successive = self.successive(first);
        for (i, sector) in (0..).zip(sectors) {
            let Words { header, seed, plain } = successive.words(i);
            self.put(sector, header.sector, seed, &plain);
        }
    }

    /// The headers of a request from this one on.
    #[inline]
    pub(crate) fn successive(&self, first: &SectorHeader) -> Successive<'_> {
        let tables = &**TABLES;
        let common = SectorHeader { sector: 0, index: 0, ..*first }.plain(Form::Two, 0);
        Successive { share: self, tables, first: *first, common: tables.zeros ^ tables.header(&common) }
    }

    #[inline(always)]
    fn put(&self, sector: &mut [u8; LENGTH], address: u64, seed: u64, plain: &[u64; MASKED]) {
        sector[..8].copy_from_slice(&seed.to_le_bytes());
        put_words(sector, &mask(*plain, seed));
        fill_body(sector.last_chunk_mut().expect(WHOLE), self.random, pattern(address), seed);
    }
}
