//! The names of what was found: the records of the run tell which writes a place had.

use super::Verifier;
use super::crash::Durable;
use super::records::{Records, id_of};
use crate::prepare::Prepared;
use iosonar_archive::{
    Archive, ArchiveError, ArchiveWriter, Fault, Outcome, PassTimes, Record, RunInfo, ScanFacts,
};
use iosonar_plan::{Nanos, Op, Plan, SECTOR};
use iosonar_verify::{KnownWrite, Observation, RunOfFaults, join, name};
use std::collections::HashMap;
use std::sync::PoisonError;

/// Writes of bad places that are looked at, of all places together.
const MOST_WRITES: usize = 1 << 22;

impl Prepared {
    /// Names the faults, keeps them in the archive, and notes what was counted. What cannot be kept is told.
    pub(crate) fn name_faults(
        &self,
        verifier: &Verifier,
        scan: Option<ScanFacts>,
        archive: &ArchiveWriter,
        info: &mut RunInfo,
    ) {
        let observations = verifier.take_observations();
        let faults = Archive::open(archive.dir())
            .and_then(|archive| {
                let known = Known {
                    plan: &self.plan,
                    records: &Records::of(&archive),
                    passes: &info.passes,
                    durable: None,
                };
                name_all(&known, verifier, &observations)
            })
            .unwrap_or_else(|error| {
                let told = format!("the records could not be read to name faults exactly: {error}");
                info.means.notices.push(told);
                let nothing: Vec<_> = observations.iter().map(|_| Vec::new()).collect();
                named(verifier, &observations, &nothing)
            });
        if let Err(error) = archive.write_faults(&faults) {
            info.means.notices.push(format!("the list of faults was not kept: {error}"));
        }
        info.verified = Some(verifier.verified(scan, &faults));
    }
}

/// What names are made of beside what was observed.
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) records: &'a Records<'a>,
    pub(super) passes: &'a [PassTimes],
    /// After a crash.
    pub(super) durable: Option<&'a Durable<'a>>,
}

/// Names what was observed, by the records of the run.
pub(super) fn name_all(
    known: &Known<'_>,
    verifier: &Verifier,
    observations: &[Observation],
) -> Result<Vec<Fault>, ArchiveError> {
    if observations.is_empty() {
        return Ok(Vec::new());
    }
    let writes = writes_of(known, verifier, observations)?;
    Ok(named(verifier, observations, &writes))
}

fn named(verifier: &Verifier, observations: &[Observation], writes: &[Vec<KnownWrite>]) -> Vec<Fault> {
    let Verifier { run_id, fill, is_after_crash, .. } = *verifier;
    let run = RunOfFaults { run_id, fill, is_after_crash };
    let named = observations.iter().zip(writes);
    let mut faults: Vec<Fault> = named.map(|(observation, writes)| name(observation, writes, &run)).collect();
    join(&mut faults);
    faults
}

/// The writes that cover the first sector of each observation, by the time of their submission.
fn writes_of(
    known: &Known<'_>,
    verifier: &Verifier,
    observations: &[Observation],
) -> Result<Vec<Vec<KnownWrite>>, ArchiveError> {
    let on_device = |target: u16, sector: u64| {
        let place = verifier.places[usize::from(target)];
        (place.device, place.base + sector)
    };
    let mut wanted: Vec<((usize, u64), usize)> = observations
        .iter()
        .enumerate()
        .map(|(number, o)| (on_device(o.reader.target, o.start), number))
        .collect();
    wanted.sort_unstable();
    let starts: HashMap<(u16, u16, u32), Nanos> =
        known.passes.iter().map(|pass| ((pass.target, pass.phase, pass.pass), pass.start)).collect();
    let mut found: Vec<Vec<KnownWrite>> = observations.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    let mut see = |record: &Record| {
        if record.op != Op::Write || record.is_step() || record.submitted.is_none() || count >= MOST_WRITES {
            return;
        }
        let first = on_device(record.target, record.executed.offset / SECTOR);
        let behind = (first.0, first.1 + record.executed.length / SECTOR);
        let from = wanted.partition_point(|(place, _)| *place < first);
        for (_, number) in wanted[from..].iter().take_while(|(place, _)| *place < behind) {
            let own = on_device(observations[*number].reader.target, 0).1;
            let start = starts.get(&(record.target, record.phase, record.pass)).copied();
            // A killed run has no times of its passes: the first one starts at time zero.
            let start = start.or(Some(Nanos(0)).filter(|_| (record.phase, record.pass) == (0, 0)));
            let has_due_times = has_due_times(known.plan, record);
            let write = write_of(record, first.1 - own, start.filter(|_| has_due_times));
            let is_demanded =
                known.durable.map_or(write.is_acknowledged, |durable| durable.holds(record, first.0));
            found[*number].push(KnownWrite { is_demanded, ..write });
            count += 1;
        }
    };
    known.records.for_each(&mut see)?;
    for writes in &mut found {
        writes.sort_by_key(|write| write.submitted);
    }
    Ok(found)
}

/// Whether the requests of a record's job have times of their own.
fn has_due_times(plan: &Plan, record: &Record) -> bool {
    let phase = &plan.phases[usize::from(record.phase)];
    phase.jobs.iter().any(|job| job.target == record.target && job.workload.has_timetable())
}

fn write_of(record: &Record, start: u64, pass_start: Option<Nanos>) -> KnownWrite {
    let Record { executed, due, submitted, completed, outcome, .. } = *record;
    let is_acknowledged = outcome == Outcome::Completed;
    KnownWrite {
        id: id_of(record),
        start,
        count: executed.length / SECTOR,
        due_ns: pass_start.map_or(0, |start| due.saturating_sub(start).0),
        submitted: submitted.unwrap_or_default(),
        completed: completed.unwrap_or(Nanos(u64::MAX)),
        is_acknowledged,
        is_demanded: is_acknowledged,
    }
}

impl Verifier {
    pub(super) fn take_observations(&self) -> Vec<Observation> {
        let take = |device: &std::sync::Mutex<super::Device>| {
            std::mem::take(&mut device.lock().unwrap_or_else(PoisonError::into_inner).observations)
        };
        self.devices.iter().flat_map(take).collect()
    }
}
