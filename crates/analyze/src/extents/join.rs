//! Sorts requests by submission, and looks each up in the map of its file.

use super::grid::Grid;
use super::placed::{PlacedMap, PlacedPart, Spot};
use super::{ExtentLatencies, FileLatencies, PlacedLatencies};
use crate::Reorder;
use iosonar_archive::{Archive, ArchiveError, Marks, Record, TargetMap};
use iosonar_plan::{BetweenPasses, Op, Plan};
use std::collections::HashMap;

/// A request in the order of submissions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    file: usize,
    op: Op,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) latency_ns: u64,
    /// Requests of the ramp only set the start of the next one.
    is_measured: bool,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Request(Request),
    /// The file was created again, or truncated.
    CreatedAgain {
        file: usize,
    },
}

/// Location of the request that is being counted.
pub(super) struct RequestPlace {
    pub(super) spot: Spot,
    pub(super) parts: Vec<PlacedPart>,
    /// End of the previous request on the same file system.
    pub(super) before: Option<u64>,
}

/// Sorts requests and looks them up.
struct Join {
    files: Vec<FileLatencies>,
    grids: Vec<Grid>,
    /// Number of the file system of each file.
    volumes: Vec<usize>,
    /// End of the previous request on each file system.
    ends: Vec<Option<u64>>,
    place: RequestPlace,
}

impl Join {
    fn new(plan: &Plan, maps: Vec<TargetMap>) -> Join {
        let (mut known, mut volumes) = (Vec::new(), Vec::new());
        for TargetMap { map, .. } in &maps {
            // A file system can be mounted at several places, and an XFS has addresses of two devices.
            let volume = &map.volume;
            let source =
                volume.source.clone().or(volume.mount_point.as_ref().map(|path| path.display().to_string()));
            let name = (volume.kind.clone(), source, volume.addresses);
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
            place: RequestPlace { spot: Spot::Inside, parts: Vec::new(), before: None },
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
        let (reads_it, place) = (request.op == Op::Read, &mut self.place);
        place.spot = placed.look_up(request.offset, request.length, reads_it, &mut place.parts);
        let end = &mut self.ends[self.volumes[request.file]];
        place.before = *end;
        if let Some(last) = place.parts.last() {
            *end = Some(last.address + last.length);
        }
        if request.is_measured {
            let latencies = if reads_it { reads } else { writes };
            latencies.add(request, placed, grid, place);
        }
    }
}

impl FileLatencies {
    fn new(plan: &Plan, TargetMap { target, map }: TargetMap) -> FileLatencies {
        FileLatencies {
            target,
            placed: PlacedMap::new(&map),
            map,
            is_buffered: plan.jobs_on(target.into()).any(|job| plan.is_buffered(job)),
            earlier_requests: 0,
            reads: PlacedLatencies::default(),
            writes: PlacedLatencies::default(),
        }
    }
}

/// The event of a record, and its time; `None` if irrelevant here.
fn event_of(record: &Record, file: usize, plan: &Plan) -> Option<(u64, Event)> {
    let (submitted, completed) = (record.submitted?.0, record.completed?.0);
    if !record.is_completed() {
        return None;
    }
    if creates_again(record, plan) {
        return Some((completed, Event::CreatedAgain { file }));
    }
    (record.op.is_transfer() && record.executed.length > 0).then(|| {
        let latency_ns = completed.saturating_sub(submitted);
        let (offset, length) = (record.executed.offset, record.executed.length);
        let is_measured = !record.marks.has(Marks::RAMP);
        (submitted, Event::Request(Request { file, op: record.op, offset, length, latency_ns, is_measured }))
    })
}

/// Whether the file has new blocks afterwards.
fn creates_again(record: &Record, plan: &Plan) -> bool {
    match record.op {
        Op::Delete => true,
        Op::Truncate => record.executed.length == 0,
        Op::Open => {
            let target = plan.targets.get(usize::from(record.target));
            target.is_some_and(|target| target.file.between_passes == BetweenPasses::NewFile)
        }
        _ => false,
    }
}

impl ExtentLatencies {
    /// Reads an archive; `None` if it has no maps.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn of(archive: &Archive) -> Result<Option<ExtentLatencies>, ArchiveError> {
        let maps = archive.maps()?;
        if maps.is_empty() {
            return Ok(None);
        }
        let each = |f: &mut dyn FnMut(&Record)| archive.for_each_record(f).map(drop);
        ExtentLatencies::from_records(archive.plan(), maps, each).map(Some)
    }

    /// Joins a plan, maps of its files, and the records from `each`.
    ///
    /// # Errors
    /// Errors of `each`.
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
