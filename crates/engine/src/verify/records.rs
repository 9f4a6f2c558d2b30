//! What is known of the requests of a run: the records of its result, and what a journal has beyond them.

use super::later::LaterError;
use iosonar_archive::{Archive, ArchiveError, KnownBy, Outcome, Record, RunState, WriteId, read_journal};
use iosonar_plan::{Nanos, Op};
use std::collections::HashSet;
use std::path::Path;

/// Of a run that was killed without a journal, what was submitted so shortly before the last record counts as in flight.
const LAST: Nanos = Nanos(500_000_000);

/// All that is known of the requests of a run.
pub(crate) struct Records<'a> {
    archive: &'a Archive,
    /// What the journal has and the log has not.
    rest: Vec<Record>,
    pub(crate) known_by: KnownBy,
    /// What was submitted from here on counts as in flight.
    open_from: Option<Nanos>,
}

impl<'a> Records<'a> {
    /// Those of a run that came to its end.
    pub(crate) fn of(archive: &'a Archive) -> Records<'a> {
        Records { archive, rest: Vec::new(), known_by: KnownBy::Records, open_from: None }
    }

    /// Those of a run that may have been killed; a journal completes them.
    pub(crate) fn of_killed(archive: &'a Archive, journal: Option<&Path>) -> Result<Records<'a>, LaterError> {
        let all = Records::of(archive);
        if archive.run().state != RunState::Running {
            return Ok(all);
        }
        let Some(path) = journal else {
            let mut last = Nanos(0);
            archive.for_each_record(&mut |record| last = last.max(record.completed.unwrap_or_default()))?;
            let open_from = Some(last.saturating_sub(LAST));
            return Ok(Records { known_by: KnownBy::LastRecord, open_from, ..all });
        };
        let journal = read_journal(path, archive.plan().run_id)
            .map_err(|error| LaterError::Journal { path: path.to_path_buf(), error })?;
        let mut open: HashSet<WriteId> = journal.iter().map(id_of).collect();
        archive.for_each_record(&mut |record| {
            open.remove(&id_of(record));
        })?;
        let rest = journal.into_iter().filter(|record| open.contains(&id_of(record))).collect();
        Ok(Records { rest, known_by: KnownBy::Journal, ..all })
    }

    /// Gives each record to `f`: those of the result first. One that was in flight has no `completed`.
    pub(crate) fn for_each(&self, f: &mut dyn FnMut(&Record)) -> Result<(), ArchiveError> {
        self.archive.for_each_record(&mut |record| match self.open_from {
            Some(from) if record.op != Op::Read && record.submitted.is_some_and(|time| time >= from) => {
                f(&Record { completed: None, outcome: Outcome::Cancelled, ..*record });
            }
            _ => f(record),
        })?;
        self.rest.iter().for_each(f);
        Ok(())
    }
}

pub(crate) fn id_of(record: &Record) -> WriteId {
    let Record { target, phase, pass, sequence, .. } = *record;
    WriteId { target, phase, pass, sequence }
}
