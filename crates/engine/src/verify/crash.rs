//! State after a crash: which writes have to be there, which may, and which contents devices may have. The rule is in
//! [`iosonar_verify::Crashed`].

use super::device::Device;
use super::error::PostVerifyError;
use super::place::TargetPlace;
use super::records::{Records, id_of};
use super::verifier::Verifier;
use iosonar_archive::{Archive, CrashFacts, Marks, Outcome, Record};
use iosonar_evidence::TargetFacts;
use iosonar_plan::{BetweenPasses, ByteSize, Engine, FileStep, Job, Nanos, Op, Plan, SECTOR};
use iosonar_verify::{CrashWrite, Crashed, MOST_UNIT, bytes_of_crash_write};
use std::path::PathBuf;

/// Facts about a crash beside the records.
#[derive(Debug, Clone, Default)]
pub struct CrashOptions {
    /// The journal of the run, as named by the user. It must be one of this run, even if the records need no journal.
    pub journal: Option<PathBuf>,
    /// There is no journal any more: the records have to suffice.
    pub has_no_journal: bool,
    /// Every acknowledged write has to be there: the device has no volatile cache, or only the process has ended.
    pub is_write_through: bool,
    /// Bytes that the device writes wholly or not at all, where that is more than a logical block.
    pub atomic: Option<ByteSize>,
}

/// Decides which writes had to be on stable storage.
pub(crate) struct Durable<'a> {
    plan: &'a Plan,
    is_write_through: bool,
    /// Submission time of the last acknowledged flush, by target.
    last_flush: Vec<Option<Nanos>>,
    places: &'a [TargetPlace],
}

impl<'a> Durable<'a> {
    fn of(
        plan: &'a Plan,
        verifier: &'a Verifier,
        records: &Records<'_>,
        is_write_through: bool,
    ) -> Result<Durable<'a>, PostVerifyError> {
        let mut last_flush: Vec<Option<Nanos>> = vec![None; verifier.places.len()];
        records.for_each(&mut |record| {
            let is_flush = record.op.is_flush() || record.marks.has(Marks::PREFLUSH);
            if is_flush && record.outcome == Outcome::Completed {
                let last = &mut last_flush[usize::from(record.target)];
                *last = (*last).max(record.submitted);
            }
        })?;
        Ok(Durable { plan, is_write_through, last_flush, places: &verifier.places })
    }

    /// Whether a write, or a later one over it, has to be there.
    pub(crate) fn holds(&self, record: &Record) -> bool {
        let Some(completed) = record.completed.filter(|_| record.outcome == Outcome::Completed) else {
            return false;
        };
        // Data still buffered in a stream is lost with its process.
        self.is_write_through && !self.is_streamed(record)
            || record.marks.has(Marks::FUA)
            || self.last_flush_for(record).is_some_and(|flush| completed < flush)
            || self.is_synchronous(record)
    }

    /// Submission time of the last flush that covers a write. Through the page cache that is one of the same target: those of
    /// another partition do not write this one's pages.
    fn last_flush_for(&self, record: &Record) -> Option<Nanos> {
        let own = usize::from(record.target);
        let is_buffered = self.jobs_of(record).any(|job| job.access(self.plan.access).buffered);
        let device = |target: usize| self.places[target].device;
        let reaches = |target: &usize| *target == own || !is_buffered && device(*target) == device(own);
        (0..self.places.len()).filter(reaches).filter_map(|target| self.last_flush[target]).max()
    }

    /// Whether a buffer of the program may have held the write.
    fn is_streamed(&self, record: &Record) -> bool {
        self.jobs_of(record).any(|job| matches!(job.engine(self.plan.engine), Engine::Stdio(_)))
    }

    /// Whether a buffer of the program may have held it, with an end inside a sector.
    fn may_be_cut(&self, record: &Record) -> bool {
        let cuts = |job: &Job| match job.engine(self.plan.engine) {
            Engine::Stdio(options) => !options.buffer.0.is_multiple_of(SECTOR),
            _ => false,
        };
        self.jobs_of(record).any(cuts)
    }

    fn jobs_of(&self, record: &Record) -> impl Iterator<Item = &Job> {
        let jobs = &self.plan.phases[usize::from(record.phase)].jobs;
        let target = record.target;
        jobs.iter().filter(move |job| job.target == target)
    }

    /// Whether its target was opened so that each write waits for stable storage, by each job that may have written it.
    fn is_synchronous(&self, record: &Record) -> bool {
        let waits = |job: &Job| {
            let is_set = job.access(self.plan.access).sync.is_set();
            // The flag applies to write(2), neither to stores into a mapping nor to buffered data of a stream.
            is_set && !matches!(job.engine(self.plan.engine), Engine::Mmap(_) | Engine::Stdio(_))
        };
        record.op == Op::Write && self.jobs_of(record).all(waits)
    }
}

/// Refuses plans whose files are made or truncated during the run: their state after a crash is undefined.
pub(super) fn check_plan(plan: &Plan) -> Result<(), String> {
    let makes_files = plan.targets.iter().any(|target| target.file.between_passes == BetweenPasses::NewFile);
    let mut steps = plan.jobs().flat_map(|(_, job)| job.options.before.iter().chain(&job.options.after));
    if makes_files || steps.any(|step: &FileStep| step.changes_file()) {
        return Err("its plan makes files or changes their length, and what a crash leaves of such a file is not known".into());
    }
    Ok(())
}

/// Sets up the possible contents of each device in `memory`; returns the last time in the records, and which writes are durable.
pub(super) fn expect<'a>(
    archive: &'a Archive,
    verifier: &'a Verifier,
    records: &Records<'_>,
    facts: &[Option<TargetFacts>],
    memory: ByteSize,
    crash: &CrashOptions,
) -> Result<(Nanos, Durable<'a>), PostVerifyError> {
    let durable = Durable::of(archive.plan(), verifier, records, crash.is_write_through)?;
    let mut writes: Vec<Vec<CrashWrite>> = verifier.devices.iter().map(|_| Vec::new()).collect();
    let (mut end, mut bytes) = (Nanos(0), 0u64);
    records.for_each(&mut |record| {
        end = end.max(record.completed.or(record.submitted).unwrap_or_default());
        let Some(submitted) = record.submitted else { return };
        if !record.op.changes_data() || record.is_step() {
            return;
        }
        let (range, tag) = verifier.change(id_of(record), record.op, record.executed);
        bytes = bytes.saturating_add(bytes_of_crash_write(range));
        // Beyond the limit only the sum is wanted.
        if bytes > memory.0 {
            return;
        }
        let device = verifier.places[usize::from(record.target)].device;
        writes[device].push(CrashWrite {
            range,
            tag,
            submitted,
            ended: record.completed,
            is_acknowledged: record.outcome == Outcome::Completed,
            is_durable: durable.holds(record),
            atomic: verifier.write_unit(record.target, record.phase),
            may_be_cut: durable.may_be_cut(record),
        });
    })?;
    if bytes > memory.0 {
        return Err(PostVerifyError::Unsuitable(format!(
            "what may be there after a crash needs {} MiB of memory for the writes of this run: raise --verify-memory",
            bytes.div_ceil(1 << 20)
        )));
    }
    for (number, (mut device, writes)) in verifier.each_device().zip(writes).enumerate() {
        let block = block_of(archive, verifier, facts, number);
        let unit = crash.atomic.map_or(block, |atomic| atomic.0) / SECTOR;
        let crashed = Crashed::new(writes, unit.clamp(1, MOST_UNIT));
        *device = Device::after_crash(crashed);
    }
    Ok((end, durable))
}

/// Bytes that a device has written wholly or not at all: the smallest logical block seen there by the run or by this check. At most
/// a sector where blocks do not begin at multiples of their size.
fn block_of(archive: &Archive, verifier: &Verifier, facts: &[Option<TargetFacts>], device: usize) -> u64 {
    let of_target = |target: usize| {
        let seen = archive.run().targets.get(target).map(|info| info.block).filter(|block| *block > 0);
        let here = facts[target].as_ref().map_or(SECTOR, |facts| facts.logical_block_size.bytes);
        let block = here.min(seen.unwrap_or(u64::MAX));
        let is_aligned = (verifier.places[target].base * SECTOR).is_multiple_of(block.max(1));
        if is_aligned { block } else { SECTOR }
    };
    let own = (0..verifier.places.len()).filter(|target| verifier.places[*target].device == device);
    own.map(of_target).min().unwrap_or(SECTOR)
}

/// Outcome of the writes.
pub(super) fn facts(verifier: &Verifier, records: &Records<'_>) -> CrashFacts {
    let facts = verifier.each_device().filter_map(|device| device.crash_facts());
    facts.fold(CrashFacts { known_by: records.known_by, ..CrashFacts::default() }, CrashFacts::with)
}
