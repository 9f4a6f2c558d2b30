//! The complete analysis of inputs: of their demand, and of their runs.

use crate::members::{self, Member};
use crate::{Elsewhere, FiguresError, Input, Merged, RunAnalysis, SummaryOptions};
use iosonar_analyze::demand::{DemandAnalysis, DemandOptions};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{
    Caution, DISPLACEMENT, Deskew, Diagrams, Limits, MachineSeries, Needs, Records, SkewWindows, Statement,
    Verdict, Wanted, displacement, pass,
};
use iosonar_archive::{Archive, Fault, TOOL};
use iosonar_evidence::Environment;
use iosonar_plan::Engine;
use iosonar_story::load_story;
use serde_json::{Value, json};

/// Share of a limit for each exactly tracked page (4 KiB of footprint).
const LIMIT_FOR_PAGE: u64 = 1024;

/// Adapts options of the demand analysis to the memory limit; returns a remark if it does.
fn fit_to_memory(options: DemandOptions, limit: Option<u64>) -> (DemandOptions, Option<String>) {
    const MIB: u64 = 1 << 20;
    let Some(limit) = limit else { return (options, None) };
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

/// How inputs are analysed.
#[derive(Debug, Clone, Default)]
pub struct AnalysisOptions {
    /// Limits of latencies and delays that are counted.
    pub limits: Limits,
    /// How the demand of loads is analysed.
    pub demand: DemandOptions,
    /// Treats all inputs as one device: equal positions are the same place.
    pub one_device: bool,
    /// Window of throughput figures; `None`: as fine as the pictures can show.
    pub throughput_window_ns: Option<u64>,
    /// Memory of this process that the analysis has to fit into.
    pub memory_limit: Option<u64>,
}

/// Inputs, analysed.
pub struct Analysis {
    /// Names of the inputs, as typed.
    pub names: Vec<String>,
    /// Demand of the load, if needed.
    pub demand: Option<DemandAnalysis>,
    /// Results of the run, if there is one.
    pub run: Option<RunAnalysis>,
    /// The merged inputs; empty for a single one.
    pub members: Vec<Member>,
    /// Exclusions from the inputs, and inconsistencies.
    pub remarks: Vec<String>,
    /// Facts about the machine of the first run.
    pub environment: Option<Environment>,
}

impl Analysis {
    /// Reads the inputs once; loads that turn out to carry latencies twice. Parts not in `needs` are not computed.
    ///
    /// # Errors
    /// An input cannot be read.
    pub fn of(inputs: &[Input], options: &AnalysisOptions, needs: Needs) -> Result<Analysis, FiguresError> {
        let AnalysisOptions { limits, demand, .. } = options;
        let merged = Merged::new(inputs)?;
        let is_run = inputs.iter().all(Input::is_run);
        let kept = (!needs.tally).then(|| merged.summary(limits)).flatten();
        let summarized = SummaryOptions::from(*limits);
        let (demand_options, limited) = fit_to_memory(demand.clone(), options.memory_limit);
        let is_demanded = needs.demand || !is_run;
        let wanted = Wanted {
            demand: is_demanded.then_some(demand_options),
            one_device: options.one_device,
            throughput_window_ns: options.throughput_window_ns,
            most_in_flight: merged.is_recorded(),
            ..if is_run { RunAnalysis::wanted(needs.detail, kept.is_none()) } else { Wanted::nothing() }
        };
        let read = || pass(&merged, merged.targets(), limits, &wanted).map_err(FiguresError::Load);
        let was_ordered = merged.displacement() < DISPLACEMENT;
        let mut found = read()?;
        if found.late > 0 && was_ordered && merged.displacement() == DISPLACEMENT {
            // A load was not in order: this is known now, and a second pass sorts its requests.
            found = read()?;
        }
        // Counts of records that are elsewhere say nothing of the order of their requests.
        let is_elsewhere = inputs.iter().filter_map(Input::archive).any(Archive::has_counts_only);
        let demand = found.demand.take().filter(|_| !is_elsewhere);
        let (mut late, mut run, mut unread) = (found.late, None, None);
        if is_run {
            run = RunAnalysis::of(found, &merged, kept, &summarized);
        } else if inputs.iter().any(Input::has_times) {
            let timed = Merged::new(inputs.iter().filter(|input| input.has_times()))?;
            let wanted = Wanted {
                one_device: wanted.one_device,
                throughput_window_ns: wanted.throughput_window_ns,
                most_in_flight: true,
                ..RunAnalysis::everything()
            };
            let found = pass(&timed, timed.targets(), limits, &wanted).map_err(FiguresError::Load)?;
            late = late.max(found.late);
            run = RunAnalysis::of(found, &timed, None, &summarized);
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
            environment: inputs.iter().find_map(Input::archive).map(Archive::environment),
        })
    }

    /// Cautions about the figures.
    pub fn cautions(&self) -> &[Caution] {
        self.run.as_ref().map_or(&[], |run| &run.summary.cautions)
    }

    /// Whether its verdict is "read with care".
    pub fn needs_care(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.summary.has_verdict(Verdict::Care))
    }

    /// Whether the load has no requests.
    pub fn is_empty(&self) -> bool {
        // The counts of a run may be those of records that are elsewhere.
        self.demand.as_ref().is_some_and(|demand| demand.facts.counts.all.requests == 0)
            && self.requests() == 0
    }

    /// The story of a load; `None` for a run, whose summary has its own.
    pub fn story(&self) -> Option<Statement> {
        load_story(&self.demand.as_ref().filter(|_| self.run.is_none())?.facts)
    }

    /// Requests of a load, or completed ones of a run.
    pub fn requests(&self) -> u64 {
        let demanded = || self.demand.as_ref().map_or(0, |demand| demand.facts.counts.all.requests);
        self.run.as_ref().map_or_else(demanded, |run| run.summary.counts.all.completed)
    }

    /// Last due time of the load.
    pub fn demand_span_end_ns(&self) -> u64 {
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
            "story": self.story(),
            "demand": self.demand.as_ref().map(|demand| &demand.facts),
            "summary": self.run.as_ref().map(|run| &run.summary),
            "correlations": self.run.as_ref().map(|run| correlations(&run.diagrams)),
            "findings": self.run.as_ref().map(|run| &run.findings),
            "remarks": self.remarks,
        })
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

/// The samples of the machine's counters, if there is one run that has any.
fn series(inputs: &[Input]) -> Option<MachineSeries> {
    let [input] = inputs else { return None };
    // Samples of a simulated run have the machine's clock, and its requests have a simulated one.
    let archive = input.archive().filter(|archive| !matches!(archive.plan().engine, Engine::Sim(_)));
    input.beside(MachineSeries::of(archive?)).filter(|series| !series.is_empty())
}

/// Faults found by verification, if there is one run.
fn faults(inputs: &[Input]) -> Result<Vec<Fault>, FiguresError> {
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
///
/// # Errors
/// The records cannot be read.
pub fn deskew(archive: &Archive) -> Result<Deskew, FiguresError> {
    if archive.has_counts_only() {
        return Err(FiguresError::Records(std::io::Error::other(Elsewhere::of(archive.dir()))));
    }
    let mut windows = SkewWindows::default();
    archive.for_each_record(&mut |record| windows.add(record))?;
    deskew_in(archive, &windows)
}

/// Measures the transfers within known windows.
pub fn deskew_in(archive: &Archive, windows: &SkewWindows) -> Result<Deskew, FiguresError> {
    let mut deskew = windows.measure();
    archive.for_each_record(&mut |record| deskew.add(record))?;
    Ok(deskew)
}
