//! Facts about the requests of a run: the records of its result, and those that only a journal has.

use super::error::PostVerifyError;
use iosonar_archive::{Archive, ArchiveError, KnownBy, Outcome, Record, RunState, WriteId, read_journal};
use iosonar_host::Root;
use iosonar_plan::{Nanos, Op};
use iosonar_text::shown;
use std::collections::HashSet;
use std::path::Path;

/// Of a run that was killed without a journal, requests submitted within this time before the last record count as in flight.
const LAST: Nanos = Nanos(500_000_000);

/// All known requests of a run.
pub(crate) struct Records<'a> {
    archive: &'a Archive,
    /// Records of the journal that the log lacks.
    rest: Vec<Record>,
    pub(crate) known_by: KnownBy,
    /// Requests submitted from here on count as in flight.
    open_from: Option<Nanos>,
    /// It has discards or writes of zeros, which leave no data of the run.
    has_dataless: bool,
}

/// Gaps in the records of a run that a crash has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AfterCrash {
    /// It may have written more than its records say.
    pub(crate) lacks_writes: bool,
    /// It may have made changes without a trace of the writer.
    pub(crate) lacks_changes: bool,
}

impl<'a> Records<'a> {
    /// Records of a finished run.
    pub(crate) fn of(archive: &'a Archive) -> Records<'a> {
        Records {
            archive,
            rest: Vec::new(),
            known_by: KnownBy::Records,
            open_from: None,
            has_dataless: false,
        }
    }

    /// Records of a run that may have been killed; a journal completes them, unless the machine was rebooted since: it was in
    /// memory. A `named` journal has to exist; the plan's only where it is needed.
    pub(crate) fn of_killed(
        archive: &'a Archive,
        named: Option<&Path>,
        of_plan: Option<&Path>,
        root: &Root,
    ) -> Result<Records<'a>, PostVerifyError> {
        let all = Records::of(archive);
        let named = named.map(|path| journal_of(archive, path)).transpose()?;
        let is_whole = match &archive.run().state {
            RunState::Running => false,
            // The disk of the result was full.
            RunState::Broken(why) => !why.lacks_records(),
            _ => true,
        };
        if is_whole {
            return Ok(all);
        }
        let is_of_this_boot = is_of_this_boot(archive, root);
        let journal = match (named, of_plan) {
            (Some(journal), _) => Some(journal).filter(|_| is_of_this_boot),
            (None, Some(path)) if is_of_this_boot => {
                let located = archive.locate(path).map_err(PostVerifyError::NoJournal)?;
                Some(journal_of(archive, &located.path)?)
            }
            _ => None,
        };
        let Some(journal) = journal else {
            let (mut last, mut has_dataless) = (Nanos(0), false);
            archive.for_each_record(&mut |record| {
                last = last.max(record.completed.unwrap_or_default());
                has_dataless |= record.op.changes_data() && !record.op.is_write();
            })?;
            let open_from = Some(last.saturating_sub(LAST));
            return Ok(Records { known_by: KnownBy::LastRecord, open_from, has_dataless, ..all });
        };
        let mut open: HashSet<WriteId> = journal.iter().map(id_of).collect();
        archive.for_each_record(&mut |record| {
            open.remove(&id_of(record));
        })?;
        let rest = journal.into_iter().filter(|record| open.contains(&id_of(record))).collect();
        Ok(Records { rest, known_by: KnownBy::Journal, ..all })
    }

    /// Passes each record to `f`: those of the result first. One that was in flight has no `completed`.
    ///
    /// # Errors
    /// Unreadable records, or records of a job that the plan lacks.
    pub(crate) fn for_each(&self, f: &mut dyn FnMut(&Record)) -> Result<(), ArchiveError> {
        let mut strangers = 0u64;
        self.archive.for_each_record(&mut |record| match self.open_from {
            _ if !self.has_job(record) => strangers += 1,
            Some(from) if record.op != Op::Read && record.submitted.is_some_and(|time| time >= from) => {
                f(&Record { completed: None, outcome: Outcome::Cancelled, ..*record });
            }
            _ => f(record),
        })?;
        if strangers > 0 {
            let path = shown(self.archive.dir()).to_string();
            let why = format!("{strangers} of its records belong to no job of its plan");
            return Err(ArchiveError::Damaged { path, why });
        }
        // Journal entries that match no job of the plan come from no run.
        self.rest.iter().filter(|record| self.has_job(record)).for_each(f);
        Ok(())
    }

    /// Whether the plan has a job for the target and the phase of a record.
    fn has_job(&self, record: &Record) -> bool {
        let phase = self.archive.plan().phases.get(usize::from(record.phase));
        phase.is_some_and(|phase| phase.jobs.iter().any(|job| job.target == record.target))
    }

    /// Gaps of these records in a run that a crash has ended.
    pub(crate) fn after_crash(&self) -> AfterCrash {
        let lacks_writes = self.known_by == KnownBy::LastRecord;
        AfterCrash { lacks_writes, lacks_changes: lacks_writes && self.has_dataless }
    }
}

fn journal_of(archive: &Archive, path: &Path) -> Result<Vec<Record>, PostVerifyError> {
    read_journal(path, archive.plan().run_id)
        .map_err(|error| PostVerifyError::Journal { path: path.to_path_buf(), error })
}

/// Whether the machine has not started again since the run, as far as that is known.
fn is_of_this_boot(archive: &Archive, root: &Root) -> bool {
    let then = archive.environment().clock.boot_id;
    let now = root.read("/proc/sys/kernel/random/boot_id").ok();
    match (then.known(), now) {
        (Some(then), Some(now)) => then.trim() == now.trim(),
        _ => true,
    }
}

pub(crate) fn id_of(record: &Record) -> WriteId {
    let Record { target, phase, pass, sequence, .. } = *record;
    WriteId { target, phase, pass, sequence }
}
