//! The headline of a comparison: which run is slower, in what, and by how much.

use crate::words::{fitting, moment};
use iosonar_analyze::compare::{Comparison, Figure, Outcome, Unit, percent_text, with_sign};

/// Names of figures in a headline.
const NAMES: [(&str, &str); 14] = [
    ("latency.p50", "median latency"),
    ("latency.p99", "99th percentile"),
    ("latency.mean", "mean latency"),
    ("latency.p90", "90th percentile"),
    ("latency.p99.9", "99.9th percentile"),
    ("response.p50", "median response"),
    ("response.p99", "99th percentile of the response"),
    ("response.mean", "mean response"),
    ("response.p90", "90th percentile of the response"),
    ("response.p99.9", "99.9th percentile of the response"),
    ("iops", "requests/s"),
    ("throughput", "bytes/s"),
    ("delay.p50", "median delay"),
    ("delay.p99", "99th percentile of the delay"),
];

/// One sentence with the figures that show it.
pub(super) fn headline(comparison: &Comparison) -> String {
    let shown: Vec<&Figure> =
        comparison.shown_figures().into_iter().map(|at| &comparison.figures[at]).collect();
    match comparison.answer.outcome {
        Outcome::Slower => of_shown("B is slower", &shown),
        Outcome::Faster => of_shown("B is faster", &shown),
        Outcome::Mixed => mixed(&shown),
        Outcome::OnlyDelay => of_shown("Equal latencies, but other times of submission", &shown),
        Outcome::AtTimes => at_times(comparison),
        Outcome::NotShown => not_shown(comparison),
        Outcome::Nothing => comparison.answer.text.clone(),
    }
}

/// The first figure with its interval, and the next one that is no mean.
fn of_shown(begin: &str, shown: &[&Figure]) -> String {
    let Some((first, rest)) = shown.split_first() else { return format!("{begin}.") };
    let (first_change, interval) = (change(first), interval(first));
    let alone = format!("{begin}: {first_change}{interval}.");
    let second = rest.iter().find(|figure| figure.name.ends_with("p99")).map(|figure| change(figure));
    match second {
        Some(second) => fitting([
            format!("{begin}: {first_change}{interval}, {second}."),
            format!("{begin}: {first_change}, {second}."),
            alone,
        ]),
        None => alone,
    }
}

/// The first figure of either direction.
fn mixed(shown: &[&Figure]) -> String {
    let first = |is_worse: bool| shown.iter().copied().find(|figure| figure.is_worse() == is_worse);
    match (first(true), first(false)) {
        (Some(worse), Some(better)) => {
            let (worse, better) = (change(worse), change(better));
            fitting([
                format!("B is slower in one figure, faster in another: {worse}, {better}."),
                format!("B is partly slower: {worse}, {better}."),
                "B is slower in some figures, and faster in others.".into(),
            ])
        }
        _ => of_shown("B is partly slower, partly faster", shown),
    }
}

/// A time in which the runs differ although the whole runs do not.
fn at_times(comparison: &Comparison) -> String {
    let Some(range) = comparison.over_time.ranges.first() else {
        return "No difference over the whole run.".into();
    };
    let (name, by) = (name(&range.figure), by_time(range.change_percent));
    let (from, to) = (moment(range.begin_ns), moment(range.end_ns));
    fitting([
        format!("Equal as a whole, but B differs from {from} to {to}: {name} {by}."),
        format!("Equal as a whole, but not from {from} to {to}: {name} {by}."),
    ])
}

fn not_shown(comparison: &Comparison) -> String {
    match comparison.answer.smallest_visible_percent {
        Some(percent) => {
            let percent = with_sign(percent_text(percent));
            format!("No difference shown: a median changed by {percent} or more would be seen.")
        }
        None => "No difference shown; the runs do not show how small a one would be seen.".into(),
    }
}

fn name(figure: &str) -> &str {
    NAMES.iter().find(|(of, _)| *of == figure).map_or(figure, |(_, name)| name)
}

/// `median latency 37 % longer`, `12 % fewer requests/s`.
fn change(figure: &Figure) -> String {
    let (name, percent) = (name(&figure.name), figure.change_percent.unwrap_or(0.0));
    match figure.unit {
        Unit::Time => format!("{name} {}", by_time(percent)),
        Unit::Ratio => format!("the same requests {}", by_time(percent)),
        Unit::Requests | Unit::Bytes => {
            format!("{} {} {name}", size(percent), if percent < 0.0 { "fewer" } else { "more" })
        }
    }
}

/// `37 % longer`, `7.1 times as long`.
fn by_time(percent: f64) -> String {
    match percent {
        p if p >= 100.0 => format!("{} times as long", times(1.0 + p / 100.0)),
        p if p < 0.0 => format!("{} shorter", size(p)),
        p => format!("{} longer", size(p)),
    }
}

/// A factor with two digits.
fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// A change without its sign.
fn size(percent: f64) -> String {
    match percent.abs() {
        p if p < 0.095 => "less than 0.1 %".into(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// The interval of a change, in the direction of the change: ` (3 to 99 %)`. Empty without one.
fn interval(figure: &Figure) -> String {
    let percent = figure.change_percent.unwrap_or(0.0);
    let (Some(low), Some(high)) = (figure.low_percent, figure.high_percent) else { return String::new() };
    let digits = |p: f64| if p < 9.95 { format!("{p:.1}") } else { format!("{p:.0}") };
    match percent {
        p if p >= 100.0 => format!(" ({} to {})", times(1.0 + low / 100.0), times(1.0 + high / 100.0)),
        p if p < 0.0 => format!(" ({} to {} %)", digits(-high), digits(-low)),
        _ => format!(" ({} to {} %)", digits(low), digits(high)),
    }
}
