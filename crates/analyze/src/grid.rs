//! Exact counts of requests over time and duration, by class: what a density picture is drawn from.

use crate::SLOTS;
use crate::axis::OverTime;
use crate::{Class, Row, TimeAxis, row_of};

/// Columns of a tile. Tiles are allocated when first hit and are the unit of storage in a report.
pub const TILE_COLUMNS: usize = 256;
/// Requests of each class in one cell or area.
pub type Cell = [u64; 4];

/// Counts by time column, duration row and class. The sum over all cells is the number of requests added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountGrid {
    axis: TimeAxis,
    classes: [ClassGrid; 4],
}

/// Tiles of one class, in time order; column after column, slot after slot within each.
type ClassGrid = Vec<Option<Box<[u32]>>>;

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

    /// The same for a duration whose row is known.
    pub(crate) fn add_row(&mut self, class: Class, at_ns: u64, row: Row) {
        if self.axis.column(at_ns) >= self.axis.columns() {
            self.reach(at_ns);
        }
        let column = self.axis.column(at_ns);
        let tile = self.classes[class.index()][column / TILE_COLUMNS].get_or_insert_with(empty_tile);
        tile[column % TILE_COLUMNS * SLOTS + row.slot()] += 1;
    }

    /// Adds all of `other`, whose columns may be wider or narrower.
    pub fn merge(&mut self, mut other: CountGrid) {
        self.match_axis(other.axis);
        other.match_axis(self.axis);
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                match (&mut *mine, theirs) {
                    (_, None) => {}
                    (None, theirs) => *mine = theirs,
                    (Some(mine), Some(theirs)) => mine.iter_mut().zip(theirs).for_each(|(m, t)| *m += t),
                }
            }
        }
    }

    /// The tile of a class, if it holds anything: `TILE_COLUMNS` columns of `ROWS + 2` counts each.
    pub fn tile(&self, class: Class, tile: usize) -> Option<&[u32]> {
        self.classes[class.index()].get(tile)?.as_deref()
    }

    /// Number of tiles of each class.
    pub fn tiles(&self) -> usize {
        self.axis.columns().div_ceil(TILE_COLUMNS)
    }

    /// Requests of a class.
    pub fn total(&self, class: Class) -> u64 {
        self.classes[class.index()].iter().flatten().flat_map(|t| t.iter()).map(|n| u64::from(*n)).sum()
    }

    /// Counts of one column, slot by slot (see [`Row::slot`](crate::Row::slot)), added to `sums`.
    pub fn add_column(&self, column: usize, sums: &mut [Cell]) {
        for class in Class::ALL {
            let Some(tile) = self.tile(class, column / TILE_COLUMNS) else { continue };
            let begin = column % TILE_COLUMNS * SLOTS;
            for (sum, n) in sums.iter_mut().zip(&tile[begin..begin + SLOTS]) {
                sum[class.index()] += u64::from(*n);
            }
        }
    }

    /// Counts in exactly `columns` equal parts of the time axis, `ROWS + 2` cells each, part after part. Where
    /// there are fewer columns than parts, each stored column counts in the part where it starts.
    pub fn parts(&self, columns: usize) -> Vec<Cell> {
        let mut cells = vec![[0; 4]; columns * SLOTS];
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

fn empty_tile() -> Box<[u32]> {
    vec![0; TILE_COLUMNS * SLOTS].into_boxed_slice()
}

impl OverTime for CountGrid {
    fn time_axis(&mut self) -> &mut TimeAxis {
        &mut self.axis
    }

    fn resize(&mut self) {
        let tiles = self.tiles();
        self.classes.iter_mut().for_each(|class| class.resize_with(tiles, || None));
    }

    fn fold(&mut self) {
        for tiles in &mut self.classes {
            let old = std::mem::take(tiles);
            tiles.resize_with(old.len().div_ceil(2), || None);
            for (number, tile) in old.into_iter().enumerate() {
                let Some(tile) = tile else { continue };
                let wide = tiles[number / 2].get_or_insert_with(empty_tile);
                let begin = number % 2 * TILE_COLUMNS / 2 * SLOTS;
                for (pair, sums) in tile.chunks(2 * SLOTS).zip(wide[begin..].chunks_mut(SLOTS)) {
                    let (even, odd) = pair.split_at(SLOTS);
                    sums.iter_mut().zip(even).zip(odd).for_each(|((sum, e), o)| *sum += e + o);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_marginal_keep_every_request() {
        let mut grid = CountGrid::new(TimeAxis::new(0, 1024));
        for i in 0..5000u64 {
            grid.add(Class::ALL[i as usize % 4], i * 199 % 1_000_000, i * i * 1000);
        }
        grid.add(Class::Read, 0, 0);
        let sum = |cells: Vec<Cell>| cells.iter().flatten().sum::<u64>();
        for columns in [1, 7, 300, 1000, 3000] {
            assert_eq!(sum(grid.parts(columns)), 5001, "{columns}");
        }
        assert_eq!(Class::ALL.map(|c| grid.total(c)), [1251, 1250, 1250, 1250]);
        assert_eq!(grid.marginal()[0], [2, 0, 0, 0]);
    }
}
