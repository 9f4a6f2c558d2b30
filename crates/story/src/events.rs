//! Events: times in which requests took longer than normal, with their causes.

use crate::Facts;
use crate::causes::{Evidence, Found};
use crate::episodes::{Episode, ResponseCourse};
use crate::words::{mean_time, percent, rate, size, time};
use iosonar_analyze::{Cause, CauseShare, LEAST_REQUESTS, LossSlice, Normal, StoryEvent, TimeRange};
use iosonar_plan::Engine;
use iosonar_text::units::grouped;

/// The events of a run, and what lies outside of them.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// By onset.
    pub(crate) list: Vec<StoryEvent>,
    /// Whether time was fine enough to look for events.
    pub(crate) is_known: bool,
    /// The cause of each, with its numbers.
    pub(crate) found: Vec<Found>,
    /// Response of all requests beyond the reference, in nanoseconds.
    pub(crate) lost_ns: f64,
    /// Response outside of the events.
    pub(crate) normal: Option<Normal>,
    /// Sums outside of the events.
    outside: LossSlice,
    /// Lost time outside of the events, in nanoseconds.
    outside_lost_ns: f64,
}

impl Events {
    pub(crate) fn of(facts: &Facts<'_>) -> Events {
        let losses = facts.tally.losses();
        let Some(course) = ResponseCourse::of(losses) else { return Events::default() };
        // Few requests, or requests that were not executed, have no events.
        let summary = facts.summary;
        // Phases differ from each other by intent.
        let is_one_load = summary.run.phases.len() < 2 && facts.plan.phases.len() < 2;
        let may_have_events = summary.counts.all.completed >= LEAST_REQUESTS
            && facts.plan.engine != Engine::Null
            && is_one_load;
        let episodes = if may_have_events { course.episodes() } else { Vec::new() };
        let evidence = Evidence::of(facts, &course);
        let (episodes, found) = joined(&course, &evidence, episodes, facts.plan.sample_every.0);
        let lost_ns = course.total_lost_ns();
        let event = |(episode, found): (&Episode, &Found)| StoryEvent {
            range: episode.range,
            cause: found.cause(),
            text: sentence(episode, found),
            requests: episode.sum.requests,
            lost_request_seconds: episode.lost_ns / 1e9,
            share: episode.lost_ns / lost_ns.max(1.0),
            worst_response_ns: episode.sum.max_response_ns,
        };
        let times: Vec<TimeRange> = episodes.iter().map(|episode| episode.range).collect();
        let calm = course.slices.iter().enumerate();
        let is_calm = |index: usize| !episodes.iter().any(|episode| episode.slices.contains(&index));
        let calm: Vec<LossSlice> =
            calm.filter(|(index, _)| is_calm(*index)).map(|(_, slice)| *slice).collect();
        Events {
            list: episodes.iter().zip(&found).map(event).collect(),
            normal: losses.normal_outside(&times),
            outside: LossSlice::sum_of(&calm),
            outside_lost_ns: calm.iter().map(|slice| course.lost_ns(slice)).sum(),
            is_known: may_have_events,
            lost_ns,
            found,
        }
    }

    /// Shares of the lost time by cause, the largest first.
    pub(crate) fn shares(&self) -> Vec<CauseShare> {
        if self.lost_ns <= 0.0 {
            return Vec::new();
        }
        let mut shares: Vec<CauseShare> = Vec::new();
        let mut add = |cause: Cause, share: f64| match shares.iter_mut().find(|one| one.cause == cause) {
            Some(one) => one.share += share,
            None if share > 0.0 => shares.push(CauseShare { cause, share }),
            None => (),
        };
        self.list.iter().for_each(|event| add(event.cause, event.share));
        let conflicts = (self.outside.conflict_ns as f64).min(self.outside_lost_ns);
        let turn = (self.outside.turn_ns as f64).min(self.outside_lost_ns - conflicts);
        add(Cause::Conflicts, conflicts / self.lost_ns);
        add(Cause::DepthFull, turn / self.lost_ns);
        add(Cause::Unexplained, (self.outside_lost_ns - conflicts - turn).max(0.0) / self.lost_ns);
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        shares
    }

    /// The share of a cause.
    pub(crate) fn share_of(&self, cause: Cause) -> f64 {
        self.shares().iter().find(|one| one.cause == cause).map_or(0.0, |one| one.share)
    }

    /// The events of a cause, with its numbers.
    pub(crate) fn of_cause(&self, cause: Cause) -> impl Iterator<Item = (&StoryEvent, &Found)> {
        self.list.iter().zip(&self.found).filter(move |(event, _)| event.cause == cause)
    }
}

/// Finds the cause of each episode, and joins neighbours: a cause outside of the target is known only to the length of a sample.
fn joined(
    course: &ResponseCourse,
    evidence: &Evidence<'_>,
    episodes: Vec<Episode>,
    sample_ns: u64,
) -> (Vec<Episode>, Vec<Found>) {
    let mut all: Vec<(Episode, Found)> = Vec::new();
    for episode in episodes {
        let found = evidence.cause_of(&episode);
        let is_outside = found.cause().is_outside();
        let is_near = |(last, of_last): &&mut (Episode, Found)| {
            let gap = episode.range.from_ns.saturating_sub(last.range.to_ns);
            is_outside && of_last.cause() == found.cause() && gap < sample_ns
        };
        match all.last_mut().filter(is_near) {
            Some((last, of_last)) => {
                *last = course.episode(last.slices.start..episode.slices.end);
                *of_last = of_last.clone().and(found);
            }
            None => all.push((episode, found)),
        }
    }
    all.into_iter().unzip()
}

/// An event in one sentence.
fn sentence(episode: &Episode, found: &Found) -> String {
    let sum = &episode.sum;
    match found {
        Found::Halted { ns } => format!("this program was halted for {}", time(*ns)),
        Found::NoCpu { ns } => {
            let length_ns = episode.range.length_ns();
            format!(
                "this program had no CPU for {} of {}",
                percent(*ns as f64 / length_ns.max(1) as f64),
                time(length_ns)
            )
        }
        Found::Others { device, share } => {
            format!("{} of the bytes on {device} were not of this run", percent(*share))
        }
        Found::DepthFull { wanted, done } => {
            format!("{} wanted, {} done: requests waited for their turn", rate(*wanted), rate(*done))
        }
        Found::OtherRequests { bytes: [bytes, usual], .. } if bytes > usual => {
            format!("requests were larger: {} instead of {} on average", size(*bytes), size(*usual))
        }
        Found::OtherRequests { writes: [writes, usual], .. } => {
            format!("other requests: {} writes instead of {}", percent(*writes), percent(*usual))
        }
        Found::MoreAtOnce { wanted, usual } => {
            format!("{} wanted instead of {}: more were in flight at once", rate(*wanted), rate(*usual))
        }
        Found::TargetStoodStill { ns } => {
            format!("nothing completed for {}: {} requests were due", time(*ns), grouped(sum.requests))
        }
        Found::Conflicts => "requests waited for others that they conflict with".into(),
        Found::TargetSlower { latency_ns, usual_ns } => {
            format!("a request took {} instead of {}", mean_time(*latency_ns), mean_time(*usual_ns))
        }
        Found::Unexplained => {
            format!("responses of up to {}, no cause was found", time(sum.max_response_ns))
        }
    }
}
