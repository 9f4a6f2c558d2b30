//! Sectors that a run must not change: those next to its planned writes, and samples elsewhere. They are read before the run, and
//! again by the scan at its end.

use super::scan::{Scan, ScanTarget, reader, without};
use super::scan_progress::ScanProgress;
use super::verifier::Verifier;
use crate::files::TargetFile;
use crate::job_loop::{JobLoop, parts};
use crate::prepare::FittedJob;
use crate::shared::Shared;
use crate::stage::{Requests, Stage};
use iosonar_load::{Known, LoadError, Source};
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::{AtEnd, Nanos, Plan, SECTOR};
use iosonar_verify::{Ranges, Sectors, mix};
use std::collections::BTreeSet;

/// Requests that are examined before the run, of all jobs: some seconds.
const MOST_REQUESTS: u64 = 1 << 24;
/// Separate ranges of one device: 16 MiB of memory while the places are chosen, and 26 MiB for the sectors read next to them.
const MOST_RANGES: usize = 1 << 20;
/// Requests between two checks for a signal.
const LOOK: u64 = 4096;

/// Places that a run is going to write on one device, as far as known.
struct Foreseen {
    /// Ranges that its requests write.
    written: Ranges,
    /// Regions of requests whose places are not known.
    regions: Vec<Sectors>,
}

/// Examines the requests of a run before it begins.
struct Survey<'a> {
    verifier: &'a Verifier,
    shared: Shared<'a>,
    devices: Vec<Foreseen>,
    /// Requests that may still be examined.
    left: u64,
}

/// Reason why the places of a job are not known.
enum Unknown {
    StandardInput,
    NoEnd,
    TooMany,
    Stopped,
    Load(LoadError),
}

/// Reads the sectors that the run must not change. `stages` are its phases. Unknown places and unreadable sectors become notices.
pub(crate) fn remember_outside<'a>(
    plan: &Plan,
    targets: impl Iterator<Item = ScanTarget<'a>>,
    stages: impl Iterator<Item = Stage<'a>>,
    verifier: &Verifier,
    shared: Shared<'_>,
) {
    let Some(samples) = verifier.modes.outside else { return };
    let targets: Vec<ScanTarget<'_>> = targets.collect();
    let empty = || Foreseen { written: Ranges::new(MOST_RANGES), regions: Vec::new() };
    let devices = verifier.devices.iter().map(|_| empty()).collect();
    let mut survey = Survey { verifier, shared, devices, left: MOST_REQUESTS };
    stages.for_each(|stage| survey.stage(stage));
    let foreseen: Vec<(Vec<Sectors>, Vec<Sectors>)> =
        survey.devices.into_iter().map(|device| device.places(shared)).collect();
    // A device may be several targets, and has each place once.
    let mut taken: Vec<(usize, Sectors)> = Vec::new();
    for target in &targets {
        let place = verifier.places[usize::from(target.number)];
        let own = Sectors { start: place.base, count: target.sectors_before() };
        let (written, regions) = &foreseen[place.device];
        let mut others = Ranges::new(MOST_RANGES);
        let of_others = taken.iter().filter(|(device, _)| *device == place.device).map(|(_, range)| range);
        written.iter().chain(of_others).for_each(|range| others.add(*range));
        let seed = mix(verifier.seed ^ u64::from(target.number));
        let samples = draw(&without(&others.finish().0, own), samples, seed);
        let places = beside(written, own).chain(beside(regions, own)).chain(samples);
        verifier.device(place).outside.add(places);
        taken.push((place.device, own));
    }
    for target in &targets {
        if let Err(error) = target.remember(plan, verifier, shared) {
            shared.note(format!(
                "{}: --verify outside compares nothing: it could not be read before the run: {error}",
                target.path
            ));
        }
    }
    for mut device in verifier.each_device() {
        device.scanned.clear();
        // Sectors that could not be read are not compared.
        device.outside.drop_unread();
    }
}

impl Foreseen {
    /// Written places, and regions of requests with unknown places.
    fn places(self, shared: Shared<'_>) -> (Vec<Sectors>, Vec<Sectors>) {
        let (written, gap) = self.written.finish();
        if gap > 0 {
            shared.note(format!(
                "--verify outside compares nothing in gaps of up to {gap} sectors between written places: there are more than {MOST_RANGES}"
            ));
        }
        (written, self.regions)
    }
}

impl ScanTarget<'_> {
    /// Reads the sectors that the run must not change, on a separate clock: that of the run has no time yet.
    fn remember(&self, plan: &Plan, verifier: &Verifier, shared: Shared<'_>) -> std::io::Result<()> {
        let mut source = match self.file {
            Some(file) => reader(file.for_look()?, &Clock::from_origin(monotonic_ns()), 0),
            None => self.simulated(plan, shared),
        }?;
        let (control, progress, size) = (shared.control, &ScanProgress::default(), self.sectors_before());
        Scan::new(verifier, self.number, &mut source, control, progress, size, self.block).remember();
        Ok(())
    }

    /// Sectors of the target before the run.
    fn sectors_before(&self) -> u64 {
        let of_file = self.file.and_then(TargetFile::size_of_file);
        of_file.map_or(self.size, |bytes| bytes.min(self.size)) / SECTOR
    }
}

impl Survey<'_> {
    /// Examines the requests of a phase.
    fn stage(&mut self, stage: Stage<'_>) {
        for part in parts(stage.phase()) {
            let fitted = stage.job(part);
            if !fitted.workload.writes() {
                continue;
            }
            let Err(why) = self.part(stage, part, fitted) else { continue };
            self.add_region(part.target, fitted);
            // Of several loops of a job, the first reports it.
            if part.number == 0 && !matches!(why, Unknown::Stopped) {
                self.shared.note(sentence(fitted.path(), &why));
            }
        }
    }

    /// Examines the requests of one issuing loop.
    fn part(&mut self, stage: Stage<'_>, part: JobLoop, fitted: &FittedJob) -> Result<(), Unknown> {
        let phase = stage.phase();
        let passes = match &fitted.workload {
            Known::Trace(_, None) => return Err(Unknown::StandardInput),
            // Each pass has the same places.
            Known::Trace(..) => 1,
            Known::Generated { .. } => {
                let has_end = phase.coordination.runtime.is_none() && fitted.expected_requests(1).is_some();
                if has_end { phase.passes } else { return Err(Unknown::NoEnd) }
            }
        };
        for pass in 0..passes {
            let source = match stage.requests(part, pass) {
                Requests::Generated(source) => source,
                Requests::Load(open) => open().map_err(Unknown::Load)?,
            };
            self.source(source, part.target, fitted)?;
        }
        Ok(())
    }

    fn source(
        &mut self,
        mut source: Box<dyn Source>,
        target: u16,
        fitted: &FittedJob,
    ) -> Result<(), Unknown> {
        let device = self.verifier.places[usize::from(target)].device;
        let base = self.verifier.places[usize::from(target)].base;
        while let Some(item) = source.next(Nanos(0)).map_err(Unknown::Load)? {
            self.left = self.left.checked_sub(1).ok_or(Unknown::TooMany)?;
            if self.left.is_multiple_of(LOOK) && self.shared.control.is_stopped(Nanos(0)) {
                return Err(Unknown::Stopped);
            }
            let placed = fitted.placement.place(item.extent).filter(|_| item.op.changes_data());
            if let Some(placed) = placed {
                let Sectors { start, count } = Sectors::covering(placed.extent);
                self.devices[device].written.add(Sectors { start: base + start, count });
            }
        }
        Ok(())
    }

    /// Adds the region of a workload with unknown places.
    fn add_region(&mut self, target: u16, fitted: &FittedJob) {
        let Some(generator) = fitted.job.workload.generator() else { return };
        let Some(region) = generator.region.filter(|_| generator.at_end == AtEnd::Wrap) else { return };
        let place = self.verifier.places[usize::from(target)];
        let (start, end) = (generator.offset.0, generator.offset.0 + region.of(fitted.size));
        let sectors = Sectors::between(place.base + start / SECTOR, place.base + end.div_ceil(SECTOR));
        self.devices[place.device].regions.push(sectors);
    }
}

/// Notice that the places of a job are not known, and its consequence.
fn sentence(path: &str, why: &Unknown) -> String {
    let why = match why {
        Unknown::StandardInput => "its load is read from standard input".into(),
        Unknown::NoEnd => "only time ends its workload".into(),
        Unknown::TooMany => format!("there are more than {MOST_REQUESTS} requests"),
        Unknown::Stopped => "it was stopped".into(),
        Unknown::Load(error) => error.to_string(),
    };
    format!(
        "{path}: where the run writes is not known before it: {why}. --verify outside compares samples, and not what lies next to each write"
    )
}

/// The sectors just before and after each range, within `own`.
fn beside(ranges: &[Sectors], own: Sectors) -> impl Iterator<Item = u64> {
    let sectors = ranges.iter().flat_map(|range| [range.start.checked_sub(1), Some(range.end())]);
    sectors.flatten().filter(move |sector| (own.start..own.end()).contains(sector))
}

/// Draws `samples` sectors of the ranges; all, if there are no more.
fn draw(ranges: &[Sectors], samples: u64, seed: u64) -> BTreeSet<u64> {
    let total: u64 = ranges.iter().map(|range| range.count).sum();
    if total <= samples {
        return ranges.iter().flat_map(|range| range.start..range.end()).collect();
    }
    let starts: Vec<u64> = ranges
        .iter()
        .scan(0, |before, range| {
            *before += range.count;
            Some(*before - range.count)
        })
        .collect();
    let mut drawn = BTreeSet::new();
    // Few are drawn twice, unless there are hardly more than are wanted.
    for number in 0..4 * samples {
        if drawn.len() as u64 == samples {
            break;
        }
        let at = ((u128::from(mix(mix(number) ^ seed)) * u128::from(total)) >> 64) as u64;
        let range = starts.partition_point(|start| *start <= at) - 1;
        drawn.insert(ranges[range].start + at - starts[range]);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Sectors = Sectors::new(100, 100);

    #[test]
    fn neighbour_sectors_lie_within_target() {
        let ranges = [Sectors::new(90, 20), Sectors::new(120, 10), Sectors::new(190, 10)];
        assert_eq!(beside(&ranges, OWN).collect::<Vec<_>>(), [110, 119, 130, 189]);
    }

    #[test]
    fn samples_are_spread_and_depend_on_seed() {
        let ranges = [Sectors::new(0, 1000), Sectors::new(1_000_000, 9000)];
        let drawn = draw(&ranges, 1000, 7);
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|sector| *sector < 1000 || (1_000_000..1_009_000).contains(sector)));
        let low = drawn.iter().filter(|sector| **sector < 1000).count();
        assert!((70..130).contains(&low), "{low}");
        assert_eq!(drawn, draw(&ranges, 1000, 7));
        assert_ne!(drawn, draw(&ranges, 1000, 8));
        assert_eq!(draw(&ranges, 10_000, 7).len(), 10_000);
        assert_eq!(draw(&ranges, 1 << 20, 7).len(), 10_000);
        assert!(draw(&[], 5, 7).is_empty() && draw(&ranges, 0, 7).is_empty());
    }
}
