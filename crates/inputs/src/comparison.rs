//! Compares inputs with a baseline.

use crate::figures::{FiguresError, SummaryOptions};
use crate::{Figures, Input};
use iosonar_analyze::Limits;
use iosonar_analyze::compare::{self, Blocks, Comparison, LEAST_REPEATS, Made, Run, RunVerdict};
use iosonar_archive::RunInfo;
use iosonar_evidence::TargetKind;
use iosonar_plan::Plan;
use iosonar_story::{Circumstances, comparison_story, machine_windows};
use std::io;

/// Why inputs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// A run is named twice.
    #[error("{0} is named twice: a run is no repeat of itself")]
    Twice(String),
    /// A side has a single run.
    #[error(
        "the noise between runs takes at least {LEAST_REPEATS} runs of each side; {0} is alone: repeat it"
    )]
    Single(String),
    /// A load cannot be read.
    #[error("{0}")]
    Load(#[source] io::Error),
    /// An input has no latencies.
    #[error(
        "{0} is a load without latencies: there is nothing to compare; replay it, or analyze the loads with 'iosonar analyze --each'"
    )]
    NoLatencies(String),
    /// Records cannot be read.
    #[error("{0}")]
    Records(#[source] io::Error),
    /// The figures of a run cannot be made.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Refuses inputs without latencies or records.
fn require_times(inputs: &[Input]) -> Result<(), ComparisonError> {
    inputs.iter().try_for_each(Input::scan).map_err(ComparisonError::Load)?;
    if let Some(load) = inputs.iter().find(|input| !input.has_times()) {
        return Err(ComparisonError::NoLatencies(load.name.clone()));
    }
    inputs.iter().try_for_each(Input::require_records).map_err(ComparisonError::Records)
}

/// Compares the runs of B, together, with those of A: repeats of two settings.
///
/// # Errors
/// A side has fewer than two runs; an input is a load without latencies, or its records cannot be read.
pub fn repeats_compared(a: &[Input], b: &[Input]) -> Result<Comparison, ComparisonError> {
    if let Some([single]) = [a, b].into_iter().find(|side| side.len() < LEAST_REPEATS) {
        return Err(ComparisonError::Single(single.name.clone()));
    }
    let paths: Vec<_> = a.iter().chain(b).map(|input| std::fs::canonicalize(&input.name).ok()).collect();
    let is_twice = |at: &usize| paths[*at].is_some() && paths[..*at].contains(&paths[*at]);
    if let Some(at) = (0..paths.len()).find(is_twice) {
        let twice = a.iter().chain(b).nth(at).map(|input| input.name.clone());
        return Err(ComparisonError::Twice(twice.unwrap_or_default()));
    }
    let read = |inputs: &[Input]| {
        require_times(inputs)?;
        Ok::<_, ComparisonError>(inputs.iter().map(Input::run).collect::<Vec<_>>())
    };
    let (facts_a, facts_b) = (read(a)?, read(b)?);
    let (mut runs_a, mut runs_b) = (runs_of(a, &facts_a), runs_of(b, &facts_b));
    let blocks = |runs: &[Run]| read_all(runs).map_err(ComparisonError::Records);
    let (blocks_a, blocks_b) = (blocks(&runs_a)?, blocks(&runs_b)?);
    let all = runs_a.iter_mut().zip(a).chain(runs_b.iter_mut().zip(b));
    all.for_each(|(run, input)| run.incomplete = input.incomplete());
    let side_a: Vec<_> = runs_a.iter().zip(&blocks_a).collect();
    let side_b: Vec<_> = runs_b.iter().zip(&blocks_b).collect();
    let mut comparison = compare::compare_repeats(&side_a, &side_b);
    (comparison.a.made, comparison.b.made) = (a[0].made(), b[0].made());
    if let Some(repeats) = &mut comparison.repeats {
        repeats.a.iter_mut().zip(a).for_each(|(run, input)| run.made = input.made());
        repeats.b.iter_mut().zip(b).for_each(|(run, input)| run.made = input.made());
    }
    comparison.story = Some(comparison_story(&comparison, "comparisons.0"));
    Ok(comparison)
}

/// The inputs as runs to compare, each with its facts.
fn runs_of<'a>(inputs: &'a [Input], facts: &'a [(Plan, RunInfo)]) -> Vec<Run<'a>> {
    inputs.iter().zip(facts).map(|(input, facts)| run(input, facts)).collect()
}

/// Compares each input after the first with the first.
///
/// # Errors
/// An input is a load without latencies, or its records cannot be read.
pub fn comparisons(inputs: &[Input]) -> Result<Vec<Comparison>, ComparisonError> {
    require_times(inputs)?;
    let facts: Vec<(Plan, RunInfo)> = inputs.iter().map(Input::run).collect();
    let mut runs = runs_of(inputs, &facts);
    let blocks = read_all(&runs).map_err(ComparisonError::Records)?;
    // It is known when the records are read.
    runs.iter_mut().zip(inputs).for_each(|(run, input)| run.incomplete = input.incomplete());
    let circumstances = inputs.iter().map(Input::circumstances).collect::<Result<Vec<_>, _>>()?;
    let mut comparisons = Vec::new();
    for (index, (run, their)) in runs.iter().zip(&blocks).enumerate().skip(1) {
        let mut comparison =
            compare::compare((&runs[0], &blocks[0]), (run, their)).map_err(ComparisonError::Records)?;
        let (a, b) = (circumstances[0].as_ref(), circumstances[index].as_ref());
        (comparison.a.made, comparison.b.made) = (inputs[0].made(), inputs[index].made());
        comparison.machine = machine_windows(&comparison, a, b);
        comparison.story = Some(comparison_story(&comparison, &format!("comparisons.{}", index - 1)));
        comparisons.push(comparison);
    }
    Ok(comparisons)
}

impl Input {
    /// Influences from outside of the target of a run. `None` if the input is no archive of one.
    fn circumstances(&self) -> Result<Option<Circumstances>, FiguresError> {
        if self.archive().is_none() {
            return Ok(None);
        }
        let figures = Figures::of(self, &SummaryOptions::default())?;
        Ok(Some(figures.circumstances(self)))
    }

    /// How a run was made; `None` for a load.
    fn made(&self) -> Option<Made> {
        let (plan, info) = self.run();
        let environment = self.archive().map(|archive| archive.environment());
        let model = |index: usize| match &environment.as_ref()?.targets.get(index)?.kind {
            TargetKind::BlockDevice(device) => device.model.known().map(|model| model.trim().to_string()),
            _ => None,
        };
        let targets = plan.targets.iter().enumerate().map(|(index, target)| {
            let model = model(index).map_or(String::new(), |model| format!(" ({model})"));
            target.path.display().to_string() + &model
        });
        self.is_run().then(|| Made {
            tool: info.tool,
            command: info.command,
            kernel: environment.as_ref().and_then(|environment| environment.kernel.release.known().cloned()),
            targets: targets.collect(),
        })
    }
}

fn run<'a>(input: &'a Input, (plan, info): &'a (Plan, RunInfo)) -> Run<'a> {
    Run {
        name: input.name.clone(),
        records: input,
        plan: input.is_run().then_some(plan),
        environment: input.archive().map_or(serde_json::Value::Null, |archive| archive.environment_json()),
        // A recording has issue times, but no due times.
        has_timetable: plan.has_timetable() && input.is_run() && info.recorded.is_none(),
        phases: &info.phases,
        incomplete: None,
        verdict: verdict(input),
    }
}

/// The verdict kept with a run. A run without a summary has not been judged yet.
fn verdict(input: &Input) -> Option<RunVerdict> {
    let judgement = input.summary(&Limits::default())?.judgement?;
    Some(RunVerdict { verdict: judgement.verdict, sentence: judgement.sentence })
}

/// Runs that are read at once.
const READ_AT_ONCE: usize = 8;

/// Reads several runs concurrently.
fn read_all(runs: &[Run]) -> io::Result<Vec<Blocks>> {
    let read = |some: &[Run]| {
        std::thread::scope(|scope| {
            let readers: Vec<_> = some
                .iter()
                .map(|run| {
                    let (records, by_due) = (run.records, run.has_timetable);
                    scope.spawn(move || Blocks::read(records, by_due))
                })
                .collect();
            let joined = readers.into_iter().map(|reader| reader.join());
            let blocks =
                joined.map(|blocks| blocks.map_err(|_| io::Error::other("reading the records broke off"))?);
            blocks.collect::<io::Result<Vec<Blocks>>>()
        })
    };
    let parts: Vec<Vec<Blocks>> = runs.chunks(READ_AT_ONCE).map(read).collect::<io::Result<_>>()?;
    Ok(parts.into_iter().flatten().collect())
}
