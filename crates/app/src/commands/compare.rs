//! `iosonar compare`: runs, or matrices, beside a baseline.

use super::{compare_answers, compare_matrices};
use crate::compare_args::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::Limits;
use iosonar_analyze::compare::{
    self, Blocks, Comparison, Condition, Judged, Judgement, OnFake, Outcome, Run, RunVerdict,
};
use iosonar_archive::RunInfo;
use iosonar_inputs::Input;
use iosonar_plan::Plan;
use iosonar_text::csv::Form;
use std::io;

/// Prints one comparison for each run after the first.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    if args.runs.len() < 2 {
        return Err(Failure::refused(anyhow!(
            "only one run is named: name the baseline, then the runs to compare with it"
        )));
    }
    if let Some(tables) = compare_matrices::tables(&args.runs)? {
        return compare_matrices::compare(args, &tables);
    }
    if let Some(answers) = compare_answers::answers(&args.runs)? {
        return compare_answers::compare(args, &answers);
    }
    if args.html.is_some() {
        return Err(Failure::refused(anyhow!("--html: runs have their page from 'iosonar report RUN RUN'")));
    }
    let parse = |text: &String| {
        Condition::parse(text).map_err(|error| Failure::refused(anyhow!("--fail-if '{text}': {error}")))
    };
    let conditions: Vec<Condition> = args.fail_if.iter().map(parse).collect::<Result<_, _>>()?;
    let inputs = Input::open_all(&args.runs, args.spool.spool_limit)?;
    let on_fake = if args.anyway { OnFake::Anyway } else { OnFake::Refuse };
    let judge = |comparison| Judged::new(comparison, &conditions, on_fake);
    let judged: Vec<Judged> = comparisons(&inputs)?.into_iter().map(judge).collect();
    print(&match (args.json, args.csv, args.markdown) {
        (true, ..) => compare::to_json(&judged),
        (_, true, _) => iosonar_view::compare_csv(&judged, Form { safe: args.csv_safe, crlf: false }),
        (.., true) => iosonar_view::compare_markdown(&judged),
        _ => iosonar_view::compare(&judged),
    })?;
    exit(&judged, args)
}

/// Compares each input after the first with the first.
pub fn comparisons(inputs: &[Input]) -> Result<Vec<Comparison>, Failure> {
    inputs.iter().try_for_each(Input::scan).map_err(Failure::refused)?;
    if let Some(load) = inputs.iter().find(|input| !input.has_times()) {
        return Err(Failure::refused(anyhow!(
            "{} is a load without latencies: there is nothing to compare; replay it, or analyze the loads with \
             'iosonar analyze --each'",
            load.name
        )));
    }
    let facts: Vec<(Plan, RunInfo)> = inputs.iter().map(Input::run).collect();
    let mut runs: Vec<Run> = inputs.iter().zip(&facts).map(|(input, facts)| run(input, facts)).collect();
    let blocks = read_all(&runs)?;
    for (run, input) in runs.iter_mut().zip(inputs) {
        run.incomplete = input.incomplete();
    }
    let mut comparisons = Vec::new();
    for (run, their) in runs.iter().zip(&blocks).skip(1) {
        comparisons.push(compare::compare((&runs[0], &blocks[0]), (run, their))?);
    }
    Ok(comparisons)
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

/// A condition that failed takes precedence over one that cannot be judged. Conditions on fake figures are not judged.
fn exit(judged: &[Judged], args: &CompareArgs) -> Result<Exit, Failure> {
    let conditions = || judged.iter().flat_map(|j| &j.conditions);
    let mut fakes = judged.iter().flat_map(|j| j.comparison.fakes());
    if let Some((letter, sentence)) = fakes.next().filter(|_| !args.anyway && conditions().next().is_some()) {
        return Err(Failure::refused(anyhow!(
            "--fail-if: nothing is judged, because {letter} is {sentence}; measure it again, or judge its figures as they are with \
             --anyway"
        )));
    }
    if conditions().any(|c| c.result == Judgement::Failed) {
        return Ok(Exit::Failed);
    }
    if let Some(unknown) = conditions().find(|c| c.result == Judgement::Unknown) {
        let (text, figure) = (&unknown.condition.text, &unknown.condition.figure);
        return Err(Failure::refused(anyhow!(
            "--fail-if '{text}' cannot be judged: {figure} is missing in one of the runs, has no interval because too few \
             requests or too little time are behind it, or its noise is larger than any answer (a run that broke down)"
        )));
    }
    if let Some(blind) = conditions().find(|c| args.strict && c.blind_below_percent.is_some()) {
        return Err(Failure::refused(anyhow!(
            "--strict: --fail-if '{}' would not see what it asks about: with this noise only larger changes are shown; run longer, or \
             compare more runs",
            blind.condition.text
        )));
    }
    let nothing = judged.iter().any(|j| j.comparison.answer.outcome == Outcome::Nothing);
    Ok(if nothing { Exit::Failed } else { Exit::Fine })
}
