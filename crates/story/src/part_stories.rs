//! Stories of targets and phases, where a run has several: one of them may be fake, or disturbed, and the others not.

use crate::Facts;
use crate::events::Events;
use crate::words::{fitted, rate, time};
use crate::{headline, names};
use iosonar_analyze::{DetectorId, LEAST_REQUESTS, PartStats, PartStory, StoryEvent, Verdict};
use iosonar_text::units::{byte_rate, grouped};

/// From this mean size on, bytes say more than requests.
const LARGE: u64 = 64 << 10;
/// Most parts with a story: a matrix has many phases.
const MOST: usize = 64;

/// The story of each target and of each phase; empty if the run has one of both.
pub(crate) fn part_stories(facts: &Facts<'_>, events: &Events) -> Vec<PartStory> {
    let of_target = |(number, part): (usize, &PartStats)| {
        let target = Some(number as u16);
        let own: Vec<&StoryEvent> = events.list.iter().filter(|event| event.target == target).collect();
        let name = names::target(facts, number);
        let fake = fake(facts, number);
        let verdict = fake.as_ref().map(|_| Verdict::Fake);
        let headline = fake.unwrap_or_else(|| headline_of(part, &own));
        PartStory { target, phase: None, name, headline: fitted(headline), verdict }
    };
    let of_phase = |part: &PartStats| {
        let phase = part.number.map(|number| number as u16);
        let own: Vec<&StoryEvent> = events.list.iter().filter(|event| event.phase == phase).collect();
        let name = part.name.clone();
        PartStory { target: None, phase, name, headline: fitted(headline_of(part, &own)), verdict: None }
    };
    let phases = &facts.summary.parts.phases;
    let phases = phases.iter().filter(|_| phases.len() > 1).map(of_phase);
    targets(facts).map(of_target).chain(phases).take(MOST).collect()
}

/// The targets of a run with several, by their numbers in the plan.
pub(crate) fn targets<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (usize, &'a PartStats)> {
    let has_several = facts.plan.targets.len() > 1;
    let targets = facts.summary.parts.targets.iter().filter(move |_| has_several);
    targets.filter_map(|part| Some((part.number? as usize, part)))
}

/// The rate of a part in requests, or in bytes if its requests are large.
pub(crate) fn done(part: &PartStats) -> String {
    part.delivered.map_or("nothing".into(), |done| match done.bytes / done.requests.max(1) {
        0..LARGE => rate(done.requests_per_second),
        _ => byte_rate(done.bytes_per_second),
    })
}

/// Why the result of a target is fake; `None` if it is not, or if nothing is known of single targets.
fn fake(facts: &Facts<'_>, target: usize) -> Option<String> {
    let judgement = facts.summary.judgement.as_ref()?;
    let fake = judgement.fake_targets.iter().find(|fake| usize::from(fake.target) == target)?;
    let of_proof = |id: &DetectorId| judgement.of(*id);
    let proof = fake.proofs.iter().find_map(of_proof)?;
    Some(format!("FAKE: {}.", headline::first_clause(&proof.text)))
}

/// Failures first, then the worst event, then the figures.
fn headline_of(part: &PartStats, events: &[&StoryEvent]) -> String {
    let figures = match part.latency {
        _ if part.completed < LEAST_REQUESTS => {
            return format!("{} requests: too few for a statement.", grouped(part.completed));
        }
        None => done(part),
        Some(latency) => {
            let p99 = latency.p99_ns.map_or(String::new(), |p99| format!(", p99 {}", time(p99)));
            format!("{}, latency p50 {}{p99}", done(part), time(latency.p50_ns))
        }
    };
    if part.failed > 0 {
        return format!("{} requests failed; {figures}.", grouped(part.failed));
    }
    match events.len() {
        0 => format!("{figures}."),
        1 => format!("{figures}; one event."),
        count => format!("{figures}; {count} events."),
    }
}
