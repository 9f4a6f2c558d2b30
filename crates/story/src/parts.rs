//! Parts of a run that each have a normal response: a target within a phase.

use crate::Facts;
use crate::episodes::ResponseCourse;
use iosonar_analyze::{Losses, PartStats, TimeRange};
use iosonar_plan::Plan;

/// Of a run with more phases, such as a matrix with many cells, no phase is examined.
const MOST_PHASES: usize = 16;

/// Response over time of a part of the run.
pub(crate) struct Part {
    /// Number of its target; `None` if the run has one target, or too many to be kept apart.
    pub(crate) target: Option<u16>,
    /// Number of its phase; `None` if the run has one phase.
    pub(crate) phase: Option<u16>,
    pub(crate) course: ResponseCourse,
    /// Whether its requests are those of one job.
    pub(crate) has_one_job: bool,
}

/// The parts of a run whose response over time is known.
pub(crate) fn parts(facts: &Facts<'_>) -> Vec<Part> {
    let losses = facts.tally.losses_by_target();
    let of_target = |(number, losses): (usize, &Losses)| {
        let target = (facts.tally.losses_by_target().len() > 1).then_some(number as u16);
        let part = |(phase, within): (Option<u16>, Option<TimeRange>)| {
            let course = ResponseCourse::of(losses, within)?;
            Some(Part { target, phase, course, has_one_job: has_one_job(facts.plan, target, phase) })
        };
        phases(facts).into_iter().filter_map(part).collect::<Vec<_>>()
    };
    losses.iter().enumerate().flat_map(of_target).collect()
}

/// The phases that were executed, with their times; all of the run if it has one phase.
fn phases(facts: &Facts<'_>) -> Vec<(Option<u16>, Option<TimeRange>)> {
    let phases = &facts.summary.parts.phases;
    match phases.len().max(facts.plan.phases.len()) {
        0 | 1 => vec![(None, None)],
        2..=MOST_PHASES => times_of(phases),
        _ => Vec::new(),
    }
}

/// A phase lasts until the next one begins.
fn times_of(phases: &[PartStats]) -> Vec<(Option<u16>, Option<TimeRange>)> {
    let begin = |phase: &PartStats| Some((phase.number? as u16, phase.begin_ns?));
    let begins: Vec<(u16, u64)> = phases.iter().filter_map(begin).collect();
    let ends = begins.iter().skip(1).map(|(_, begin_ns)| *begin_ns).chain([u64::MAX]);
    let time = |((number, from_ns), to_ns): (&(u16, u64), u64)| {
        (Some(*number), Some(TimeRange { from_ns: *from_ns, to_ns }))
    };
    begins.iter().zip(ends).map(time).collect()
}

fn has_one_job(plan: &Plan, target: Option<u16>, phase: Option<u16>) -> bool {
    let phases = plan.phases.iter().enumerate();
    let wanted = phases.filter(|(number, _)| phase.is_none_or(|phase| usize::from(phase) == *number));
    let jobs = wanted.flat_map(|(_, phase)| &phase.jobs);
    jobs.filter(|job| target.is_none_or(|target| job.target == target)).count() == 1
}
