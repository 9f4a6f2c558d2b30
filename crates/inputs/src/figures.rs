//! Computes the figures of an input.

use crate::Input;
use iosonar_analyze::{Limits, Machine, Passing, Summary, Tally, Wanted, pass};
use iosonar_archive::{ArchiveError, RECORDING, RunInfo};
use iosonar_judge::{Case, Samples};
use std::io;

/// Figures of an input.
#[derive(Debug)]
pub struct Figures {
    /// Counts and distributions of all records.
    pub tally: Tally,
    /// Their summary.
    pub summary: Summary,
}

/// Why figures cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FiguresError {
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] io::Error),
    /// Evidence beside the records cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl Figures {
    /// Reads a run once.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn of(input: &Input, limits: &Limits) -> Result<Figures, FiguresError> {
        Figures::of_run(input, limits, &input.run().1)
    }

    /// Like [`Figures::of`], with facts about the run that are newer than those of the archive.
    fn of_run(input: &Input, limits: &Limits, info: &RunInfo) -> Result<Figures, FiguresError> {
        let targets = input.run().0.targets.len();
        let wanted = Wanted { tally: true, most_in_flight: info.tool == RECORDING, ..Wanted::nothing() };
        let tally = pass(input, targets, limits, &wanted)?.tally.expect("it was wanted");
        Ok(Figures::counted(tally, input, info))
    }

    /// Like [`Figures::of`], for a run whose records were `seen` while they were encoded. They are read if that missed some:
    /// an earlier attempt had encoded them, or this one failed.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn of_seen(
        seen: Passing,
        input: &Input,
        limits: &Limits,
        info: &RunInfo,
    ) -> Result<Figures, FiguresError> {
        if input.records() == Some(seen.records()) {
            return Ok(Figures::counted(seen.finish(), input, info));
        }
        Figures::of_run(input, limits, info)
    }

    /// Like [`Figures::of`], for a run whose result is not kept, and whose records were all `seen` when its reports were
    /// written.
    pub fn of_all_seen(seen: Passing, input: &Input, info: &RunInfo) -> Figures {
        Figures::counted(seen.finish(), input, info)
    }

    fn counted(tally: Tally, input: &Input, info: &RunInfo) -> Figures {
        let plan = input.run().0;
        let mut summary = Summary { machine: input.machine(), ..Summary::new(&tally, &plan, info) };
        input.judge(&mut summary, &tally, info);
        Figures { summary, tally }
    }
}

impl Input {
    /// Adds the judgement to the summary of a run, with today's thresholds; nothing if it is not an archive of a run, or its samples
    /// cannot be read (see [`Input::unread`]).
    pub fn judge(&self, summary: &mut Summary, tally: &Tally, run: &RunInfo) {
        let is_known = run.recorded.is_some() || !run.is_import && !summary.run.is_recording();
        let Some(archive) = self.archive().filter(|_| is_known) else {
            return;
        };
        let Some(samples) = self.beside(Samples::of(archive)) else { return };
        let (before, after) = (archive.environment(), archive.environment_after());
        let span = summary.span;
        let samples = samples.covering(span.first_due_ns.unwrap_or(0), span.end_ns());
        let plan = archive.plan();
        let case =
            Case { plan, run, summary, tally, before: &before, after: after.as_ref(), samples: &samples };
        let judgement = iosonar_judge::judge(&case);
        summary.cautions = iosonar_judge::cautions(&summary.cautions, &judgement);
        summary.judgement = Some(judgement);
    }

    /// Machine of a run, if its archive records it; `None`, too, if it cannot be read (see [`Input::unread`]).
    pub fn machine(&self) -> Option<Machine> {
        let machine = self.beside(Machine::of(self.archive()?))?;
        Some(machine).filter(|machine| *machine != Machine::default())
    }

    /// Returns evidence read beside the records; `None` on errors, which cost no figure of the records, and are noted.
    pub fn beside<T>(&self, read: Result<T, ArchiveError>) -> Option<T> {
        read.inspect_err(|error| {
            let _ = self.unread.set(error.to_string());
        })
        .ok()
    }

    /// Why evidence beside the records cannot be read, and a remedy. Complete once it has been read.
    pub fn unread(&self) -> Option<String> {
        let why = self.unread.get()?;
        Some(format!(
            "{why}: copy that file from a backup; removed or renamed, the result is read without it"
        ))
    }
}
