//! The radix table against a plain map, at the borders of its nodes, with and without enough memory.

use super::table::Table;
use crate::{Sectors, Tag};
use iosonar_testkit::SplitMix;
use std::collections::BTreeMap;

/// The map remembers each call; a sector's state is that of the last calls that cover it.
#[derive(Default)]
struct Plain {
    calls: Vec<(Sectors, Tag, bool)>,
}

impl Plain {
    /// Tag, and whether it was written before.
    fn get(&self, sector: u64) -> (Tag, bool) {
        let place = Sectors::new(sector, 1);
        let covering = self.calls.iter().filter(|(range, ..)| range.overlaps(place));
        covering.fold((Tag::INITIAL, false), |(old, was), &(_, tag, rewritten)| match tag {
            Tag::INITIAL => (tag, false),
            _ => (tag, was || rewritten || old != Tag::INITIAL),
        })
    }
}

const CHUNK: u64 = 128;
const LEAF: u64 = 256 * CHUNK;
const BRANCH: u64 = 32 * LEAF;

fn tag(random: &mut SplitMix) -> Tag {
    match random.below(8) {
        0 => Tag::INITIAL,
        1 => Tag::ANY,
        2 => Tag::ZEROS,
        3 => Tag::UNKNOWN,
        _ => Tag(16 + random.below(1000) as u32),
    }
}

fn range(random: &mut SplitMix) -> Sectors {
    let unit = [1, 8, CHUNK, LEAF, BRANCH][random.below(5) as usize];
    let border = random.below(3) * BRANCH + random.below(2) * LEAF + random.below(3) * CHUNK;
    let start = (border / unit * unit).saturating_sub(random.below(3) * unit.min(LEAF));
    Sectors::new(start, unit * (1 + random.below(3)))
}

/// Sectors where something may change.
fn samples(ranges: &[Sectors]) -> Vec<u64> {
    let near = |at: u64| (at.saturating_sub(9)..at + 9).chain([at + CHUNK, at + LEAF]);
    let all = ranges.iter().flat_map(|range| near(range.start).chain(near(range.end())));
    all.collect()
}

fn run(seed: u64, limit: u64, exact: bool) -> u64 {
    let mut random = SplitMix(seed);
    let (mut table, mut plain) = (Table::new(limit), Plain::default());
    let mut known = BTreeMap::new();
    for _ in 0..60 {
        let (range, mut tag) = (range(&mut random), tag(&mut random));
        if tag.0 >= 16 && range.count >= LEAF {
            tag = Tag::ANY;
        }
        let rewritten = random.below(4) == 0;
        table.set(range, tag, false, rewritten);
        plain.calls.push((range, tag, rewritten));
        known.insert(range.start, range);
        assert!(table.bytes() <= limit, "{} of {limit}", table.bytes());
        let ranges: Vec<Sectors> = known.values().copied().collect();
        let touched: Vec<Sectors> = table.touched().collect();
        for sector in samples(&ranges) {
            let (mine, (tag, rewritten)) = (table.get(sector), plain.get(sector));
            assert!(
                mine.tag == tag || (!exact && mine.tag == Tag::UNKNOWN),
                "seed {seed}, {sector}: {mine:?}"
            );
            // Where all sectors of a pointer have one tag that is not of a version, there are no such bits.
            if exact && tag.0 >= 16 {
                assert!(rewritten || !mine.rewritten, "seed {seed}, sector {sector}");
            }
            let is_touched = touched.iter().any(|piece| piece.overlaps(Sectors::new(sector, 1)));
            assert_eq!(is_touched, mine.tag != Tag::INITIAL, "seed {seed}, sector {sector}");
        }
        assert_eq!(table.unknown(), unknown(&table, &touched), "seed {seed}");
        assert!(table.given_up() >= table.unknown());
    }
    table.given_up()
}

#[test]
fn low_memory_sparse_writes_are_correct_or_unknown() {
    for seed in 0..20 {
        let mut random = SplitMix(seed);
        let mut table = Table::new((16 << 10) + seed * 512);
        let mut known = BTreeMap::new();
        for n in 0..1000 {
            // Leaves with few chunks, then few leaves with many.
            let leaves = if n % 400 < 200 { 300 } else { 2 };
            let chunk = random.below(leaves) * 256 + random.below(256);
            let sector = chunk * CHUNK + random.below(16) * 8 + random.below(2) * random.below(8);
            let tag = Tag(16 + n);
            let count = if sector.is_multiple_of(8) { 8 } else { 1 };
            table.set(Sectors::new(sector, count), tag, false, false);
            known.extend((sector..sector + count).map(|sector| (sector, tag)));
            if n % 20 == 0 {
                for (&sector, &tag) in &known {
                    let mine = table.get(sector).tag;
                    assert!(
                        mine == tag || mine == Tag::UNKNOWN,
                        "seed {seed}, {sector}: {mine:?}, not {tag:?}"
                    );
                }
                assert_eq!(table.unknown(), unknown(&table, &table.touched().collect::<Vec<_>>()));
            }
        }
        assert!(table.given_up() > 0);
    }
}

fn unknown(table: &Table, touched: &[Sectors]) -> u64 {
    touched
        .iter()
        .map(|piece| {
            // A piece is below one pointer: longer ones than a chunk have one tag.
            let is_unknown = |sector: &u64| table.get(*sector).tag == Tag::UNKNOWN;
            match piece.count > CHUNK {
                true => u64::from(is_unknown(&piece.start)) * piece.count,
                false => (piece.start..piece.end()).filter(is_unknown).count() as u64,
            }
        })
        .sum()
}

#[test]
fn table_behaves_as_a_map() {
    for seed in 0..40 {
        run(seed, 4 << 20, true);
    }
}

#[test]
fn low_memory_table_is_correct_or_unknown() {
    let mut given_up = 0;
    for seed in 0..40 {
        given_up += run(seed, (16 << 10) + seed * 256, false);
    }
    assert!(given_up > 0);
}

#[test]
fn splitting_a_chunk_keeps_its_bits() {
    let mut table = Table::new(1 << 20);
    let (first, second, third) = (Tag(16), Tag(17), Tag(18));
    table.set(Sectors::new(0, 16), first, false, false);
    table.set(Sectors::new(8, 8), second, false, false);
    table.check(Sectors::new(6, 4), |_, _| true);
    table.set(Sectors::new(9, 1), third, false, false);
    let state = |sector| {
        let state = table.get(sector);
        (state.tag, state.seen, state.rewritten)
    };
    assert_eq!(state(5), (first, false, false));
    assert_eq!(state(6), (first, true, false));
    assert_eq!(state(8), (second, true, true));
    assert_eq!(state(9), (third, false, true));
    assert_eq!(state(10), (second, false, true));
    assert_eq!(state(16), (Tag::INITIAL, false, false));
}

#[test]
fn a_sector_that_is_written_once_is_not_rewritten() {
    let mut table = Table::new(1 << 20);
    table.set(Sectors::new(3, 2), Tag(16), false, false);
    table.set(Sectors::new(4, 2), Tag(17), false, false);
    assert_eq!([3, 4, 5].map(|sector| table.get(sector).rewritten), [false, true, false]);
    table.set(Sectors::new(0, 128), Tag::INITIAL, false, false);
    table.set(Sectors::new(0, 128), Tag(18), false, false);
    assert!(!table.get(4).rewritten);
    assert_eq!(table.touched().collect::<Vec<_>>(), [Sectors::new(0, 128)]);
}

#[test]
fn fine_nodes_reuse_memory_of_coarse_ones() {
    let chunks = 2000;
    let limit = super::table::need(chunks, chunks * 65536, false, 4 << 20);
    let mut table = Table::new(limit);
    for chunk in 0..chunks {
        table.set(Sectors::new(chunk * CHUNK, CHUNK), Tag(16), false, false);
    }
    for chunk in 0..chunks {
        // In an order that leaves each block of coarse nodes with some to the end.
        let chunk = chunk * 7 % chunks;
        table.set(Sectors::new(chunk * CHUNK + 3, 1), Tag(17), false, false);
    }
    assert_eq!((table.unknown(), table.given_up()), (0, 0));
    assert!(table.bytes() <= limit && table.bytes() > limit * 8 / 10, "{} of {limit}", table.bytes());
}

/// Writes single sectors, two of them in each of some leaves; returns the table and the sectors.
fn sparse(limit: u64, writes: u64, spacing: u64) -> (Table, Vec<u64>) {
    let mut table = Table::new(limit);
    let sectors: Vec<u64> = (0..writes).map(|n| n / 2 * spacing + n % 2 * (spacing / 3) + n % 7).collect();
    for (&sector, n) in sectors.iter().zip(0..) {
        table.set(Sectors::new(sector, 1), Tag(16 + n), false, false);
    }
    (table, sectors)
}

#[test]
fn only_written_sectors_become_unknown() {
    let limit = 740 << 10;
    let (table, sectors) = sparse(limit, 4000, LEAF);
    assert!(table.bytes() <= limit);
    assert!(table.unknown() > 0 && table.unknown() < 4000, "{}", table.unknown());
    assert_eq!((table.given_up(), table.nowhere()), (table.unknown(), 0));
    let touched: Vec<Sectors> = table.touched().collect();
    assert_eq!(touched, sectors.iter().map(|sector| Sectors::new(*sector, 1)).collect::<Vec<_>>());
    // Neighbours are unchanged.
    for sector in sectors {
        assert_ne!(table.get(sector).tag, Tag::INITIAL);
        assert_eq!(table.get(sector + 1).tag, Tag::INITIAL);
        let is_lost = table.get(sector).tag == Tag::UNKNOWN;
        assert!(!is_lost || table.is_initial(Sectors::new(sector + 1, 127 - (sector + 1) % 128)));
    }
}

#[test]
fn minimal_memory_makes_written_span_of_leaf_unknown() {
    let limit = 24 << 10;
    let (table, sectors) = sparse(limit, 4000, LEAF);
    assert!(table.bytes() <= limit);
    let touched: u64 = table.touched().map(|piece| piece.count).sum();
    assert!(touched <= 2000 * (LEAF / 3 + 8), "{touched}");
    let is_touched = |sector: u64| table.get(sector).tag != Tag::INITIAL;
    assert!(sectors.iter().all(|sector| is_touched(*sector)));
    assert!((0..2000).all(|leaf| !is_touched(leaf * LEAF + LEAF - 1)));
}

#[test]
fn counts_writes_beyond_branch_memory() {
    let limit = 24 << 10;
    let (table, sectors) = sparse(limit, 190, BRANCH);
    let known = table.touched().map(|piece| piece.count).sum::<u64>();
    assert!(table.nowhere() > 0 && known < 190 * LEAF);
    assert!(sectors.iter().all(|sector| table.get(*sector).tag != Tag::INITIAL));
}

#[test]
fn given_up_sector_becomes_known_when_rewritten() {
    let (mut table, sectors) = sparse(740 << 10, 8000, LEAF / 8);
    let before = table.unknown();
    for (&sector, n) in sectors.iter().zip(0..100) {
        table.set(Sectors::new(sector, 1), Tag(90_000 + n), false, false);
    }
    assert!(sectors.iter().zip(0..100).all(|(&sector, n)| table.get(sector).tag == Tag(90_000 + n)));
    // A discard of everything needs no memory.
    assert!(before > 0);
    table.set(Sectors::new(0, 16 * BRANCH), Tag::ANY, false, false);
    assert_eq!(table.unknown(), 0);
    table.set(Sectors::new(0, 16 * BRANCH), Tag::INITIAL, false, false);
    assert_eq!(table.touched().count(), 0);
}
