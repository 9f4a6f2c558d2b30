//! Results that are refuted: wrong data, failed requests, fake results, and runs that measured nothing.

use super::Headline;
use super::well::{self, rate_of};
use crate::words::{capitalized, fitting, listed, moment};
use crate::{Facts, names, simulated};
use iosonar_analyze::{Detection, Judgement, Reason, Verdict};
use iosonar_archive::FaultClass;
use iosonar_plan::Stamp;
use iosonar_text::units::grouped;

/// Data that differed from what it had to be.
pub(super) fn wrong_data(facts: &Facts<'_>) -> Option<Headline> {
    let verified = facts.summary.verified.as_ref().filter(|verified| verified.total() > 0)?;
    let mut classes: Vec<(&FaultClass, u64)> =
        verified.faults.iter().map(|(class, count)| (class, count.faults)).collect();
    classes.sort_by_key(|(_, faults)| std::cmp::Reverse(*faults));
    let named = |(class, faults): &(&FaultClass, u64)| format!("{} {}", grouped(*faults), class.name());
    let mut named: Vec<String> = classes.iter().map(named).collect();
    let classified: u64 = classes.iter().map(|(_, faults)| faults).sum();
    if classified < verified.total() {
        named.push(format!("{} more", grouped(verified.total() - classified)));
    }
    let places = if verified.total() == 1 { "place" } else { "places" };
    let is_injected = facts.summary.stamps.contains(&Stamp::FaultsInjected);
    let differs = match is_injected {
        true => "Faults were injected on purpose: the target is not accused.",
        false => "The data is not what the run has written.",
    };
    Some(Headline {
        text: format!("{} {places} gave back wrong data: {}.", grouped(verified.total()), listed(&named)),
        because: vec![Reason::new(differs, &["verified.faults", "verified.first"])],
        remedy: match is_injected {
            true if !facts.plan.engine.is_real() => None,
            true => Some("repeat it without injected faults to test the target".into()),
            false => Some(
                "see the fault map in the report page, and test the device without this run's load".into(),
            ),
        },
    })
}

/// Requests that the kernel refused.
pub(super) fn failed(facts: &Facts<'_>) -> Option<Headline> {
    let summary = facts.summary;
    let counts = &summary.counts;
    let failed = counts.all.failed + counts.other.failed;
    let most = summary.errors.iter().max_by_key(|error| error.count).filter(|_| failed > 0)?;
    let first = summary.errors.iter().map(|error| error.first_due_ns).min()?;
    let (what, of) = match (counts.read.failed, counts.write.failed, counts.other.failed) {
        (1.., 0, 0) => ("reads", counts.read.completed),
        (0, 1.., 0) => ("writes", counts.write.completed),
        _ => ("requests", counts.all.completed + counts.other.completed),
    };
    let others = match summary.errors.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let text = format!(
        "{} of {} {what} failed with {}{others}, first at {}.",
        grouped(failed),
        grouped(of + failed),
        most.name,
        moment(first)
    );
    let how = match most.name.as_str() {
        "short transfer" => "They transferred fewer bytes than requested",
        _ => "They came back with an error",
    };
    let because = format!("{how}; the latencies are those of the others.");
    Some(Headline {
        text,
        because: simulated::failures(facts)
            .into_iter()
            .chain([Reason::new(because, &["counts.all.failed", "errors"])])
            .collect(),
        remedy: facts
            .plan
            .engine
            .is_real()
            .then(|| "look at the kernel's messages about the device: dmesg".into()),
    })
}

/// Results that are not what they claim to be. Of several targets only those that are.
pub(super) fn fake(facts: &Facts<'_>) -> Option<Headline> {
    let judgement =
        facts.summary.judgement.as_ref().filter(|judgement| judgement.verdict == Verdict::Fake)?;
    let proof = proof(judgement)?;
    let fakes = &judgement.fake_targets;
    let fakes: Vec<String> = fakes.iter().map(|fake| names::target(facts, fake.target.into())).collect();
    let why = first_clause(&proof.text);
    let is_in_part = !fakes.is_empty() && fakes.len() < facts.plan.targets.len();
    let text = match is_in_part {
        false => fitting([format!("FAKE: {}: {why}.", rate_of(facts)), format!("FAKE: {why}.")]),
        true => {
            let fakes = listed(&fakes);
            fitting([
                format!("FAKE on {fakes}, no objection to the others: {why}."),
                format!("FAKE on {fakes}, no objection to the others."),
            ])
        }
    };
    let index = judgement.detections.iter().position(|one| one.id == proof.id).unwrap_or(0);
    let path = format!("judgement.detections.{index}");
    let because = Reason::new(after_first_clause(&proof.text), &[&path]);
    Some(Headline {
        text,
        because: [because].into_iter().chain(well::targets(facts).filter(|_| is_in_part)).collect(),
        remedy: Some(proof.remedy.clone()).filter(|remedy| !remedy.is_empty()),
    })
}

/// The first clause of a text, without its last point.
pub(crate) fn first_clause(text: &str) -> &str {
    let clause = text.split([':', ';']).next().unwrap_or_default();
    clause.split(". ").next().unwrap_or_default().trim_end_matches('.')
}

/// The text after its first clause, which the headline has; all of it, if it has one clause.
fn after_first_clause(text: &str) -> String {
    let rest = &text[first_clause(text).len()..];
    match rest.trim_start_matches([':', ';', '.', ' ']) {
        "" => text.into(),
        rest => capitalized(rest.into()),
    }
}

/// The detection that shows best that a result is fake.
fn proof(judgement: &Judgement) -> Option<&Detection> {
    judgement.reported().find(|one| one.is_proof).or_else(|| judgement.reported().next())
}

/// Runs without I/O.
pub(super) fn not_measured(facts: &Facts<'_>) -> Option<Headline> {
    let engine = facts.run.setup.engine.as_str();
    let is_dry = engine == "null";
    let verdict = facts.summary.judgement.as_ref().map(|judgement| judgement.verdict);
    (verdict == Some(Verdict::NotMeasured) && is_dry).then(|| Headline {
        text: "Nothing was measured: no request was executed (engine null).".into(),
        because: Vec::new(),
        remedy: Some("choose an engine that does I/O, for example --engine uring".into()),
    })
}
