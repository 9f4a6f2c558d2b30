//! The story of a knee: the rate that a target sustains, how it responds below it, whether the queue depth is the limit, and what to do.
//!
//! It reads only what the answer holds, so that each sentence has its evidence in the JSON of `iosonar knee`.

mod reasons;
mod remedies;
#[cfg(test)]
mod tests;

use crate::statement::statement;
use crate::words::{capitalized, rounded_rate, short_bytes, time};
use crate::workload::{order, size};
use iosonar_analyze::compare::RunVerdict;
use iosonar_analyze::knee::{Doubt, Knee, KneeVerdict, RampRow};
use iosonar_analyze::{OutsideCause, Reason, Statement, Story};
use iosonar_plan::{Decimal, Nanos, Rising, Workload};
use iosonar_text::units::{grouped, request_rate};

/// The answer of a search, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct KneeFacts<'a> {
    /// The command as typed.
    pub command: &'a str,
    /// The requests.
    pub workload: &'a Workload,
    /// The most requests in flight.
    pub depth: u32,
    /// Length of the ramp that measures.
    pub duration: Nanos,
    /// The highest rate of a search.
    pub most: u64,
    /// How the rate rose in the ramp that answers.
    pub rising: Rising,
    /// The answer.
    pub verdict: &'a KneeVerdict,
    /// The intervals of that ramp in the JSON.
    pub steps: &'a [RampRow],
    /// Failed requests of all ramps.
    pub failed: u64,
    /// Whether the load ended before the ramp.
    pub load_was_over: bool,
    /// The objection to the figures, as the JSON has it.
    pub judgement: Option<&'a RunVerdict>,
    /// The story of the ramp whose figures are not those of the target.
    pub fake: Option<&'a Story>,
    /// The cause outside of the target that covers most of the time in which the rate was measured.
    pub outside: Option<&'a OutsideCause>,
    /// The ramp that a target needs that is too slow for any other.
    pub slow: Option<Rising>,
}

/// The story of a knee. Its evidence are paths in the JSON of the answer.
pub fn knee_story(facts: &KneeFacts<'_>) -> Statement {
    if let Some(fake) = fake(facts) {
        return fake;
    }
    let found = match facts.verdict {
        KneeVerdict::Found(knee) => found(facts, knee),
        KneeVerdict::NotReached { at_least_per_second } => not_reached(facts, *at_least_per_second),
        KneeVerdict::Unclear { why, at_least_per_second } => unclear(facts, *why, *at_least_per_second),
    };
    Statement { worth: found.worth.or_else(|| worth(facts)), ..found }
}

/// Figures that are those of another place.
fn fake(facts: &KneeFacts<'_>) -> Option<Statement> {
    let (story, judgement) = facts.fake.zip(facts.judgement)?;
    let because = Reason::new("The requests were not done by the target.", &["judgement.sentence"]);
    Some(Statement {
        worth: Some(judgement.sentence.clone()),
        remedy: story.remedy.clone(),
        ..statement(story.headline.clone(), [because])
    })
}

/// The rate that the target sustains.
fn found(facts: &KneeFacts<'_>, knee: &Knee) -> Statement {
    let (kind, depth) = (requests(facts.workload), in_flight(facts));
    let rate = rounded_rate(knee.sustained_per_second);
    let text = match facts.outside {
        Some(outside) => {
            format!("At least {rate} {kind}/s {depth}, a limit not of the target: {}.", outside.cause)
        }
        None => {
            let interval = interval(knee);
            let mix = mix(facts.workload);
            format!("Sustains {rate} {kind}/s ({interval}){mix} {depth}.")
        }
    };
    let reasons = [
        reasons::failed(facts),
        facts.outside.map(reasons::outside),
        reasons::from_the_start(knee),
        reasons::below(facts, knee).or_else(|| reasons::backlog(knee)),
        reasons::collapse(knee),
        reasons::depth(facts, knee),
    ];
    let measured = knee.measured_to_ns - knee.measured_from_ns;
    let no_judgement = facts.judgement.is_none();
    let worth = no_judgement.then(|| {
        format!(
            "95 % interval from {} of overload in one ramp; it holds for this depth and these requests",
            time(measured)
        )
    });
    Statement {
        worth,
        remedy: remedies::of_knee(facts, knee),
        ..statement(text, reasons.into_iter().flatten())
    }
}

/// A target that kept up to the end.
fn not_reached(facts: &KneeFacts<'_>, least: f64) -> Statement {
    let (kind, depth) = (requests(facts.workload), in_flight(facts));
    let text = format!("No limit was reached: at least {} {kind}/s {depth}.", rounded_rate(least));
    let all = Reason::new("That is all that was requested.", &["verdict.at_least_per_second"]);
    let over = facts.load_was_over.then(reasons::load_was_over);
    let reasons = [reasons::failed(facts), over, Some(all)];
    Statement {
        remedy: remedies::of_higher_rate(facts, least),
        ..statement(text, reasons.into_iter().flatten())
    }
}

/// No rate, or only a lower bound.
fn unclear(facts: &KneeFacts<'_>, why: Doubt, least: Option<f64>) -> Statement {
    let kind = requests(facts.workload);
    let reason = match why {
        Doubt::EndedThere => "the ramp ended there",
        Doubt::TooShort => "the overload was too short",
        Doubt::Unsteady => "the rate under overload varies too much",
        Doubt::TooFew => "too few requests completed",
        Doubt::Stopped => "the search was stopped",
    };
    let text = match least.filter(|least| *least > 0.0) {
        Some(least) => {
            format!("At least {} {kind}/s; the limit is not clear: {reason}.", rounded_rate(least))
        }
        None => format!("The limit is not clear: {reason}."),
    };
    let (why_text, _) = why.text().split_once(':').unwrap_or((why.text(), ""));
    let because = Reason::new(format!("{}.", capitalized(why_text.into())), &["verdict.why"]);
    let over = facts.load_was_over.then(reasons::load_was_over);
    let reasons = [reasons::failed(facts), over, Some(because)];
    Statement { remedy: remedies::of_doubt(facts, why), ..statement(text, reasons.into_iter().flatten()) }
}

/// The objection to the figures; without one, how far a lower bound reaches.
fn worth(facts: &KneeFacts<'_>) -> Option<String> {
    facts.judgement.map(|judgement| judgement.sentence.clone()).or_else(|| {
        let is_bound = !matches!(facts.verdict, KneeVerdict::Unclear { at_least_per_second: None, .. });
        is_bound.then(|| "a lower bound, for this depth and these requests".into())
    })
}

/// `random 4 KiB reads`; `requests` of a recorded load.
fn requests(workload: &Workload) -> String {
    let Workload::Generated(generator) = workload else { return "requests".into() };
    let (whole, none) = (Decimal::whole(100), Decimal::whole(0));
    let what = match generator.read_percent {
        all if all == whole => "reads",
        no if no == none && generator.discard_percent == none && generator.zeroes_percent == none => "writes",
        _ => "requests",
    };
    let size = size(workload).map_or(String::new(), |size| format!("{} ", short_bytes(size)));
    format!("{}{size}{what}", order(workload).unwrap_or_default())
}

/// The share of reads, if it is neither all nor nothing.
fn mix(workload: &Workload) -> String {
    match workload {
        Workload::Generated(generator) => match generator.read_percent {
            all if all == Decimal::whole(100) || all == Decimal::whole(0) => String::new(),
            some => format!(", {some} % reads,"),
        },
        Workload::Trace(_) => String::new(),
    }
}

/// Conflicts of a recorded load may leave fewer in flight.
fn in_flight(facts: &KneeFacts<'_>) -> String {
    let most = if matches!(facts.workload, Workload::Trace(_)) { "up to " } else { "" };
    format!("with {most}{} in flight", grouped(facts.depth.into()))
}

/// The ends of the interval, rounded outwards to three digits, or to more if it is narrow: `55 900 to 60 400`.
fn interval(knee: &Knee) -> String {
    let (low, high) = (knee.low_per_second, knee.high_per_second);
    let power = |value: f64| value.max(1e-9).log10().floor() as i32;
    let unit = 10f64.powi((power(high) - 2).min(power(high - low).max(0)));
    let end = |value: f64, round: fn(f64) -> f64| request_rate(round(value / unit) * unit);
    format!("{} to {}", end(low, f64::floor), end(high, f64::ceil))
}
