//! The knee: from which demand on a target cannot follow, and what it delivers then.
//!
//! The demand must rise and never fall. As long as the target follows, the backlog (due and not ended) is what is in flight
//! normally: demand × response time (J. D. C. Little, Operations Research 9, 1961). Once the demand exceeds what the target can
//! do, the backlog grows and never drains, whatever the target's depth and times are; from then on it is busy all the time, so
//! what it delivers is what it sustains. That is looked for from the end: the last interval with a normal backlog ends the part
//! in which it could follow. What is delivered after it, from where the demand exceeds this very rate on, is the sustained rate;
//! its interval comes from the means of equal parts of that time.

mod ramped;
mod rows;
#[cfg(test)]
mod tests;

pub use ramped::{RampedOverload, RampedOverloadFinder};
pub use rows::{RampRow, RampTally, RowTimes};

use crate::compare::student::critical;
use crate::findings::statistics::theil_sen;
use serde::{Deserialize, Serialize};

/// What a rising demand has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum KneeVerdict {
    /// It could not follow any more.
    Found(Knee),
    /// It could follow to the end.
    NotReached {
        /// Requests per second that were demanded and delivered at the end.
        at_least_per_second: f64,
    },
    /// It fell behind, but nothing can be said of how much it sustains.
    Unclear {
        /// Why.
        why: Doubt,
        /// The highest demand that it could follow; absent if it never could.
        at_least_per_second: Option<f64>,
    },
}

/// A rate that is sustained, and how that was seen.
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
    /// From when on the backlog never was normal again.
    pub behind_from_ns: u64,
    /// The part of the time that the rate is from.
    pub measured_from_ns: u64,
    /// Its end.
    pub measured_to_ns: u64,
    /// Even the first demand was too much: how the target is when it can follow was not seen.
    pub from_the_start: bool,
    /// What was delivered in the last third of that time: much less means that the target collapses under overload.
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

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The demand ended where the target began to fall behind.
    EndedThere,
    /// It was overloaded for too few requests, or for too short a part of the time.
    TooShort,
    /// What it delivered while it was overloaded varied too much.
    Unsteady,
    /// Hardly anything was requested, or delivered.
    TooFew,
    /// It was ended from outside before it had shown anything.
    Stopped,
}

impl KneeVerdict {
    /// What a ramp has shown that was ended from outside: that its end was not reached says nothing then.
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
    /// In words, with the remedy.
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
/// Fewest requests that it delivers meanwhile, or nothing is said.
pub const FEWEST_REQUESTS: u64 = 50;
/// A backlog of less than so many times the normal one is normal.
const NORMAL: f64 = 3.0;
/// A backlog of more than so many normal ones is more than what comes and goes in a queue that is nearly full.
const CLEAR: f64 = 4.0;
/// Above this part of the demand, it keeps up.
const KEEPS_UP: f64 = 0.95;
/// Parts of the overloaded time, whose means show how sure the rate is.
const PARTS: usize = 10;
/// An interval that reaches further than this part of the rate is of no use.
const WIDEST: f64 = 0.25;
/// Below this part of what it delivered first it has collapsed.
const COLLAPSED: f64 = 0.8;

/// Looks for the knee in consecutive intervals of equal length, during which the demand rose.
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
            // It takes longer, and follows all the same.
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

/// The intervals, and what follows from them.
struct View<'a> {
    rows: &'a [RampRow],
    /// Due and not ended at the end of each.
    backlog: Vec<f64>,
    /// The response time while it can follow, in seconds.
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

    /// Delivered requests per second: the slope of what had been delivered over time, by least squares. Where requests end
    /// in batches, it depends less on which of them are just outside than the mean does.
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

    /// Up to how much of a backlog is normal at the end of a row: some times what Little's law says, and chance.
    fn normal(&self, row: usize) -> f64 {
        let in_flight = self.rows[row].demand_per_second() * self.response_s;
        NORMAL * (in_flight + in_flight.max(1.0).sqrt()) + 2.0
    }

    /// The first row after the last normal backlog; the number of rows if the last one is normal.
    fn behind_from(&self) -> usize {
        (0..self.rows.len()).rfind(|row| self.backlog[*row] <= self.normal(*row)).map_or(0, |row| row + 1)
    }

    /// The highest demand before a row, if what was delivered did follow it.
    fn followed_until(&self, row: usize) -> Option<f64> {
        let some = (row / 20).max(1);
        let last = row.checked_sub(some)?..row;
        let demand = self.demanded(last.clone()) / last.len() as f64 / self.rows[last.start].seconds();
        Some(demand.min(self.rate(last)))
    }

    /// Whether what was delivered followed the demand even in the last third after a row.
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

    /// The first row of those after `behind` whose demand exceeds what is delivered from there on.
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

    /// The end of the overloaded time that tells what it sustains: of a target that collapses only the first third, before or
    /// while it does.
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
    /// means). Never less than what one request at each end may change.
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

/// Fewest requests whose middle response time says something.
const FEWEST_TIMED: f64 = 20.0;

/// The response time while nothing waits, in seconds: the lowest of the medians of consecutive rows. 0 where none is known.
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
