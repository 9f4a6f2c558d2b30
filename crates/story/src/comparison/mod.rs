//! The story of a comparison: how the runs differ, what differed in the machine meanwhile and in the plans, and what to do.
//!
//! It reads only what the comparison holds, so that each sentence has its evidence in the JSON of the comparison. A cause outside of the
//! targets is a cause if the machine did more of it in one run than in the other, in the times in which they differ.

mod headline;
mod reasons;

use crate::statement::statement;
use iosonar_analyze::compare::{Comparison, Facts, Outcome, WITHIN_RUNS};
use iosonar_analyze::{LEAST_REQUESTS, Statement};
use iosonar_text::units::grouped;
use reasons::Reasons;

/// The story of a comparison. `place` is where it stands in its JSON, for the paths of the evidence: `comparisons.0`.
pub fn comparison_story(comparison: &Comparison, place: &str) -> Statement {
    let reasons = Reasons { comparison, place };
    if comparison.answer.outcome == Outcome::Nothing {
        let text = format!("{}.", comparison.answer.text);
        return statement(text, vec![reasons.reason("No figure is in both runs.".into(), &["a", "b"])]);
    }
    if let Some(fake) = fake(&reasons) {
        return fake;
    }
    if let Some(few) = few(&reasons) {
        return few;
    }
    let found = reasons.found();
    Statement {
        worth: Some(comparison.repeats.as_ref().map_or(WITHIN_RUNS.into(), |repeats| repeats.covers.clone())),
        remedy: found.remedy.or_else(|| remedy(comparison).map(String::from)),
        ..statement(headline::headline(comparison), found.because)
    }
}

/// Figures that are not what they claim to be compare no targets.
fn fake(reasons: &Reasons<'_>) -> Option<Statement> {
    let fakes: Vec<(&str, &str)> = reasons.comparison.fakes().collect();
    let (letters, is_are) = match fakes.as_slice() {
        [] => return None,
        [(letter, _)] => (letter.to_string(), "is"),
        _ => ("A and B".into(), "are"),
    };
    let because = fakes.iter().map(|(letter, sentence)| {
        let path = format!("{}.verdict.sentence", letter.to_lowercase());
        reasons.reason(format!("{letter} is {sentence}."), &[&path])
    });
    Some(Statement {
        worth: Some("The figures are those of the runs as they were; they compare no targets.".into()),
        remedy: Some("measure it again as 'iosonar show' of that run proposes".into()),
        ..statement(
            format!("{letters} {is_are} FAKE: the figures do not show how the targets differ."),
            because,
        )
    })
}

/// Too few requests for any statement.
fn few(reasons: &Reasons<'_>) -> Option<Statement> {
    let c = reasons.comparison;
    let runs = c
        .repeats
        .iter()
        .flat_map(|r| r.a.iter().map(|run| ("A", run)).chain(r.b.iter().map(|run| ("B", run))));
    let is_few = |(_, facts): &(&'static str, &Facts)| facts.completed < LEAST_REQUESTS;
    let (letter, facts) = [("A", &c.a), ("B", &c.b)].into_iter().chain(runs).find(is_few)?;
    let completed = grouped(facts.completed);
    let because = format!("A statement needs {LEAST_REQUESTS} completed requests of each run.");
    let path = format!("{}.completed", letter.to_lowercase());
    Some(Statement {
        remedy: Some("repeat both with more requests, or for a longer time".into()),
        ..statement(
            format!("Too few requests to compare: {letter} has {completed}."),
            vec![reasons.reason(because, &[&path])],
        )
    })
}

/// A step that makes the answer more certain.
fn remedy(comparison: &Comparison) -> Option<&'static str> {
    match comparison.answer.outcome {
        Outcome::Nothing => None,
        Outcome::NotShown if comparison.repeats.is_some() => {
            Some("repeat both more often to see smaller differences")
        }
        _ if comparison.repeats.is_some() => None,
        Outcome::NotShown => Some("run both for longer to see smaller differences"),
        _ => Some("compare A with a second run of A: that is the noise between runs"),
    }
}

#[cfg(test)]
mod tests;
