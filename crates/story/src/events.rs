//! Events: times in which requests took longer than normal, with their causes.

use crate::Facts;
use crate::causes::{Evidence, Found, Search};
use crate::episodes::Episode;
use crate::names;
use crate::parts::Part;
use crate::shapes::{Outline, shape};
use crate::words::{mean_time, percent, rate, size, time};
use iosonar_analyze::{Cause, CauseShare, LEAST_REQUESTS, LossSlice, Normal, Shape, StoryEvent, TimeRange};
use iosonar_plan::Engine;
use iosonar_text::units::grouped;
use std::ops::Range;

/// Most events that are kept, those with most lost time.
const MOST: usize = 64;

/// The events of a run, and what lies outside of them.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// By onset.
    pub(crate) list: Vec<StoryEvent>,
    /// Whether time was fine enough to look for events.
    pub(crate) is_known: bool,
    /// The cause of each, with its numbers.
    pub(crate) found: Vec<Found>,
    /// Response of all requests beyond the normal one of their part, in nanoseconds.
    pub(crate) lost_ns: f64,
    /// Response outside of the events.
    pub(crate) normal: Option<Normal>,
    /// Sums outside of the events.
    outside: LossSlice,
    /// Lost time outside of the events, in nanoseconds.
    outside_lost_ns: f64,
}

/// A time in which requests of a part, or of several parts with one outside cause, took longer than normal.
struct Event {
    target: Option<u16>,
    phase: Option<u16>,
    range: TimeRange,
    found: Found,
    outline: Outline,
    requests: u64,
    lost_ns: f64,
    worst_response_ns: u64,
}

impl Events {
    pub(crate) fn of(facts: &Facts<'_>, parts: &[Part], evidence: &Evidence<'_>) -> Events {
        // Few requests, or requests that were not executed, have no events.
        let has_events = facts.summary.counts.all.completed >= LEAST_REQUESTS
            && facts.plan.engine != Engine::Null
            && !parts.is_empty();
        let mut episodes = Vec::new();
        for (number, part) in parts.iter().enumerate().filter(|_| has_events) {
            let found = episodes_of(part, evidence, facts.plan.sample_every.0);
            episodes.extend(found.into_iter().map(|(episode, found)| (number, episode, found)));
        }
        episodes.sort_by(|(_, a, _), (_, b, _)| b.lost_ns.total_cmp(&a.lost_ns));
        episodes.truncate(MOST);
        let mut calm = Vec::new();
        let mut outside_lost_ns = 0.0;
        for (number, part) in parts.iter().enumerate() {
            let of_part = episodes.iter().filter(|(of, ..)| *of == number);
            let slices: Vec<&Range<usize>> = of_part.map(|(_, episode, _)| &episode.slices).collect();
            let is_calm = |index: &usize| !slices.iter().any(|slices| slices.contains(index));
            let of_calm =
                (0..part.course.slices.len()).filter(is_calm).map(|index| part.course.slices[index]);
            for slice in of_calm {
                outside_lost_ns += part.course.lost_ns(&slice);
                calm.push(slice);
            }
        }
        let times: Vec<TimeRange> = episodes.iter().map(|(_, episode, _)| episode.range).collect();
        let lost_ns = parts.iter().map(|part| part.course.total_lost_ns()).sum();
        let events = events_of(parts, episodes);
        Events {
            list: story_events(facts, &events, lost_ns),
            found: events.into_iter().map(|event| event.found).collect(),
            normal: facts.tally.losses().normal_outside(&times),
            outside: LossSlice::sum_of(&calm),
            outside_lost_ns,
            is_known: has_events,
            lost_ns,
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

/// The episodes of a part with their causes. Neighbours are joined: a cause outside of the target is known only to the length of a sample.
fn episodes_of(part: &Part, evidence: &Evidence<'_>, sample_ns: u64) -> Vec<(Episode, Found)> {
    let course = &part.course;
    let search = Search { evidence, course, has_one_job: part.has_one_job };
    let mut all: Vec<(Episode, Found)> = Vec::new();
    for episode in course.episodes() {
        let found = search.cause_of(&episode);
        let is_near = |(last, of_last): &&mut (Episode, Found)| {
            let gap = episode.range.from_ns.saturating_sub(last.range.to_ns);
            found.cause().is_outside() && of_last.cause() == found.cause() && gap < sample_ns
        };
        match all.last_mut().filter(is_near) {
            Some((last, of_last)) => {
                *last = course.episode(last.slices.start..episode.slices.end);
                *of_last = of_last.clone().and(found);
            }
            None => all.push((episode, found)),
        }
    }
    all
}

/// The events of all parts by onset. A cause outside of the targets that several of them show at the same time is one event.
fn events_of(parts: &[Part], mut episodes: Vec<(usize, Episode, Found)>) -> Vec<Event> {
    episodes.sort_by_key(|(_, episode, _)| episode.range.from_ns);
    let mut all: Vec<Event> = Vec::new();
    for (part, episode, found) in episodes {
        let Part { target, phase, ref course, .. } = parts[part];
        let is_same = |event: &&mut Event| {
            found.cause().is_outside()
                && event.found.cause() == found.cause()
                && event.range.overlap_ns(episode.range) > 0
                && (event.target, event.phase) != (target, phase)
        };
        if let Some(event) = all.iter_mut().find(is_same) {
            event.target = event.target.filter(|of| Some(*of) == target);
            event.phase = event.phase.filter(|of| Some(*of) == phase);
            event.range.to_ns = event.range.to_ns.max(episode.range.to_ns);
            event.found = event.found.clone().or_more(found);
            event.requests += episode.sum.requests;
            event.lost_ns += episode.lost_ns;
            event.worst_response_ns = event.worst_response_ns.max(episode.sum.max_response_ns);
        } else {
            all.push(Event {
                target,
                phase,
                range: episode.range,
                found,
                outline: Outline::of(course, &episode.slices),
                requests: episode.sum.requests,
                lost_ns: episode.lost_ns,
                worst_response_ns: episode.sum.max_response_ns,
            });
        }
    }
    all
}

/// The events as the story has them, with the shapes that they look like.
fn story_events(facts: &Facts<'_>, events: &[Event], lost_ns: f64) -> Vec<StoryEvent> {
    let list: Vec<StoryEvent> = events.iter().map(|event| story_event(facts, event, lost_ns)).collect();
    let shape_of = |(one, event): (&StoryEvent, &Event)| shape(one, &list, &event.found, event.outline);
    let shapes: Vec<Option<Shape>> = list.iter().zip(events).map(shape_of).collect();
    list.into_iter().zip(shapes).map(|(event, shape)| StoryEvent { shape, ..event }).collect()
}

fn story_event(facts: &Facts<'_>, event: &Event, lost_ns: f64) -> StoryEvent {
    let parts = names::part(facts, event.target, event.phase);
    let text = sentence(event);
    StoryEvent {
        range: event.range,
        target: event.target,
        phase: event.phase,
        cause: event.found.cause(),
        text: if parts.is_empty() { text } else { format!("{parts}: {text}") },
        requests: event.requests,
        lost_request_seconds: event.lost_ns / 1e9,
        share: event.lost_ns / lost_ns.max(1.0),
        worst_response_ns: event.worst_response_ns,
        shape: None,
    }
}

/// An event in one sentence.
fn sentence(event: &Event) -> String {
    match &event.found {
        Found::Halted { ns } => format!("this program was halted for {}", time(*ns)),
        Found::NoCpu { ns } => {
            let length_ns = event.range.length_ns();
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
            format!("nothing completed for {}: {} requests took longer", time(*ns), grouped(event.requests))
        }
        Found::Conflicts => "requests waited for others that they conflict with".into(),
        Found::TargetSlower { latency_ns, usual_ns } => {
            format!("a request took {} instead of {}", mean_time(*latency_ns), mean_time(*usual_ns))
        }
        Found::Unexplained => {
            format!("responses of up to {}, no cause was found", time(event.worst_response_ns))
        }
    }
}
