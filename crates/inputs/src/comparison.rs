//! Compares inputs with a baseline.

use crate::figures::{FiguresError, SummaryOptions};
use crate::{Figures, Input};
use iosonar_analyze::Limits;
use iosonar_analyze::compare::{self, Blocks, Comparison, Made, Run, RunVerdict};
use iosonar_archive::RunInfo;
use iosonar_evidence::TargetKind;
use iosonar_plan::Plan;
use iosonar_story::{Circumstances, comparison_story, machine_windows};
use std::io;

/// Why inputs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
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

/// Compares each input after the first with the first.
///
/// # Errors
/// An input is a load without latencies, or its records cannot be read.
pub fn comparisons(inputs: &[Input]) -> Result<Vec<Comparison>, ComparisonError> {
    inputs.iter().try_for_each(Input::scan).map_err(ComparisonError::Load)?;
    if let Some(load) = inputs.iter().find(|input| !input.has_times()) {
        return Err(ComparisonError::NoLatencies(load.name.clone()));
    }
    inputs.iter().try_for_each(Input::require_records).map_err(ComparisonError::Records)?;
    let facts: Vec<(Plan, RunInfo)> = inputs.iter().map(Input::run).collect();
    let mut runs: Vec<Run> = inputs.iter().zip(&facts).map(|(input, facts)| run(input, facts)).collect();
    let blocks = read_all(&runs).map_err(ComparisonError::Records)?;
    for (run, input) in runs.iter_mut().zip(inputs) {
        run.incomplete = input.incomplete();
    }
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

/// Reads all runs concurrently.
fn read_all(runs: &[Run]) -> io::Result<Vec<Blocks>> {
    std::thread::scope(|scope| {
        let readers: Vec<_> = runs
            .iter()
            .map(|run| {
                let (records, by_due) = (run.records, run.has_timetable);
                scope.spawn(move || Blocks::read(records, by_due))
            })
            .collect();
        let joined = readers.into_iter().map(|reader| reader.join());
        joined.map(|blocks| blocks.map_err(|_| io::Error::other("reading the records broke off"))?).collect()
    })
}
