//! Complete analysis of inputs: shared by the commands that print and draw.

use crate::analyze_args::DemandArgs;
use crate::commands::headline;
use crate::exit::Failure;
use crate::members::{self, Member};
use crate::session::{command_line, needs_care};
use iosonar_analyze::demand::{DemandAnalysis, DemandOptions};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{
    Caution, CautionId, DISPLACEMENT, Deskew, Diagrams, Limits, MachineSeries, Records, Severity,
    SkewWindows, Wanted, displacement, pass, spare_memory,
};
use iosonar_archive::{Archive, Fault, TOOL};
use iosonar_host::{Root, memory_limit};
use iosonar_inputs::{Input, Merged, RunAnalysis, SummaryOptions};
use iosonar_plan::Engine;
use iosonar_view::scene::Figure;
use iosonar_view::{
    Headline, LoadText, Material, Needs, RunMaterial, Subject, TextOptions, TextReport, text_report, units,
};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Memory limits below this are respected.
const SCARCE: u64 = 1 << 30;
/// Share of a limit for each exactly tracked page (4 KiB of footprint).
const LIMIT_FOR_PAGE: u64 = 1024;

/// The memory limit of this process's control groups, if it is respected.
static MEMORY_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Restricts analyses of this process to the memory that its control groups allow: without it they are faster.
pub fn heed_memory_limit() {
    let limit = MEMORY_LIMIT.get_or_init(|| memory_limit(&Root::default()).filter(|limit| *limit < SCARCE));
    if limit.is_some() {
        spare_memory();
    }
}

/// Adapts options of the demand analysis to the memory limit; returns a remark if it does.
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
    /// Demand of the load, if needed.
    pub demand: Option<DemandAnalysis>,
    /// Results of the run, if there is one.
    pub run: Option<RunAnalysis>,
    /// The merged inputs; empty for a single one.
    members: Vec<Member>,
    /// Exclusions from the inputs, and inconsistencies.
    pub remarks: Vec<String>,
    /// Facts about the machine.
    headline: Headline,
}

impl Analysis {
    /// Reads the inputs once; loads that turn out to carry latencies twice. Parts not in `needs` are not computed.
    pub fn of(
        inputs: &[Input],
        limits: &Limits,
        demand: &DemandArgs,
        needs: Needs,
    ) -> Result<Analysis, Failure> {
        let merged = Merged::new(inputs)?;
        let is_run = inputs.iter().all(Input::is_run);
        let kept = (!needs.tally).then(|| merged.summary(limits)).flatten();
        let options = SummaryOptions::from(*limits);
        let (demand_options, limited) = fit_to_memory(demand.options());
        let is_demanded = needs.demand || !is_run;
        let wanted = Wanted {
            demand: is_demanded.then_some(demand_options),
            one_device: demand.one_device,
            throughput_window_ns: demand.throughput_window.map(|window| window.0),
            most_in_flight: merged.is_recorded(),
            ..if is_run { RunAnalysis::wanted(needs.detail, kept.is_none()) } else { Wanted::nothing() }
        };
        let read = || pass(&merged, merged.targets(), limits, &wanted).map_err(Failure::refused);
        let was_ordered = merged.displacement() < DISPLACEMENT;
        let mut found = read()?;
        if found.late > 0 && was_ordered && merged.displacement() == DISPLACEMENT {
            // A load was not in order: this is known now, and a second pass sorts its requests.
            found = read()?;
        }
        let demand = found.demand.take();
        let (mut late, mut run, mut unread) = (found.late, None, None);
        if is_run {
            run = RunAnalysis::of(found, &merged, kept, &options);
        } else if inputs.iter().any(Input::has_times) {
            let timed = Merged::new(inputs.iter().filter(|input| input.has_times()))?;
            let wanted = Wanted {
                one_device: wanted.one_device,
                throughput_window_ns: wanted.throughput_window_ns,
                most_in_flight: true,
                ..RunAnalysis::everything()
            };
            let found = pass(&timed, timed.targets(), limits, &wanted).map_err(Failure::refused)?;
            late = late.max(found.late);
            run = RunAnalysis::of(found, &timed, None, &options);
        }
        if let Some(run) = &mut run {
            run.machine = if needs.machine { series(inputs) } else { None };
            run.faults = if needs.faults { faults(inputs)? } else { Vec::new() };
            if needs.extents {
                // Optional: an unreadable map prevents no other picture.
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

    /// Cautions about the figures.
    pub fn cautions(&self) -> &[Caution] {
        self.run.as_ref().map_or(&[], |run| &run.summary.cautions)
    }

    /// Whether its verdict is "read with care".
    pub fn needs_care(&self) -> bool {
        self.run.as_ref().is_some_and(|run| needs_care(&run.summary))
    }

    /// Whether the load has no requests.
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

    /// Last due time or completion.
    pub fn end_ns(&self) -> u64 {
        let demanded = self.demand_span_end_ns();
        self.run.as_ref().map_or(demanded, |run| run.diagrams.end_ns().max(demanded))
    }

    /// Converts it to JSON, see `docs/analysis.md`.
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

    /// Calls `f` with the subject and the data of pictures.
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
        let run = self.run.as_ref().map(material);
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

    /// Formats it as text for a mail.
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

    /// Formats it as text for a terminal.
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

/// Data for the pictures of a run.
pub fn material(run: &RunAnalysis) -> RunMaterial<'_> {
    RunMaterial {
        summary: &run.summary,
        diagrams: &run.diagrams,
        tally: run.tally.as_ref(),
        findings: Some(&run.findings),
        machine: run.machine.as_ref(),
        extents: run.extents.as_ref(),
        faults: &run.faults,
    }
}

/// The samples of the machine's counters, if there is one run that has any.
fn series(inputs: &[Input]) -> Option<MachineSeries> {
    let [input] = inputs else { return None };
    // Samples of a simulated run have the machine's clock, and its requests have a simulated one.
    let archive = input.archive().filter(|archive| !matches!(archive.plan().engine, Engine::Sim(_)));
    input.beside(MachineSeries::of(archive?)).filter(|series| !series.is_empty())
}

/// Faults found by verification, if there is one run.
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

/// Transfers of all targets of an archive while all of them were active. The records are read twice.
pub fn deskew(archive: &Archive) -> Result<Deskew, Failure> {
    let mut windows = SkewWindows::default();
    archive.for_each_record(&mut |record| windows.add(record))?;
    deskew_in(archive, &windows)
}

/// Measures the transfers within known windows.
pub fn deskew_in(archive: &Archive, windows: &SkewWindows) -> Result<Deskew, Failure> {
    let mut deskew = windows.measure();
    archive.for_each_record(&mut |record| deskew.add(record))?;
    Ok(deskew)
}
