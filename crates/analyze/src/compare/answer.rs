//! The answer of a comparison in a sentence.

use super::{Comparison, Difference, Facts, Figure, OverTime, Unit};
use serde::Serialize;

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every change that is shown is for the worse.
    Slower,
    /// Every change that is shown is for the better.
    Faster,
    /// Some are for the better, some for the worse.
    Mixed,
    /// Only the issue delay changed.
    OnlyDelay,
    /// No change over the whole run, but in some stretch of time.
    AtTimes,
    /// No change is shown.
    NotShown,
    /// There is nothing to compare.
    Nothing,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// In a word.
    pub outcome: Outcome,
    /// `no-difference` where no change is shown over the whole run: a name like those of the detectors of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'static str>,
    /// In a sentence, with the figures that matter most.
    pub text: String,
    /// Scope of the answer: the noise that it covers, and whether a differing plan may be the cause.
    pub covers: String,
    /// Least change of the median latency that would be shown 8 times in 10.
    pub smallest_visible_percent: Option<f64>,
}

/// Order in which figures are reported.
const ORDER: [&str; 16] = [
    "latency.p50",
    "latency.p99",
    "latency.mean",
    "latency.p90",
    "latency.p99.9",
    "response.p50",
    "response.p99",
    "response.mean",
    "response.p90",
    "response.p99.9",
    "iops",
    "throughput",
    "latency.pairs",
    "delay.p50",
    "delay.p99",
    "delay.mean",
];
/// The noise that the intervals cover.
pub const WITHIN_RUNS: &str =
    "The intervals cover the noise within these two runs. Repeat A to know the noise between runs.";
/// Maximum number of figures in the answer.
const TOLD: usize = 3;

impl Answer {
    pub(super) fn new(
        (a, b): (&Facts, &Facts),
        figures: &[Figure],
        over_time: &OverTime,
        plan: &[Difference],
        noise: &str,
    ) -> Answer {
        let covers = what_it_covers(noise, plan);
        if let Some(text) = nothing("A", a).or_else(|| nothing("B", b)) {
            return Answer {
                outcome: Outcome::Nothing,
                id: None,
                text,
                covers,
                smallest_visible_percent: None,
            };
        }
        let smallest =
            figures.iter().find(|f| f.name == "latency.p50").and_then(|f| f.smallest_visible_percent);
        let is_delay = |f: &Figure| f.name.starts_with("delay.");
        let shown: Vec<&Figure> = sorted(figures).into_iter().filter(|f| f.shown).collect();
        let (delays, times): (Vec<&Figure>, Vec<&Figure>) = shown.into_iter().partition(|f| is_delay(f));
        let (outcome, text) = match (times.as_slice(), delays.as_slice()) {
            ([], []) if over_time.ranges.is_empty() => (Outcome::NotShown, not_shown(figures)),
            ([], []) => (Outcome::AtTimes, at_times(over_time)),
            ([], delays) => (
                Outcome::OnlyDelay,
                format!(
                    "Latency shows no difference, but requests were submitted at other times: {}",
                    list(delays)
                ),
            ),
            (times, _) => {
                let worse = times.iter().filter(|f| f.is_worse()).count();
                let (outcome, text) = match worse {
                    0 => (Outcome::Faster, "B is faster"),
                    n if n == times.len() => (Outcome::Slower, "B is slower"),
                    _ => (Outcome::Mixed, "B is partly slower, partly faster"),
                };
                (outcome, format!("{text}: {}", list(&of_both_kinds(times, outcome))))
            }
        };
        let id = matches!(outcome, Outcome::NotShown | Outcome::AtTimes).then_some("no-difference");
        let text = match fake(a, b) {
            Some(fake) => format!("{fake} By these figures: {text}"),
            None => text,
        };
        Answer { outcome, id, text, covers, smallest_visible_percent: smallest }
    }
}

impl Answer {
    /// There is nothing to compare: a run completed no request.
    pub(super) fn nothing(run: &str, covers: String) -> Answer {
        let text = format!("Nothing to compare: no request of {run} completed");
        Answer { outcome: Outcome::Nothing, id: None, text, covers, smallest_visible_percent: None }
    }
}

impl Comparison {
    /// Places of the figures with a shown change: the most informative ones first, those of reads or writes alone last.
    pub fn shown_figures(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.figures.len()).filter(|at| self.figures[*at].shown).collect();
        places.sort_by_key(|at| rank(&self.figures[*at]));
        places
    }
}

/// Which of the runs has figures that are not what they claim to be.
fn fake(a: &Facts, b: &Facts) -> Option<String> {
    match (a.fake(), b.fake()) {
        (Some(a), Some(b)) if a == b => Some(format!("Both A and B are {a}.")),
        (Some(a), Some(b)) => Some(format!("A is {a}. B is {b}.")),
        (Some(a), None) => Some(format!("A is {a}.")),
        (None, Some(b)) => Some(format!("B is {b}.")),
        (None, None) => None,
    }
}

/// The noise that the intervals cover, and differences of the plans that may explain a change.
fn what_it_covers(noise: &str, plan: &[Difference]) -> String {
    const NAMED: usize = 6;
    let names: Vec<&str> = plan.iter().take(NAMED).map(|difference| difference.field.as_str()).collect();
    let more = match plan.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.is_empty() {
        true => format!("{noise} The plans are the same."),
        false => {
            format!("{noise} The plans differ in {}{more}: that may explain it.", names.join(", "))
        }
    }
}

/// Figures in reporting order: the most informative ones first, those of reads or writes alone last.
fn sorted(figures: &[Figure]) -> Vec<&Figure> {
    let mut sorted: Vec<&Figure> = figures.iter().collect();
    sorted.sort_by_key(|f| rank(f));
    sorted
}

/// Place of a figure in the order of reporting.
fn rank(figure: &Figure) -> usize {
    ORDER.iter().position(|name| *name == figure.name).unwrap_or(ORDER.len())
}

/// For a mixed outcome, puts the first figures of either direction first.
fn of_both_kinds<'a>(figures: &[&'a Figure], outcome: Outcome) -> Vec<&'a Figure> {
    let mut told = figures.to_vec();
    if outcome == Outcome::Mixed {
        let second = told.iter().position(|f| f.is_worse() != told[0].is_worse()).unwrap_or(0);
        let figure = told.remove(second);
        told.insert(1, figure);
    }
    told
}

fn nothing(letter: &str, facts: &Facts) -> Option<String> {
    match (facts.completed, facts.requests) {
        (0, 0) => Some(format!("Nothing to compare: {letter} holds no requests")),
        (0, n) => Some(format!("Nothing to compare: none of the {n} requests of {letter} completed")),
        _ => None,
    }
}

fn list(figures: &[&Figure]) -> String {
    let told: Vec<String> = figures.iter().take(TOLD).map(|f| with_interval(f)).collect();
    let more = if figures.len() > TOLD { format!("; {} more", figures.len() - TOLD) } else { String::new() };
    told.join(", ") + &more
}

fn with_interval(figure: &Figure) -> String {
    let change = change_text(figure.change_percent);
    let name = if figure.unit == Unit::Ratio { "the same requests" } else { &figure.name };
    format!("{name} {change} (95 % interval {})", with_sign(interval_text(figure, " ... ")))
}

/// The interval of a change in percent, its ends joined by `to`. A wide one shows only its meaningful end (`> +20`), or
/// `too noisy`. `-` without an interval.
pub fn interval_text(figure: &Figure, to: &str) -> String {
    let (low, high) = (signed_text(figure.low_percent), signed_text(figure.high_percent));
    match (figure.low_percent, figure.high_percent) {
        (None, _) | (_, None) => "-".to_string(),
        _ if figure.too_noisy => "too noisy".to_string(),
        (Some(least), _) if figure.is_wide() && least > 0.0 => format!("> {low}"),
        _ if figure.is_wide() => format!("< {high}"),
        _ => format!("{low}{to}{high}"),
    }
}

fn not_shown(figures: &[Figure]) -> String {
    const TOLD: [&str; 3] = ["latency.p50", "latency.mean", "latency.p99"];
    if figures.iter().any(|f| f.too_noisy && TOLD.contains(&f.name.as_str()))
        && !figures.iter().any(|f| f.name == TOLD[0] && !f.too_noisy)
    {
        return "No difference shown; the runs are too noisy to say how small a one would be seen"
            .to_string();
    }
    let visible = |name: &str| {
        let figure = figures.iter().find(|f| f.name == name && !f.too_noisy)?;
        Some(format!("{} of {name}", with_sign(percent_text(figure.smallest_visible_percent?))))
    };
    let known: Vec<String> = TOLD.into_iter().filter_map(visible).collect();
    if known.is_empty() {
        return "No difference shown; the runs are too short to say how small a one would be seen"
            .to_string();
    }
    format!("No difference shown with this noise; smallest visible: {}", known.join(", "))
}

fn at_times(over_time: &OverTime) -> String {
    let range = |s: &super::Stretch| {
        let (from, to) = (s.begin_ns as f64 / 1e9, s.end_ns as f64 / 1e9);
        format!("{} {} from {from:.2} s to {to:.2} s", s.figure, change_text(Some(s.change_percent)))
    };
    let ranges: Vec<String> = over_time.ranges.iter().take(TOLD).map(range).collect();
    format!("No difference shown over the whole run, but at times: {}", ranges.join(", "))
}

/// A percentage with as many digits as are worth reading.
pub fn percent_text(percent: f64) -> String {
    // A value that rounds to zero has no sign.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    match percent.abs() {
        // From a hundredfold on a factor says more.
        _ if percent >= 1e8 => format!("x{:.0e}", 1.0 + percent / 100.0),
        _ if percent >= 9_900.0 => format!("x{:.0}", 1.0 + percent / 100.0),
        p if p < 0.995 => format!("{percent:.2}"),
        p if p < 99.95 => format!("{percent:.1}"),
        _ => format!("{percent:.0}"),
    }
}

/// A text that ends with a percentage, and the percent sign; a factor and words have none.
pub fn with_sign(text: String) -> String {
    let last = text.rsplit(' ').next().unwrap_or_default();
    let is_number = last.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
    if is_number { text + " %" } else { text }
}

/// A change with its sign, and its percent sign where it is no factor.
pub fn change_text(percent: Option<f64>) -> String {
    with_sign(signed_text(percent))
}

/// A percentage with its sign; `?` if unknown.
pub fn signed_text(percent: Option<f64>) -> String {
    percent.map_or("?".to_string(), |p| {
        if (-0.005..9_900.0).contains(&p) { format!("+{}", percent_text(p)) } else { percent_text(p) }
    })
}
