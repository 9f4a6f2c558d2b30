//! Everything that is known about inputs: what several commands print and draw.

use crate::analyze_args::DemandArgs;
use crate::commands::headline;
use crate::exit::Failure;
use crate::inputs::{Input, Merged};
use crate::session::{TOOL, command_line};
use iosonar_analyze::demand::DemandAnalysis;
use iosonar_analyze::{
    Caution, CautionId, DISPLACEMENT, Detail, Diagrams, Findings, Found, Limits, Records, Severity, Summary,
    Tally, Wanted, pass,
};
use iosonar_view::{
    Headline, LoadText, Material, RunMaterial, Subject, TextOptions, TextReport, text_report, units,
};
use serde_json::{Value, json};

/// Version of the JSON form.
const VERSION: u32 = 1;

/// Inputs, analysed.
pub struct Analysis {
    /// Names of the inputs, as typed.
    pub names: Vec<String>,
    /// What the load demands.
    pub demand: DemandAnalysis,
    /// What happened, where anything is known about it.
    pub run: Option<Run>,
    /// What was left out of the inputs, or does not fit.
    pub remarks: Vec<String>,
    /// What is known about the machine.
    headline: Headline,
}

/// What happened, in figures.
pub struct Figures {
    pub tally: Tally,
    pub summary: Summary,
}

impl Figures {
    /// Reads a run once.
    pub fn of(input: &Input, limits: &Limits) -> Result<Figures, Failure> {
        let (plan, info) = input.run();
        let wanted = Wanted { tally: true, ..Wanted::nothing() };
        let tally = pass(input, plan.targets.len(), limits, &wanted)?.tally.expect("it was wanted");
        Ok(Figures { summary: Summary::new(&tally, &plan, &info), tally })
    }
}

/// What happened.
pub struct Run {
    pub tally: Tally,
    pub summary: Summary,
    pub diagrams: Diagrams,
    pub findings: Findings,
}

impl Analysis {
    /// Reads the inputs once; loads that turn out to carry latencies once more.
    pub fn of(inputs: &[Input], limits: &Limits, demand: &DemandArgs) -> Result<Analysis, Failure> {
        let merged = Merged::new(inputs)?;
        let is_run = inputs.iter().all(Input::is_run);
        let wanted = Wanted {
            demand: Some(demand.options()),
            one_device: demand.one_device,
            ..if is_run { Run::wanted() } else { Wanted::nothing() }
        };
        let read = || pass(&merged, merged.targets(), limits, &wanted).map_err(Failure::refused);
        let was_ordered = merged.displacement() < DISPLACEMENT;
        let mut found = read()?;
        if found.late > 0 && was_ordered && merged.displacement() == DISPLACEMENT {
            // A load was not in order: now that this is known, each request finds its place.
            found = read()?;
        }
        let demand = found.demand.take().expect("it was wanted");
        let (mut late, mut run) = (found.late, None);
        if is_run {
            run = Run::of(found, &merged);
        } else if inputs.iter().any(Input::has_times) {
            let timed = Merged::new(inputs.iter().filter(|input| input.has_times()))?;
            let found = pass(&timed, timed.targets(), limits, &Run::wanted()).map_err(Failure::refused)?;
            late = late.max(found.late);
            run = Run::of(found, &timed);
        }
        let mut remarks = remarks(inputs);
        if late > 0 {
            remarks.push(format!(
                "{late} requests were overtaken by more than {DISPLACEMENT} others: what is counted in an order may be \
                 a little wrong"
            ));
        }
        Ok(Analysis {
            names: inputs.iter().map(|input| input.name.clone()).collect(),
            demand,
            run,
            remarks,
            headline: inputs.iter().find_map(Input::archive).map(headline).unwrap_or_default(),
        })
    }

    /// What to know before believing the figures.
    pub fn cautions(&self) -> &[Caution] {
        self.run.as_ref().map_or(&[], |run| &run.summary.cautions)
    }

    /// Last time at which anything was due or done.
    pub fn end_ns(&self) -> u64 {
        let demanded = self.demand.facts.span.map_or(0, |span| span.last_ns);
        self.run.as_ref().map_or(demanded, |run| run.diagrams.end_ns().max(demanded))
    }

    /// As JSON, see `docs/analysis.md`.
    pub fn to_json(&self) -> Value {
        json!({
            "version": VERSION,
            "tool": TOOL,
            "inputs": self.names,
            "demand": self.demand.facts,
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
        f(&Material { subject: &subject, run, demand: Some(&self.demand) })
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
        let facts = &self.demand.facts;
        let last = facts.span.map_or(0, |span| span.last_ns);
        Subject {
            what: self.names.join(", "),
            how: format!(
                "load · {} requests · up to {}",
                units::grouped(facts.counts.all.requests),
                units::moment(last, units::Charset::Unicode)
            ),
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
                    load: Some(LoadText::of(&self.demand)),
                    cautions: skipped.as_slice(),
                    ..TextReport::default()
                };
                text_report(&report, options)
            }
        }
    }

    /// As text for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if let Some(run) = &self.run {
            text += &iosonar_view::show(&run.summary);
            text += &iosonar_view::show_findings(&run.findings);
            text.push('\n');
        }
        text + &iosonar_view::show_demand(&self.names, &self.demand.facts)
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
    fn wanted() -> Wanted {
        Wanted { tally: true, diagrams: Some(Detail::Full), stalls: true, ..Wanted::nothing() }
    }

    /// Reads a run once, without asking what it demanded.
    pub fn read(input: &Input, limits: &Limits) -> Result<Run, Failure> {
        let merged = Merged::new([input])?;
        let found = pass(&merged, merged.targets(), limits, &Run::wanted()).map_err(Failure::refused)?;
        Ok(Run::of(found, &merged).expect("it was wanted"))
    }

    /// What pictures of it are drawn from.
    pub fn material(&self) -> RunMaterial<'_> {
        RunMaterial {
            summary: &self.summary,
            diagrams: &self.diagrams,
            tally: Some(&self.tally),
            findings: Some(&self.findings),
        }
    }

    fn of(found: Found, inputs: &Merged<'_>) -> Option<Run> {
        let (tally, diagrams, stalls) = (found.tally?, found.diagrams?, found.stalls?);
        let (plan, info) = inputs.run();
        let mut summary = Summary::new(&tally, &plan, &info);
        if inputs.is_recording() {
            summary.forget_means();
        }
        let findings = Findings::of(&diagrams, &stalls, &summary);
        Some(Run { tally, summary, diagrams, findings })
    }
}
