//! Sectors that a run must not change: those next to its planned writes, and samples elsewhere. They are read before the run, and
//! again by the scan at its end.

use super::reads::ScanSource;
use super::scan::{Scan, reader, without};
use super::scan_progress::ScanProgress;
use super::verifier::Verifier;
use crate::part::{Part, parts};
use crate::prepare::{Claimed, Fitted, Prepared};
use crate::shared::Shared;
use crate::stage::{Requests, Stage};
use iosonar_load::{Known, LoadError, Source};
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::{AtEnd, Nanos, Phase, SECTOR};
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
    prepared: &'a Prepared,
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

impl Prepared {
    /// Reads the sectors that the run must not change. Unknown places and unreadable sectors become notices.
    pub(crate) fn remember_outside(&self, verifier: &Verifier, shared: Shared<'_>) {
        let Some(samples) = verifier.modes.outside else { return };
        let empty = || Foreseen { written: Ranges::new(MOST_RANGES), regions: Vec::new() };
        let devices = verifier.devices.iter().map(|_| empty()).collect();
        let mut survey = Survey { prepared: self, verifier, shared, devices, left: MOST_REQUESTS };
        survey.all();
        let foreseen: Vec<(Vec<Sectors>, Vec<Sectors>)> =
            survey.devices.into_iter().map(|device| self.places_of(device, shared)).collect();
        // A device may be several targets, and has each place once.
        let mut taken: Vec<(usize, Sectors)> = Vec::new();
        for (target, place) in verifier.places.iter().enumerate() {
            let Some(size) = self.sectors_before(target) else { continue };
            let own = Sectors { start: place.base, count: size };
            let (written, regions) = &foreseen[place.device];
            let mut others = Ranges::new(MOST_RANGES);
            let of_others =
                taken.iter().filter(|(device, _)| *device == place.device).map(|(_, range)| range);
            written.iter().chain(of_others).for_each(|range| others.add(*range));
            let samples =
                draw(&without(&others.finish().0, own), samples, mix(verifier.seed ^ target as u64));
            let places = beside(written, own).chain(beside(regions, own)).chain(samples);
            verifier.device(*place).outside.add(places);
            taken.push((place.device, own));
        }
        for target in 0..verifier.places.len() {
            if let Err(error) = self.remember_target(verifier, target, shared) {
                let path = self.targets[target].looked.path();
                shared.note(format!(
                    "{path}: --verify outside compares nothing: it could not be read before the run: {error}"
                ));
            }
        }
        for mut device in verifier.each_device() {
            device.scanned.clear();
            // Sectors that could not be read are not compared.
            device.outside.drop_unread();
        }
    }

    /// Written places, and regions of requests with unknown places.
    fn places_of(&self, device: Foreseen, shared: Shared<'_>) -> (Vec<Sectors>, Vec<Sectors>) {
        let (written, gap) = device.written.finish();
        if gap > 0 {
            shared.note(format!(
                "--verify outside compares nothing in gaps of up to {gap} sectors between written places: there are more than {MOST_RANGES}"
            ));
        }
        (written, device.regions)
    }

    fn remember_target(&self, verifier: &Verifier, target: usize, shared: Shared<'_>) -> std::io::Result<()> {
        let Some(size) = self.sectors_before(target) else { return Ok(()) };
        let mut source = self.source_before(target, &self.targets[target], shared)?;
        let block = self.targets[target].direct_block();
        let (source, progress) = (&mut source, &ScanProgress::default());
        let scan = Scan::new(verifier, target as u16, source, shared.control, progress, size, block);
        scan.remember();
        Ok(())
    }

    /// Reads a target before the run begins, on a separate clock: that of the run has no time yet.
    fn source_before(
        &self,
        target: usize,
        claimed: &Claimed,
        shared: Shared<'_>,
    ) -> std::io::Result<ScanSource> {
        match claimed.file() {
            Some(file) => reader(file.for_look()?, &Clock::from_origin(monotonic_ns()), 0),
            None => self.simulated_for_scan(target as u16, shared),
        }
    }

    /// The first job on a target.
    pub(super) fn fitted_on(&self, target: usize) -> Option<&Fitted> {
        self.jobs().map(|(_, job)| &job.fitted).find(|job| usize::from(job.job.target) == target)
    }

    /// Sectors of a target before the run; `None` where no job here uses it.
    fn sectors_before(&self, target: usize) -> Option<u64> {
        let size = self.fitted_on(target)?.placement.size();
        let of_file = self.targets[target].file().and_then(|file| file.size_of_file());
        Some(of_file.map_or(size, |bytes| bytes.min(size)) / SECTOR)
    }
}

impl Survey<'_> {
    fn all(&mut self) {
        let prepared = self.prepared;
        for (number, (phase, jobs)) in prepared.plan.phases.iter().zip(&prepared.phases).enumerate() {
            let stage = Stage { prepared, jobs, number: number as u16 };
            for part in parts(phase) {
                let fitted = &jobs[part.job].fitted;
                if !fitted.workload.writes() {
                    continue;
                }
                let Err(why) = self.part(stage, phase, part, fitted) else { continue };
                self.add_region(part.target, fitted);
                // Of several loops of a job, the first reports it.
                if part.number == 0 && !matches!(why, Unknown::Stopped) {
                    self.shared.note(told(fitted.path(), &why));
                }
            }
        }
    }

    /// Examines the requests of one issuing loop.
    fn part(&mut self, stage: Stage<'_>, phase: &Phase, part: Part, fitted: &Fitted) -> Result<(), Unknown> {
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

    fn source(&mut self, mut source: Box<dyn Source>, target: u16, fitted: &Fitted) -> Result<(), Unknown> {
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
    fn add_region(&mut self, target: u16, fitted: &Fitted) {
        let Some(generator) = fitted.job.workload.generator() else { return };
        let Some(region) = generator.region.filter(|_| generator.at_end == AtEnd::Wrap) else { return };
        let place = self.verifier.places[usize::from(target)];
        let (start, end) = (generator.offset.0, generator.offset.0 + region.of(fitted.size));
        let sectors = Sectors::between(place.base + start / SECTOR, place.base + end.div_ceil(SECTOR));
        self.devices[place.device].regions.push(sectors);
    }
}

/// Notice that the places of a job are not known, and its consequence.
fn told(path: &str, why: &Unknown) -> String {
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
    fn neighbours_lie_in_the_target() {
        let ranges = [Sectors::new(90, 20), Sectors::new(120, 10), Sectors::new(190, 10)];
        assert_eq!(beside(&ranges, OWN).collect::<Vec<_>>(), [110, 119, 130, 189]);
    }

    #[test]
    fn samples_are_spread_and_each_seed_has_its_own() {
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
