//! Latency against extent maps: do slow requests cross from one fragment of their file into another, or start far from the one
//! before them on the disk?
//!
//! The maps are those of the end of the run. If a file was created again meanwhile, requests on its predecessor are counted
//! separately. Whether writes moved blocks of a file is unknown.

mod grid;
mod join;
mod json;
mod latencies;
mod placed;
#[cfg(test)]
mod testing;

pub use grid::{EXTENT_COLUMNS, EXTENT_ROWS};
pub use latencies::{Groups, Latencies, LatencyFigures, Slower};
pub use placed::{Jump, PlacedMap, PlacedPart, Spot};

use crate::{Row, row_of};
use grid::Grid;
use iosonar_layout::Map;
use iosonar_plan::Op;
use join::{Request, RequestPlace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// All files of a run with a map.
#[derive(Debug)]
pub struct ExtentLatencies {
    /// Files whose map was kept, in the order of the targets.
    pub files: Vec<FileLatencies>,
}

impl ExtentLatencies {
    /// Each file with its index, those with most fragments first.
    pub fn most_fragmented(&self) -> Vec<(usize, &FileLatencies)> {
        let mut files: Vec<(usize, &FileLatencies)> = self.files.iter().enumerate().collect();
        files.sort_by_key(|(_, file)| Reverse(file.map.figures.fragments));
        files
    }
}

/// A file, and latencies of the requests on it.
#[derive(Debug)]
pub struct FileLatencies {
    /// Number of the target in the plan.
    pub target: u16,
    /// The map of its blocks at the end of the run.
    pub map: Map,
    /// The map in a form for lookups.
    pub placed: PlacedMap,
    /// Whether any of its requests go through the page cache.
    pub is_buffered: bool,
    /// Requests that were issued before the file was created again, on other blocks.
    pub earlier_requests: u64,
    /// Reads.
    pub reads: PlacedLatencies,
    /// Writes.
    pub writes: PlacedLatencies,
}

impl FileLatencies {
    /// Reads or writes.
    pub fn of(&self, op: Op) -> &PlacedLatencies {
        if op == Op::Write { &self.writes } else { &self.reads }
    }

    /// The operation that pictures show: reads, if any have a known place, else writes.
    pub fn shown(&self) -> Op {
        if self.reads.cells.is_empty() && !self.writes.cells.is_empty() { Op::Write } else { Op::Read }
    }
}

/// Requests of one kind on a file, by their place in its map.
#[derive(Debug, Default)]
pub struct PlacedLatencies {
    /// All of them.
    pub all: Latencies,
    /// By [`Spot`], in the order of [`Spot::ALL`].
    pub by_spot: [Latencies; Spot::ALL.len()],
    /// By [`Jump`], in the order of [`Jump::ALL`], without the first request of a file system and requests without an address.
    pub by_jump: [Latencies; Jump::ALL.len()],
    /// By the size of the fragment with their first placed part: the key is its least size in bytes, a power of two.
    pub by_fragment_size: BTreeMap<u64, Latencies>,
    /// By the number of that fragment; fragments without requests are missing.
    pub by_fragment: BTreeMap<usize, Sums>,
    /// By column of offsets and row of addresses: a request counts wherever a part of it lies.
    pub cells: HashMap<(u16, u16), Sums>,
    /// Requests by column of offsets, slot of the latency ([`Row::slot`]), and whether they lie across fragments.
    pub over_offset: HashMap<(u16, u16, bool), u64>,
    /// Requests across fragments, and those within one.
    pub across: Groups,
    /// Requests that start elsewhere than at the end of the previous one, and those that start there.
    pub elsewhere: Groups,
}

/// Latencies in three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Sums {
    /// Requests.
    pub requests: u64,
    /// Sum of their latencies.
    pub total_ns: u64,
    /// Greatest latency.
    pub max_ns: u64,
}

impl Sums {
    fn add(&mut self, ns: u64) {
        self.requests += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Mean latency.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.requests.max(1) as f64
    }
}

impl PlacedLatencies {
    /// Figures of a spot.
    pub fn at_spot(&self, spot: Spot) -> Option<LatencyFigures> {
        self.by_spot[spot as usize].figures()
    }

    /// Figures of a distance.
    pub fn at_jump(&self, jump: Jump) -> Option<LatencyFigures> {
        self.by_jump[jump as usize].figures()
    }

    /// The fragments on which most time was spent, at most `most`; of equal ones the first in the file.
    pub fn costliest(&self, most: usize) -> Vec<(usize, Sums)> {
        let mut all: Vec<(usize, Sums)> = self.by_fragment.iter().map(|(n, sums)| (*n, *sums)).collect();
        all.sort_by_key(|(_, sums)| Reverse(sums.total_ns));
        all.truncate(most);
        all
    }

    fn add(&mut self, request: &Request, placed: &PlacedMap, grid: Grid, place: &RequestPlace) {
        let (ns, bytes) = (request.latency_ns, request.length);
        self.all.add(ns);
        self.by_spot[place.spot as usize].add(ns);
        if place.spot != Spot::Unplaced {
            self.across.add(place.spot == Spot::Across, bytes, ns);
        }
        if let Some(first) = place.parts.first() {
            let fragment = placed.fragments()[first.fragment];
            self.by_fragment_size.entry(1 << fragment.bytes.max(1).ilog2()).or_default().add(ns);
            self.by_fragment.entry(first.fragment).or_default().add(ns);
            if let Some(before) = place.before {
                let jump = Jump::between(before, first.address);
                self.by_jump[jump as usize].add(ns);
                self.elsewhere.add(jump != Jump::Next, bytes, ns);
            }
        }
        for cell in grid.cells(&place.parts) {
            self.cells.entry(cell).or_default().add(ns);
        }
        let (column, slot) = (grid.column(request.offset), Row::slot(row_of(ns)) as u16);
        *self.over_offset.entry((column, slot, place.spot == Spot::Across)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::testing::map;
    use super::*;
    use crate::testing::Fixture;
    use iosonar_archive::{Marks, Outcome, Record, TargetMap};
    use iosonar_plan::{Extent, Nanos};
    use std::convert::Infallible;

    const BLOCK: u64 = 4096;

    fn record(op: Op, submitted: u64, latency: u64, block: u64, blocks: u64) -> Record {
        let range = Extent { offset: block * BLOCK, length: blocks * BLOCK };
        Record {
            op,
            submitted: Some(Nanos(submitted)),
            completed: Some(Nanos(submitted + latency)),
            requested: range,
            executed: range,
            result: range.length as i64,
            ..Record::default()
        }
    }

    fn joined(records: &[Record]) -> FileLatencies {
        // Eight blocks, then eight elsewhere.
        let map = map(&[(0, 100 * BLOCK, 8 * BLOCK, 0), (8 * BLOCK, 5000 * BLOCK, 8 * BLOCK, 0)]);
        let maps = vec![TargetMap { target: 0, map }];
        let each = |f: &mut dyn FnMut(&Record)| -> Result<(), Infallible> {
            records.iter().for_each(f);
            Ok(())
        };
        let mut found = ExtentLatencies::from_records(&Fixture::mixed().plan, maps, each).unwrap();
        found.files.remove(0)
    }

    fn requests(of: Option<LatencyFigures>) -> u64 {
        of.map_or(0, |figures| figures.requests)
    }

    #[test]
    fn counts_requests_by_extent() {
        // The records come in the order of completion.
        let file = joined(&[
            record(Op::Read, 200, 10, 2, 2),
            record(Op::Read, 100, 500, 0, 2),
            record(Op::Read, 300, 1000, 7, 2),
            record(Op::Read, 400, 40, 9, 1),
            record(Op::Write, 500, 7, 0, 1),
        ]);
        let reads = &file.reads;
        let spots = Spot::ALL.map(|spot| requests(reads.at_spot(spot)));
        assert_eq!(spots, [3, 1, 0]);
        assert_eq!(reads.at_spot(Spot::Across).unwrap().max_ns, 1000);
        let jumps = Jump::ALL.map(|jump| requests(reads.at_jump(jump)));
        // The third starts three blocks further than the second ends; the fourth follows the third.
        assert_eq!(jumps, [2, 1, 0, 0, 0, 0, 0]);
        assert_eq!(requests(file.writes.at_jump(Jump::FarBack)), 1);
        assert_eq!(
            reads.costliest(9).iter().map(|(n, s)| (*n, s.requests)).collect::<Vec<_>>(),
            [(0, 3), (1, 1)]
        );
        assert_eq!(reads.by_fragment_size.keys().copied().collect::<Vec<_>>(), [8 * BLOCK]);
        assert_eq!(reads.over_offset.values().sum::<u64>(), 4);
        assert_eq!(reads.all.figures().unwrap().total_ns, 1550);
    }

    #[test]
    fn separates_requests_before_file_was_recreated() {
        let file = joined(&[
            record(Op::Write, 100, 10, 0, 2),
            record(Op::Delete, 200, 10, 0, 0),
            record(Op::Write, 300, 10, 0, 2),
            record(Op::Write, 400, 10, 2, 2),
        ]);
        assert_eq!((file.earlier_requests, requests(file.writes.all.figures())), (1, 2));
    }

    /// Requests of the ramp are in no figure, but the next one starts from their end. Failed operations create nothing.
    #[test]
    fn excludes_ramp_and_ignores_failed_operations() {
        let ramp = Record { marks: Marks::RAMP, ..record(Op::Read, 100, 900, 0, 2) };
        let failed = Record { outcome: Outcome::Failed, ..record(Op::Delete, 150, 10, 0, 0) };
        let cut = record(Op::Truncate, 160, 10, 0, 4);
        let file = joined(&[failed, cut, record(Op::Read, 200, 10, 2, 2), ramp]);
        assert_eq!(requests(file.reads.all.figures()), 1);
        assert_eq!(requests(file.reads.at_jump(Jump::Next)), 1);
        assert_eq!(file.earlier_requests, 0);
        let emptied = joined(&[record(Op::Read, 100, 10, 2, 2), record(Op::Truncate, 160, 10, 0, 0)]);
        assert_eq!(emptied.earlier_requests, 1);
    }

    #[test]
    fn request_counts_in_every_cell_it_touches() {
        let file = joined(&[record(Op::Read, 0, 10, 0, 16)]);
        // Two lines in the grid, one at each end of the addresses.
        let mut rows: Vec<u16> = file.reads.cells.keys().map(|(_, row)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!((rows[0], rows[rows.len() - 1]), (0, EXTENT_ROWS as u16 - 1));
        let columns = file.reads.cells.keys().filter(|(_, row)| *row == 0).count();
        assert!((EXTENT_COLUMNS / 2).abs_diff(columns) <= 1, "{columns}");
    }
}
