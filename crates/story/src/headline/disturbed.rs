//! Results that something disturbed, or that did not keep up.

use super::Headline;
use super::well::KEPT_UP;
use crate::Facts;
use crate::causes::Found;
use crate::command::with_depth;
use crate::events::Events;
use crate::names;
use crate::shapes::period_ns;
use crate::simulated;
use crate::words::{capitalized, listed, mean_time, moment, number_word, percent, rate, time, times};
use iosonar_analyze::{Cause, Reason, StoryEvent};
use iosonar_plan::Job;

/// A cause is named in the headline from this share of the lost time on.
const NAMED: f64 = 0.1;
/// The rest is named from this share on.
const UNEXPLAINED: f64 = 0.25;
/// A load is late if its last requests are late by this share of its length, and this many latencies.
const BEHIND: f64 = 0.05;
const LATENCIES_BEHIND: u64 = 10;
/// The end of an event that lasts longer than this is named, too.
const LONG_NS: u64 = 2_000_000_000;

/// A load that was not done in time: the backlog was there until the end.
pub(super) fn late(facts: &Facts<'_>, events: &Events) -> Option<Headline> {
    let summary = facts.summary;
    let wanted = summary.throughput.demanded.filter(|_| summary.has_target_rate())?.requests_per_second;
    let done = summary.throughput.delivered?.requests_per_second;
    summary.throughput.delivered_share.filter(|share| *share < KEPT_UP)?;
    let behind_ns = summary.health.at_end.as_ref().map_or(0, |end| end.delay_p50_ns);
    let span_ns = summary.span.demanded_ns()?;
    let usual_ns = summary.latency.all?.p50_ns;
    let is_behind = behind_ns as f64 >= BEHIND * span_ns as f64 && behind_ns >= LATENCIES_BEHIND * usual_ns;
    let is_of_depth = events.share_of(Cause::DepthFull) >= 0.5;
    // A disturbance near the end leaves a backlog, too.
    if !is_behind || !is_of_depth && !events.list.is_empty() {
        return None;
    }
    let text = format!(
        "Could not keep up: {} wanted, {} done, {} behind at the end.",
        rate(wanted),
        rate(done),
        time(behind_ns)
    );
    let depth = at_most(facts).filter(|most| is_of_depth && *most < wanted);
    let reason = depth.and_then(|_| depth_reason(facts));
    Some(Headline {
        text,
        because: reason.into_iter().chain(full(facts)).chain(unexplained(events)).collect(),
        remedy: depth.and_then(|_| deeper(facts, wanted)),
    })
}

/// Most requests in flight: those of all jobs together. `None` for recordings.
fn most_in_flight(facts: &Facts<'_>) -> Option<u64> {
    facts.summary.run.depth?;
    let is_serial = facts.plan.engine.is_serial();
    let of_job =
        |job: &Job| u64::from(if is_serial { 1 } else { job.depth }) * u64::from(job.workload.jobs());
    Some(facts.plan.jobs().map(|(_, job)| of_job(job)).sum())
}

/// The greatest rate at this depth: requests in flight divided by the mean latency (Little's law).
fn at_most(facts: &Facts<'_>) -> Option<f64> {
    Some(most_in_flight(facts)? as f64 * 1e9 / facts.summary.latency.all?.mean_ns.max(1) as f64)
}

fn depth_reason(facts: &Facts<'_>) -> Option<Reason> {
    let flight = match most_in_flight(facts)? {
        1 => "One request in flight".into(),
        depth => format!("{depth} requests in flight"),
    };
    let (latency, most) = (facts.summary.latency.all?.mean_ns, at_most(facts)?);
    let text = format!("{flight} ÷ {} each (mean) = about {} at most.", time(latency), rate(most));
    Some(Reason::new(text, &["run.depth", "latency.all.mean_ns"]))
}

/// Whether latencies have grown with the depth: then requests wait inside the target, and not for their turn alone.
fn is_full(facts: &Facts<'_>) -> bool {
    let (Some(depth), Some(latency)) = (most_in_flight(facts), facts.summary.latency.all) else {
        return false;
    };
    depth > 1 && latency.mean_ns as f64 >= latency.min_ns as f64 * depth as f64 / 2.0
}

fn full(facts: &Facts<'_>) -> Option<Reason> {
    let latency = facts.summary.latency.all.filter(|_| is_full(facts))?;
    let text = format!(
        "The least latency is {}: requests wait inside the target, so more depth may add only latency.",
        time(latency.min_ns)
    );
    Some(Reason::new(text, &["latency.all.min_ns"]))
}

/// The same command with a depth that would suffice if the target answered as it did; a depth that was large already is no remedy.
fn deeper(facts: &Facts<'_>, wanted_per_second: f64) -> Option<String> {
    const ENOUGH: u32 = 64;
    let (depth, latency) = (facts.summary.run.depth?, facts.summary.latency.all?);
    if facts.plan.engine.is_serial() || is_full(facts) || most_in_flight(facts) != Some(depth.into()) {
        return None;
    }
    let needed = wanted_per_second * latency.mean_ns as f64 / 1e9 * 1.5;
    let needed = (needed.ceil() as u32).max(depth.saturating_mul(2));
    (needed <= ENOUGH).then(|| with_depth(&facts.run.command, needed.next_power_of_two()))?
}

/// Times in which requests took longer than normal.
pub(super) fn events(facts: &Facts<'_>, events: &Events) -> Option<Headline> {
    let shares = events.shares();
    let large = shares.iter().filter(|one| one.share >= NAMED).map(|one| one.cause);
    let named: Vec<Cause> = large.filter(|cause| events.of_cause(*cause).next().is_some()).collect();
    let first = *named.first()?;
    let are_outside = named.iter().all(|cause| cause.is_outside());
    let text = match named.as_slice() {
        [_, _, ..] if are_outside => disturbances(facts, events, &named),
        _ => of_one(facts, events, first, are_outside),
    };
    let depth = (first == Cause::DepthFull).then(|| depth_reason(facts)).flatten();
    let causes = named.iter().flat_map(|cause| {
        simulated::reason(facts, events, *cause).into_iter().chain([because(
            facts,
            events,
            *cause,
            named.len() == 1,
        )])
    });
    let because = depth.into_iter().chain(causes).chain(unexplained(events));
    Some(Headline { text, because: because.collect(), remedy: remedy(facts, events, first) })
}

/// Several causes outside of the target.
fn disturbances(facts: &Facts<'_>, events: &Events, causes: &[Cause]) -> String {
    let words: Vec<String> = causes.iter().map(|cause| noun(*cause)).collect();
    let count: usize = causes.iter().map(|cause| events.of_cause(*cause).count()).sum();
    let target =
        names::target_of(facts, [].into_iter()).map_or("of a target".into(), |target| format!("{target}'s"));
    format!("{} disturbances, none of them {target}: {}.", number_word(count), listed(&words))
}

/// All events of one cause. `are_outside`: no named cause is the target's.
fn of_one(facts: &Facts<'_>, events: &Events, cause: Cause, are_outside: bool) -> String {
    let of_cause: Vec<(&StoryEvent, &Found)> = events.of_cause(cause).collect();
    let when = moments(&of_cause);
    let longest = of_cause.iter().map(|(_, found)| length(found)).max().unwrap_or(0);
    let Some((event, found)) = of_cause.iter().max_by(|a, b| a.0.share.total_cmp(&b.0.share)) else {
        return String::new();
    };
    let worst = of_cause.iter().map(|(event, _)| event.worst_response_ns).max().unwrap_or(0);
    let times = if of_cause.len() == 1 { String::new() } else { format!("{} ", times(of_cause.len())) };
    let named = names::target_of(facts, of_cause.iter().map(|(event, _)| *event));
    let cleared = match &named {
        Some(target) if are_outside => format!(": {target} is not the cause"),
        None if are_outside => ": no target is the cause".into(),
        _ => String::new(),
    };
    // Of a single target, the name adds nothing.
    let of_several = named.as_ref().filter(|_| facts.plan.targets.len() > 1);
    let from = of_several.map_or(String::new(), |target| format!(" from {target}"));
    let target = named.unwrap_or("more than one target".into());
    let most = if of_cause.len() == 1 { "" } else { "up to " };
    let text = match found {
        Found::Halted { .. } => {
            format!("{times}this program was halted for {most}{} ({when}){cleared}.", time(longest))
        }
        Found::NoCpu { .. } => format!("{times}this program lacked a CPU ({when}){cleared}."),
        Found::Others { device, share } => format!(
            "others had {} of the bytes on {device} ({when}): responses of up to {}.",
            percent(*share),
            time(worst)
        ),
        Found::TargetStoodStill { .. } => {
            format!("{times}nothing came back{from} for {most}{} ({when}).", time(longest))
        }
        Found::TargetSlower { latency_ns, usual_ns } => {
            let (latency, usual) = (mean_time(*latency_ns), mean_time(*usual_ns));
            format!("{times}{target} was slower ({when}): {most}{latency} instead of {usual} on average.")
        }
        Found::OtherRequests { .. } | Found::MoreAtOnce { .. } => {
            format!("{times}responses took longer ({when}): {}.", event.text)
        }
        Found::Conflicts => format!("{times}requests waited for conflicting ones ({when})."),
        Found::DepthFull { .. } => bursts(facts, events),
        Found::Unexplained => {
            format!("{times}responses took up to {} ({when}); no cause was found.", time(worst))
        }
    };
    // A name of a target stays as it is.
    if text.starts_with(&target) { text } else { capitalized(text) }
}

/// How long something stood still; 0 for causes without such a time.
fn length(found: &Found) -> u64 {
    match found {
        Found::Halted { ns } | Found::NoCpu { ns } | Found::TargetStoodStill { ns } => *ns,
        _ => 0,
    }
}

/// Loads that wanted more at times than could be in flight.
fn bursts(facts: &Facts<'_>, events: &Events) -> String {
    let rates = events.of_cause(Cause::DepthFull).filter_map(|(_, found)| match found {
        Found::DepthFull { wanted, done } => Some((*wanted, *done)),
        _ => None,
    });
    let (wanted, done): (Vec<f64>, Vec<f64>) = rates.unzip();
    let most = wanted.iter().copied().fold(0.0, f64::max);
    let [low, high] =
        [done.iter().copied().fold(f64::INFINITY, f64::min), done.iter().copied().fold(0.0, f64::max)];
    let done = if rate(low) == rate(high) { rate(low) } else { format!("{} to {}", rate(low), rate(high)) };
    let depth = most_in_flight(facts).map_or("depth".into(), |depth| format!("depth of {depth}"));
    let bursts = match wanted.len() {
        1 => "A burst outran the".into(),
        count => format!("{count} bursts outran the"),
    };
    format!("{bursts} {depth}: {} wanted, {done} done.", rate(most))
}

/// The moments of events, and their period if they recur: `6.00 s, 12.00 s and 18.00 s: every 6.00 s`.
fn moments(events: &[(&StoryEvent, &Found)]) -> String {
    let starts: Vec<u64> = events.iter().map(|(event, _)| event.range.from_ns).collect();
    match starts.as_slice() {
        [] => String::new(),
        [only] if events[0].0.range.length_ns() > LONG_NS => {
            format!("from {} to {}", moment(*only), moment(events[0].0.range.to_ns))
        }
        [only] => format!("at {}", moment(*only)),
        [first, .., last] if starts.len() > 3 => {
            format!("{} to {}{}", moment(*first), moment(*last), period(&starts))
        }
        _ => {
            let all: Vec<String> = starts.iter().map(|ns| moment(*ns)).collect();
            format!("{}{}", all.join(", "), period(&starts))
        }
    }
}

/// The time between events that recur.
fn period(starts: &[u64]) -> String {
    period_ns(starts).map_or(String::new(), |period| format!(": every {}", mean_time(period)))
}

/// A cause outside of the target as part of a list.
fn noun(cause: Cause) -> String {
    match cause {
        Cause::Halted => "a halt of this program",
        Cause::NoCpu => "a lack of CPU",
        _ => "others on its disk",
    }
    .into()
}

/// The cost of the events of a cause, and the normal response. `is_only`: the headline names no other cause.
fn because(facts: &Facts<'_>, events: &Events, cause: Cause, is_only: bool) -> Reason {
    let share = percent(events.share_of(cause));
    let mut text = match is_only {
        true => format!("This accounts for {share} of the time that requests lost."),
        false => format!("{share} of the time that requests lost: {cause}."),
    };
    if matches!(cause, Cause::TargetStoodStill | Cause::TargetSlower) && facts.plan.engine.is_real() {
        text += " No cause outside of the target was found.";
    }
    if let Some(normal) = events.normal {
        text += &format!(" Otherwise: response p50 {}, p99 {}.", time(normal.p50_ns), time(normal.p99_ns));
    }
    let evidence: &[&str] = match events.normal {
        Some(_) => &["story.events", "story.shares", "story.normal"],
        None => &["story.events", "story.shares"],
    };
    Reason::new(text, evidence)
}

/// The share of the lost time without a cause, if it is large.
fn unexplained(events: &Events) -> Option<Reason> {
    let share = events.share_of(Cause::Unexplained);
    let text = format!("{} of the lost time is unexplained.", percent(share));
    (share >= UNEXPLAINED).then(|| Reason::new(text, &["story.shares"]))
}

fn remedy(facts: &Facts<'_>, events: &Events, cause: Cause) -> Option<String> {
    match cause {
        Cause::Halted => {
            Some("find out who stopped this program or the machine (a signal, a debugger, a hypervisor); then repeat it".into())
        }
        Cause::NoCpu => Some("repeat it on a machine that is otherwise idle".into()),
        Cause::Others => {
            Some("stop the other user of the device, or measure another one; then repeat it".into())
        }
        Cause::DepthFull => {
            let wanted = events.of_cause(cause).filter_map(|(_, found)| match found {
                Found::DepthFull { wanted, .. } => Some(*wanted),
                _ => None,
            });
            deeper(facts, wanted.fold(0.0, f64::max))
        }
        Cause::Conflicts => Some("choose another --overlap to see what the conflicts cost".into()),
        Cause::TargetStoodStill
        | Cause::OtherRequests
        | Cause::MoreAtOnce
        | Cause::TargetSlower
        | Cause::Unexplained => None,
    }
}
