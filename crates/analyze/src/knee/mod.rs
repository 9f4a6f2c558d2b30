//! The knee: the demand from which on a target does not keep up, and the rate that it delivers then.
//!
//! The demand must rise and never fall. As long as the target keeps up, the backlog (due and not ended) is the normal number in
//! flight: demand × response time (J. D. C. Little, Operations Research 9, 1961). Once the demand exceeds the target's capacity,
//! the backlog grows and never drains, whatever the target's depth and times are; from then on it is busy all the time, so the
//! delivered rate is the sustained rate. The search runs from the end: the last interval with a normal backlog ends the part in
//! which it kept up. The rate delivered after it, from where the demand exceeds this very rate on, is the sustained rate; its
//! interval comes from the means of equal parts of that time.

mod ramped;
mod rows;
mod sentences;
mod steps;
#[cfg(test)]
mod tests;

pub use ramped::{RampedOverload, RampedOverloadFinder};
pub use rows::{RampRow, RampTally, RowTimes};
pub use sentences::{Piece, Sentence};
pub use steps::{RampStep, StepState, ramp_steps};

use crate::compare::student::critical;
use crate::findings::statistics::theil_sen;
use serde::{Deserialize, Serialize};

/// Verdict on a rising demand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum KneeVerdict {
    /// The target stopped keeping up.
    Found(Knee),
    /// The target kept up to the end.
    NotReached {
        /// Requests per second that were demanded and delivered at the end.
        at_least_per_second: f64,
    },
    /// The target did not keep up, but the sustained rate is unknown.
    Unclear {
        /// The reason.
        why: Doubt,
        /// The highest demand that it kept up with; absent if it never did.
        at_least_per_second: Option<f64>,
    },
}

/// A sustained rate, and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Requests per second that were delivered while more was demanded.
    pub sustained_per_second: f64,
    /// Lower end of the 95 % interval.
    pub low_per_second: f64,
    /// Upper end of the 95 % interval.
    pub high_per_second: f64,
    /// When the demand exceeded the sustained rate.
    pub at_ns: u64,
    /// From when on the backlog was never normal again.
    pub behind_from_ns: u64,
    /// Start of the time in which the rate was measured.
    pub measured_from_ns: u64,
    /// Its end.
    pub measured_to_ns: u64,
    /// Even the first demand was too much: the target was never seen keeping up.
    pub from_the_start: bool,
    /// Delivered rate in the last third of that time: much less means that the target collapses under overload.
    pub last_per_second: f64,
    /// Requests that were due and had not ended at the end.
    pub backlog_requests: u64,
}

impl Knee {
    /// Whether it delivers clearly less the longer the overload lasts.
    pub fn collapses(&self) -> bool {
        self.last_per_second < COLLAPSED * self.sustained_per_second
            && self.last_per_second < self.low_per_second
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The demand ended where the overload began.
    EndedThere,
    /// It was overloaded for too few requests, or for too short a part of the time.
    TooShort,
    /// The delivered rate varied too much during the overload.
    Unsteady,
    /// Hardly anything was requested, or delivered.
    TooFew,
    /// It was stopped from outside before it had shown anything.
    Stopped,
}

impl KneeVerdict {
    /// The verdict on a ramp that was stopped from outside: not reaching its end means nothing then.
    #[must_use]
    pub fn when_stopped(self) -> KneeVerdict {
        let at_least_per_second = match self {
            KneeVerdict::Found(_) => return self,
            KneeVerdict::NotReached { at_least_per_second } => Some(at_least_per_second),
            KneeVerdict::Unclear { at_least_per_second, .. } => at_least_per_second,
        };
        KneeVerdict::Unclear { why: Doubt::Stopped, at_least_per_second }
    }
}

impl Doubt {
    /// The reason in words, with the remedy.
    pub fn text(self) -> &'static str {
        match self {
            Doubt::EndedThere => {
                "the demand ended just where the target began to fall behind: let it rise further, or more slowly"
            }
            Doubt::TooShort => {
                "the target was overloaded for too short a time: the ramp is too steep or too short, let it last longer"
            }
            Doubt::Unsteady => {
                "what the target delivered while it was overloaded varies too much: let the ramp last longer, or look for \
                 what disturbs the target"
            }
            Doubt::TooFew => "too few requests ended: let the ramp last longer, and begin lower",
            Doubt::Stopped => "it was stopped before it had shown a knee: let it run to its end",
        }
    }
}

/// Fewest intervals in which it is overloaded.
const FEWEST_ROWS: usize = 5;
/// Fewest requests delivered meanwhile for a verdict.
pub const FEWEST_REQUESTS: u64 = 50;
/// A backlog below this many times the normal one is normal.
const NORMAL: f64 = 3.0;
/// A backlog above this many normal ones exceeds the fluctuation in a queue that is nearly full.
const CLEAR: f64 = 4.0;
/// Above this part of the demand, it keeps up.
const KEEPS_UP: f64 = 0.95;
/// Parts of the overloaded time, whose means show the confidence of the rate.
const PARTS: usize = 10;
/// An interval wider than this part of the rate is useless.
const WIDEST: f64 = 0.25;
/// Below this part of its first rate it has collapsed.
const COLLAPSED: f64 = 0.8;

/// Finds the knee in consecutive intervals of equal length, during which the demand rose.
pub fn find_knee(rows: &[RampRow]) -> KneeVerdict {
    let view = View::of(rows);
    let (all, behind) = (rows.len(), view.behind_from());
    if all < FEWEST_ROWS || view.delivered(0..all) < FEWEST_REQUESTS {
        return KneeVerdict::Unclear { why: Doubt::TooFew, at_least_per_second: None };
    }
    let followed = view.followed_until(behind);
    if behind == all {
        return KneeVerdict::NotReached { at_least_per_second: followed.unwrap_or_default() };
    }
    if view.keeps_up(behind) {
        return match view.grows(behind) {
            true => KneeVerdict::Unclear { why: Doubt::EndedThere, at_least_per_second: followed },
            // It takes longer, but keeps up.
            false => {
                KneeVerdict::NotReached { at_least_per_second: view.followed_until(all).unwrap_or_default() }
            }
        };
    }
    let unclear = |why| KneeVerdict::Unclear { why, at_least_per_second: followed };
    let first = view.overloaded_from(behind);
    if all - first < FEWEST_ROWS || view.delivered(first..all) < FEWEST_REQUESTS {
        return unclear(Doubt::TooShort);
    }
    let knee = view.knee(first, behind);
    if knee.high_per_second - knee.low_per_second > 2.0 * WIDEST * knee.sustained_per_second {
        return unclear(Doubt::Unsteady);
    }
    KneeVerdict::Found(knee)
}

/// The intervals, and values derived from them.
struct View<'a> {
    rows: &'a [RampRow],
    /// Due and not ended at the end of each.
    backlog: Vec<f64>,
    /// The response time while it keeps up, in seconds.
    response_s: f64,
}

impl<'a> View<'a> {
    fn of(rows: &'a [RampRow]) -> View<'a> {
        let mut waiting = 0.0f64;
        let backlog = rows.iter().map(|row| {
            waiting = (waiting + row.demanded - (row.delivered + row.failed) as f64).max(0.0);
            waiting
        });
        View { backlog: backlog.collect(), rows, response_s: quiet_response(rows) }
    }

    fn delivered(&self, rows: std::ops::Range<usize>) -> u64 {
        self.rows[rows].iter().map(|row| row.delivered).sum()
    }

    fn demanded(&self, rows: std::ops::Range<usize>) -> f64 {
        self.rows[rows].iter().map(|row| row.demanded).sum()
    }

    /// Delivered requests per second: the slope of the delivered count over time, by least squares. If requests end in
    /// batches, it depends less on which of them are just outside than the mean does.
    fn rate(&self, rows: std::ops::Range<usize>) -> f64 {
        let rows = &self.rows[rows];
        let (mut seconds, mut delivered) = (0.0, 0.0);
        let mut points = vec![(0.0, 0.0)];
        points.extend(rows.iter().map(|row| {
            seconds += row.seconds();
            delivered += row.delivered as f64;
            (seconds, delivered)
        }));
        if rows.len() < FEWEST_ROWS {
            return delivered / seconds.max(1e-9);
        }
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (middle, half) = (mean(|p| p.0), mean(|p| p.1));
        let both: f64 = points.iter().map(|p| (p.0 - middle) * (p.1 - half)).sum();
        let time: f64 = points.iter().map(|p| (p.0 - middle).powi(2)).sum();
        (both / time.max(1e-18)).max(0.0)
    }

    /// Largest normal backlog at the end of a row: a multiple of Little's law, plus chance.
    fn normal(&self, row: usize) -> f64 {
        let in_flight = self.rows[row].demand_per_second() * self.response_s;
        NORMAL * (in_flight + in_flight.max(1.0).sqrt()) + 2.0
    }

    /// The first row after the last normal backlog; the number of rows if the last one is normal.
    fn behind_from(&self) -> usize {
        (0..self.rows.len()).rfind(|row| self.backlog[*row] <= self.normal(*row)).map_or(0, |row| row + 1)
    }

    /// The highest demand before a row, if the delivered rate followed it.
    fn followed_until(&self, row: usize) -> Option<f64> {
        let some = (row / 20).max(1);
        let last = row.checked_sub(some)?..row;
        let demand = self.demanded(last.clone()) / last.len() as f64 / self.rows[last.start].seconds();
        Some(demand.min(self.rate(last)))
    }

    /// Whether the delivered rate followed the demand even in the last third after a row.
    fn keeps_up(&self, behind: usize) -> bool {
        let last = behind + (self.rows.len() - behind) * 2 / 3..self.rows.len();
        self.delivered(last.clone()) as f64 >= KEEPS_UP * self.demanded(last)
    }

    /// Whether the backlog grew after a row.
    fn grows(&self, behind: usize) -> bool {
        let last = self.rows.len() - 1;
        let growth = &self.backlog[behind..];
        growth.len() >= FEWEST_ROWS
            && theil_sen(growth) > 0.0
            && self.backlog[last] > CLEAR * self.normal(last)
    }

    /// The first row from `behind` on whose demand exceeds the rate delivered from there on.
    fn overloaded_from(&self, behind: usize) -> usize {
        let mut first = behind;
        // Each round starts later, or it is the last.
        loop {
            let sustained = self.rate(first..self.rows.len());
            let later = (first..self.rows.len()).find(|row| self.rows[*row].demand_per_second() >= sustained);
            match later {
                Some(later) if later > first => first = later,
                _ => return first,
            }
        }
    }

    /// The end of the part of the overload that shows the sustained rate: of a target that collapses only the first third,
    /// before or while it does.
    fn steady_until(&self, first: usize) -> usize {
        let all = self.rows.len();
        let third = (all - first) / 3;
        let (early, late) = (first..first + third, all - third..all);
        let says_enough = third >= FEWEST_ROWS && self.delivered(early.clone()) >= FEWEST_REQUESTS;
        if says_enough && self.rate(late) < COLLAPSED * self.rate(early.clone()) { early.end } else { all }
    }

    fn knee(&self, first: usize, behind: usize) -> Knee {
        let (rows, all) = (self.rows, self.rows.len());
        let end = self.steady_until(first);
        let sustained = self.rate(first..end);
        let half = self.half_width(first..end, sustained);
        let at = rows.iter().find(|row| row.demand_per_second() >= sustained).unwrap_or(&rows[first]);
        Knee {
            sustained_per_second: sustained,
            low_per_second: (sustained - half).max(0.0),
            high_per_second: sustained + half,
            at_ns: at.from_ns,
            behind_from_ns: rows[behind].from_ns,
            measured_from_ns: rows[first].from_ns,
            measured_to_ns: rows[end - 1].to_ns,
            from_the_start: rows[0].demand_per_second() > sustained + half,
            last_per_second: self.rate(first + (all - first) * 2 / 3..all),
            backlog_requests: self.backlog[all - 1] as u64,
        }
    }

    /// Half of the 95 % interval of the mean: Student's t over the means of equal parts of the time (the method of batch
    /// means). Never less than the effect of one request at each end.
    fn half_width(&self, rows: std::ops::Range<usize>, sustained: f64) -> f64 {
        let parts = PARTS.min(rows.len());
        let edge = |part: usize| rows.start + rows.len() * part / parts;
        let rates: Vec<f64> = (0..parts).map(|part| self.rate(edge(part)..edge(part + 1))).collect();
        let squares: f64 = rates.iter().map(|rate| (rate - sustained).powi(2)).sum();
        let deviation = (squares / (parts - 1) as f64).sqrt();
        let one_more = 2.0 * sustained / self.delivered(rows.clone()).max(1) as f64;
        let freedom = (parts - 1) as f64;
        (critical(0.05, freedom) * deviation / (parts as f64).sqrt()).max(one_more)
    }
}

/// Fewest requests for a meaningful median response time.
const FEWEST_TIMED: f64 = 20.0;

/// The response time while nothing waits, in seconds: the lowest of the medians of consecutive rows. 0 if unknown.
fn quiet_response(rows: &[RampRow]) -> f64 {
    let mut lowest = f64::INFINITY;
    let (mut times, mut requests) = (Vec::new(), 0.0);
    for row in rows {
        times.extend(row.response.map(|response| response.p50_ns));
        requests += row.demanded;
        if requests >= FEWEST_TIMED && !times.is_empty() {
            times.sort_unstable();
            lowest = lowest.min(times[times.len() / 2] as f64 / 1e9);
            (times, requests) = (Vec::new(), 0.0);
        }
    }
    if lowest.is_finite() { lowest } else { 0.0 }
}
