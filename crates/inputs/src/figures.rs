//! What an input amounts to in figures.

use crate::Input;
use iosonar_analyze::{Limits, Machine, Passing, Summary, Tally, Wanted, pass};
use iosonar_archive::{ArchiveError, RunInfo};
use iosonar_judge::{Case, Samples};
use std::io;

/// What happened, in figures.
#[derive(Debug)]
pub struct Figures {
    /// Counts and distributions of all records.
    pub tally: Tally,
    /// What is told of them.
    pub summary: Summary,
}

/// Why figures cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FiguresError {
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] io::Error),
    /// What stands beside the records cannot be read.
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

    /// The same with facts about the run that are newer than those of the archive.
    fn of_run(input: &Input, limits: &Limits, info: &RunInfo) -> Result<Figures, FiguresError> {
        let targets = input.run().0.targets.len();
        let wanted = Wanted { tally: true, ..Wanted::nothing() };
        let tally = pass(input, targets, limits, &wanted)?.tally.expect("it was wanted");
        Figures::counted(tally, input, info)
    }

    /// The same of a run whose records were `seen` while they were encoded. They are read where that missed some: an earlier
    /// attempt had encoded them, or this one failed.
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
            return Figures::counted(seen.finish(), input, info);
        }
        Figures::of_run(input, limits, info)
    }

    /// The same of a run whose result nobody keeps, and whose records were all `seen` when its reports were written.
    ///
    /// # Errors
    /// What stands beside the records cannot be read.
    pub fn of_all_seen(seen: Passing, input: &Input, info: &RunInfo) -> Result<Figures, FiguresError> {
        Figures::counted(seen.finish(), input, info)
    }

    fn counted(tally: Tally, input: &Input, info: &RunInfo) -> Result<Figures, FiguresError> {
        let plan = input.run().0;
        let mut summary = Summary { machine: input.machine()?, ..Summary::new(&tally, &plan, info) };
        input.judge(&mut summary, &tally, info)?;
        Ok(Figures { summary, tally })
    }
}

impl Input {
    /// Adds to the summary of a run what its figures are worth, with today's thresholds; nothing where it is no archive of a run.
    ///
    /// # Errors
    /// The series of samples cannot be read.
    pub fn judge(&self, summary: &mut Summary, tally: &Tally, run: &RunInfo) -> Result<(), ArchiveError> {
        let is_known = run.recorded.is_some() || !run.is_import && !summary.run.is_recording();
        let Some(archive) = self.archive().filter(|_| is_known) else {
            return Ok(());
        };
        let (before, after, samples) =
            (archive.environment(), archive.environment_after(), Samples::of(archive)?);
        let span = summary.span;
        let samples = samples.covering(span.first_due_ns.unwrap_or(0), span.end_ns());
        let plan = archive.plan();
        let case =
            Case { plan, run, summary, tally, before: &before, after: after.as_ref(), samples: &samples };
        let judgement = iosonar_judge::judge(&case);
        summary.cautions = iosonar_judge::cautions(&summary.cautions, &judgement);
        summary.judgement = Some(judgement);
        Ok(())
    }

    /// Where a run took place, if it is an archive that notes that.
    ///
    /// # Errors
    /// The series of samples cannot be read.
    pub fn machine(&self) -> Result<Option<Machine>, ArchiveError> {
        let machine = self.archive().map(Machine::of).transpose()?;
        Ok(machine.filter(|machine| *machine != Machine::default()))
    }
}
