//! Overload: the target does not keep up with its timetable.

use crate::course::Course;
use crate::findings::bins::{begin_of, binned, measured};
use crate::findings::statistics::{quantile, theil_sen};
use crate::findings::{CompletionStall, StallKind, moment};
use crate::numbers::three_digits;
use crate::story::OutsideCause;
use crate::time_range::TimeRange;
use crate::waiting::cause_of_waiting;
use crate::{DetectorId, Level, Summary, Traffic, WithoutCpu};
use iosonar_text::units::grouped;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadKind {
    /// The backlog grows until the last due time.
    Collapse,
    /// The demand fell, and the backlog drained.
    Recovered,
}

/// A time in which more was demanded than delivered, with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// How it ends.
    pub kind: OverloadKind,
    /// The time of the overload; until the last due time, or until the backlog had drained.
    pub range: TimeRange,
    /// Demanded in that time, requests per second.
    pub demanded_per_second: f64,
    /// 5th percentile of the delivered requests per second, over the windows of that time.
    pub delivered_low_per_second: f64,
    /// 95th percentile.
    pub delivered_high_per_second: f64,
    /// Requests that were due and not completed at the end of that time (if recovered: their maximum at any time).
    pub backlog_requests: u64,
    /// Evidence: slope of the backlog (median of all slopes between two points, Theil-Sen).
    pub backlog_slope_per_second: f64,
    /// Growth of the lateness in each second of the timetable: demanded / delivered - 1.
    pub lost_seconds_per_second: f64,
    /// Other circumstances of this run that may explain it, so that the target need not be the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circumstances: Vec<String>,
    /// The cause outside of the target that the story names for this time: then neither target nor load is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideCause>,
}

impl Overload {
    /// The one with the most late requests.
    pub fn worst(all: &[Overload]) -> Option<&Overload> {
        all.iter().max_by_key(|overload| (overload.kind == OverloadKind::Collapse, overload.backlog_requests))
    }

    /// The overload in one plain sentence.
    pub fn sentence(&self) -> String {
        let rates = format!(
            "{} requests/s wanted, {} to {} done (5 % to 95 % of the windows)",
            rate(self.demanded_per_second),
            rate(self.delivered_low_per_second),
            rate(self.delivered_high_per_second)
        );
        let (from, to, backlog) =
            (moment(self.range.from_ns), moment(self.range.to_ns), grouped(self.backlog_requests));
        let lost = three_digits(self.lost_seconds_per_second);
        let sentence = match (self.kind, &self.outside) {
            (OverloadKind::Collapse, None) => format!(
                "cannot follow after {from}: {rates}; {backlog} requests late at the end, {lost} s lost each second"
            ),
            (OverloadKind::Collapse, Some(OutsideCause { text, .. })) => format!(
                "late after {from} while {text}: {rates}; {backlog} requests late at the end, {lost} s lost each second"
            ),
            (OverloadKind::Recovered, None) => format!(
                "overloaded from {from} to {to}, then recovered: {rates}; at most {backlog} requests late"
            ),
            (OverloadKind::Recovered, Some(OutsideCause { text, .. })) => {
                format!("late from {from} to {to} while {text}: {rates}; at most {backlog} requests late")
            }
        };
        if self.outside.is_some() {
            return sentence;
        }
        [&[sentence][..], &self.circumstances].concat().join("; ")
    }
}

fn rate(per_second: f64) -> String {
    if per_second >= 1000.0 { grouped(per_second.round() as u64) } else { three_digits(per_second) }
}

/// Windows of the rates are at most this long.
const LONGEST_WINDOW_NS: u64 = 1_000_000_000;
/// A run has at least this many windows.
const LEAST_WINDOWS: u64 = 100;
/// An overload lasts at least this many windows.
const SHORTEST: usize = 3;
/// Delivery keeps up from this share of the demand on.
const KEEPS_UP: f64 = 0.95;
/// A backlog below this many times the allowed number in flight does not count.
const TIMES_IN_FLIGHT: u64 = 2;
/// The rate of a window with fewer demanded requests means nothing alone.
const FEWEST_IN_WINDOW: u64 = 100;

/// Only the overloads with the longest backlogs are reported: a load of bursts has hundreds.
const MOST_OVERLOADS: usize = 12;

/// Detects, in order of time, overloads of the target while the generator had its CPUs. Without a timetable there is no demand.
pub(super) fn overloads(
    requests: &Course,
    stalls: &[CompletionStall],
    summary: &Summary,
    without_cpu: &WithoutCpu,
) -> Vec<Overload> {
    let Some(range) = measured(summary).filter(|_| summary.has_target_rate()) else { return Vec::new() };
    let windows = Windows::of(requests, range, summary);
    // A backlog caused by a stall belongs to that stall.
    let is_of_target = |found: &Found| {
        let (from_ns, to_ns) = (windows.begin(found.first), windows.begin(found.first + found.growth.len()));
        let growth = TimeRange { from_ns, to_ns };
        let is_full = |s: &&CompletionStall| matches!(s.kind, StallKind::Lash | StallKind::Hang);
        let stood: u64 = stalls.iter().filter(is_full).map(|s| s.range.overlap_ns(growth)).sum();
        2 * stood < growth.length_ns() && !without_cpu.accounts_for(growth)
    };
    let mut all = windows.all();
    all.retain(is_of_target);
    let circumstances = circumstances(summary);
    let describe = |found| {
        let found = windows.describe(found);
        let outside = summary.story.as_ref().and_then(|story| story.outside_cause(found.range));
        Overload { circumstances: circumstances.clone(), outside, ..found }
    };
    let mut told: Vec<Overload> = all.into_iter().map(describe).collect();
    told.sort_by_key(|overload| std::cmp::Reverse(overload.backlog_requests));
    told.truncate(MOST_OVERLOADS);
    told.sort_by_key(|overload| overload.range.from_ns);
    told
}

/// Reasons not to blame the target alone for an overload.
fn circumstances(summary: &Summary) -> Vec<String> {
    let held = cause_of_waiting(summary).map(|(why, remedy)| {
        format!("requests were due while {why}: {remedy} to see what the target can do")
    });
    let others = summary.judgement.as_ref().and_then(|judgement| judgement.of(DetectorId::ForeignIo));
    let others = others.filter(|one| one.level >= Level::Caution);
    held.into_iter().chain(others.map(|one| one.text.trim_end_matches('.').to_string())).collect()
}

/// The overloads of a run of which only the course over time is known, and not its stalls.
pub fn overloads_of(traffic: &Traffic, summary: &Summary, without_cpu: &WithoutCpu) -> Vec<Overload> {
    overloads(&traffic.course(), &[], summary, without_cpu)
}

/// A detected overload.
struct Found {
    /// Its first window.
    first: usize,
    /// The backlog while it grew.
    growth: Vec<u64>,
    kind: OverloadKind,
    /// The window beyond its end.
    end: usize,
}

/// Requests by equal windows of the timetable.
struct Windows {
    range: TimeRange,
    demanded: Vec<u64>,
    delivered: Vec<u64>,
    /// Demanded and not completed at the end of each.
    backlog: Vec<u64>,
    /// Requests that may be in flight without being late, plus requests that never complete.
    allowed: u64,
}

/// Maximum in flight on one target: from the plan, or as observed.
fn allowed_in_flight(summary: &Summary) -> u64 {
    summary.run.depth.map(u64::from).or(summary.in_flight.max_on_one_target).unwrap_or(1)
}

impl Windows {
    fn of(requests: &Course, range: TimeRange, summary: &Summary) -> Windows {
        let longest = (range.length_ns() / LEAST_WINDOWS)
            .clamp(requests.width_ns, LONGEST_WINDOW_NS.max(requests.width_ns));
        let bins = usize::try_from(range.length_ns() / longest).map_or(1, |n| n.clamp(1, 1 << 16));
        let demanded = sums(&requests.demanded, requests, range, bins);
        let delivered = sums(&requests.delivered, requests, range, bins);
        let mut waiting = 0u64;
        let backlog = demanded.iter().zip(&delivered).map(|(due, done)| {
            waiting = (waiting + due).saturating_sub(*done);
            waiting
        });
        let all = &summary.counts.all;
        let depth = allowed_in_flight(summary) * summary.targets.len().max(1) as u64;
        Windows {
            backlog: backlog.collect(),
            range,
            demanded,
            delivered,
            allowed: depth + (all.total - all.completed.min(all.total)),
        }
    }

    fn begin(&self, window: usize) -> u64 {
        begin_of(window, self.range, self.demanded.len())
    }

    /// Delivered divided by demanded of some windows.
    fn ratio(&self, windows: Range<usize>) -> f64 {
        let sum = |values: &[u64]| values[windows.clone()].iter().sum::<u64>() as f64;
        sum(&self.delivered) / sum(&self.demanded).max(1.0)
    }

    /// All overloads.
    fn all(&self) -> Vec<Found> {
        let mut found: Vec<Found> = self.collapse().into_iter().collect();
        let before = 0..found.first().map_or(self.backlog.len(), |collapse| collapse.first);
        let mut open = Vec::from_iter([before]);
        while let Some(part) = open.pop() {
            let Some(one) = self.recovered(part.clone()) else { continue };
            open.extend([part.start..one.first, one.end..part.end]);
            found.push(one);
        }
        found
    }

    /// First window of the overload after which the backlog was never small again, in these windows.
    fn onset(&self, windows: Range<usize>) -> usize {
        let is_small = |window: &usize| self.backlog[*window] <= self.allowed;
        let mut first = windows.clone().rfind(is_small).map_or(windows.start, |last| last + 1);
        // If many may be in flight, the backlog shows late what the rates show earlier.
        while first > windows.start && self.falls_behind(first - 1) {
            first -= 1;
        }
        first
    }

    /// Whether delivery does not keep up in a window, beyond chance (three standard errors).
    fn falls_behind(&self, window: usize) -> bool {
        let (due, done) = (self.demanded[window], self.delivered[window]);
        due >= FEWEST_IN_WINDOW
            && self.ratio(window..window + 1) < KEEPS_UP
            && due.saturating_sub(done) as f64 > 3.0 * (due as f64).sqrt()
    }

    fn collapse(&self) -> Option<Found> {
        let end = self.backlog.len();
        let first = self.onset(0..end);
        let rest = &self.backlog[first..];
        let is_large = *self.backlog.last()? > TIMES_IN_FLIGHT * self.allowed;
        let is_one =
            is_large && rest.len() >= SHORTEST && self.ratio(first..end) < KEEPS_UP && slope(rest) > 0.0;
        is_one.then(|| Found { first, growth: rest.to_vec(), kind: OverloadKind::Collapse, end })
    }

    /// The greatest backlog of some windows, if it grew for some time and drained.
    fn recovered(&self, windows: Range<usize>) -> Option<Found> {
        let top = windows.clone().max_by_key(|i| (self.backlog[*i], std::cmp::Reverse(*i)))?;
        let first = self.onset(windows.start..top + 1);
        let end = top + self.backlog[top..windows.end].iter().position(|b| *b <= self.allowed)?;
        let growth = &self.backlog[first..=top];
        let is_one = self.backlog[top] > TIMES_IN_FLIGHT * self.allowed
            && growth.len() >= SHORTEST
            && self.ratio(first..top + 1) < KEEPS_UP
            && slope(growth) > 0.0;
        is_one.then(|| Found { first, growth: growth.to_vec(), kind: OverloadKind::Recovered, end: end + 1 })
    }

    fn describe(&self, Found { first, growth, kind, end }: Found) -> Overload {
        let window_s = self.range.length_ns() as f64 / 1e9 / self.demanded.len() as f64;
        let grown = first..first + growth.len();
        let rates: Vec<f64> = self.delivered[grown.clone()].iter().map(|n| *n as f64 / window_s).collect();
        let then = &self.demanded[grown.clone()];
        Overload {
            kind,
            range: TimeRange { from_ns: self.begin(first), to_ns: self.begin(end) },
            demanded_per_second: then.iter().sum::<u64>() as f64 / (then.len().max(1) as f64 * window_s),
            delivered_low_per_second: quantile(&rates, 0.05),
            delivered_high_per_second: quantile(&rates, 0.95),
            backlog_requests: growth.last().copied().unwrap_or(0),
            circumstances: Vec::new(),
            outside: None,
            backlog_slope_per_second: slope(&growth) / window_s,
            lost_seconds_per_second: (1.0 / self.ratio(grown).max(1e-9) - 1.0).max(0.0),
        }
    }
}

fn sums(values: &[u64], requests: &Course, range: TimeRange, bins: usize) -> Vec<u64> {
    binned(values, requests.width_ns, range, bins).into_iter().map(|sum| sum as u64).collect()
}

fn slope(backlog: &[u64]) -> f64 {
    theil_sen(&backlog.iter().map(|b| *b as f64).collect::<Vec<_>>())
}
