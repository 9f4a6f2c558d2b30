//! The analysis of a run.

use crate::{FiguresError, Input, Merged, SummaryOptions};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{Detail, Diagrams, Findings, MachineSeries, PassResults, Summary, Tally, Wanted, pass};
use iosonar_archive::Fault;

/// The analysis of a run.
pub struct RunAnalysis {
    /// Counts and distributions; absent if the run's own summary suffices.
    pub tally: Option<Tally>,
    /// Its summary.
    pub summary: Summary,
    /// Counts for its pictures.
    pub diagrams: Diagrams,
    /// Stalls, overloads, bands and other findings.
    pub findings: Findings,
    /// Samples of its machine, if pictures show them.
    pub machine: Option<MachineSeries>,
    /// Latencies by extent, where pictures show them.
    pub extents: Option<ExtentLatencies>,
    /// Faults found by verification, if pictures show them.
    pub faults: Vec<Fault>,
}

impl RunAnalysis {
    /// The parts of a pass that pictures with `detail` need; `tally`: and a summary.
    pub(crate) fn wanted(detail: Detail, tally: bool) -> Wanted {
        Wanted { tally, diagrams: Some(detail), stalls: true, ..Wanted::nothing() }
    }

    /// The parts of a pass that a summary and all pictures need.
    pub(crate) fn everything() -> Wanted {
        RunAnalysis::wanted(Detail::Full, true)
    }

    /// Reads a run once, without its demand, its machine, its extents and its faults.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn read(input: &Input, options: &SummaryOptions) -> Result<RunAnalysis, FiguresError> {
        let merged = Merged::new([input])?;
        let wanted = Wanted { most_in_flight: merged.is_recorded(), ..RunAnalysis::everything() };
        let found = pass(&merged, merged.targets(), &options.limits, &wanted)?;
        Ok(RunAnalysis::of(found, &merged, None, options).expect("it was wanted"))
    }

    /// The analysis of what was read, `None` if that was not [`RunAnalysis::wanted`]. `kept`: an existing summary.
    pub(crate) fn of(
        found: PassResults,
        inputs: &Merged<'_>,
        kept: Option<Summary>,
        options: &SummaryOptions,
    ) -> Option<RunAnalysis> {
        let (tally, diagrams, stalls) = (found.tally, found.diagrams?, found.stalls?);
        let summary = kept.or_else(|| Some(inputs.sum_up(tally.as_ref()?, options)))?;
        let findings = Findings::of(&diagrams, &stalls, &summary, &inputs.without_cpu());
        Some(RunAnalysis {
            tally,
            summary,
            diagrams,
            findings,
            machine: None,
            extents: None,
            faults: Vec::new(),
        })
    }
}
