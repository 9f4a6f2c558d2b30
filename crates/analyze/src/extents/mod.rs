//! Latency against extent maps: do slow requests cross from one fragment of their file into another, or start far from the one
//! before them on the disk?
//!
//! The maps are those of the end of the run. Of a file that was created again meanwhile, requests on the one before it are counted
//! apart; whether writes moved blocks of a file, nobody noted.

mod json;
mod latencies;
mod placed;
#[cfg(test)]
mod testing;

pub use latencies::{Latencies, LatencyFigures, Slower};
pub use placed::{Jump, Part, PlacedMap, Spot};

use crate::{Reorder, Row, row_of};
use iosonar_archive::{Archive, ArchiveError, Record, TargetMap};
use iosonar_layout::{Fragment, Map};
use iosonar_plan::{BetweenPasses, ByteSize, FileStep, Op, Plan};
use std::collections::{BTreeMap, HashMap};

/// Columns of file offsets in grids.
pub const EXTENT_COLUMNS: usize = 480;
/// Rows of addresses in grids.
pub const EXTENT_ROWS: usize = 270;

/// All files of a run that have a map.
#[derive(Debug)]
pub struct ExtentLatencies {
    /// Files whose map was kept, in the order of the targets.
    pub files: Vec<FileLatencies>,
}

/// A file, and latencies of the requests on it.
#[derive(Debug)]
pub struct FileLatencies {
    /// Number of the target in the plan.
    pub target: u16,
    /// Where its blocks were at the end of the run.
    pub map: Map,
    /// The same for looking up.
    pub placed: PlacedMap,
    /// Whether any of its requests go through the page cache.
    pub is_buffered: bool,
    /// Requests that were made before the file was created again: their blocks were others.
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

    /// The operation that pictures show: reads, where there are any with a place, else writes.
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
    /// By [`Jump`], in the order of [`Jump::ALL`]. The first request of a file system is in none of them, nor what has no address.
    pub by_jump: [Latencies; Jump::ALL.len()],
    /// By the size of the fragment in which they start: the key is its least size in bytes, a power of two.
    pub by_fragment_size: BTreeMap<u64, Latencies>,
    /// Those that start in each fragment, by its number; fragments without any are missing.
    pub by_fragment: BTreeMap<usize, Sums>,
    /// By column of offsets and row of addresses: a request counts wherever a part of it lies.
    pub cells: HashMap<(u16, u16), Sums>,
    /// Requests by column of offsets, slot of the latency ([`Row::slot`]), and whether they lie across fragments.
    pub over_offset: HashMap<(u16, u16, bool), u64>,
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
    /// Figures of a place.
    pub fn at_spot(&self, spot: Spot) -> Option<LatencyFigures> {
        self.by_spot[spot as usize].figures()
    }

    /// Figures of a distance.
    pub fn at_jump(&self, jump: Jump) -> Option<LatencyFigures> {
        self.by_jump[jump as usize].figures()
    }

    /// Whether requests across fragments take longer than those within one.
    pub fn across(&self) -> Option<Slower> {
        Slower::of(&self.by_spot[Spot::Across as usize], &self.by_spot[Spot::Inside as usize])
    }

    /// Whether requests that start elsewhere than at the end of the one before take longer than those that start there.
    pub fn elsewhere(&self) -> Option<Slower> {
        let (next, others) = self.by_jump.split_first()?;
        let mut elsewhere = Latencies::default();
        others.iter().for_each(|latencies| elsewhere.merge(latencies));
        Slower::of(&elsewhere, next)
    }

    /// The fragments with the highest mean latency, at most `most`; of equal ones the first in the file.
    pub fn slowest(&self, most: usize) -> Vec<(usize, Sums)> {
        let mut all: Vec<(usize, Sums)> = self.by_fragment.iter().map(|(n, sums)| (*n, *sums)).collect();
        all.sort_by(|(_, a), (_, b)| b.mean_ns().total_cmp(&a.mean_ns()));
        all.truncate(most);
        all
    }

    fn add(&mut self, request: &Request, placed: &PlacedMap, grid: Grid, before: Option<u64>, found: &Found) {
        let ns = request.latency_ns;
        self.all.add(ns);
        self.by_spot[found.spot as usize].add(ns);
        if let Some(first) = found.parts.first() {
            let Fragment { bytes, .. } = placed.fragments()[first.fragment];
            self.by_fragment_size.entry(1 << bytes.max(1).ilog2()).or_default().add(ns);
            self.by_fragment.entry(first.fragment).or_default().add(ns);
            if let Some(before) = before {
                self.by_jump[Jump::between(before, first.address) as usize].add(ns);
            }
        }
        for cell in grid.cells(&found.parts) {
            self.cells.entry(cell).or_default().add(ns);
        }
        let (column, slot) = (grid.column(request.offset), Row::slot(row_of(ns)) as u16);
        *self.over_offset.entry((column, slot, found.spot == Spot::Across)).or_default() += 1;
    }
}

/// How offsets and addresses of a file become columns and rows.
#[derive(Debug, Clone, Copy)]
struct Grid {
    end: u64,
    from: u64,
    to: u64,
}

impl Grid {
    fn of(map: &Map, placed: &PlacedMap) -> Grid {
        let addresses = placed.addresses();
        Grid { end: map.size.max(1), from: addresses.start, to: addresses.end.max(addresses.start + 1) }
    }

    fn column(&self, offset: u64) -> u16 {
        scaled(offset, self.end, EXTENT_COLUMNS)
    }

    fn row(&self, address: u64) -> u16 {
        scaled(address.saturating_sub(self.from), self.to - self.from, EXTENT_ROWS)
    }

    /// Cells in which parts of a request lie, each once for each part.
    fn cells(self, parts: &[Part]) -> impl Iterator<Item = (u16, u16)> {
        parts.iter().flat_map(move |part| {
            let (first, last) = (self.column(part.offset), self.column(part.offset + part.length - 1));
            (first..=last).map(move |column| {
                // The column's own place in the part, so that a long one is a slanted line.
                let begin = u128::from(column) * u128::from(self.end) / EXTENT_COLUMNS as u128;
                let inside = (begin as u64).saturating_sub(part.offset).min(part.length - 1);
                (column, self.row(part.address + inside))
            })
        })
    }
}

/// Which of `steps` equal parts of `whole` holds `value`.
fn scaled(value: u64, whole: u64, steps: usize) -> u16 {
    let step = u128::from(value) * steps as u128 / u128::from(whole.max(1));
    step.min(steps as u128 - 1) as u16
}

/// What is known of a request in the order of submissions.
#[derive(Debug, Clone, Copy)]
struct Request {
    file: usize,
    op: Op,
    offset: u64,
    length: u64,
    latency_ns: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Request(Request),
    /// The file was created again, or emptied.
    CreatedAgain {
        file: usize,
    },
}

/// Where the request that is being counted lies.
struct Found {
    spot: Spot,
    parts: Vec<Part>,
}

/// Puts requests in order and looks them up.
struct Join {
    files: Vec<FileLatencies>,
    grids: Vec<Grid>,
    /// For each file the number of its file system.
    volumes: Vec<usize>,
    /// For each file system the end of the request before.
    ends: Vec<Option<u64>>,
    found: Found,
}

impl Join {
    fn new(plan: &Plan, maps: Vec<TargetMap>) -> Join {
        let (mut known, mut volumes) = (Vec::new(), Vec::new());
        for TargetMap { map, .. } in &maps {
            let name = (map.volume.kind.clone(), map.volume.source.clone(), map.volume.mount_point.clone());
            let number = known.iter().position(|other| *other == name).unwrap_or(known.len());
            if number == known.len() {
                known.push(name);
            }
            volumes.push(number);
        }
        let files: Vec<_> = maps.into_iter().map(|map| FileLatencies::new(plan, map)).collect();
        Join {
            grids: files.iter().map(|file| Grid::of(&file.map, &file.placed)).collect(),
            files,
            volumes,
            ends: vec![None; known.len()],
            found: Found { spot: Spot::Inside, parts: Vec::new() },
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Request(request) => self.count(&request),
            Event::CreatedAgain { file } => {
                let file = &mut self.files[file];
                for latencies in [&mut file.reads, &mut file.writes] {
                    let before = std::mem::take(latencies).all.figures();
                    file.earlier_requests += before.map_or(0, |figures| figures.requests);
                }
            }
        }
    }

    fn count(&mut self, request: &Request) {
        let (file, grid) = (&mut self.files[request.file], self.grids[request.file]);
        let FileLatencies { placed, reads, writes, .. } = file;
        let reads_it = request.op == Op::Read;
        let parts = &mut self.found.parts;
        self.found.spot = placed.look_up(request.offset, request.length, reads_it, parts);
        let end = &mut self.ends[self.volumes[request.file]];
        let latencies = if reads_it { reads } else { writes };
        latencies.add(request, placed, grid, *end, &self.found);
        if let Some(last) = self.found.parts.last() {
            *end = Some(last.address + last.length);
        }
    }
}

impl FileLatencies {
    fn new(plan: &Plan, TargetMap { target, map }: TargetMap) -> FileLatencies {
        let mut jobs = plan.jobs_on(target.into());
        let is_buffered =
            jobs.any(|job| job.access(plan.access).buffered || job.engine(plan.engine).is_buffered());
        FileLatencies {
            target,
            placed: PlacedMap::new(&map),
            map,
            is_buffered,
            earlier_requests: 0,
            reads: PlacedLatencies::default(),
            writes: PlacedLatencies::default(),
        }
    }
}

/// When it matters, and what a record is.
fn event_of(record: &Record, file: usize, plan: &Plan) -> Option<(u64, Event)> {
    let (submitted, completed) = (record.submitted?.0, record.completed?.0);
    if creates_again(record, plan) {
        return Some((completed, Event::CreatedAgain { file }));
    }
    (record.op.is_transfer() && record.is_completed() && record.executed.length > 0).then(|| {
        let latency_ns = completed.saturating_sub(submitted);
        let (offset, length) = (record.executed.offset, record.executed.length);
        (submitted, Event::Request(Request { file, op: record.op, offset, length, latency_ns }))
    })
}

/// Whether the file has other blocks from then on.
fn creates_again(record: &Record, plan: &Plan) -> bool {
    let target = usize::from(record.target);
    match record.op {
        Op::Delete => true,
        Op::Open => plan
            .targets
            .get(target)
            .is_some_and(|target| target.file.between_passes == BetweenPasses::NewFile),
        Op::Truncate => {
            let jobs = plan.phases.get(usize::from(record.phase)).map_or(&[][..], |phase| &phase.jobs);
            let empties = FileStep::Truncate(ByteSize(0));
            let mut jobs = jobs.iter().filter(|job| job.target == record.target);
            jobs.any(|job| job.options.before.contains(&empties))
        }
        _ => false,
    }
}

impl ExtentLatencies {
    /// Of an archive; none where it has no maps.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn of(archive: &Archive) -> Result<Option<ExtentLatencies>, ArchiveError> {
        let maps = archive.maps()?;
        if maps.is_empty() {
            return Ok(None);
        }
        let each = |f: &mut dyn FnMut(&Record)| archive.for_each_record(f).map(drop);
        ExtentLatencies::from_records(archive.plan(), maps, each).map(Some)
    }

    /// Of a plan, maps of its files, and the records that `each` hands over.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn from_records<E>(
        plan: &Plan,
        maps: Vec<TargetMap>,
        each: impl FnOnce(&mut dyn FnMut(&Record)) -> Result<(), E>,
    ) -> Result<ExtentLatencies, E> {
        let numbers: HashMap<u16, usize> = maps.iter().enumerate().map(|(n, map)| (map.target, n)).collect();
        let (mut join, mut order) = (Join::new(plan, maps), Reorder::new());
        each(&mut |record| {
            let event = numbers.get(&record.target).and_then(|file| event_of(record, *file, plan));
            if let Some((time, event)) = event {
                order.push(time, event, &mut |_, event| join.take(event));
            }
        })?;
        order.finish(&mut |_, event| join.take(event));
        Ok(ExtentLatencies { files: join.files })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::map;
    use super::*;
    use crate::testing::Fixture;
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
    fn requests_are_counted_where_they_lie() {
        // They come in the order of their ends.
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
            reads.slowest(9).iter().map(|(n, s)| (*n, s.requests)).collect::<Vec<_>>(),
            [(0, 3), (1, 1)]
        );
        assert_eq!(reads.by_fragment_size.keys().copied().collect::<Vec<_>>(), [8 * BLOCK]);
        assert_eq!(reads.over_offset.values().sum::<u64>(), 4);
        assert_eq!(reads.all.figures().unwrap().total_ns, 1550);
    }

    #[test]
    fn requests_on_a_file_before_it_was_created_again_are_apart() {
        let file = joined(&[
            record(Op::Write, 100, 10, 0, 2),
            record(Op::Delete, 200, 10, 0, 0),
            record(Op::Write, 300, 10, 0, 2),
            record(Op::Write, 400, 10, 2, 2),
        ]);
        assert_eq!((file.earlier_requests, requests(file.writes.all.figures())), (1, 2));
    }

    #[test]
    fn a_request_lies_in_all_cells_that_it_touches() {
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
