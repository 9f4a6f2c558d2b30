//! The names of faults: the records of the run show which writes a place had.

use super::crash::Durable;
use super::device::MOST_KEPT_BYTES;
use super::missing::missing_writes;
use super::records::{Records, id_of};
use super::verifier::Verifier;
use iosonar_archive::{
    Archive, ArchiveError, ArchiveWriter, Fault, FaultBytes, MOST_DUMPS, Outcome, OutsideFacts, PassTimes,
    Record, RunInfo, ScanFacts, Verified,
};
use iosonar_plan::{Nanos, Op, Plan, SECTOR};
use iosonar_verify::{KnownWrite, Observation, RunOfFaults, Tag, due_bytes, is_mix, join, name};
use std::collections::HashMap;

/// Writes of bad places that are examined, of all places together.
const MOST_WRITES: usize = 1 << 22;

/// Names the faults, keeps them in the archive, and notes the counts. Failures to keep them become notices.
pub(crate) fn name_faults(
    plan: &Plan,
    verifier: &Verifier,
    scan: Option<ScanFacts>,
    archive: &ArchiveWriter,
    info: &mut RunInfo,
) {
    let mut observed = Observed::of(verifier.take_observations());
    let opened = Archive::open(archive.dir());
    let records = opened.as_ref().map(Records::of);
    let writes = records.as_ref().map_err(ToString::to_string).and_then(|records| {
        let known = Known { plan, records, passes: &info.passes, durable: None };
        observed.prove(&known, verifier).map_err(|error| error.to_string())?;
        writes_of(&known, verifier, &observed.faults).map_err(|error| error.to_string())
    });
    let writes = writes.unwrap_or_else(|error| {
        let told = format!("the records could not be read to name faults exactly: {error}");
        info.setup.notices.push(told);
        observed.faults.iter().map(|_| Vec::new()).collect()
    });
    let observations = &observed.faults;
    let faults = named(verifier, observations, &writes);
    if let Err(error) = archive.write_faults(&faults) {
        info.setup.notices.push(format!("the list of faults was not kept: {error}"));
    }
    if plan.verify.dump
        && let Err(error) = archive.write_fault_bytes(&bytes_of(verifier, &faults, observations, &writes))
    {
        info.setup.notices.push(format!("the bytes of faults were not kept: {error}"));
    }
    let named = observed.named(faults);
    let mut verified = named.verified(verifier, scan);
    if let Ok(records) = &records {
        // Without the records each lost write is reported separately.
        verified.missing = missing_writes(verifier, &verified, &named.faults, records).unwrap_or_default();
    }
    info.verified = Some(verified);
}

/// Input of naming beside the observations.
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) records: &'a Records<'a>,
    pub(super) passes: &'a [PassTimes],
    /// Durable writes, after a crash.
    pub(super) durable: Option<&'a Durable<'a>>,
}

/// Result of all observations.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) faults: Vec<Fault>,
    /// Suspect sectors that are no faults.
    pub(super) mixed: u64,
    /// Suspect sectors that are undecided.
    pub(super) unproved: u64,
}

impl Named {
    /// Counts of all devices, with the scan and these faults.
    pub(super) fn verified(&self, verifier: &Verifier, scan: Option<ScanFacts>) -> Verified {
        let outside = verifier.modes.outside.map(|_| OutsideFacts::default());
        let mut all = Verified { modes: verifier.modes.to_string(), scan, outside, ..Verified::default() };
        verifier.each_device().for_each(|device| device.add_to(&mut all));
        (all.mixed, all.unknown) = (self.mixed, all.unknown + self.unproved);
        self.faults.iter().for_each(|fault| all.count(fault));
        all
    }
}

/// Observations, split into faults and suspects.
struct Observed {
    faults: Vec<Observation>,
    suspects: Vec<Observation>,
    mixed: u64,
}

impl Observed {
    fn of(observations: Vec<Observation>) -> Observed {
        let (suspects, faults) = observations.into_iter().partition(|o: &Observation| o.is_suspect);
        Observed { faults, suspects, mixed: 0 }
    }

    /// Finds out which suspect sectors are faults: those that do not consist of parts of the writes that they may hold.
    fn prove(&mut self, known: &Known<'_>, verifier: &Verifier) -> Result<(), ArchiveError> {
        if self.suspects.is_empty() {
            return Ok(());
        }
        let run = run_of(verifier);
        let writes = writes_of(known, verifier, &self.suspects)?;
        for (suspect, writes) in std::mem::take(&mut self.suspects).into_iter().zip(&writes) {
            match is_mix(&suspect, writes, &run) {
                true => self.mixed += 1,
                false => self.faults.push(Observation { is_suspect: false, ..suspect }),
            }
        }
        // In the order of reads, so that neighbours become one fault.
        self.faults.sort_by_key(|o| (o.reader.completed, o.reader.target, o.start));
        Ok(())
    }

    fn named(&self, faults: Vec<Fault>) -> Named {
        Named { faults, mixed: self.mixed, unproved: self.suspects.len() as u64 }
    }
}

/// Names the observations, by the records of the run.
pub(super) fn name_all(
    known: &Known<'_>,
    verifier: &Verifier,
    observations: Vec<Observation>,
) -> Result<Named, ArchiveError> {
    let mut observed = Observed::of(observations);
    observed.prove(known, verifier)?;
    if observed.faults.is_empty() {
        return Ok(observed.named(Vec::new()));
    }
    let writes = writes_of(known, verifier, &observed.faults)?;
    let faults = named(verifier, &observed.faults, &writes);
    Ok(observed.named(faults))
}

fn named(verifier: &Verifier, observations: &[Observation], writes: &[Vec<KnownWrite>]) -> Vec<Fault> {
    let run = run_of(verifier);
    let named = observations.iter().zip(writes);
    let mut faults: Vec<Fault> = named.map(|(observation, writes)| name(observation, writes, &run)).collect();
    join(&mut faults);
    faults
}

fn run_of(verifier: &Verifier) -> RunOfFaults {
    let Verifier { run_id, fill, after_crash, .. } = *verifier;
    RunOfFaults { run_id, fill, is_after_crash: after_crash.is_some() }
}

/// The bytes of the first faults.
fn bytes_of(
    verifier: &Verifier,
    faults: &[Fault],
    observations: &[Observation],
    writes: &[Vec<KnownWrite>],
) -> Vec<FaultBytes> {
    let run = run_of(verifier);
    let of_fault = |(index, fault): (usize, &Fault)| {
        let is_part = |o: &Observation| {
            let is_same_read = o.reader.target == fault.target
                && o.reader.found_by == fault.found_by
                && o.reader.request == fault.request
                && o.reader.completed == fault.completed;
            is_same_read && (fault.offset..fault.offset + fault.length).contains(&(o.start * SECTOR))
        };
        let first = observations.iter().position(is_part)?;
        let mut found = Vec::new();
        for part in observations[first..].iter().filter(|part| is_part(part)) {
            // A part that is not next to the bytes before it would be misplaced.
            let is_next = part.start * SECTOR == fault.offset + found.len() as u64;
            found.extend_from_slice(if is_next { &part.kept } else { &[] });
        }
        found.truncate(MOST_KEPT_BYTES);
        let expected = due_bytes(fault, &observations[first], &writes[first], &run, MOST_KEPT_BYTES);
        Some(FaultBytes { number: index + 1, expected, found })
    };
    faults.iter().take(MOST_DUMPS).enumerate().filter_map(of_fault).collect()
}

/// The writes that cover the first sector of each observation, by submission time; of a suspect one only legal ones.
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
            // A write through another target may begin before this target; then it has no place here.
            let Some(start_here) = first.1.checked_sub(own) else { continue };
            let start = starts.get(&(record.target, record.phase, record.pass)).copied();
            // A killed run has no times of its passes: the first one starts at time zero.
            let start = start.or(Some(Nanos(0)).filter(|_| (record.phase, record.pass) == (0, 0)));
            let has_due_times = has_due_times(known.plan, record);
            let Observation { is_suspect, legal, .. } = &observations[*number];
            // Its bytes must be made again exactly.
            let is_exact = || own == on_device(record.target, 0).1 && (!has_due_times || start.is_some());
            if *is_suspect && !(legal.contains(&Tag::of(id_of(record))) && is_exact()) {
                continue;
            }
            let write = known_write(record, start_here, start.filter(|_| has_due_times));
            let is_demanded = known.durable.map_or(write.is_acknowledged, |durable| durable.holds(record));
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

/// Whether the requests of a record's job have due times.
fn has_due_times(plan: &Plan, record: &Record) -> bool {
    let phase = &plan.phases[usize::from(record.phase)];
    phase.jobs.iter().any(|job| job.target == record.target && job.workload.has_timetable())
}

fn known_write(record: &Record, start: u64, pass_start: Option<Nanos>) -> KnownWrite {
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
