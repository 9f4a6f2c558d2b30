//! Everything that is known about inputs: what several commands print and draw.

use crate::analyze_args::DemandArgs;
use crate::commands::headline;
use crate::exit::Failure;
use crate::members::{self, Member};
use crate::session::{command_line, needs_care};
use iosonar_analyze::demand::{DemandAnalysis, DemandOptions};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{
    Caution, CautionId, DISPLACEMENT, Deskew, Detail, Diagrams, Findings, Found, Limits, Machine,
    MachineSeries, Records, Severity, SkewWindows, Summary, Tally, Wanted, displacement, pass, spare_memory,
};
use iosonar_archive::{Archive, Fault, TOOL};
use iosonar_host::{Root, memory_limit};
use iosonar_inputs::{Input, Merged};
use iosonar_plan::Engine;
use iosonar_view::scene::Figure;
use iosonar_view::{
    Headline, LoadText, Material, Needs, RunMaterial, Subject, TextOptions, TextReport, text_report, units,
};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Memory limits below this are heeded.
const SCARCE: u64 = 1 << 30;
/// Of a limit, the share for each page (4 KiB of footprint) that is known exactly.
const LIMIT_FOR_PAGE: u64 = 1024;

/// The memory limit of the control groups of this process, where it is heeded.
static MEMORY_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Lets analyses of this process do with the memory that its control groups allow: without it they are faster.
pub fn heed_memory_limit() {
    let limit = MEMORY_LIMIT.get_or_init(|| memory_limit(&Root::default()).filter(|limit| *limit < SCARCE));
    if limit.is_some() {
        spare_memory();
    }
}

/// Fits what a demand is analyzed with to the memory limit; says so.
fn fit_to_memory(options: DemandOptions) -> (DemandOptions, Option<String>) {
    const MIB: u64 = 1 << 20;
    let Some(limit) = MEMORY_LIMIT.get().copied().flatten() else { return (options, None) };
    let pages = usize::try_from(limit / LIMIT_FOR_PAGE).unwrap_or(usize::MAX).max(1);
    if pages >= options.exact_pages {
        return (options, None);
    }
    let why = format!(
        "a control group limits the memory of this process to {} MiB: working sets and reuse are exact up to a footprint of {} MiB, and \
         sampled above (raise memory.max for exact ones)",
        limit / MIB,
        pages as u64 * 4096 / MIB
    );
    (DemandOptions { exact_pages: pages, ..options }, Some(why))
}

/// Version of the JSON form.
const VERSION: u32 = 1;

/// Inputs, analysed.
pub struct Analysis {
    /// Names of the inputs, as typed.
    pub names: Vec<String>,
    /// What the load requests, if anybody needs it.
    pub demand: Option<DemandAnalysis>,
    /// What happened, where anything is known about it.
    pub run: Option<Run>,
    /// The inputs that are merged; none where there is only one.
    members: Vec<Member>,
    /// What was excluded from the inputs, or does not fit.
    pub remarks: Vec<String>,
    /// What is known about the machine.
    headline: Headline,
}

/// What happened.
pub struct Run {
    /// Absent where the summary that the run itself made says all that is needed.
    pub tally: Option<Tally>,
    pub summary: Summary,
    pub diagrams: Diagrams,
    pub findings: Findings,
    /// What was sampled of its machine, where pictures show it.
    pub machine: Option<MachineSeries>,
    /// Latencies by extent, where pictures show them.
    pub extents: Option<ExtentLatencies>,
    /// What verification found, one by one, where pictures show it.
    pub faults: Vec<Fault>,
}

impl Analysis {
    /// Reads the inputs once; loads that turn out to carry latencies again. What `needs` does not name is not computed.
    pub fn of(
        inputs: &[Input],
        limits: &Limits,
        demand: &DemandArgs,
        needs: Needs,
    ) -> Result<Analysis, Failure> {
        let merged = Merged::new(inputs)?;
        let is_run = inputs.iter().all(Input::is_run);
        let kept = (!needs.tally).then(|| merged.summary(limits)).flatten();
        let (options, limited) = fit_to_memory(demand.options());
        let is_demanded = needs.demand || !is_run;
        let wanted = Wanted {
            demand: is_demanded.then_some(options),
            one_device: demand.one_device,
            throughput_window_ns: demand.throughput_window.map(|window| window.0),
            most_in_flight: merged.is_recorded(),
            ..if is_run { Run::wanted(needs.detail, kept.is_none()) } else { Wanted::nothing() }
        };
        let read = || pass(&merged, merged.targets(), limits, &wanted).map_err(Failure::refused);
        let was_ordered = merged.displacement() < DISPLACEMENT;
        let mut found = read()?;
        if found.late > 0 && was_ordered && merged.displacement() == DISPLACEMENT {
            // A load was not in order: now that this is known, each request finds its place.
            found = read()?;
        }
        let demand = found.demand.take();
        let (mut late, mut run, mut unread) = (found.late, None, None);
        if is_run {
            run = Run::of(found, &merged, kept);
        } else if inputs.iter().any(Input::has_times) {
            let timed = Merged::new(inputs.iter().filter(|input| input.has_times()))?;
            let wanted = Wanted {
                one_device: wanted.one_device,
                throughput_window_ns: wanted.throughput_window_ns,
                most_in_flight: true,
                ..Run::everything()
            };
            let found = pass(&timed, timed.targets(), limits, &wanted).map_err(Failure::refused)?;
            late = late.max(found.late);
            run = Run::of(found, &timed, None);
        }
        if let Some(run) = &mut run {
            run.summary.machine = machine(inputs);
            run.machine = if needs.machine { series(inputs) } else { None };
            run.faults = if needs.faults { faults(inputs)? } else { Vec::new() };
            if needs.extents {
                // An addition: what cannot be read of it costs no other picture.
                (run.extents, unread) =
                    extents(inputs).map_or_else(|why| (None, Some(why)), |found| (found, None));
            }
        }
        let mut remarks = remarks(inputs);
        remarks.extend(unread.into_iter().chain(limited.filter(|_| is_demanded)));
        if late > 0 {
            remarks.push(format!(
                "{late} requests were overtaken by more than {} others: what is counted in an order may be a little wrong",
                displacement()
            ));
        }
        Ok(Analysis {
            names: inputs.iter().map(|input| input.name.clone()).collect(),
            demand,
            run,
            members: members::of(inputs),
            remarks,
            headline: inputs.iter().find_map(Input::archive).map(headline).unwrap_or_default(),
        })
    }

    /// What to know before believing the figures.
    pub fn cautions(&self) -> &[Caution] {
        self.run.as_ref().map_or(&[], |run| &run.summary.cautions)
    }

    /// Whether its verdict is "read with care".
    pub fn needs_care(&self) -> bool {
        self.run.as_ref().is_some_and(|run| needs_care(&run.summary))
    }

    /// Whether nothing is demanded.
    pub fn is_empty(&self) -> bool {
        self.demand.as_ref().is_some_and(|demand| demand.facts.counts.all.requests == 0)
    }

    /// Requests of a load, or completed ones of a run.
    pub fn requests(&self) -> u64 {
        let demanded = || self.demand.as_ref().map_or(0, |demand| demand.facts.counts.all.requests);
        self.run.as_ref().map_or_else(demanded, |run| run.summary.counts.all.completed)
    }

    fn demand_span_end_ns(&self) -> u64 {
        self.demand.as_ref().and_then(|demand| demand.facts.span).map_or(0, |span| span.last_ns)
    }

    /// Last time at which anything was due or done.
    pub fn end_ns(&self) -> u64 {
        let demanded = self.demand_span_end_ns();
        self.run.as_ref().map_or(demanded, |run| run.diagrams.end_ns().max(demanded))
    }

    /// As JSON, see `docs/analysis.md`.
    pub fn to_json(&self) -> Value {
        json!({
            "version": VERSION,
            "tool": TOOL,
            "inputs": self.names,
            "merged": self.members,
            "demand": self.demand.as_ref().map(|demand| &demand.facts),
            "summary": self.run.as_ref().map(|run| &run.summary),
            "correlations": self.run.as_ref().map(|run| correlations(&run.diagrams)),
            "findings": self.run.as_ref().map(|run| &run.findings),
            "remarks": self.remarks,
        })
    }

    /// What pictures are about, and everything that they are drawn from.
    pub fn with_material<T>(&self, f: impl FnOnce(&Material<'_>) -> T) -> T {
        let subject = match &self.run {
            Some(run) if self.names.len() > 1 => Subject {
                what: format!("{} inputs, merged: {}", self.names.len(), self.names.join(", ")),
                run_id: None,
                command: command_line(),
                ..Subject::of_run(&run.summary, &self.headline)
            },
            Some(run) => Subject::of_run(&run.summary, &self.headline),
            None => self.subject_of_load(),
        };
        let run = self.run.as_ref().map(Run::material);
        f(&Material { subject: &subject, run, demand: self.demand.as_ref() })
    }

    /// The remarks as one caution, for pictures.
    fn skipped(&self) -> Option<Caution> {
        let first = self.remarks.first()?;
        let text = match self.remarks.len() {
            1 => first.clone(),
            n => format!("{first}, and {} more remarks", n - 1),
        };
        Some(Caution { id: CautionId::BadLines, severity: Severity::Warning, text })
    }

    fn subject_of_load(&self) -> Subject {
        Subject {
            what: self.names.join(", "),
            how: format!(
                "load · {} requests · up to {}",
                units::grouped(self.requests()),
                units::moment(self.demand_span_end_ns(), units::Charset::Unicode)
            ),
            figures: vec![
                Figure { path: "demand.counts.all.requests".into(), value: self.requests().into() },
                Figure { path: "demand.span.last_ns".into(), value: self.demand_span_end_ns().into() },
            ],
            tool: TOOL.into(),
            command: command_line(),
            cautions: self.skipped().into_iter().collect(),
            ..Subject::default()
        }
    }

    /// As text for a mail.
    pub fn to_mail(&self, options: TextOptions) -> String {
        match &self.run {
            Some(run) => {
                let findings = run.findings.sentences();
                text_report(&TextReport::of_run(&run.summary, &run.diagrams.latency, &findings), options)
            }
            None => {
                let skipped = self.skipped();
                let report = TextReport {
                    head: vec![self.names.join(", ")],
                    load: self.demand.as_ref().map(LoadText::of),
                    cautions: skipped.as_slice(),
                    ..TextReport::default()
                };
                text_report(&report, options)
            }
        }
    }

    /// As text for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = members::text(&self.members);
        if let Some(run) = &self.run {
            text += &iosonar_view::show(&run.summary);
            text += &iosonar_view::show_findings(&run.findings);
            text.push('\n');
        }
        if let Some(demand) = &self.demand {
            text += &iosonar_view::show_demand(&self.names, &demand.facts);
        }
        text
    }
}

/// Rank correlations of quantities of the same request.
fn correlations(diagrams: &Diagrams) -> Value {
    json!({
        "latency_in_flight": diagrams.latency_in_flight.rank_correlation(),
        "delay_waiting": diagrams.delay_waiting.rank_correlation(),
        "latency_delay": diagrams.latency_delay.rank_correlation(),
    })
}

fn remarks(inputs: &[Input]) -> Vec<String> {
    let of = |input: &Input| {
        let name = input.name.clone();
        input.remarks().into_iter().map(move |remark| format!("{name}: {remark}"))
    };
    inputs.iter().flat_map(of).collect()
}

impl Run {
    fn wanted(detail: Detail, tally: bool) -> Wanted {
        Wanted { tally, diagrams: Some(detail), stalls: true, ..Wanted::nothing() }
    }

    fn everything() -> Wanted {
        Run::wanted(Detail::Full, true)
    }

    /// Reads a run once, without asking what it demanded.
    pub fn read(input: &Input, limits: &Limits) -> Result<Run, Failure> {
        let merged = Merged::new([input])?;
        let wanted = Wanted { most_in_flight: merged.is_recorded(), ..Run::everything() };
        let found = pass(&merged, merged.targets(), limits, &wanted).map_err(Failure::refused)?;
        let mut run = Run::of(found, &merged, None).expect("it was wanted");
        run.summary.machine = input.machine();
        Ok(run)
    }

    /// What pictures of it are drawn from.
    pub fn material(&self) -> RunMaterial<'_> {
        RunMaterial {
            summary: &self.summary,
            diagrams: &self.diagrams,
            tally: self.tally.as_ref(),
            findings: Some(&self.findings),
            machine: self.machine.as_ref(),
            extents: self.extents.as_ref(),
            faults: &self.faults,
        }
    }

    /// `kept`: a summary that is there already.
    fn of(found: Found, inputs: &Merged<'_>, kept: Option<Summary>) -> Option<Run> {
        let (tally, diagrams, stalls) = (found.tally, found.diagrams?, found.stalls?);
        let summary = kept.or_else(|| Some(inputs.sum_up(tally.as_ref()?)))?;
        let findings = Findings::of(&diagrams, &stalls, &summary, &inputs.without_cpu());
        Some(Run { tally, summary, diagrams, findings, machine: None, extents: None, faults: Vec::new() })
    }
}

/// The samples of the machine's counters, if there is one run that has any.
fn series(inputs: &[Input]) -> Option<MachineSeries> {
    let [input] = inputs else { return None };
    // The samples of a simulated run have the machine's clock, and its requests have another one.
    let archive = input.archive().filter(|archive| !matches!(archive.plan().engine, Engine::Sim(_)));
    input.beside(MachineSeries::of(archive?)).filter(|series| !series.is_empty())
}

/// What verification found, if there is one run.
fn faults(inputs: &[Input]) -> Result<Vec<Fault>, Failure> {
    let [input] = inputs else { return Ok(Vec::new()) };
    Ok(input.archive().map(Archive::faults).transpose()?.unwrap_or_default())
}

/// Latencies by extent, if there is one run whose files have maps.
fn extents(inputs: &[Input]) -> Result<Option<ExtentLatencies>, String> {
    let [input] = inputs else { return Ok(None) };
    let found = input.archive().map(ExtentLatencies::of).transpose();
    found.map(Option::flatten).map_err(|error| format!("there are no latencies by extent, because {error}"))
}

/// Where a run took place, if there is one run and its archive notes that.
fn machine(inputs: &[Input]) -> Option<Machine> {
    let [input] = inputs else { return None };
    input.machine()
}

/// What all targets of an archive moved while all of them were active. The records are read twice.
pub fn deskew(archive: &Archive) -> Result<Deskew, Failure> {
    let mut windows = SkewWindows::default();
    archive.for_each_record(&mut |record| windows.add(record))?;
    deskew_in(archive, &windows)
}

/// The same, once the windows are known.
pub fn deskew_in(archive: &Archive, windows: &SkewWindows) -> Result<Deskew, Failure> {
    let mut deskew = windows.measure();
    archive.for_each_record(&mut |record| deskew.add(record))?;
    Ok(deskew)
}
