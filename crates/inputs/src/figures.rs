//! Computes the figures of an input.

use crate::{Input, OpenError};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{
    Detection, DetectorId, During, HostFacts, HostReport, Judgement, Limits, Machine, OutsideCause, Passing,
    PathFacts, Story, Summary, Tally, TimeRange, Wanted, pass,
};
use iosonar_archive::{Archive, ArchiveError, Note, RECORDING, Record, RunInfo};
use iosonar_evidence::Environment;
use iosonar_judge::{Case, Samples, of_hosts};
use iosonar_plan::{Decimal, Op, Plan};
use iosonar_story::{Circumstances, Facts};
use std::convert::Infallible;
use std::io;

/// Longer requests are not looked up in extent maps: those of a damaged archive may cover millions of extents.
const LONGEST_ON_EXTENTS: u64 = 64 << 20;

/// Whether an operation leaves the blocks of a file where they are.
fn keeps_blocks(op: Op) -> bool {
    op.is_flush() || matches!(op, Op::Open | Op::Close | Op::Lock | Op::Unlock | Op::Evict)
}

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
    /// A load cannot be read.
    #[error(transparent)]
    Load(io::Error),
    /// The inputs have too many targets.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Evidence beside the records cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Options of a summary.
#[derive(Debug, Clone, Default)]
pub struct SummaryOptions {
    /// Limits of times.
    pub limits: Limits,
    /// Percentiles of the latency, beside the usual ones.
    pub percentiles: Vec<Decimal>,
}

impl From<Limits> for SummaryOptions {
    fn from(limits: Limits) -> SummaryOptions {
        SummaryOptions { limits, percentiles: Vec::new() }
    }
}

impl Figures {
    /// Reads a run once.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn of(input: &Input, options: &SummaryOptions) -> Result<Figures, FiguresError> {
        Figures::of_run(input, options, &input.run().1)
    }

    /// Like [`Figures::of`], with facts about the run that are newer than those of the archive.
    fn of_run(input: &Input, options: &SummaryOptions, info: &RunInfo) -> Result<Figures, FiguresError> {
        let targets = input.run().0.targets.len();
        let wanted = Wanted { tally: true, most_in_flight: info.tool == RECORDING, ..Wanted::nothing() };
        let tally = pass(input, targets, &options.limits, &wanted)?.tally.expect("it was wanted");
        Ok(Figures::counted(tally, input, options, info))
    }

    /// Like [`Figures::of`], for a run whose records were `seen` while they were encoded. They are read if that missed some:
    /// an earlier attempt had encoded them, or this one failed.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn of_seen(
        seen: Passing,
        input: &Input,
        options: &SummaryOptions,
        info: &RunInfo,
    ) -> Result<Figures, FiguresError> {
        let is_here = !input.archive().is_some_and(Archive::has_counts_only);
        if is_here && input.records() == Some(seen.records()) {
            return Ok(Figures::counted(seen.finish(), input, options, info));
        }
        Figures::of_run(input, options, info)
    }

    /// Like [`Figures::of`], for a run whose result is not kept, and whose records were all `seen` when its reports were
    /// written.
    pub fn of_all_seen(seen: Passing, input: &Input, info: &RunInfo) -> Figures {
        Figures::counted(seen.finish(), input, &SummaryOptions::default(), info)
    }

    /// The figures of the same records, with newer facts about the run.
    #[must_use]
    pub fn with_run(self, input: &Input, options: &SummaryOptions, info: &RunInfo) -> Figures {
        Figures::counted(self.tally, input, options, info)
    }

    /// Influences from outside of the targets of their input.
    pub(crate) fn circumstances(&self, input: &Input) -> Circumstances {
        let (plan, info) = input.run();
        let evidence = input.evidence(&self.summary, &info);
        let case = evidence.as_ref().map(|evidence| evidence.case(&plan, &info, &self.summary, &self.tally));
        Circumstances::of(&self.summary, &self.tally, case.as_ref())
    }

    fn counted(tally: Tally, input: &Input, options: &SummaryOptions, info: &RunInfo) -> Figures {
        Figures { summary: summarize(&tally, &input.run().0, info, Some(input), options), tally }
    }
}

/// Makes the summary of counted records. `input` is their only input, `None` if there are several: then neither machine nor judgement
/// is known. The product stores and prints no other summaries, and changes none afterwards.
pub(crate) fn summarize(
    tally: &Tally,
    plan: &Plan,
    info: &RunInfo,
    input: Option<&Input>,
    options: &SummaryOptions,
) -> Summary {
    let summary = Summary {
        percentiles: tally.percentiles(&options.percentiles),
        machine: input.and_then(Input::machine),
        notes: input.map(Input::notes).unwrap_or_default(),
        ..Summary::new(tally, plan, info)
    };
    let path = input.and_then(|input| input.path(summary.run.has_timetable));
    let summary = Summary { path, ..summary };
    let evidence = input.and_then(|input| input.evidence(&summary, info));
    let case = evidence.as_ref().map(|evidence| evidence.case(plan, info, &summary, tally));
    let judgement = case.as_ref().map(iosonar_judge::judge);
    let reports = input.map(Input::host_reports).unwrap_or_default();
    let hosts = with_reports(summary.hosts.clone(), &reports);
    let judgement = judgement.map(|whole| of_hosts(whole, plan, info, &hosts, &reports));
    let judged = Summary { judgement, hosts, ..summary.clone() };
    let extents = input.and_then(|input| input.sampled_extents(plan, &judged, tally));
    let story = iosonar_story::story(&Facts {
        plan,
        run: info,
        summary: &judged,
        tally,
        case: case.as_ref(),
        extents: extents.as_ref(),
    });
    let story = iosonar_story::with_hosts(story, &judged.hosts);
    let judgement = judged.judgement.clone().map(|judgement| agreeing(judgement, &story));
    let told = Summary { judgement, story: Some(story), ..judged };
    // The advice of a caution depends on the causes in the story.
    let cautions = iosonar_judge::cautions(&told, plan, info, told.judgement.as_ref());
    Summary { cautions, ..told }
}

/// The machines with the findings of each.
fn with_reports(mut hosts: Vec<HostFacts>, reports: &[HostReport]) -> Vec<HostFacts> {
    for (host, report) in hosts.iter_mut().zip(reports) {
        host.verdict = report.judgement.as_ref().map(|judgement| judgement.verdict);
        host.findings.clone_from(&report.findings);
    }
    hosts
}

/// The judgement with the causes of the story: where one outside of the target covers the time of an overload, the load is not said to be
/// more than the target can do.
fn agreeing(mut judgement: Judgement, story: &Story) -> Judgement {
    let is_overload = |one: &&mut Detection| one.id == DetectorId::CannotKeepUp;
    for detection in judgement.detections.iter_mut().filter(is_overload) {
        let range = |during: During| TimeRange { from_ns: during.from_ns, to_ns: during.to_ns };
        let outside = detection.during.and_then(|during| story.outside_cause(range(during)));
        if let Some(OutsideCause { text, .. }) = outside {
            detection.text = format!("Requests were late while {text}.");
            detection.remedy = "Repeat it on a machine that is otherwise idle.".into();
        }
    }
    judgement
}

/// The evidence of an archive by which its figures are judged.
struct Evidence {
    before: Environment,
    after: Option<Environment>,
    samples: Samples,
}

impl Evidence {
    fn case<'a>(
        &'a self,
        plan: &'a Plan,
        run: &'a RunInfo,
        summary: &'a Summary,
        tally: &'a Tally,
    ) -> Case<'a> {
        let (before, after, samples) = (&self.before, self.after.as_ref(), &self.samples);
        Case { plan, run, summary, tally, before, after, samples }
    }
}

impl Input {
    /// The evidence of a run; `None` if the input is not an archive of a run, or its samples cannot be read (see [`Input::unread`]).
    fn evidence(&self, summary: &Summary, run: &RunInfo) -> Option<Evidence> {
        let is_known = run.recorded.is_some() || !run.is_import && !summary.run.is_recording();
        let archive = self.archive().filter(|_| is_known)?;
        let samples = self.beside(Samples::of(archive))?;
        let span = summary.span;
        let samples = samples.covering(span.first_due_ns.unwrap_or(0), span.end_ns());
        // Changes during the whole run cannot be compared with a part of it.
        let after = if self.is_part() { None } else { archive.environment_after() };
        Some(Evidence { before: archive.environment(), after, samples })
    }

    /// Machine of a run, if its archive records it; `None`, too, if it cannot be read (see [`Input::unread`]).
    pub fn machine(&self) -> Option<Machine> {
        let machine = self.beside(Machine::of(self.archive()?))?;
        Some(machine).filter(|machine| *machine != Machine::default())
    }

    /// Findings of each machine of a run on its part; empty for a run on one machine, and if they cannot be read.
    fn host_reports(&self) -> Vec<HostReport> {
        let reports = self.archive().map(|archive| archive.hosts_json()).unwrap_or_default();
        serde_json::from_value(reports).unwrap_or_default()
    }

    /// Notes of users on a run; none, too, if they cannot be read (see [`Input::unread`]).
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.archive().and_then(|archive| self.beside(archive.notes())).unwrap_or_default()
    }

    /// Steps of the requests in the kernel, if they were traced and can be read (see [`Input::unread`]).
    fn path(&self, has_timetable: bool) -> Option<PathFacts> {
        self.beside(PathFacts::of(self.archive()?, has_timetable))?
    }

    /// Latencies of the sampled reads by the extents of their files; `None` where these say nothing: without files that have several
    /// fragments and are read directly, and where blocks may have moved, as the maps are those of the end.
    fn sampled_extents(&self, plan: &Plan, summary: &Summary, tally: &Tally) -> Option<ExtentLatencies> {
        let moves = summary.counts.write.total + summary.counts.write.ramp > 0
            || summary.others.iter().any(|one| !keeps_blocks(one.op))
            || plan.targets.iter().any(|target| target.file.between_passes.makes_files());
        let archive = self.archive().filter(|_| !moves && plan.phases.len() == 1)?;
        let is_direct = |target: u16| plan.jobs_on(target.into()).all(|job| !plan.is_buffered(job));
        let mut maps = self.beside(archive.maps())?;
        maps.retain(|one| one.map.figures.fragments > 1 && is_direct(one.target));
        let each = |f: &mut dyn FnMut(&Record)| -> Result<(), Infallible> {
            let is_short = |record: &Record| record.executed.length <= LONGEST_ON_EXTENTS;
            tally.sample().records().filter(is_short).for_each(|record| f(&record));
            Ok(())
        };
        (!maps.is_empty()).then(|| ExtentLatencies::from_records(plan, maps, each).ok()).flatten()
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
