//! Exact counts of requests over time and duration, by class: the input of a density picture.

use crate::SLOTS;
use crate::axis::OverTime;
use crate::class::CLASSES;
use crate::fits::Fits;
use crate::{Class, Row, TimeAxis, row_of};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Columns of a tile. Tiles are the unit of storage in a report.
pub const TILE_COLUMNS: usize = 256;
/// Columns and slots of a block of a tile. Blocks are allocated when first hit: most cells of most tiles are empty.
const BLOCK_COLUMNS: usize = 32;
const BLOCK_SLOTS: usize = 8;
/// Blocks of a tile, one above the other.
const BLOCK_ROWS: usize = SLOTS.div_ceil(BLOCK_SLOTS);
const BLOCKS: usize = TILE_COLUMNS / BLOCK_COLUMNS * BLOCK_ROWS;
const BLOCK_CELLS: usize = BLOCK_COLUMNS * BLOCK_SLOTS;
/// Requests of each class in one cell or area.
pub type Cell = [u64; CLASSES];

/// Counts by time column, duration row and class. The sum over all cells is the number of requests added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountGrid {
    axis: TimeAxis,
    classes: [ClassGrid; CLASSES],
}

/// Tiles of one class, in time order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct ClassGrid(#[serde(deserialize_with = "crate::sparse::at_most::<_, _, MOST_TILES>")] Vec<Tile>);

/// Most tiles of the widest picture.
const MOST_TILES: usize = 64;

/// Counts of neighbouring cells, column after column.
type Block = [[u32; BLOCK_SLOTS]; BLOCK_COLUMNS];

/// Counts of [`TILE_COLUMNS`] columns: no blocks at all, or all places for them, column after column. A block that is allocated
/// holds a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Tile(Vec<Option<Box<Block>>>);

impl Tile {
    fn no_requests() -> Box<Block> {
        Box::new([[0; BLOCK_SLOTS]; BLOCK_COLUMNS])
    }

    fn place(column: usize, slot: usize) -> usize {
        column / BLOCK_COLUMNS * BLOCK_ROWS + slot / BLOCK_SLOTS
    }

    #[inline]
    fn add(&mut self, column: usize, slot: usize, count: u32) {
        if self.0.is_empty() {
            self.0 = vec![None; BLOCKS];
        }
        let block = self.0[Tile::place(column, slot)].get_or_insert_with(Tile::no_requests);
        block[column % BLOCK_COLUMNS][slot % BLOCK_SLOTS] += count;
    }

    fn count(&self, column: usize, slot: usize) -> u32 {
        let block = self.0.get(Tile::place(column, slot)).and_then(Option::as_deref);
        block.map_or(0, |block| block[column % BLOCK_COLUMNS][slot % BLOCK_SLOTS])
    }

    /// Slots of a column that hold requests, and how many, by ascending slot.
    fn column(&self, column: usize) -> impl Iterator<Item = (usize, u32)> {
        let blocks = self.0.iter().skip(Tile::place(column, 0)).take(BLOCK_ROWS).enumerate();
        blocks.flat_map(move |(row, block)| {
            let counts = block.as_deref().map_or([0; BLOCK_SLOTS], |block| block[column % BLOCK_COLUMNS]);
            (row * BLOCK_SLOTS..).zip(counts).filter(|(_, n)| *n > 0)
        })
    }

    /// The counts of a slot; `None` if no block of its row holds a request.
    fn row(&self, slot: usize) -> Option<[u32; TILE_COLUMNS]> {
        let block = |first: usize| self.0.get(Tile::place(first, slot)).and_then(Option::as_deref);
        let firsts = || (0..TILE_COLUMNS).step_by(BLOCK_COLUMNS);
        firsts().any(|first| block(first).is_some()).then(|| {
            let mut row = [0; TILE_COLUMNS];
            for (first, block) in firsts().filter_map(|first| Some((first, block(first)?))) {
                let counts = block.iter().map(|column| column[slot % BLOCK_SLOTS]);
                row[first..].iter_mut().zip(counts).for_each(|(n, count)| *n = count);
            }
            row
        })
    }

    fn total(&self) -> u64 {
        self.0.iter().flatten().flat_map(|block| block.as_flattened()).map(|n| u64::from(*n)).sum()
    }

    fn merge(&mut self, other: Tile) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            match (&mut *mine, theirs) {
                (_, None) => {}
                (None, theirs) => *mine = theirs,
                (Some(mine), Some(theirs)) => {
                    let counts = mine.as_flattened_mut().iter_mut();
                    counts.zip(theirs.as_flattened()).for_each(|(m, t)| *m = m.saturating_add(*t));
                }
            }
        }
    }
}

/// A tile is stored as its counts in the order of its blocks, each with the number of cells without requests before it. Very many of them
/// are read at once, so they are packed here: seven bits a byte, the lowest first (LEB128).
impl Serialize for Tile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = self.0.iter().enumerate().filter_map(|(place, block)| Some((place, block.as_deref()?)));
        let cells = blocks.flat_map(|(place, block)| (place * BLOCK_CELLS..).zip(block.as_flattened()));
        let (mut bytes, mut next) = (Vec::new(), 0);
        for (cell, count) in cells.filter(|(_, count)| **count > 0) {
            push(&mut bytes, (cell - next) as u32);
            push(&mut bytes, *count);
            next = cell + 1;
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Tile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tile, D::Error> {
        struct Packed;
        impl Visitor<'_> for Packed {
            type Value = Tile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the counts of a tile")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Tile, E> {
                Tile::unpacked(bytes).ok_or_else(|| E::invalid_value(Unexpected::Bytes(bytes), &self))
            }
        }
        deserializer.deserialize_bytes(Packed)
    }
}

impl Tile {
    /// The tile of packed counts; `None` if one of them lies beyond its end.
    fn unpacked(mut bytes: &[u8]) -> Option<Tile> {
        let mut tile = Tile::default();
        let mut next = 0;
        if !bytes.is_empty() {
            tile.0 = vec![None; BLOCKS];
        }
        while !bytes.is_empty() {
            let cell = next + pop(&mut bytes)? as usize;
            let block = tile.0.get_mut(cell / BLOCK_CELLS)?.get_or_insert_with(Tile::no_requests);
            block.as_flattened_mut()[cell % BLOCK_CELLS] = pop(&mut bytes)?;
            next = cell + 1;
        }
        Some(tile)
    }
}

/// Packs a number.
fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes the next number; `None` if it is not complete, or too large.
#[inline]
fn pop(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte <= 0x7f {
            return Some(number);
        }
    }
    None
}

impl CountGrid {
    /// All zero. The axis widens as later times are added.
    pub fn new(axis: TimeAxis) -> CountGrid {
        let mut grid = CountGrid { axis, classes: Default::default() };
        grid.reach(0);
        grid
    }

    /// Its time axis.
    pub fn axis(&self) -> TimeAxis {
        self.axis
    }

    /// Counts a request at time `at_ns` with a duration of `ns`.
    pub fn add(&mut self, class: Class, at_ns: u64, ns: u64) {
        self.add_row(class, at_ns, row_of(ns));
    }

    /// Like [`CountGrid::add`], for a duration whose row is known.
    pub(crate) fn add_row(&mut self, class: Class, at_ns: u64, row: Row) {
        if self.axis.column(at_ns) >= self.axis.columns() {
            self.reach(at_ns);
        }
        let column = self.axis.column(at_ns);
        self.classes[class.index()].0[column / TILE_COLUMNS].add(column % TILE_COLUMNS, row.slot(), 1);
    }

    /// Merges `other`, whose columns may be wider or narrower.
    pub fn merge(&mut self, mut other: CountGrid) {
        self.match_axis(other.axis);
        other.match_axis(self.axis);
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            mine.0.iter_mut().zip(theirs.0).for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }

    /// Requests of a class in one cell.
    pub fn count(&self, class: Class, column: usize, slot: usize) -> u32 {
        let tile = self.classes[class.index()].0.get(column / TILE_COLUMNS);
        tile.map_or(0, |tile| tile.count(column % TILE_COLUMNS, slot))
    }

    /// The cells of a class in one column that hold requests: slot (see [`Row::slot`](crate::Row::slot)) and number, by
    /// ascending slot.
    pub fn column(&self, class: Class, column: usize) -> impl Iterator<Item = (usize, u32)> {
        let tile = self.classes[class.index()].0.get(column / TILE_COLUMNS).into_iter();
        tile.flat_map(move |tile| tile.column(column % TILE_COLUMNS))
    }

    /// The counts of a class in one slot of a tile, by column; `None` if there are no requests around.
    pub fn row(&self, class: Class, tile: usize, slot: usize) -> Option<[u32; TILE_COLUMNS]> {
        self.classes[class.index()].0.get(tile)?.row(slot)
    }

    /// Number of tiles of each class.
    pub fn tiles(&self) -> usize {
        self.axis.columns().div_ceil(TILE_COLUMNS)
    }

    /// Requests of a class.
    pub fn total(&self, class: Class) -> u64 {
        self.classes[class.index()].0.iter().map(Tile::total).sum()
    }

    /// Counts of one column, slot by slot (see [`Row::slot`](crate::Row::slot)), added to `sums`.
    pub fn add_column(&self, column: usize, sums: &mut [Cell]) {
        for class in Class::ALL {
            for (slot, n) in self.column(class, column) {
                sums[slot][class.index()] += u64::from(n);
            }
        }
    }

    /// Counts in exactly `columns` equal parts of the time axis, `ROWS + 2` cells each, part after part. With fewer columns
    /// than parts, each stored column counts in the part where it starts.
    pub fn parts(&self, columns: usize) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); columns * SLOTS];
        for column in 0..self.axis.columns() {
            let part = column * columns / self.axis.columns();
            self.add_column(column, &mut cells[part * SLOTS..(part + 1) * SLOTS]);
        }
        cells
    }

    /// Sums over the whole time: the histogram beside the picture, `ROWS + 2` cells.
    pub fn marginal(&self) -> Vec<Cell> {
        self.parts(1)
    }
}

impl Fits for CountGrid {
    fn fits(&self, own: &Self) -> bool {
        self.axis.fits(&own.axis) && self.classes.iter().all(|class| class.0.len() == self.tiles())
    }
}

impl OverTime for CountGrid {
    fn time_axis(&mut self) -> &mut TimeAxis {
        &mut self.axis
    }

    fn resize(&mut self) {
        let tiles = self.tiles();
        self.classes.iter_mut().for_each(|class| class.0.resize_with(tiles, Tile::default));
    }

    fn fold(&mut self) {
        for ClassGrid(tiles) in &mut self.classes {
            let old = std::mem::take(tiles);
            tiles.resize_with(old.len().div_ceil(2), Tile::default);
            for (number, tile) in old.into_iter().enumerate() {
                let begin = number % 2 * TILE_COLUMNS / 2;
                for column in 0..TILE_COLUMNS {
                    let wide = &mut tiles[number / 2];
                    tile.column(column).for_each(|(slot, n)| wide.add(begin + column / 2, slot, n));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_stored_and_read_back() {
        let mut tile = Tile::default();
        assert_eq!(postcard::to_stdvec(&tile).unwrap(), [0]);
        let cells = [(0, 0, 1), (31, 7, 300), (32, 0, 5), (255, SLOTS - 1, u32::MAX)];
        cells.iter().for_each(|(column, slot, count)| tile.add(*column, *slot, *count));
        let stored = postcard::to_stdvec(&tile).unwrap();
        assert_eq!(postcard::from_bytes::<Tile>(&stored).unwrap(), tile);
        for wrong in [&[0x80][..], &[0], &[0xff, 0xff, 0xff, 0xff, 0x0f, 1], &[0x80; 6]] {
            assert_eq!(Tile::unpacked(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn partition_and_marginal_count_every_request() {
        let mut grid = CountGrid::new(TimeAxis::new(0, 1024));
        for i in 0..5000u64 {
            grid.add(Class::ALL[i as usize % CLASSES], i * 199 % 1_000_000, i * i * 1000);
        }
        grid.add(Class::Read, 0, 0);
        let sum = |cells: Vec<Cell>| cells.iter().flatten().sum::<u64>();
        for columns in [1, 7, 300, 1000, 3000] {
            assert_eq!(sum(grid.parts(columns)), 5001, "{columns}");
        }
        assert_eq!(Class::ALL.map(|c| grid.total(c)), [1001, 1000, 1000, 1000, 1000]);
        assert_eq!(grid.marginal()[0], [2, 0, 0, 0, 0]);
    }
}
