//! Fitting a job's workload to its target.

use super::inputs::{is_stdin, name};
use super::look::Inspected;
use crate::error::PrepareError;
use iosonar_load::{Facts, Generated, Known, PatternError, Setting};
use iosonar_os::BufferPool;
use iosonar_plan::{
    AtEnd, BetweenPasses, FileStep, Generator, Job, Nanos, Op, Order, OverlapPolicy, Phase, Placement, Plan,
    SECTOR, Space, Strong, Workload,
};
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest request that memory is made for where lengths are unknown before the start.
const UNKNOWN_LENGTH: u64 = 1 << 20;
/// Bytes beyond any file.
const FAR: u64 = 1 << 62;

/// A job whose target is suitable.
pub(crate) struct FittedJob {
    pub(crate) job: Job,
    /// Path of the target, as typed.
    path: String,
    /// Size of the target in bytes when its phase starts; 0 of a file that the run makes, [`FAR`] where unknown yet.
    pub(crate) size: u64,
    /// Placement of its requests.
    pub(crate) placement: Placement,
    pub(crate) workload: Known,
    /// The target is a file that grows by writes beyond its end.
    pub(crate) grows: bool,
}

impl FittedJob {
    /// Bytes of its target that hold its requests in `passes` passes, as far as that is known before the start.
    pub(crate) fn range(&self, passes: u32) -> Range<u64> {
        let size = self.placement.size();
        match &self.workload {
            Known::Trace(_, facts) => 0..facts.as_ref().map_or(size, |facts| facts.max_end.min(size)),
            Known::Generated { generator, list: None } if generator.pass_offset.0 == 0 => {
                let start = generator.offset.0.min(size);
                let region = start + generator.region_on(size);
                // Others jump to any place of the region.
                let in_order =
                    matches!(generator.order, Order::Sequential | Order::Interleaved { .. } | Order::Fixed);
                let end = if in_order { self.workload.end(passes) } else { None };
                start..end.map_or(region, |end| end.min(region)).max(start)
            }
            Known::Generated { .. } => 0..size,
        }
    }
}

/// Fits a job to a target that has `size` bytes when its phase starts.
fn fit(
    plan: &Plan,
    phase: &Phase,
    job: &Job,
    workload: Known,
    looked: &Inspected,
    size: u64,
) -> Result<FittedJob, PrepareError> {
    let steps = &job.options;
    let size = if looked.is_file() { size_after(&steps.before, size) } else { size };
    let is_buffered = job.access(plan.access).buffered;
    let block = if is_buffered { SECTOR } else { looked.direct_block() };
    // Buffered, any size goes; headers then stand at every 512 bytes of a request, not of the target.
    let block = if is_buffered && !workload.is_aligned(SECTOR) { 1 } else { block };
    check_workload(plan, phase, job, &workload, looked, block)?;
    let extended = job.workload.generator().filter(|generator| generator.at_end == AtEnd::Extend);
    let has_requests = workload.requests(size) != Some(0);
    let grows = extended.is_some() && looked.is_file() && workload.writes() && has_requests;
    let reach = match extended {
        Some(generator) => {
            reach(phase, generator, &workload, if grows { None } else { Some(size) }, size, block)
        }
        None => size,
    };
    let placement = Placement::new(reach, block)
        .map_err(|error| PrepareError::Placement { path: looked.path(), error })?;
    let size = if extended.is_some() { size } else { placement.size() };
    let fitted = FittedJob { job: job.clone(), path: looked.path(), size, placement, workload, grows };
    fitted.check_fits()?;
    if extended.is_some() && fitted.workload.writes() && !looked.is_file() && placement.size() > size {
        return Err(PrepareError::Series { path: looked.path(), end: placement.size(), size });
    }
    Ok(fitted)
}

/// Fits the jobs of a phase. `target_of` returns an inspected target, and its bytes.
pub(super) fn fit_phase<'a>(
    plan: &Plan,
    phase: &Phase,
    known: Vec<Known>,
    target_of: &dyn Fn(usize) -> (&'a Inspected, u64),
) -> Result<Vec<FittedJob>, PrepareError> {
    let fit_one = |(job, known): (&Job, Known)| {
        let (looked, size) = target_of(job.target.into());
        fit(plan, phase, job, known, looked, size)
    };
    phase.jobs.iter().zip(known).map(fit_one).collect()
}

/// Length of a file after file operations.
fn size_after(steps: &[FileStep], size: u64) -> u64 {
    steps.iter().fold(size, |size, step| step.size_after(size))
}

/// Checks whether a workload suits a target at all.
fn check_workload(
    plan: &Plan,
    phase: &Phase,
    job: &Job,
    workload: &Known,
    looked: &Inspected,
    block: u64,
) -> Result<(), PrepareError> {
    if looked.target.file.between_passes.makes_files() {
        // New files have other names: the file under the target's name shows whether a file is meant.
        let is_other = looked.target.path.metadata().is_ok_and(|m| !m.is_file());
        if !looked.is_file() || is_other {
            return Err(PrepareError::NoFile(looked.path()));
        }
        let is_repeated = phase.passes > 1 || phase.coordination.runtime.is_some();
        if !workload.writes() && is_repeated && !makes_files_before(plan, phase, job) {
            return Err(PrepareError::NothingToMake(looked.path(), phase.passes));
        }
    }
    if job.options.changes_file() && !looked.is_file() {
        return Err(PrepareError::NoFileToChange(looked.path()));
    }
    if let (Some(why), Some(Order::List { file })) =
        (workload.unasked(), job.workload.generator().map(|g| &g.order))
    {
        return Err(PrepareError::SeekList { path: name(file), why: why.into() });
    }
    if !workload.is_aligned(block) {
        return Err(PrepareError::Unaligned { path: looked.path(), block });
    }
    match dataless_obstacle(plan, job, workload, looked) {
        Some(why) => Err(PrepareError::NoDiscard { path: looked.path(), why: why.into() }),
        None => Ok(()),
    }
}

/// Why ranges cannot be discarded or zeroed.
fn dataless_obstacle(plan: &Plan, job: &Job, workload: &Known, looked: &Inspected) -> Option<&'static str> {
    if !workload.has_discards_or_zeroes() {
        return None;
    }
    let engine = job.engine(plan.engine);
    let cases = [
        (!engine.can_discard(), {
            "its workload discards or zeroes ranges, and asynchronous requests have no such call: use --engine uring or threads, or drop \
             them (--discard drop of a replay)"
        }),
        (engine.is_polled(), {
            "its workload discards or zeroes ranges, and their completion cannot be polled for: remove --hipri, or drop them \
             (--discard drop of a replay)"
        }),
        (job.options.verify.is_some(), {
            "its workload discards or zeroes ranges, and what is read there later would look bad: remove --verify, or drop \
             them (--discard drop of a replay)"
        }),
        (plan.engine.is_real() && workload.discards() && looked.cannot_discard(), {
            "its workload discards ranges, and the device cannot (queue/discard_max_bytes is 0): use another device, or drop \
             them (--discard drop of a replay)"
        }),
    ];
    cases.into_iter().find_map(|(holds, why)| holds.then_some(why))
}

/// Whether a phase before this one has made a file for each of its passes.
fn makes_files_before(plan: &Plan, phase: &Phase, job: &Job) -> bool {
    let target = &plan.targets[usize::from(job.target)];
    let makes = |other: &&Phase| {
        let writes = |other: &Job| {
            other.target == job.target && other.workload.generator().is_some_and(Generator::writes)
        };
        other.passes >= phase.passes && other.jobs.iter().any(writes)
    };
    let before = plan.phases.iter().take_while(|other| other.name != phase.name);
    target.file.between_passes == BetweenPasses::NewFile
        && phase.coordination.runtime.is_none()
        && before.filter(makes).count() > 0
}

/// End of requests whose addresses do not depend on the target. `room`: its end, if it does not grow.
fn reach(
    phase: &Phase,
    generator: &Generator,
    workload: &Known,
    room: Option<u64>,
    size: u64,
    block: u64,
) -> u64 {
    // Where passes are added, the limit of their offsets is unknown.
    let is_open = phase.coordination.runtime.is_some() && generator.pass_offset.0 > 0;
    let end = workload.end(phase.passes).filter(|_| !is_open);
    let end = end.or(room).unwrap_or(FAR).min(FAR);
    // No wraparound at the end of a device: the kernel refuses requests beyond it.
    size.max(end).next_multiple_of(block.max(1))
}

/// A written target must be no load, and no other target: neither would know of the other's requests. Compares device and inode,
/// because one file may have many names.
pub(super) fn check_apart(
    plan: &Plan,
    looked: &[Inspected],
    phases: &[Vec<FittedJob>],
) -> Result<(), PrepareError> {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let read = |kind: &str, file: &Path| (identity(file), format!("{kind} {}", name(file)));
    let loads = |job: &FittedJob| match &job.job.workload {
        Workload::Trace(load) => {
            let file = Some(load.file.as_path()).filter(|file| !is_stdin(file));
            file.into_iter()
                .chain(load.filter.files().map(Path::new))
                .map(|file| read("load", file))
                .collect()
        }
        Workload::Generated(Generator { order: Order::List { file }, .. }) => vec![read("seek list", file)],
        Workload::Generated(Generator { order: Order::Telemetry { file }, .. }) => {
            vec![read("telemetry file", file)]
        }
        Workload::Generated(_) => Vec::new(),
    };
    let loads: Vec<_> = phases.iter().flatten().flat_map(loads).collect();
    let loads: HashMap<_, _> = loads.iter().rev().filter_map(|(own, name)| Some(((*own)?, name))).collect();
    let jobs = JobsByTarget::of(phases, looked.len());
    // Another process judges its own targets; on another machine the name means another file.
    let here = plan.jobs_by_target().into_iter().map(|jobs| !jobs.is_empty());
    let known: Vec<_> = looked.iter().map(|t| identity(&t.target.path)).collect();
    let mut by_identity: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (index, (own, _)) in known.iter().zip(here).enumerate().filter(|(_, (_, is_here))| *is_here) {
        own.iter().for_each(|own| by_identity.entry(*own).or_default().push(index));
    }
    for index in (0..looked.len()).filter(|index| jobs.write(*index)) {
        let Some(own) = known[index] else { continue };
        let share = |other: usize| may_share(plan, jobs.on(index)) && may_share(plan, jobs.on(other));
        let others = by_identity.get(&own).into_iter().flatten();
        let other = others.copied().find(|other| *other != index && !share(*other));
        let other = other.map(|other| format!("target {}", looked[other].path()));
        if let Some(other) = other.or_else(|| loads.get(&own).map(ToString::to_string)) {
            return Err(PrepareError::Same { path: looked[index].path(), other });
        }
    }
    Ok(())
}

/// The jobs on each target, of all phases: looked up once, because plans have thousands of targets.
pub(super) struct JobsByTarget<'a>(Vec<Vec<&'a FittedJob>>);

impl<'a> JobsByTarget<'a> {
    /// Groups the jobs of `phases` by target.
    pub(super) fn of(phases: &'a [Vec<FittedJob>], targets: usize) -> JobsByTarget<'a> {
        let mut all = vec![Vec::new(); targets];
        for fitted in phases.iter().flatten() {
            all[usize::from(fitted.job.target)].push(fitted);
        }
        JobsByTarget(all)
    }

    /// The jobs on a target.
    pub(super) fn on(&self, target: usize) -> &[&'a FittedJob] {
        &self.0[target]
    }

    /// Whether any job writes to a target.
    pub(super) fn write(&self, target: usize) -> bool {
        self.on(target).iter().any(|fitted| fitted.workload.writes() || fitted.job.options.changes_file())
    }
}

/// Whether other targets of the plan may be the same file or device as that of these jobs: overlaps were requested then.
pub(super) fn may_share(plan: &Plan, jobs: &[&FittedJob]) -> bool {
    let is_generated = |fitted: &&FittedJob| fitted.job.workload.generator().is_some();
    plan.overlap.policy == OverlapPolicy::Allow && jobs.iter().all(is_generated)
}

impl FittedJob {
    /// Checks that the requests fit into the target.
    fn check_fits(&self) -> Result<(), PrepareError> {
        if self.size >= FAR {
            return Ok(());
        }
        let (path, size) = (|| self.path.clone(), self.placement.size());
        let too_small = |length| {
            Err(PrepareError::TooSmall { path: path(), size, source_name: self.workload.name(), length })
        };
        let generator = match &self.workload {
            Known::Trace(_, Some(facts)) if facts.max_length > size => return too_small(facts.max_length),
            Known::Trace(..) => return Ok(()),
            Known::Generated { generator, .. } => generator,
        };
        if generator.at_end == AtEnd::Wrap {
            let length = match generator.region {
                Some(Space::Bytes(bytes)) => bytes.0,
                Some(Space::Percent(_)) | None => generator.longest(),
            };
            let end = generator.offset.0.saturating_add(length);
            if end > size {
                return Err(PrepareError::Region { path: path(), end, size });
            }
        }
        match Generated::new(generator, &Setting::alone(size, 0), None) {
            Ok(_) => Ok(()),
            Err(PatternError::Region { .. }) => too_small(generator.longest()),
            Err(why) => Err(PrepareError::Pattern { path: path(), why }),
        }
    }

    /// Path of its target, as typed.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Maximum bytes of the target when its phase has ended; `None` of a target whose length does not change.
    pub(super) fn size_after(&self) -> Option<u64> {
        let size = if self.grows { self.placement.size() } else { self.size };
        let changes = self.grows || self.job.options.changes_file();
        changes.then(|| size_after(&self.job.options.after, size))
    }

    /// Whether its addresses do not depend on the target's size.
    pub(crate) fn extends(&self) -> bool {
        self.job.workload.generator().is_some_and(|generator| generator.at_end == AtEnd::Extend)
    }

    /// Its requests in `passes` passes, where that is known before the start.
    pub(crate) fn expected_requests(&self, passes: u32) -> Option<u64> {
        let requests = self.workload.requests(self.size);
        let is_certain = |n: &u64| self.size < FAR || self.workload.requests(0) == Some(*n);
        requests.filter(is_certain).map(|n| n.saturating_mul(passes.into()))
    }

    /// Expected duration of a pass, where the plan determines it.
    pub(crate) fn span(&self) -> Option<Nanos> {
        self.workload.span(Some(self.size).filter(|size| *size < FAR))
    }

    /// Requests of its recorded load in `passes` passes that are no whole logical blocks; 0 of others.
    pub(crate) fn rounded_requests(&self, passes: u32) -> u64 {
        let in_a_pass = |facts: &Facts| facts.alignments.misaligned(self.placement.block());
        self.workload.facts().map_or(0, in_a_pass).saturating_mul(passes.into())
    }

    /// The usual length of a request in bytes: of a recorded load the mean; `None` where unknown.
    pub(crate) fn usual_bytes(&self) -> Option<u64> {
        let mean = |facts: &Facts| facts.transfer_bytes.checked_div(facts.reads + facts.writes);
        self.workload.facts().map_or_else(|| self.workload.longest(), mean).filter(|bytes| *bytes > 0)
    }

    /// The longest request in bytes, where it is known.
    pub(crate) fn max_length(&self) -> usize {
        // A load's request that is not aligned reaches into one more block at each end.
        let is_aligned = self.workload.facts().is_none() || self.placement.block() <= SECTOR;
        let ends = if is_aligned { 0 } else { 2 * self.placement.block() };
        let length = self.workload.longest().unwrap_or(0);
        usize::try_from(length.saturating_add(ends)).unwrap_or(usize::MAX)
    }

    /// Bytes of the longest request that memory is made for.
    pub(crate) fn longest_or_most(&self) -> u64 {
        match self.workload.longest() {
            Some(_) => self.max_length() as u64,
            None => UNKNOWN_LENGTH,
        }
    }

    /// Bytes of memory for the data of each of its issuing loops, where the phase has `workers` loops.
    pub(crate) fn buffer_bytes(&self, plan: &Plan, workers: usize) -> u64 {
        let (longest, options) = (self.longest_or_most(), &self.job.options);
        let share = plan.memory.buffers.0 / workers as u64;
        // A buffer that starts after a page reaches into one more.
        let is_shifted = options.align.0 > 0;
        let longest = if is_shifted { longest.saturating_add(4096) } else { longest };
        // Read data stays in memory until it is checked.
        let depth = if plan.verify.modes.read { self.job.depth.saturating_mul(2) } else { self.job.depth };
        BufferPool::needed(depth, longest).max(options.buffer_set.0).min(share).max(4096)
    }

    /// Whether any two of its requests can conflict: nothing that is only read conflicts, but under the strongest table.
    pub(crate) fn can_conflict(&self, strong: Strong) -> bool {
        self.workload.writes() || strong.conflict(Op::Read, Op::Read)
    }

    /// Describes a mismatch that does not prevent the run.
    pub(crate) fn notice(&self) -> Option<String> {
        let Known::Generated { generator, list } = &self.workload else { return None };
        let path = &self.path;
        if let (Some(list), Some(count)) = (list, generator.count())
            && (list.len() as u64) < count
        {
            return Some(format!(
                "target {path} is to get {count} requests, and its seek list holds {}: each pass ends with the list",
                list.len()
            ));
        }
        let size = Some(self.size).filter(|_| self.extends() && !self.workload.writes())?;
        let end = generator.end(1).filter(|end| *end > size)?;
        Some(format!(
            "target {path} holds {size} bytes, and its workload reads up to byte {end}: what lies after its end stays short, \
             and the pass ends there"
        ))
    }
}
