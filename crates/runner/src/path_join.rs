//! Joins the records of a run with the kernel's events that were kept beside them.

use crate::kernel_watch::FirstDevice;
use crate::path_trace::disks;
use anyhow::Context;
use iosonar_analyze::Distribution;
use iosonar_archive::{
    Archive, ArchiveError, ArchiveWriter, Marks, Outcome, PATH_EVENTS, PathCounts, PathFile, PathWindows,
    Record, RequestPath, SampledLatency, TargetMap,
};
use iosonar_evidence::TargetFacts;
use iosonar_evidence::target::TargetKind;
use iosonar_path::{InKernel, Joiner, OnDisks, Own, Part, Place};
use iosonar_plan::{Nanos, Op};
use iosonar_text::shown;
use iosonar_trace::kernel::segment::Segments;
use iosonar_trace::kernel::{At, Paired, Timing};
use iosonar_trace::{Kind, Requests};
use std::fs::File;

/// Joins, stores the times, and removes the events. Does nothing for a run whose path was not traced, or is already joined.
///
/// # Errors
/// Records or events cannot be read, or the times cannot be written: the events stay.
pub(crate) fn join(writer: &ArchiveWriter) -> anyhow::Result<()> {
    let archive = Archive::open(writer.dir())?;
    let Some(files) = archive.path_events()? else { return Ok(()) };
    let cannot_read = || format!("cannot read {}", shown(&archive.dir().join(PATH_EVENTS)));
    let environment = archive.environment();
    let events = OnDisks::new(Segments::new(files.iter().map(File::open)), disks(&environment).collect());
    let requests = Paired::new(events, At::QUEUE, Timing::Exact).with_issues();
    let origin = Nanos(archive.run().origin_monotonic_ns);
    let joiner = Joiner::new(requests.since(origin));
    let sampled = archive.path_windows()?.map(|windows| Sampled::new(windows.since(origin)));
    let (maps, targets) = (archive.maps()?, environment.targets.iter().enumerate());
    let places = targets.map(|(number, target)| place(number, target, &maps)).collect();
    let (file, counts) = (writer.path_file()?, PathCounts::default());
    let mut joining = Joining { joiner, places, sampled, file, counts, parts: Vec::new() };
    let mut added = Ok(());
    archive.for_each_record(&mut |record| {
        if added.is_ok() {
            added = joining.add(record).with_context(cannot_read);
        }
    })?;
    added?;
    joining.finish()?;
    Ok(writer.remove_path_events()?)
}

/// A join in progress.
struct Joining<R> {
    joiner: Joiner<R>,
    /// By target; `None` if its requests have no known place.
    places: Vec<Option<Place>>,
    /// `None` if all of the run was recorded.
    sampled: Option<Sampled>,
    file: PathFile,
    counts: PathCounts,
    parts: Vec<Part>,
}

impl<R: Requests> Joining<R> {
    fn add(&mut self, record: &Record) -> anyhow::Result<()> {
        let Some(times) = Times::of(record) else { return Ok(()) };
        if self.sampled.as_mut().is_some_and(|sampled| !sampled.is_traced(times)) {
            self.counts.not_sampled += 1;
            return Ok(());
        }
        let place = self.places.get(usize::from(record.target)).and_then(Option::as_ref);
        let Some(place) = place.filter(|place| place.parts(record.op, record.executed, &mut self.parts))
        else {
            self.counts.without_place += 1;
            return Ok(());
        };
        let (device, kind, Times { submitted, completed }) = (place.device(), Kind::from(record.op), times);
        match self.joiner.join(&Own { device, kind, parts: &self.parts, submitted, completed })? {
            Some(found) => {
                self.counts.joined += 1;
                self.file.push(row(record, times, found))?;
            }
            None => self.counts.not_joined += 1,
        }
        Ok(())
    }

    fn finish(self) -> Result<(), ArchiveError> {
        let (damaged_events, dropped_events) = (self.joiner.damaged(), self.joiner.dropped());
        let sampled_latency = self.sampled.and_then(Sampled::latency);
        self.file.publish(&PathCounts { damaged_events, dropped_events, sampled_latency, ..self.counts })
    }
}

/// Latency of requests within and outside of the windows in which events were recorded.
struct Sampled {
    windows: PathWindows,
    traced: Distribution,
    untraced: Distribution,
}

impl Sampled {
    fn new(windows: PathWindows) -> Sampled {
        Sampled { windows, traced: Distribution::default(), untraced: Distribution::default() }
    }

    /// Whether events were recorded during all of a request.
    fn is_traced(&mut self, Times { submitted, completed }: Times) -> bool {
        let latency = completed.saturating_sub(submitted).0;
        let covered = self.windows.cover(submitted, completed);
        match covered {
            Some(true) => self.traced.add(latency),
            Some(false) => self.untraced.add(latency),
            None => (),
        }
        covered == Some(true)
    }

    fn latency(self) -> Option<SampledLatency> {
        let (traced, untraced) = (self.traced.stats()?, self.untraced.stats()?);
        Some(SampledLatency {
            traced_p50_ns: traced.p50_ns,
            untraced_p50_ns: untraced.p50_ns,
            untraced: untraced.count,
        })
    }
}

/// Location of a target on the device whose events were kept.
fn place(number: usize, target: &TargetFacts, maps: &[TargetMap]) -> Option<Place> {
    let first = FirstDevice::of(target)?;
    let start = first.start?;
    match target.kind {
        TargetKind::RegularFile(_) => {
            let map = maps.iter().find(|map| usize::from(map.target) == number)?;
            Place::of_file(first.disk, start, &map.map)
        }
        _ => Some(Place::of_device(first.disk, start)),
    }
}

/// Times of a request that was executed.
#[derive(Clone, Copy)]
struct Times {
    submitted: Nanos,
    completed: Nanos,
}

impl Times {
    /// `None` for records of requests that did not complete, of the ramp, and of file operations.
    fn of(record: &Record) -> Option<Times> {
        let is_measured = record.outcome == Outcome::Completed && !record.marks.has(Marks::RAMP);
        let is_request = record.op.has_place() || record.op == Op::Flush;
        let (submitted, completed) = record.submitted.zip(record.completed)?;
        (is_measured && is_request).then_some(Times { submitted, completed })
    }
}

fn row(record: &Record, times: Times, found: InKernel) -> RequestPath {
    RequestPath {
        sequence: record.sequence,
        target: record.target,
        phase: record.phase,
        pass: record.pass,
        due: record.due,
        submitted: times.submitted,
        queued: found.queued,
        issued: found.issued,
        done: found.done,
        completed: times.completed,
    }
}
