//! Steady state: whether the level was constant, and from when on.

use crate::course::Course;
use crate::findings::bins::{begin_of, bin_of, binned, measured};
use crate::findings::statistics::median;
use crate::findings::{moment, percent};
use crate::time_range::TimeRange;
use crate::{Class, CountGrid, PartStats, ROWS_PER_DECADE, Summary};
use serde::{Deserialize, Serialize};

/// The examined quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyQuantity {
    /// Completed requests per second.
    Requests,
    /// Transferred bytes per second.
    Bytes,
    /// Geometric mean of the latency.
    Latency,
}

/// Result of the split test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitResult {
    /// No change of the level shown.
    Steady,
    /// The level changed by more than 15 %.
    Changed,
    /// The level changed by more than 50 %.
    ChangedMuch,
}

/// The greatest change of the level at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitTest {
    /// The examined quantity.
    pub quantity: SteadyQuantity,
    /// Result of the test.
    pub result: SplitResult,
    /// Equal time bins that were compared.
    pub bins: usize,
    /// The time that separates both levels best.
    pub at_ns: u64,
    /// The pass that starts there, from 0; absent if none does.
    pub pass: Option<u32>,
    /// Median level of the bins before: requests or bytes per second, or nanoseconds.
    pub before: f64,
    /// Median level of the bins after.
    pub behind: f64,
    /// Evidence: difference of the levels in units of its standard error; above 6 is a change.
    pub t: f64,
    /// The greater level divided by the smaller; absent if the smaller is 0.
    pub level_ratio: Option<f64>,
}

/// The last five rounds of a quantity, by the rule of the SNIA SSS PTS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SniaWindow {
    /// The examined quantity.
    pub quantity: SteadyQuantity,
    /// First window of five rounds that was steady: number of its first round, from 0.
    pub first_steady_round: Option<u32>,
    /// Whether the last five rounds were steady.
    pub is_steady_at_end: bool,
    /// Of the last five rounds: greatest minus least, divided by the mean; at most 0.2.
    pub range_over_mean: f64,
    /// Of the last five rounds: rise or fall of the fitted line over them, divided by the mean; at most 0.1.
    pub slope_over_mean: f64,
}

/// The SNIA rule, for information: it accepts windows of runs that are not steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SniaSteady {
    /// Length of a round.
    pub round_ns: u64,
    /// Number of rounds.
    pub rounds: u32,
    /// One for each quantity.
    pub windows: Vec<SniaWindow>,
}

/// Whether the level was constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Time range examined.
    pub range: TimeRange,
    /// Start of the steady state by the split test, in all quantities; `None` if never for 8 of 20 equal parts.
    pub steady_from_ns: Option<u64>,
    /// One for each quantity.
    pub split: Vec<SplitTest>,
    /// The rule of the SNIA; absent with too few requests.
    pub snia: Option<SniaSteady>,
}

impl Steady {
    /// The worst result of the split tests.
    pub fn result(&self) -> SplitResult {
        self.split.iter().map(|s| s.result).max().unwrap_or(SplitResult::Steady)
    }

    /// The result in one plain sentence.
    pub fn sentence(&self) -> String {
        let worst =
            self.split.iter().filter(|s| s.result != SplitResult::Steady).max_by(|a, b| a.t.total_cmp(&b.t));
        let Some(split) = worst else { return "steady from the start (split test)".to_string() };
        let what = match split.quantity {
            SteadyQuantity::Requests => "completed requests/s",
            SteadyQuantity::Bytes => "transferred bytes/s",
            SteadyQuantity::Latency => "the latency",
        };
        let change = match split.level_ratio {
            Some(_) if split.before > 0.0 => format!("changed to {}", percent(split.behind / split.before)),
            _ => "began or ended".to_string(),
        };
        let from = match self.steady_from_ns {
            Some(ns) => format!("steady from {} on", moment(ns)),
            None => "steady for no 40 % of the time".to_string(),
        };
        let at = match split.pass {
            Some(pass) => format!("with pass {} (at {})", pass + 1, moment(split.at_ns)),
            None => format!("at {}", moment(split.at_ns)),
        };
        format!("not steady: {at} {what} {change}; {from} (split test)")
    }
}

/// Equal bins of the split test.
const BINS: usize = 20;
/// Fewest bins on each side of a split.
const LEAST_SIDE: usize = 3;
/// Fewest bins that can be called steady.
const LEAST_STEADY: usize = 8;
/// Differences of the level above this many standard errors are changes ...
const T: f64 = 6.0;
/// ... if the levels differ by this factor;
const CHANGED: f64 = 1.15;
/// ... and great ones by this.
const CHANGED_MUCH: f64 = 1.5;
/// The median of |difference of neighbours| divided by this is the standard deviation of normal noise.
const MEDIAN_DIFFERENCE: f64 = 0.954;
/// The standard error of a median is this times that of a mean.
const MEDIAN_ERROR: f64 = 1.2533;
/// Fewest requests in a run whose level can be judged.
const FEWEST_REQUESTS: u64 = 400;
/// Rounds of the SNIA rule.
const ROUNDS: usize = 25;
/// Rounds of a window of the SNIA rule.
pub const SNIA_WINDOW: usize = 5;
/// Greatest range and slope within a window, divided by its mean.
const MOST_RANGE: f64 = 0.2;
const MOST_SLOPE: f64 = 0.1;

/// Judges the level of the measured time. With a timetable the load sets the rates, so only the latency is judged.
pub(super) fn steady(requests: &Course, latency: &CountGrid, summary: &Summary) -> Option<Steady> {
    let range = measured(summary).filter(|_| summary.counts.all.completed >= FEWEST_REQUESTS)?;
    let levels = Levels { requests, latency, range, is_open: summary.run.has_timetable };
    let bins = levels.by(BINS);
    // With few columns per bin, one column more or less changes the level.
    if range.length_ns() / requests.width_ns.max(1) < 4 * ROUNDS as u64 {
        return None;
    }
    let tests: Vec<SplitTest> =
        bins.iter().map(|(quantity, values)| split_levels(*quantity, values)).collect();
    let is_steady = |from: usize| {
        bins.iter()
            .all(|(quantity, values)| split_levels(*quantity, &values[from..]).result == SplitResult::Steady)
    };
    // A shorter rest shows a change less clearly: nothing before the last change is steady.
    let changed =
        tests.iter().filter(|test| test.result != SplitResult::Steady).map(|test| test.at_ns as usize);
    let first = changed.max().unwrap_or(0);
    let from = (first..=BINS - LEAST_STEADY).find(|from| is_steady(*from));
    let rounds = levels.by(ROUNDS);
    Some(Steady {
        range,
        steady_from_ns: from.map(|bin| begin_of(bin, range, BINS)),
        split: tests.into_iter().map(|test| timed(test, range, summary)).collect(),
        snia: Some(SniaSteady {
            round_ns: range.length_ns() / ROUNDS as u64,
            rounds: ROUNDS as u32,
            windows: rounds.iter().map(|(quantity, values)| snia(*quantity, values)).collect(),
        }),
    })
}

struct Levels<'a> {
    requests: &'a Course,
    latency: &'a CountGrid,
    range: TimeRange,
    is_open: bool,
}

impl Levels<'_> {
    fn by(&self, bins: usize) -> Vec<(SteadyQuantity, Vec<f64>)> {
        let seconds = self.range.length_ns() as f64 / 1e9 / bins as f64;
        let rate = |values: &[u64]| {
            let sums = binned(values, self.requests.width_ns, self.range, bins);
            sums.into_iter().map(|sum| sum / seconds).collect()
        };
        let mut all = vec![(SteadyQuantity::Latency, self.latency_by(bins))];
        if !self.is_open {
            all.insert(0, (SteadyQuantity::Requests, rate(&self.requests.delivered)));
            all.insert(1, (SteadyQuantity::Bytes, rate(&self.requests.delivered_bytes)));
        }
        all
    }

    /// Geometric mean of the latency of the requests submitted in each bin; 0 without any.
    fn latency_by(&self, bins: usize) -> Vec<f64> {
        let width = self.latency.axis().width_ns();
        let mut sums = vec![(0.0, 0u64); bins];
        for class in Class::TRANSFERS {
            for column in 0..self.latency.axis().columns() {
                let middle = (column as u64).saturating_mul(width).saturating_add(width / 2);
                let Some(bin) = bin_of(middle, self.range, bins) else { continue };
                for (slot, count) in self.latency.column(class, column) {
                    sums[bin].0 += slot as f64 * f64::from(count);
                    sums[bin].1 += u64::from(count);
                }
            }
        }
        let level = |(sum, count): (f64, u64)| {
            let row = sum / count as f64 - 0.5;
            if count == 0 { 0.0 } else { 1_000.0 * 10f64.powf(row / ROWS_PER_DECADE as f64) }
        };
        sums.into_iter().map(level).collect()
    }
}

/// A test of bins with the time of its split, and the pass that starts there.
fn timed(test: SplitTest, range: TimeRange, summary: &Summary) -> SplitTest {
    let at_ns = begin_of(test.at_ns as usize, range, test.bins);
    SplitTest { at_ns, pass: pass_at(at_ns, range, summary), ..test }
}

/// The pass that starts nearer to a time than half a bin.
fn pass_at(ns: u64, range: TimeRange, summary: &Summary) -> Option<u32> {
    let reach = range.length_ns() / BINS as u64 / 2;
    let begins = |pass: &&PartStats| pass.begin_ns.is_some_and(|begin| begin.abs_diff(ns) <= reach);
    summary.parts.passes.iter().skip(1).find(begins)?.number
}

/// The split test of levels in equal parts of time; `at_ns` is the number of the first part after the split.
pub fn split_levels(quantity: SteadyQuantity, values: &[f64]) -> SplitTest {
    let n = values.len();
    let differences: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let sigma = median(&differences) / MEDIAN_DIFFERENCE;
    let at = |k: usize| {
        let (before, behind) = (median(&values[..k]), median(&values[k..]));
        let error = MEDIAN_ERROR * sigma * (1.0 / k as f64 + 1.0 / (n - k) as f64).sqrt();
        let difference = (behind - before).abs();
        let t = if difference == 0.0 { 0.0 } else { (difference / error).min(1e6) };
        (k, before, behind, t)
    };
    let splits = (LEAST_SIDE..=n.saturating_sub(LEAST_SIDE)).map(at);
    let (k, before, behind, t) = splits.max_by(|a, b| a.3.total_cmp(&b.3)).unwrap_or((0, 0.0, 0.0, 0.0));
    // Medians tolerate some bins on the wrong side, so the position of a change is searched separately.
    let (k, before, behind) = if t > T { place(values) } else { (k, before, behind) };
    let level_ratio = (before.min(behind) > 0.0).then(|| before.max(behind) / before.min(behind));
    let differs_by = |factor: f64| t > T && level_ratio.is_none_or(|ratio| ratio > factor);
    let result = match () {
        () if differs_by(CHANGED_MUCH) => SplitResult::ChangedMuch,
        () if differs_by(CHANGED) => SplitResult::Changed,
        () => SplitResult::Steady,
    };
    SplitTest { quantity, result, bins: n, at_ns: k as u64, before, behind, t, level_ratio, pass: None }
}

/// Where the bins differ least from the median of their side, and both medians.
fn place(values: &[f64]) -> (usize, f64, f64) {
    let deviation = |part: &[f64], middle: f64| part.iter().map(|v| (v - middle).abs()).sum::<f64>();
    let at = |k: usize| {
        let (left, right) = values.split_at(k);
        let (before, behind) = (median(left), median(right));
        (k, before, behind, deviation(left, before) + deviation(right, behind))
    };
    let places = (LEAST_SIDE..=values.len().saturating_sub(LEAST_SIDE)).map(at);
    let (k, before, behind, _) = places.min_by(|a, b| a.3.total_cmp(&b.3)).unwrap_or((0, 0.0, 0.0, 0.0));
    (k, before, behind)
}

/// The rule of the SNIA for the levels of equal rounds; `None` with too few of them for a window.
pub fn snia_window(quantity: SteadyQuantity, rounds: &[f64]) -> Option<SniaWindow> {
    (rounds.len() >= SNIA_WINDOW).then(|| snia(quantity, rounds))
}

fn snia(quantity: SteadyQuantity, rounds: &[f64]) -> SniaWindow {
    let figures = |window: &[f64]| {
        let mean = window.iter().sum::<f64>() / window.len() as f64;
        let (low, high) = window.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        let middle = (window.len() - 1) as f64 / 2.0;
        let moments = window.iter().enumerate().map(|(i, v)| (i as f64 - middle, v - mean));
        let (xy, xx) = moments.fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
        let excursion = (xy / xx * (window.len() - 1) as f64).abs();
        if mean > 0.0 { ((high - low) / mean, excursion / mean) } else { (0.0, 0.0) }
    };
    let is_steady = |(range, slope): (f64, f64)| range <= MOST_RANGE && slope <= MOST_SLOPE;
    let last = figures(&rounds[rounds.len() - SNIA_WINDOW..]);
    SniaWindow {
        quantity,
        first_steady_round: rounds.windows(SNIA_WINDOW).position(|w| is_steady(figures(w))).map(|i| i as u32),
        is_steady_at_end: is_steady(last),
        range_over_mean: last.0,
        slope_over_mean: last.1,
    }
}
