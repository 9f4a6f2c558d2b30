//! Names of targets and phases in sentences.

use crate::Facts;
use iosonar_analyze::StoryEvent;
use iosonar_plan::Target;
use iosonar_text::shown;

/// Most characters of a name in a headline.
const NAME_CHARS: usize = 24;

/// A target by the last part of its path; on a host or a rank by that, with the part if it has several.
pub(crate) fn target(facts: &Facts<'_>, number: usize) -> String {
    let targets = &facts.plan.targets;
    let Some(target) = targets.get(number) else { return format!("target {number}") };
    let name = shown(target.path.file_name().unwrap_or(target.path.as_os_str())).to_string();
    let is_near = |other: &&Target| other.executor == target.executor;
    match target.executor.place() {
        None => shortened(name),
        Some(place) if targets.iter().filter(is_near).count() == 1 => shortened(place),
        Some(place) => shortened(format!("{place}:{name}")),
    }
}

/// A phase by its name in the figures.
pub(crate) fn phase(facts: &Facts<'_>, number: usize) -> String {
    let phase = facts.summary.parts.phases.iter().find(|phase| phase.number == Some(number as u32));
    phase.map_or_else(|| format!("phase {number}"), |phase| shortened(phase.name.clone()))
}

/// The only target by its name, or the one that all these events are of.
pub(crate) fn target_of<'a>(
    facts: &Facts<'_>,
    mut events: impl Iterator<Item = &'a StoryEvent>,
) -> Option<String> {
    if facts.plan.targets.len() == 1 {
        return Some(target(facts, 0));
    }
    let first = events.next()?.target?;
    events.all(|event| event.target == Some(first)).then(|| target(facts, first.into()))
}

/// A target within a phase; empty if the run has one of each.
pub(crate) fn part(facts: &Facts<'_>, target: Option<u16>, phase: Option<u16>) -> String {
    let target = target.map(|number| self::target(facts, number.into()));
    let phase = phase.map(|number| self::phase(facts, number.into()));
    phase.into_iter().chain(target).collect::<Vec<_>>().join(", ")
}

fn shortened(name: String) -> String {
    if name.chars().count() <= NAME_CHARS {
        return name;
    }
    let kept: String = name.chars().take(NAME_CHARS - 1).collect();
    format!("{kept}…")
}
