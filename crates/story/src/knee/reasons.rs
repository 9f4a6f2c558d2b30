//! Reasons of a knee, each with its evidence in the JSON of the answer.

use super::KneeFacts;
use crate::words::{mean_time, moment, rate, rounded_rate, time};
use iosonar_analyze::knee::{Knee, RampRow};
use iosonar_analyze::{LEAST_REQUESTS, OutsideCause, Reason};
use iosonar_text::units::grouped;

/// The depth is the limit if the target answered about as fast as below the knee: up to this ratio of the greatest possible rate to the
/// sustained one.
const OF_DEPTH: f64 = 1.25;
/// Below this ratio the target answered faster under load than before: there is no bound.
const FITS: f64 = 0.9;
/// From this ratio on requests wait inside the target under overload.
const INSIDE: f64 = 4.0;

/// Requests that failed count as not delivered.
pub(super) fn failed(facts: &KneeFacts<'_>) -> Option<Reason> {
    let noun = if facts.failed == 1 { "request" } else { "requests" };
    let text = format!("{} {noun} failed; the rate is that of the others.", grouped(facts.failed));
    (facts.failed > 0).then(|| Reason::new(text, &["failed"]))
}

/// Another cause that slowed the requests.
pub(super) fn outside(cause: &OutsideCause) -> Reason {
    Reason::new(format!("While the rate was measured: {}.", cause.text), &["outside_cause"])
}

pub(super) fn load_was_over() -> Reason {
    Reason::new("The load was over before the ramp, so that a higher rate is possible.", &["ramps"])
}

/// A target that was overloaded all the time.
pub(super) fn from_the_start(knee: &Knee) -> Option<Reason> {
    let text = "Even the first rate was too much: how the target responds below the limit was not seen.";
    knee.from_the_start.then(|| Reason::new(text, &["verdict.from_the_start"]))
}

/// A target that does less under lasting overload.
pub(super) fn collapse(knee: &Knee) -> Option<Reason> {
    let text = format!(
        "Under lasting overload it collapses: in the end it does only {}.",
        rate(knee.last_per_second)
    );
    knee.collapses().then(|| Reason::new(text, &["verdict.last_per_second", "verdict.sustained_per_second"]))
}

/// The longest median response below the knee, and what happens above it.
pub(super) fn below(facts: &KneeFacts<'_>, knee: &Knee) -> Option<Reason> {
    let kept = kept_up(facts.steps, knee);
    let (first, last) = (kept.first()?, kept.last()?);
    let (number, slowest) = kept.iter().max_by_key(|(_, row)| median(row))?;
    let (from, to) = (rounded_rate(first.1.demand_per_second()), rate(last.1.demand_per_second()));
    let range = if kept.len() == 1 { format!("At {to}") } else { format!("From {from} to {to}") };
    let text = format!(
        "{range} the median response was {} at most; above {} the wait grows without end.",
        time(median(slowest)?),
        rate(knee.high_per_second)
    );
    let step = |number: usize, field: &str| format!("steps.{number}.{field}");
    let evidence = [
        step(*number, "response.p50_ns"),
        step(first.0, "demanded"),
        step(last.0, "demanded"),
        "verdict.backlog_requests".into(),
    ];
    Some(Reason { text, evidence: evidence.into() })
}

/// Time from which the backlog grew.
pub(super) fn backlog(knee: &Knee) -> Option<Reason> {
    let text = format!(
        "More was requested from {} on; the backlog never drained from {} on, and was {} requests at the end.",
        moment(knee.at_ns),
        moment(knee.behind_from_ns),
        grouped(knee.backlog_requests)
    );
    let evidence = ["verdict.at_ns", "verdict.behind_from_ns", "verdict.backlog_requests"];
    (!knee.from_the_start).then(|| Reason::new(text, &evidence))
}

/// Whether more in flight may do more: requests in flight ÷ response while nothing waits, or how much longer they are in flight under overload.
pub(super) fn depth(facts: &KneeFacts<'_>, knee: &Knee) -> Option<Reason> {
    let bound = Bound::of(facts, knee)?;
    let response = time(bound.response_ns);
    let text = if bound.is_limit() {
        let flight = match facts.depth {
            1 => "One request".into(),
            depth => format!("{} requests", grouped(depth.into())),
        };
        format!(
            "{flight} in flight ÷ {response} each = {} at most: the depth is the limit.",
            rate(bound.most())
        )
    } else if bound.ratio() >= INSIDE {
        let loaded = mean_time(f64::from(facts.depth) * 1e9 / knee.sustained_per_second);
        format!(
            "At the limit a request takes {loaded} instead of {response}: more in flight would only add waiting."
        )
    } else {
        return None;
    };
    let step = format!("steps.{}.response.p50_ns", bound.step);
    Some(Reason { text, evidence: vec!["depth".into(), step, "verdict.sustained_per_second".into()] })
}

/// Whether the depth is the limit.
pub(super) fn is_limit(facts: &KneeFacts<'_>, knee: &Knee) -> bool {
    Bound::of(facts, knee).is_some_and(|bound| bound.is_limit())
}

/// The greatest rate at a depth, if requests took as long as below the knee.
struct Bound {
    depth: f64,
    sustained: f64,
    /// The shortest median response below the knee, and its step.
    response_ns: u64,
    step: usize,
}

impl Bound {
    /// `None` if a response is not known, or does not fit to the sustained rate.
    fn of(facts: &KneeFacts<'_>, knee: &Knee) -> Option<Bound> {
        let (step, response_ns) = quiet(facts.steps, knee)?;
        let (depth, sustained) = (f64::from(facts.depth), knee.sustained_per_second);
        Some(Bound { depth, sustained, response_ns, step }).filter(|bound| bound.ratio() >= FITS)
    }

    fn most(&self) -> f64 {
        self.depth * 1e9 / self.response_ns.max(1) as f64
    }

    fn ratio(&self) -> f64 {
        self.most() / self.sustained.max(f64::MIN_POSITIVE)
    }

    fn is_limit(&self) -> bool {
        self.ratio() <= OF_DEPTH
    }
}

/// The shortest median response below the knee, with the number of its step.
fn quiet(steps: &[RampRow], knee: &Knee) -> Option<(usize, u64)> {
    let medians = kept_up(steps, knee).into_iter().filter_map(|(number, row)| Some((number, median(row)?)));
    // Medians below a microsecond are counted as 0.
    medians.min_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0)
}

fn median(row: &RampRow) -> Option<u64> {
    row.response.map(|response| response.p50_ns)
}

/// The steps before the knee, with their numbers: those next to it that have enough requests, without a gap.
fn kept_up<'a>(steps: &'a [RampRow], knee: &Knee) -> Vec<(usize, &'a RampRow)> {
    let end = knee.at_ns.min(knee.behind_from_ns);
    let is_enough = |row: &RampRow| row.delivered >= LEAST_REQUESTS && row.response.is_some();
    let before: Vec<(usize, &RampRow)> =
        steps.iter().enumerate().take_while(|(_, row)| row.to_ns <= end).collect();
    let gap = before.iter().rposition(|(_, row)| !is_enough(row)).map_or(0, |at| at + 1);
    before[gap..].to_vec()
}
