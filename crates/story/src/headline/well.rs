//! Results that nothing disturbed: what they measured.

use super::Headline;
use crate::Facts;
use crate::events::Events;
use crate::part_stories as parts;
use crate::words::{fitting, moment, percent, rate, short_bytes, time};
use crate::{contrast, names, workload};
use iosonar_analyze::{Contrast, LEAST_REQUESTS, PartStats, Reason, StoryEvent, TimeStats};
use iosonar_plan::Job;
use iosonar_text::units::{byte_rate, grouped};

/// Requests for a 99th percentile that is right to about 20 %.
const FOR_P99: u64 = 10_000;

/// A 99th percentile of fewer requests is one of the slowest ones.
const FOR_NORMAL: u64 = 1_000;

/// Targets are alike up to this ratio of their medians.
const ALIKE: f64 = 1.1;

/// A load was kept up with from this share of the wanted rate on.
pub(super) const KEPT_UP: f64 = 0.95;

/// Requests without data or with, that completed.
pub(super) fn completed(facts: &Facts<'_>) -> u64 {
    facts.summary.counts.all.completed + facts.summary.counts.other.completed
}

/// A result with too few requests for figures; with enough of them for a median, it is a reason.
pub(super) fn few(facts: &Facts<'_>) -> Headline {
    let completed = completed(facts);
    let took = facts.summary.span.duration_ns().map_or(String::new(), |ns| format!(" in {}", time(ns)));
    let text = match completed {
        0 => "Nothing completed: no figure can be given.".into(),
        1 => "One request completed: enough to see that it works, not how fast it is.".into(),
        n => format!("{} requests{took}: enough to see that it works, not how fast it is.", grouped(n)),
    };
    let median = |latency: &TimeStats| {
        let [least, p50, most] = [latency.min_ns, latency.p50_ns, latency.max_ns].map(time);
        Reason::new(format!("Latency: median {p50}, from {least} to {most}."), &["latency.all"])
    };
    let latency = facts.summary.latency.all.as_ref().filter(|_| completed >= LEAST_REQUESTS);
    let needed =
        format!("A 99th percentile that is right to about 20 % needs {} requests.", grouped(FOR_P99));
    let needed = Reason::new(needed, &["counts.all.completed"]);
    Headline {
        text,
        because: latency.map(median).into_iter().chain([needed]).collect(),
        remedy: Some("repeat it with more requests, or for a longer time".into()),
    }
}

/// Several phases, each with its own figures: a sum of them would mean nothing.
pub(super) fn phases(facts: &Facts<'_>, events: &Events) -> Option<Headline> {
    let phases = &facts.summary.parts.phases;
    if phases.len() < 2 {
        return None;
    }
    let of = |phase: &PartStats, has_p50: bool| {
        let p50 = phase.latency.filter(|_| has_p50).map(|times| format!(", p50 {}", time(times.p50_ns)));
        format!("{} {}{}", phase.name, parts::done(phase), p50.unwrap_or_default())
    };
    let listed = |has_p50: bool| {
        let all: Vec<String> = phases.iter().map(|phase| of(phase, has_p50)).collect();
        all.join("; ")
    };
    let disturbed = match events.list.len() {
        0 => String::new(),
        1 => "; one event".into(),
        count => format!("; {count} events"),
    };
    let worst = events.list.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    let of_event = |event: &StoryEvent| {
        let share = percent(event.share);
        let text = format!("At {}, {} ({share} of the lost time).", moment(event.range.from_ns), event.text);
        Reason::new(text, &["story.events"])
    };
    let apart = "Each phase has figures of its own; their sum would mean nothing.";
    let because = Reason::new(apart, &["parts.phases"]);
    Some(Headline {
        text: fitting([true, false].map(|has_p50| format!("{}{disturbed}.", listed(has_p50)))),
        because: worst.map(of_event).into_iter().chain([because]).collect(),
        remedy: None,
    })
}

/// How the targets compare, if there are several.
pub(super) fn targets(facts: &Facts<'_>) -> Option<Reason> {
    Compared::of(facts).map(Compared::reason)
}

/// Latencies of several targets.
struct Compared {
    is_alike: bool,
    /// That in a sentence.
    text: String,
    /// The difference between the fastest and the slowest target that the plan shows.
    why: Option<Reason>,
}

impl Compared {
    fn of(facts: &Facts<'_>) -> Option<Compared> {
        let medians: Vec<(u64, usize)> = parts::targets(facts)
            .filter_map(|(number, part)| {
                let is_enough = part.completed >= LEAST_REQUESTS;
                Some((part.latency.filter(|_| is_enough)?.p50_ns, number))
            })
            .collect();
        let (fastest, slowest) = (medians.iter().min()?, medians.iter().max()?);
        let is_alike = slowest.0 as f64 <= ALIKE * fastest.0 as f64;
        let [fast_name, slow_name] = [fastest.1, slowest.1].map(|number| names::target(facts, number));
        let [fast_time, slow_time] = [fastest.0, slowest.0].map(time);
        let text = match is_alike {
            true if medians.len() == 2 => {
                format!("{fast_name} and {slow_name} are alike: latency p50 {fast_time}.")
            }
            true => format!("All {} targets are alike: latency p50 {fast_time}.", medians.len()),
            false => format!(
                "The targets differ: latency p50 from {fast_time} ({fast_name}) to {slow_time} ({slow_name})."
            ),
        };
        let why = (!is_alike).then(|| difference(facts, fastest.1, slowest.1)).flatten();
        (medians.len() > 1).then_some(Compared { is_alike, text, why })
    }

    fn reason(self) -> Reason {
        Reason::new(self.text, &["parts.targets"])
    }
}

/// The difference between the plans of two targets: the way to the device, or the load.
fn difference(facts: &Facts<'_>, fast: usize, slow: usize) -> Option<Reason> {
    let [fast_name, slow_name] = [fast, slow].map(|number| names::target(facts, number));
    let [fast, slow] = [fast, slow].map(|number| facts.plan.jobs_on(number).collect::<Vec<&Job>>());
    let is_buffered = |jobs: &[&Job]| jobs.iter().any(|job| facts.plan.is_buffered(job));
    let text = match (is_buffered(&fast), is_buffered(&slow)) {
        (true, false) => {
            format!("{fast_name} is accessed through the page cache, which is memory; {slow_name} directly.")
        }
        (false, true) => {
            format!("{slow_name} is accessed through the page cache; {fast_name} directly.")
        }
        _ if !fast.iter().map(|job| &job.workload).eq(slow.iter().map(|job| &job.workload)) => {
            format!("{fast_name} and {slow_name} have different loads.")
        }
        _ => return None,
    };
    Some(Reason::new(text, &["parts.targets"]))
}

/// All went well.
pub(super) fn well(facts: &Facts<'_>, events: &Events, contrast: Option<&Contrast>) -> Headline {
    let summary = facts.summary;
    let Some(latency) = &summary.latency.all else { return without_data(facts) };
    let compared = Compared::of(facts);
    let counts = &summary.counts.all;
    let count = grouped(counts.completed);
    let is_complete = summary.run.state.is_complete() && counts.dropped + counts.cancelled == 0;
    let kept_up = is_complete && summary.throughput.delivered_share.is_none_or(|share| share >= KEPT_UP);
    let text = match &summary.response.all {
        Some(response) if summary.has_target_rate() && kept_up => {
            format!("Kept up with all {count} requests: response {}.", percentiles(response))
        }
        Some(response) if summary.has_target_rate() => {
            format!("{count} of {} requests: response {}.", grouped(counts.total), percentiles(response))
        }
        _ if summary.run.is_recording() => {
            format!("Recorded {count} {}: latency {}.", kind(facts), percentiles(latency))
        }
        // A rate of all targets together would describe none of them.
        _ => match &compared {
            Some(compared) if !compared.is_alike => compared.text.clone(),
            _ => format!("{}: latency {}.", done(facts), percentiles(latency)),
        },
    };
    let why = compared.as_ref().and_then(|compared| compared.why.clone());
    let targets = compared.map(Compared::reason).filter(|reason| reason.text != text);
    let differs = contrast.map(|one| Reason::new(contrast::sentence(one), &["story.contrast"]));
    let is_known = events.is_known && events.list.is_empty() && counts.completed >= FOR_NORMAL;
    let normal = events
        .normal
        .filter(|_| is_known)
        .map(|_| Reason::new("No stall and no slow time stands out.", &["story.normal"]));
    Headline {
        text,
        because: targets.into_iter().chain(why).chain(differs).chain(normal).collect(),
        remedy: None,
    }
}

/// The rate of requests, or of bytes if requests are large.
pub(super) fn rate_of(facts: &Facts<'_>) -> String {
    facts.summary.throughput.delivered.map_or("nothing".into(), |done| match is_large(facts) {
        true => byte_rate(done.bytes_per_second),
        false => rate(done.requests_per_second),
    })
}

/// The rate with its workload: `24 300/s of random 4 KiB reads, 4 in flight`.
fn done(facts: &Facts<'_>) -> String {
    format!("{} of {}", rate_of(facts), requests(facts))
}

/// A run of flushes and other requests without data.
fn without_data(facts: &Facts<'_>) -> Headline {
    let completed = facts.summary.counts.other.completed;
    Headline {
        text: format!("{} requests without data completed.", grouped(completed)),
        ..Headline::default()
    }
}

/// Median and 99th percentile; of few requests the maximum instead.
fn percentiles(times: &TimeStats) -> String {
    let far = match times.p99_ns.filter(|_| times.count >= FOR_NORMAL) {
        Some(p99) => format!("p99 {}", time(p99)),
        None => format!("max {}", time(times.max_ns)),
    };
    format!("p50 {}, {far}", time(times.p50_ns))
}

/// Mean size of the transferred requests.
fn mean_size(facts: &Facts<'_>) -> u64 {
    let all = &facts.summary.counts.all;
    all.transferred_bytes / all.completed.max(1)
}

/// Whether bytes say more than requests.
fn is_large(facts: &Facts<'_>) -> bool {
    mean_size(facts) >= 64 << 10
}

/// The requests of a run: `random 4 KiB reads, 4 in flight`.
fn requests(facts: &Facts<'_>) -> String {
    let size = one_size(facts).map_or(String::new(), |size| format!("{} ", short_bytes(size)));
    let depth = facts.summary.run.depth.map_or(String::new(), |depth| format!(", {depth} in flight"));
    format!("{}{size}{}{depth}", order(facts), kind(facts))
}

/// The operations of the completed requests.
fn kind(facts: &Facts<'_>) -> &'static str {
    let counts = &facts.summary.counts;
    match (counts.read.completed, counts.write.completed) {
        (_, 0) => "reads",
        (0, _) => "writes",
        _ => "reads and writes",
    }
}

/// The size of the requests, if all have the same.
fn one_size(facts: &Facts<'_>) -> Option<u64> {
    let sizes = facts.plan.jobs().map(|(_, job)| workload::size(&job.workload));
    let all: Vec<u64> = sizes.collect::<Option<_>>()?;
    all.first().copied().filter(|first| all.iter().all(|size| size == first))
}

/// The order of the addresses, if all jobs have the same.
fn order(facts: &Facts<'_>) -> &'static str {
    let orders = facts.plan.jobs().map(|(_, job)| workload::order(&job.workload));
    let all: Option<Vec<&str>> = orders.collect();
    all.filter(|all| all.windows(2).all(|pair| pair[0] == pair[1]))
        .and_then(|all| all.first().copied())
        .unwrap_or("")
}
