//! Verification of a run's writes, later: from its plan and its records alone, on its targets or on copies of them.

use super::crash::{self, CrashOptions};
use super::error::PostVerifyError;
use super::missing::missing_writes;
use super::names::{Known, name_all};
use super::place::shared_stream;
use super::records::{Records, id_of};
use super::scan::{Scan, open_for_scan, reader};
use super::scan_progress::ScanProgress;
use super::verifier::Verifier;
use crate::control::Control;
use iosonar_archive::{Archive, Fault, Outcome, RECORDING, Record, RunState, ScanFacts, Verified};
use iosonar_evidence::TargetFacts;
use iosonar_host::{Root, identify};
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::{BetweenPasses, ByteSize, Decimal, Nanos, Op, Plan, SECTOR, VerifyModes};
use iosonar_text::shown;
use iosonar_verify::{Ended, Flight, Sectors, Tag};
use std::path::{Path, PathBuf};

/// Pause between the last request of the run and the scan, on the clock of fault times: that of another boot cannot be compared.
const PAUSE: u64 = 1_000_000_000;

/// Options of a later verification.
#[derive(Debug, Clone)]
pub struct PostVerifyOptions {
    /// Present paths of the targets, by their number in the plan; `None`: it is on another machine, and is not read.
    pub targets: Vec<Option<PathBuf>>,
    /// The share of the places that is read, in percent; `None` means all.
    pub sample: Option<Decimal>,
    /// Memory for expected state.
    pub memory: ByteSize,
    /// Facts about the crash that ended the run, if one did.
    pub crash: Option<CrashOptions>,
}

/// Result of a later verification.
#[derive(Debug)]
pub struct PostVerify {
    /// The counters.
    pub verified: Verified,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// Reads the written places of a run and compares them with its records.
///
/// # Errors
/// See [`PostVerifyError`]; faults are not errors.
pub fn post_verify(
    archive: &Archive,
    options: &PostVerifyOptions,
    root: &Root,
    control: &Control,
    progress: &ScanProgress,
) -> Result<PostVerify, PostVerifyError> {
    let plan = archive.plan();
    check(archive, options.crash.is_some())?;
    let mut facts: Vec<Option<TargetFacts>> = Vec::new();
    for path in &options.targets {
        facts.push(path.as_ref().map(|path| identify(path, root)).transpose()?);
    }
    let names: Vec<PathBuf> = options.targets.iter().enumerate().map(name).collect();
    let targets = names.iter().map(PathBuf::as_path).zip(facts.iter().map(Option::as_ref));
    let modes = VerifyModes { final_scan: true, sample: options.sample, ..VerifyModes::default() };
    let mut verifier = Verifier::of(plan, targets, modes, memory_with_absent(options));
    if let Some(target) = shared_stream(plan, &verifier.places, |_| true) {
        let path = shown(&plan.targets[usize::from(target)].path);
        return Err(PostVerifyError::Unsuitable(format!(
            "{}: several jobs used {path}, one of them through a stream of the C library (--engine stdio): when its buffer was \
             written is not known, so nor is what the file should hold",
            shown(&archive.dir())
        )));
    }
    let records = match &options.crash {
        Some(crash) => {
            let of_plan = plan.verify.journal.as_deref().filter(|_| !crash.has_no_journal);
            Records::of_killed(archive, crash.journal.as_deref(), of_plan, root)?
        }
        None => Records::of(archive),
    };
    let (end, durable) = match &options.crash {
        Some(crash) => {
            verifier.after_crash = Some(records.after_crash());
            let (end, durable) = crash::expect(archive, &verifier, &records, &facts, options.memory, crash)?;
            (end, Some(durable))
        }
        None => (repeat(&records, &verifier, |target| facts[usize::from(target)].is_some())?, None),
    };
    let clock = Clock::from_origin(monotonic_ns().saturating_sub(end.0.saturating_add(PAUSE)));
    let mut scan: Option<ScanFacts> = None;
    for (target, (path, facts)) in options.targets.iter().zip(&facts).enumerate() {
        let (Some(path), Some(facts)) = (path, facts) else { continue };
        let own = scan_one(&verifier, target as u16, path, facts, &clock, control, progress);
        let own = own.map_err(|error| PostVerifyError::Open { path: path.clone(), error })?;
        scan = Some(scan.map_or(own, |all| all.with(own)));
    }
    let known = Known { plan, records: &records, passes: &archive.run().passes, durable: durable.as_ref() };
    let named = name_all(&known, &verifier, verifier.take_observations())?;
    check_shared(plan, options, &named.faults)?;
    let crash = durable.map(|_| crash::facts(&verifier, &records));
    let mut verified = Verified { crash, ..named.verified(&verifier, scan) };
    verified.missing = missing_writes(&verifier, &verified, &named.faults, &records)?;
    Ok(PostVerify { verified, faults: named.faults })
}

/// The memory that targets here and elsewhere would share, so that those here have all of it.
fn memory_with_absent(options: &PostVerifyOptions) -> ByteSize {
    let here = options.targets.iter().flatten().count().max(1) as u64;
    ByteSize(options.memory.0.saturating_mul(options.targets.len() as u64) / here)
}

/// Refuses faults that are writes of another machine: both have the same file then, and its other writes are not known to be.
fn check_shared(plan: &Plan, options: &PostVerifyOptions, faults: &[Fault]) -> Result<(), PostVerifyError> {
    let path = |target: u16| plan.targets.get(usize::from(target)).map(|target| &target.path);
    let is_elsewhere = |target: u16| options.targets.get(usize::from(target)).is_some_and(Option::is_none);
    let shared = faults.iter().filter_map(|fault| Some((fault.target, fault.found.as_ref()?.id.target)));
    let found = shared.filter(|(here, by)| is_elsewhere(*by) && path(*here) == path(*by));
    match found.filter_map(|(here, _)| path(here)).next() {
        Some(path) => Err(PostVerifyError::Unsuitable(format!(
            "{}: another host of the run has written to the same file: verify all targets on one of them, with --on HOST",
            shown(path)
        ))),
        None => Ok(()),
    }
}

/// A name that no other target has: one on another machine may have the path of one that is here.
fn name((number, path): (usize, &Option<PathBuf>)) -> PathBuf {
    path.clone().unwrap_or_else(|| format!("target {number} of another machine").into())
}

/// Refuses results whose content on the target is not known.
fn check(archive: &Archive, is_after_crash: bool) -> Result<(), PostVerifyError> {
    let (plan, run) = (archive.plan(), archive.run());
    let unsuitable =
        |why: &str| Err(PostVerifyError::Unsuitable(format!("{}: {why}", shown(&archive.dir()))));
    if run.is_import || run.tool == RECORDING || !plan.engine.is_real() {
        return unsuitable("it is no run on a real target, so nothing on one is known of it");
    }
    if run.state == RunState::Running && !is_after_crash {
        return unsuitable(
            "the run has no end: it still goes on, or was killed; --mode after-crash verifies what a killed run has left",
        );
    }
    if is_after_crash && let Err(why) = crash::check_plan(plan) {
        return unsuitable(&why);
    }
    if plan.jobs().any(|(_, job)| job.options.data.is_some()) {
        return unsuitable(
            "its data has no headers (options.data in its plan): use its own check, --verify contents",
        );
    }
    if plan.targets.iter().any(|target| target.file.between_passes == BetweenPasses::NewFile) {
        return unsuitable("each pass has written a file of its own, and results keep no state for each");
    }
    Ok(())
}

/// A write or an operation that changes a file, from its record.
struct Change {
    target: u16,
    phase: u16,
    sectors: Sectors,
    tag: Tag,
    ended: Ended,
    /// The target's content is not known after it.
    forgets: bool,
}

/// Repeats all writes of the run to targets that are here in the expected state; returns the last time in it.
fn repeat(
    records: &Records<'_>,
    verifier: &Verifier,
    is_here: impl Fn(u16) -> bool,
) -> Result<Nanos, PostVerifyError> {
    let mut changes: Vec<Change> = Vec::new();
    // Begins before ends: of equal times the requests count as concurrent.
    let mut events: Vec<(Nanos, bool, u32)> = Vec::new();
    let mut end = Nanos(0);
    records.for_each(&mut |record| {
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        end = end.max(completed);
        if let Some(change) = change(record, verifier).filter(|change| is_here(change.target)) {
            let number = changes.len() as u32;
            changes.push(change);
            events.extend([(submitted, false, number), (completed, true, number)]);
        }
    })?;
    events.sort_unstable();
    let mut flights: Vec<Option<Flight>> = changes.iter().map(|_| None).collect();
    for (_, is_end, number) in events {
        let change = &changes[number as usize];
        let place = verifier.places[usize::from(change.target)];
        if change.forgets {
            if is_end {
                verifier.forget(change.target);
            }
            continue;
        }
        let mut device = verifier.device(place);
        match (is_end, flights[number as usize].take()) {
            (true, Some(flight)) => device.expected().end_write(flight, change.ended),
            (true, None) => {}
            (false, _) => {
                let unit = verifier.write_unit(change.target, change.phase);
                flights[number as usize] =
                    Some(device.expected().begin_write_by(unit, change.sectors, change.tag));
            }
        }
    }
    Ok(end)
}

fn change(record: &Record, verifier: &Verifier) -> Option<Change> {
    let Record { target, phase, op, executed, .. } = *record;
    let forgets = matches!(op, Op::Delete | Op::Truncate | Op::Allocate);
    if !forgets && (!op.changes_data() || record.is_step()) {
        return None;
    }
    let (sectors, tag) = verifier.change(id_of(record), op, executed);
    let ended = if record.outcome == Outcome::Completed { Ended::Acknowledged } else { Ended::Failed };
    Some(Change { target, phase, sectors, tag, ended, forgets })
}

fn scan_one(
    verifier: &Verifier,
    target: u16,
    path: &Path,
    facts: &TargetFacts,
    clock: &Clock,
    control: &Control,
    progress: &ScanProgress,
) -> std::io::Result<ScanFacts> {
    let mut source = reader(open_for_scan(path)?, clock, 0)?;
    let (size, block) = (facts.size / SECTOR, facts.logical_block_size.bytes / SECTOR);
    Ok(Scan::new(verifier, target, &mut source, control, progress, size, block).run())
}
