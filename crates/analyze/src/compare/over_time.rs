//! When two runs differ: quantiles of equal stretches of time.

use super::blocks::{Blocks, Quantity, Who};
use super::estimate::{Estimate, Interval, Pair};
use super::figures::{Runs, percent};
use serde::Serialize;
use std::ops::Range;

/// Stretches at most.
const STRETCHES: usize = 32;
/// Stretches at least, so that their scatter is known.
const LEAST_STRETCHES: usize = 8;
/// Degrees of freedom of that scatter: a median distance of 32 values is about as precise as a standard deviation of 12, less
/// where neighbours are correlated.
const FREEDOM: f64 = 8.0;
/// Figures compared in each stretch.
const QUANTILES: [(&str, f64); 2] = [("latency.p50", 0.5), ("latency.p99", 0.99)];

/// A quantile of a stretch of time in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stretch {
    /// Which figure.
    pub figure: String,
    /// Its start on the runs' own clocks.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Change from A to B in percent.
    pub change_percent: f64,
    /// Lower end of the interval of the change; the intervals of all stretches and both figures hold together with a
    /// probability of 99 %.
    pub low_percent: Option<f64>,
    /// Its upper end.
    pub high_percent: Option<f64>,
    /// Whether a change is shown.
    pub shown: bool,
}

/// The change over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OverTime {
    /// Every stretch with enough requests in both runs, by figure and time.
    pub stretches: Vec<Stretch>,
    /// Where a change is shown: neighbouring stretches that change in the same direction are one.
    pub ranges: Vec<Stretch>,
}

/// Compares stretch by stretch; a change is shown nowhere in equal runs except with probability `alpha`.
///
/// The noise of a stretch is taken from how much the ratios of all stretches scatter around their median. Unlike the noise
/// of the whole run, this includes correlation within a stretch, and a change that lasts for less than half of the run does
/// not hide itself.
pub(super) fn over_time(runs: &Runs, alpha: f64) -> OverTime {
    let stretches = stretches(runs);
    let alpha = alpha / (stretches.len() * QUANTILES.len()).max(1) as f64;
    let mut course = OverTime::default();
    for (figure, q) in QUANTILES {
        let Some(whole) = whole(runs, q) else { continue };
        let pairs: Vec<(Range<usize>, Pair)> =
            stretches.iter().filter_map(|range| Some((range.clone(), part(runs, &whole, range)?))).collect();
        let noise = scatter(pairs.iter().map(|(_, pair)| pair.log_ratio()).collect());
        let of = |range: &Range<usize>, pair: &Pair| {
            stretch(runs, figure, range, pair, noise.and_then(|noise| pair.interval_above(alpha, noise)))
        };
        let each: Vec<(&Range<usize>, Stretch)> =
            pairs.iter().map(|(range, pair)| (range, of(range, pair))).collect();
        for group in each.chunk_by(|x, y| x.0.end == y.0.start && direction(&x.1) == direction(&y.1)) {
            if let (Some(first), Some(last)) = (group.first(), group.last())
                && first.1.shown
            {
                let range = first.0.start..last.0.end;
                let joined = part(runs, &whole, &range).map(|pair| of(&range, &pair));
                // The figure is that of all of it; that it is shown was found in its parts.
                course.ranges.extend(joined.map(|j| Stretch { shown: true, ..j }));
            }
        }
        course.stretches.extend(each.into_iter().map(|(_, stretch)| stretch));
    }
    course
}

/// Standard deviation of values by their median distance from the median (1.4826 times that, for normal ones); `None` for
/// too few.
fn scatter(mut values: Vec<f64>) -> Option<f64> {
    fn median(values: &mut [f64]) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
    if values.len() < LEAST_STRETCHES {
        return None;
    }
    let middle = median(&mut values);
    values.iter_mut().for_each(|v| *v = (*v - middle).abs());
    Some(1.4826 * median(&mut values))
}

fn direction(stretch: &Stretch) -> i8 {
    match stretch.change_percent {
        _ if !stretch.shown => 0,
        change if change > 0.0 => 1,
        _ => -1,
    }
}

fn whole(runs: &Runs, q: f64) -> Option<Pair> {
    let of = |blocks| {
        let total = Blocks::total(blocks, Quantity::Latency, Who::All);
        Estimate::quantile(blocks, &total, (Quantity::Latency, Who::All), q)
    };
    Some(Pair::new(of(runs.a)?, of(runs.b)?, runs.paired))
}

/// Blocks of each stretch, over the time that both runs have.
fn stretches(runs: &Runs) -> Vec<Range<usize>> {
    let width = runs.a.width_ns();
    let (from_a, from_b) = (runs.a.span_ns().0, runs.b.span_ns().0);
    let begin = (from_a.max(from_b) / width) as usize;
    let end = runs.a.list().len().min(runs.b.list().len());
    let step = end.saturating_sub(begin).div_ceil(STRETCHES).max(1);
    (begin..end).step_by(step).map(|at| at..(at + step).min(end)).collect()
}

/// A stretch of both runs by itself.
fn part(runs: &Runs, whole: &Pair, range: &Range<usize>) -> Option<Pair> {
    let of = |blocks: &Blocks| blocks.sum(range.clone(), Quantity::Latency, Who::All).histogram;
    whole.within(&of(runs.a), &of(runs.b), FREEDOM).filter(Pair::has_ratio)
}

fn stretch(
    runs: &Runs,
    figure: &str,
    range: &Range<usize>,
    pair: &Pair,
    interval: Option<Interval>,
) -> Stretch {
    let width = runs.a.width_ns();
    Stretch {
        figure: figure.to_string(),
        begin_ns: (range.start as u64).saturating_mul(width),
        end_ns: (range.end as u64).saturating_mul(width).min(runs.a.span_ns().1.max(runs.b.span_ns().1)),
        change_percent: percent(pair.log_ratio()),
        low_percent: interval.map(|i| percent(i.low)),
        high_percent: interval.map(|i| percent(i.high)),
        shown: interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0),
    }
}
