//! Requests by time and address, on a grid that becomes coarser with the length of the run.

use super::{Demand, SeekMap};
use iosonar_os::vec_for_huge_pages;
use iosonar_plan::Op;

/// Maximum columns (time).
const COLUMNS: usize = 2048;
/// Maximum rows (address).
const ROWS: usize = 512;
/// Requests that are stored as points before the grid exists: its first widths come from them.
const POINTS: usize = 1 << 16;

/// The grid, or the points that it will be made of.
#[derive(Debug, Clone)]
pub(super) enum Seek {
    /// Time, first sector, operation of each request.
    Points(Vec<(u64, u64, Op)>),
    /// Counts.
    Cells(Cells),
}

/// Counts of a grid of `ROWS` rows. Widths are powers of two.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    log_column_ns: u32,
    log_row_sectors: u32,
    /// Column after column.
    cells: Vec<[u32; 2]>,
}

impl Seek {
    pub(super) fn new() -> Seek {
        Seek::Points(Vec::new())
    }

    pub(super) fn add(&mut self, d: &Demand) {
        match self {
            Seek::Points(points) if points.len() < POINTS => points.push((d.time_ns, d.sector, d.op)),
            Seek::Points(_) => {
                self.cells().add(d.time_ns, d.sector, d.op);
            }
            Seek::Cells(cells) => cells.add(d.time_ns, d.sector, d.op),
        }
    }

    /// The grid; builds it from the points first if necessary.
    fn cells(&mut self) -> &mut Cells {
        if let Seek::Points(points) = self {
            *self = Seek::Cells(Cells::of(points));
        }
        match self {
            Seek::Cells(cells) => cells,
            Seek::Points(_) => unreachable!("they have just become cells"),
        }
    }

    pub(super) fn merge(&mut self, other: Seek) {
        match other {
            Seek::Points(theirs) => match self {
                Seek::Points(points) if points.len() + theirs.len() <= POINTS => points.extend(theirs),
                _ => {
                    let cells = self.cells();
                    theirs.into_iter().for_each(|(ns, sector, op)| cells.add(ns, sector, op));
                }
            },
            Seek::Cells(theirs) => self.cells().merge(theirs),
        }
    }

    /// The map, trimmed to its used part.
    pub(super) fn map(self) -> SeekMap {
        let cells = match self {
            Seek::Points(points) => Cells::of(&points),
            Seek::Cells(cells) => cells,
        };
        let used = |column: &[[u32; 2]]| column.iter().rposition(|c| *c != [0; 2]).map_or(0, |row| row + 1);
        let rows = cells.cells.chunks(ROWS).map(used).max().unwrap_or(0);
        SeekMap {
            column_ns: 1 << cells.log_column_ns,
            columns: cells.cells.len() / ROWS,
            row_sectors: 1 << cells.log_row_sectors,
            rows,
            cells: cells.cut(rows),
        }
    }
}

impl Cells {
    fn new() -> Cells {
        Cells { log_column_ns: 0, log_row_sectors: 0, cells: vec_for_huge_pages(COLUMNS * ROWS) }
    }

    fn of(points: &[(u64, u64, Op)]) -> Cells {
        let (ns, sector) = points.iter().fold((0, 0), |(ns, sector), p| (p.0.max(ns), p.1.max(sector)));
        let mut cells = Cells::new();
        cells.reach(ns, sector);
        points.iter().for_each(|(ns, sector, op)| cells.add(*ns, *sector, *op));
        cells
    }

    /// Makes columns and rows wide enough for this point.
    #[inline]
    fn reach(&mut self, ns: u64, sector: u64) {
        while ns >> self.log_column_ns >= COLUMNS as u64 {
            self.widen_columns();
        }
        while sector >> self.log_row_sectors >= ROWS as u64 {
            self.widen_rows();
        }
    }

    fn add(&mut self, ns: u64, sector: u64, op: Op) {
        self.reach(ns, sector);
        let (column, row) = ((ns >> self.log_column_ns) as usize, (sector >> self.log_row_sectors) as usize);
        if (column + 1) * ROWS > self.cells.len() {
            self.cells.resize((column + 1) * ROWS, [0; 2]);
        }
        let count = &mut self.cells[column * ROWS + row][usize::from(op.is_write())];
        *count = count.saturating_add(1);
    }

    /// The first `rows` counts of each column. Columns move together where they are: a copy costs more than all counting.
    fn cut(mut self, rows: usize) -> Vec<[u32; 2]> {
        let columns = self.cells.len() / ROWS;
        (1..columns)
            .for_each(|column| self.cells.copy_within(column * ROWS..column * ROWS + rows, column * rows));
        self.cells.truncate(columns * rows);
        self.cells.shrink_to_fit();
        self.cells
    }

    fn widen_columns(&mut self) {
        let columns = self.cells.len() / ROWS;
        for column in 1..columns {
            let (before, from) = self.cells.split_at_mut(column * ROWS);
            let to = column / 2 * ROWS;
            if column % 2 == 1 {
                before[to..to + ROWS].iter_mut().zip(&from[..ROWS]).for_each(|(to, from)| sum(to, from));
            } else {
                before[to..to + ROWS].copy_from_slice(&from[..ROWS]);
            }
        }
        self.cells.truncate(columns.div_ceil(2) * ROWS);
        self.log_column_ns += 1;
    }

    fn widen_rows(&mut self) {
        for column in self.cells.chunks_mut(ROWS) {
            for row in 0..ROWS {
                let count = std::mem::take(&mut column[row]);
                sum(&mut column[row / 2], &count);
            }
        }
        self.log_row_sectors += 1;
    }

    fn merge(&mut self, mut other: Cells) {
        while self.log_column_ns < other.log_column_ns {
            self.widen_columns();
        }
        while other.log_column_ns < self.log_column_ns {
            other.widen_columns();
        }
        while self.log_row_sectors < other.log_row_sectors {
            self.widen_rows();
        }
        while other.log_row_sectors < self.log_row_sectors {
            other.widen_rows();
        }
        self.cells.resize(self.cells.len().max(other.cells.len()), [0; 2]);
        self.cells.iter_mut().zip(&other.cells).for_each(|(mine, theirs)| sum(mine, theirs));
    }
}

fn sum(to: &mut [u32; 2], from: &[u32; 2]) {
    (0..2).for_each(|op| to[op] = to[op].saturating_add(from[op]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(demands: &[Demand]) -> Seek {
        let mut seek = Seek::new();
        demands.iter().for_each(|d| seek.add(d));
        seek
    }

    fn demands(count: u64, span_ns: u64, sectors: u64) -> Vec<Demand> {
        let one = |i: u64| {
            let sector = super::super::hash::fold(i) % sectors;
            let op = if i.is_multiple_of(3) { Op::Write } else { Op::Read };
            Demand { time_ns: i * (span_ns / count), sector, sectors: 8, device: 0, op }
        };
        (0..count).map(one).collect()
    }

    fn total(map: &SeekMap) -> u64 {
        map.cells.iter().flatten().map(|n| u64::from(*n)).sum()
    }

    proptest! {
        #[test]
        fn every_request_counts_in_its_cell(count in 1u64..400, log_ns in 10u32..63, log_sectors in 1u32..55) {
            let all = demands(count, 1 << log_ns, 1 << log_sectors);
            let map = of(&all).map();
            prop_assert_eq!(total(&map), count);
            prop_assert!(map.columns <= COLUMNS && map.rows <= ROWS);
            for d in &all {
                let (column, row) = (d.time_ns / map.column_ns, d.sector / map.row_sectors);
                prop_assert!(map.count(column as usize, row as usize, d.op) > 0);
            }
        }
    }

    #[test]
    fn grown_grid_equals_grid_of_final_size() {
        let all = demands(150_000, 10_000_000_000, 1 << 30);
        let map = of(&all).map();
        let mut late = Cells::new();
        all.iter().for_each(|d| late.add(d.time_ns, d.sector, d.op));
        assert_eq!(Seek::Cells(late).map(), map);
        assert_eq!(total(&map), 150_000);
        for cut in [0, 1_000, 70_000, 149_999] {
            let (mut a, b) = (of(&all[..cut]), of(&all[cut..]));
            a.merge(b);
            assert_eq!(a.map(), map, "{cut}");
        }
        assert_eq!(map.column(0).len(), map.rows);
        assert_eq!((map.column(map.columns).len(), map.count(map.columns, 0, Op::Read)), (0, 0));
    }
}
