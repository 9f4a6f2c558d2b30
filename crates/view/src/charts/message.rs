//! Messages: the title of a picture of a run says in one sentence what the picture shows. Its axes have the names.

use super::{RunMaterial, figures};
use crate::scene::Caption;
use crate::units;
use iosonar_analyze::{Correlation, Rate, TimeStats};
use iosonar_plaintext::extents;

/// Source of the message of a picture.
pub(super) enum Message {
    /// The headline of the run's story: the picture shows what the headline is about.
    Headline,
    /// The most important figures of the picture.
    Figures(fn(&RunMaterial<'_>) -> Option<Caption>),
    /// No message: a picture of a load, whose title describes it.
    Description,
}

impl Message {
    /// The message of a picture of this run. `None`: the title describes the picture, as nothing completed, or the result has no story.
    pub(super) fn of(&self, run: &RunMaterial<'_>) -> Option<Caption> {
        match self {
            Message::Headline => run.summary.story.as_ref().map(|story| story.headline.as_str().into()),
            Message::Figures(of) => of(run),
            Message::Description => None,
        }
    }
}

/// Response of all requests; their latency without a timetable, as they are due when they are submitted.
pub(super) fn response(run: &RunMaterial<'_>) -> Option<Caption> {
    if !run.has_response() {
        return latency(run);
    }
    times("Response", "response.all", run.summary.response.all)
}

pub(super) fn latency(run: &RunMaterial<'_>) -> Option<Caption> {
    times("Latency", "latency.all", run.summary.latency.all)
}

pub(super) fn delay(run: &RunMaterial<'_>) -> Option<Caption> {
    times("Delay", "delay.all", run.summary.delay.all)
}

pub(super) fn issue_delay(run: &RunMaterial<'_>) -> Option<Caption> {
    times("Issue delay", "health.issue_error", run.summary.health.issue_error)
}

pub(super) fn completion_delay(run: &RunMaterial<'_>) -> Option<Caption> {
    times("Completion delay", "health.reap_lag", run.summary.health.reap_lag)
}

/// Median, 99th percentile and maximum.
fn times(name: &str, path: &str, stats: Option<TimeStats>) -> Option<Caption> {
    let stats = stats?;
    let time = |field: &str, ns: u64| figures::time(format!("{path}.{field}"), ns);
    let mut parts = vec![format!("{name}: p50 ").into(), time("p50_ns", stats.p50_ns)];
    if let Some(ns) = stats.p99_ns {
        parts.extend([", p99 ".into(), time("p99_ns", ns)]);
    }
    parts.extend([", max ".into(), time("max_ns", stats.max_ns)]);
    Some(figures::joined(parts))
}

/// Median of the device's own time, and of the latency.
pub(super) fn path(run: &RunMaterial<'_>) -> Option<Caption> {
    let device = run.summary.path.as_ref()?.issue_to_complete?;
    let latency = run.summary.latency.all?;
    Some(figures::joined([
        "The device took ".into(),
        figures::time("path.issue_to_complete.p50_ns", device.p50_ns),
        " of a latency of ".into(),
        figures::time("latency.all.p50_ns", latency.p50_ns),
        " (medians)".into(),
    ]))
}

/// Wanted requests and bytes per second.
pub(super) fn wanted(run: &RunMaterial<'_>) -> Option<Caption> {
    let wanted = run.summary.throughput.demanded.filter(|_| run.summary.has_target_rate())?;
    Some(figures::joined(["Wanted: ".into(), rates("demanded", &wanted)]))
}

/// Requests and bytes done per second, and the wanted requests.
pub(super) fn done(run: &RunMaterial<'_>) -> Option<Caption> {
    let mut parts = vec!["Done: ".into(), rates("delivered", &run.summary.throughput.delivered?)];
    if let Some(wanted) = run.summary.throughput.demanded.filter(|_| run.summary.has_target_rate()) {
        parts.extend(["; wanted: ".into(), per_second("demanded", &wanted)]);
    }
    Some(figures::joined(parts))
}

/// Requests and bytes per second.
fn rates(key: &str, rate: &Rate) -> Caption {
    let path = format!("throughput.{key}.bytes_per_second");
    let bytes = Caption::figure(units::byte_rate(rate.bytes_per_second), path, rate.bytes_per_second);
    figures::joined([per_second(key, rate), ", ".into(), bytes])
}

fn per_second(key: &str, rate: &Rate) -> Caption {
    let text = format!("{}/s", units::request_rate(rate.requests_per_second));
    Caption::figure(text, format!("throughput.{key}.requests_per_second"), rate.requests_per_second)
}

/// Mean and maximum of the requests that were due and not submitted.
pub(super) fn waiting(run: &RunMaterial<'_>) -> Option<Caption> {
    let waiting = &run.summary.waiting;
    let (mean, most) = (waiting.mean_time_weighted?, waiting.max?);
    Some(figures::joined([
        "Waiting for submission: ".into(),
        Caption::figure(units::number(mean), "waiting.mean_time_weighted", mean),
        " on average, at most ".into(),
        figures::count("waiting.max", most),
    ]))
}

pub(super) fn latency_in_flight(run: &RunMaterial<'_>) -> Option<Caption> {
    let counts = &run.diagrams.latency_in_flight;
    depends("Latency", "the number in flight", counts, "latency_in_flight")
}

pub(super) fn delay_waiting(run: &RunMaterial<'_>) -> Option<Caption> {
    depends("Delay", "the number that waits", &run.diagrams.delay_waiting, "delay_waiting")
}

pub(super) fn latency_delay(run: &RunMaterial<'_>) -> Option<Caption> {
    depends("Latency", "the delay", &run.diagrams.latency_delay, "latency_delay")
}

/// A rank correlation below this is not worth a statement.
const WEAK: f64 = 0.1;

fn depends(what: &str, on: &str, counts: &Correlation, name: &str) -> Option<Caption> {
    let tau = counts.rank_correlation()?;
    let verb = match tau {
        tau if tau >= WEAK => "grows with",
        tau if tau <= -WEAK => "falls with",
        _ => "hardly depends on",
    };
    let text = format!("{what} {verb} {on} (rank correlation {tau:.2})");
    Some(Caption::figure(text, format!("correlations.{name}"), tau))
}

/// The share of backward seeks.
pub(super) fn turns(run: &RunMaterial<'_>) -> Option<Caption> {
    let turns = &run.diagrams.turns;
    let (requests, all): (u64, u64) = (turns.requests().iter().sum(), turns.turns().iter().sum());
    if requests == 0 {
        return None;
    }
    let share = figures::share(("picture.turns".into(), all), ("picture.completed".into(), requests));
    Some(figures::joined(["Backward seeks (turns): ".into(), share, " of the requests".into()]))
}

/// The comparison of requests across fragments with the others, for the file with most fragments.
pub(super) fn fragments(run: &RunMaterial<'_>) -> Option<Caption> {
    let (_, file) = *run.extents?.most_fragmented().first()?;
    extents::sentences(file.of(file.shown())).first().map(Caption::from)
}
