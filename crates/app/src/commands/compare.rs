//! `iosonar compare`: runs, or matrices, beside a baseline.

use super::{compare_answers, compare_matrices};
use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::compare::{self, Comparison, Condition, Judged, Judgement, OnFake, Outcome};
use iosonar_inputs::{ComparisonError, Input, comparisons, repeats_compared};
use iosonar_text::csv::Form;

/// Prints one comparison for each run after the first.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    if !args.against.is_empty() {
        return of_repeats(args);
    }
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
    let conditions = conditions(args)?;
    let inputs = Input::open_all(&args.runs, args.spool.spool_limit)?;
    show(args, &conditions, comparisons(&inputs)?)
}

/// Compares repeats of two settings.
fn of_repeats(args: &CompareArgs) -> Result<Exit, Failure> {
    let conditions = conditions(args)?;
    let open = |runs| Input::open_all(runs, args.spool.spool_limit);
    let (a, b) = (open(&args.runs)?, open(&args.against)?);
    let comparison = repeats_compared(&a, &b).map_err(|why| match why {
        ComparisonError::Single(_) | ComparisonError::Twice(_) => {
            Failure::refused(anyhow!("--against: {why}"))
        }
        other => other.into(),
    })?;
    show(args, &conditions, vec![comparison])
}

fn conditions(args: &CompareArgs) -> Result<Vec<Condition>, Failure> {
    let parse = |text: &String| {
        Condition::parse(text).map_err(|error| Failure::refused(anyhow!("--fail-if '{text}': {error}")))
    };
    args.fail_if.iter().map(parse).collect()
}

/// Prints the comparisons in the requested form, and judges their conditions.
fn show(args: &CompareArgs, conditions: &[Condition], comparisons: Vec<Comparison>) -> Result<Exit, Failure> {
    let on_fake = if args.anyway { OnFake::Anyway } else { OnFake::Refuse };
    let judge = |comparison| Judged::new(comparison, conditions, on_fake);
    let judged: Vec<Judged> = comparisons.into_iter().map(judge).collect();
    print(&match (args.json, args.csv, args.markdown) {
        (true, ..) => compare::to_json(&judged),
        (_, true, _) => iosonar_plaintext::comparison_csv(&judged, Form { safe: args.csv_safe, crlf: false }),
        (.., true) => iosonar_plaintext::comparison_markdown(&judged),
        _ if args.all => all(&judged),
        _ => iosonar_plaintext::comparison_short(&judged),
    })?;
    exit(&judged, args)
}

/// The story of one comparison, then everything; several begin with their table.
fn all(judged: &[Judged]) -> String {
    let story =
        if judged.len() == 1 { iosonar_plaintext::comparison_short(judged) + "\n" } else { String::new() };
    story + &iosonar_plaintext::comparison(judged)
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
    if let Some(blind) =
        conditions().find(|c| args.strict && (c.blind_below_percent.is_some() || c.is_undecided))
    {
        return Err(Failure::refused(anyhow!(
            "--strict: --fail-if '{}' would not see what it asks about: this noise hides it; run longer, or \
             compare more runs",
            blind.condition.text
        )));
    }
    let nothing = judged.iter().any(|j| j.comparison.answer.outcome == Outcome::Nothing);
    Ok(if nothing { Exit::Failed } else { Exit::Fine })
}
