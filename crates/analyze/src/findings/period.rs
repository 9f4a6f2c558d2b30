//! Periods: events that recur at equal intervals.

use crate::course::Course;
use crate::findings::bins::{binned, measured};
use crate::findings::statistics::median;
use crate::numbers::span;
use crate::time_range::TimeRange;
use crate::{Cell, Class, CountGrid, Summary};
use serde::{Deserialize, Serialize};

/// The quantity that shows the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodQuantity {
    /// Number of completed requests.
    Completions,
    /// Share of requests that are slower than the run's 99th percentile.
    SlowShare,
}

/// Cause of the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodCause {
    /// The demanded requests have it too.
    Load,
    /// The load lacks it, so the target or a layer above it causes it: a guess.
    Target,
}

/// A recurring event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Length of the period.
    pub period_ns: u64,
    /// The quantity that shows it.
    pub quantity: PeriodQuantity,
    /// Its cause.
    pub cause: PeriodCause,
    /// Evidence: autocorrelation at this distance; 1 is perfect repetition.
    pub strength: f64,
    /// Evidence: upper bound of noise without a period.
    pub threshold: f64,
    /// Autocorrelation of the demanded requests at the same distance.
    pub demanded_strength: Option<f64>,
    /// Time range examined.
    pub range: TimeRange,
}

impl Period {
    /// The period in one plain sentence.
    pub fn sentence(&self) -> String {
        let what = match self.quantity {
            PeriodQuantity::Completions => "the number of completed requests",
            PeriodQuantity::SlowShare => "the number of slow requests",
        };
        let cause = match self.cause {
            PeriodCause::Load => "the load itself has this period",
            PeriodCause::Target => "the load does not have it; this is a guess from the completions alone",
        };
        format!(
            "{what} repeats every {} (autocorrelation {:.2}): {cause}",
            span(self.period_ns),
            self.strength
        )
    }
}

/// Most equal bins of the time.
const MOST_BINS: usize = 4_096;
/// Fewest bins for a search.
const FEWEST_BINS: usize = 64;
/// A period is at least this many bins long.
const SHORTEST: usize = 4;
/// Minimum number of repetitions.
const REPETITIONS: usize = 6;
/// Noise without a period stays below this many standard errors of the autocorrelation.
const STANDARD_ERRORS: f64 = 5.5;
/// Weaker periods are ignored.
const WEAKEST: f64 = 0.1;
/// Bins of the running mean that is subtracted first, so that a drift is no period: this part of all.
const DRIFT_PART: usize = 4;
/// Variance of a count caused by rounding to whole bins and by a varying latency: above it requests bunch.
const MOST_EVEN: f64 = 1.0;
/// The variance of even counts, as a part of that of random counts.
const LESS_THAN_RANDOM: f64 = 0.75;
/// Requests slower than all but this part of the operation's are slow.
const SLOW_PART: f64 = 0.01;

/// Detects a period in the completions and in the number of slow requests; the clearer one counts.
pub(super) fn period(requests: &Course, latency: &CountGrid, summary: &Summary) -> Option<Period> {
    let range = measured(summary)?;
    let width = requests.width_ns;
    let bins = usize::try_from(range.length_ns() / width).map_or(MOST_BINS, |n| n.min(MOST_BINS));
    if bins < FEWEST_BINS {
        return None;
    }
    let demanded = binned(&requests.demanded, width, range, bins);
    let demanded = Correlogram::of(&demanded).filter(|_| !is_even(&demanded));
    let slow = binned(&slow(latency), latency.axis().width_ns(), range, bins);
    let delivered = binned(&requests.delivered, width, range, bins);
    let completions =
        (PeriodQuantity::Completions, Correlogram::of(&delivered).filter(|_| !is_even(&delivered)));
    let candidates = [completions, (PeriodQuantity::SlowShare, Correlogram::of(&slow))];
    let found = candidates.iter().filter_map(|(quantity, correlogram)| {
        let lag = correlogram.as_ref()?.period()?;
        Some((*quantity, correlogram.as_ref()?, lag))
    });
    let (quantity, correlogram, lag) =
        found.max_by(|a, b| a.1.clearness(a.2).total_cmp(&b.1.clearness(b.2)))?;
    let bin_ns = range.length_ns() as f64 / bins as f64;
    // In a closed loop requests are due when others complete, so that demand is not the load's.
    let demanded = demanded.filter(|_| summary.run.has_timetable);
    let is_loads = demanded.as_ref().is_some_and(|d| d.stands_out(lag));
    Some(Period {
        period_ns: (correlogram.refined(lag) * bin_ns).round() as u64,
        quantity,
        cause: if is_loads { PeriodCause::Load } else { PeriodCause::Target },
        strength: correlogram.at(lag),
        threshold: correlogram.threshold,
        demanded_strength: demanded.map(|d| d.near(lag)),
        range,
    })
}

/// Slow reads and writes of each column of the grid.
fn slow(latency: &CountGrid) -> Vec<u64> {
    let marginal = latency.marginal();
    let of = |cell: &Cell| Class::TRANSFERS.iter().map(|class| cell[class.index()]).sum::<u64>();
    let total: u64 = marginal.iter().map(of).sum();
    let mut above = 0u64;
    let first = (0..marginal.len()).rfind(|slot| {
        above += of(&marginal[*slot]);
        above as f64 > SLOW_PART * total as f64
    });
    let first = first.map_or(0, |slot| slot + 1);
    let mut slow = vec![0u64; latency.axis().columns()];
    for class in Class::TRANSFERS {
        for (column, slow) in slow.iter_mut().enumerate() {
            let is_slow = |(slot, _): &(usize, u32)| *slot >= first;
            *slow += latency.column(class, column).filter(is_slow).map(|(_, n)| u64::from(n)).sum::<u64>();
        }
    }
    slow
}

/// Whether counts vary by less than random ones (Poisson: the variance is the mean), and by about one: requests at equal intervals do,
/// and their number per bin then repeats with the width of the bins alone.
fn is_even(counts: &[f64]) -> bool {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let rest = without_drift(counts);
    let variance = rest.iter().map(|v| v * v).sum::<f64>() / rest.len() as f64;
    variance < MOST_EVEN.min(LESS_THAN_RANDOM * mean)
}

/// Autocorrelation of a series without its drift.
struct Correlogram {
    /// By distance in bins, from 0; up to half of the series.
    r: Vec<f64>,
    /// Upper bound of noise (Bartlett 1946: correlation between neighbours widens it).
    threshold: f64,
}

impl Correlogram {
    /// `None` if nothing varies.
    fn of(series: &[f64]) -> Option<Correlogram> {
        let values = clipped(&without_drift(series));
        let n = values.len();
        let power = values.iter().map(|v| v * v).sum::<f64>() / n as f64;
        if power <= 0.0 {
            return None;
        }
        let product = |lag: usize| values[lag..].iter().zip(&values).map(|(a, b)| a * b).sum::<f64>();
        let r: Vec<f64> = (0..n / 2).map(|lag| product(lag) / ((n - lag) as f64 * power)).collect();
        let alike: f64 = r[1..].iter().take_while(|r| **r > 0.0).map(|r| r * r).sum();
        let threshold = (STANDARD_ERRORS * ((1.0 + 2.0 * alike) / n as f64).sqrt()).max(WEAKEST);
        Some(Correlogram { r, threshold })
    }

    fn at(&self, lag: usize) -> f64 {
        self.r.get(lag).copied().unwrap_or(0.0)
    }

    /// The greatest value close to a distance.
    fn near(&self, lag: usize) -> f64 {
        (lag.saturating_sub(1)..=lag + 1).map(|l| self.at(l)).fold(f64::MIN, f64::max)
    }

    /// Whether it is higher close to a distance than noise would be, and than at a shorter one: a mere decline from
    /// distance zero is no period, there must be a valley before.
    fn stands_out(&self, lag: usize) -> bool {
        let valley = self.r[1..lag].iter().copied().fold(f64::MAX, f64::min);
        self.near(lag) > self.threshold && self.near(lag) - valley > self.threshold
    }

    fn clearness(&self, lag: usize) -> f64 {
        self.at(lag) / self.threshold
    }

    /// The shortest distance that is nearly as good as the best, and recurs at its multiples.
    fn period(&self) -> Option<usize> {
        let longest = 2 * self.r.len() / REPETITIONS;
        let is_peak = |lag: &usize| {
            let value = self.at(*lag);
            value >= self.near(*lag)
                && self.stands_out(*lag)
                && [2, 3].iter().all(|k| self.multiple(*lag, *k) > (value / 2.0).max(self.threshold * 0.6))
        };
        let peaks: Vec<usize> = (SHORTEST..longest).filter(is_peak).collect();
        let best = peaks.iter().map(|lag| self.at(*lag)).fold(0.0, f64::max);
        peaks.into_iter().find(|lag| self.at(*lag) >= 0.75 * best)
    }

    /// The greatest value at a multiple; a period is known to half a bin.
    fn multiple(&self, lag: usize, times: usize) -> f64 {
        let reach = times.div_ceil(2);
        (times * lag - reach..=times * lag + reach).map(|l| self.at(l)).fold(0.0, f64::max)
    }

    /// The period in bins, refined by its highest multiple that still shows.
    fn refined(&self, lag: usize) -> f64 {
        let (mut period, mut times, mut last) = (lag as f64, 1.0, lag);
        while (times + 1.0) * period + 2.0 < self.r.len() as f64 {
            let next = ((times + 1.0) * period).round() as usize;
            let best = (next.saturating_sub(2)..=next + 2).max_by(|a, b| self.at(*a).total_cmp(&self.at(*b)));
            // Each multiple must lie a good part of the period after the previous one.
            let is_next = |b: &usize| self.at(*b) > self.threshold * 0.6 && *b >= last + lag.div_ceil(2);
            let Some(best) = best.filter(is_next) else { break };
            (times, last) = (times + 1.0, best);
            period = best as f64 / times;
        }
        period
    }
}

/// Subtracts the running mean over a part of the series, and centres the rest around zero.
fn without_drift(series: &[f64]) -> Vec<f64> {
    let reach = (series.len() / DRIFT_PART / 2).max(1);
    let sums: Vec<f64> = [0.0]
        .into_iter()
        .chain(series.iter().scan(0.0, |sum, v| {
            *sum += v;
            Some(*sum)
        }))
        .collect();
    let around = |i: usize| {
        let (from, to) = (i.saturating_sub(reach), (i + reach + 1).min(series.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    let rest: Vec<f64> = series.iter().enumerate().map(|(i, v)| v - around(i)).collect();
    let mean = rest.iter().sum::<f64>() / rest.len().max(1) as f64;
    rest.iter().map(|v| v - mean).collect()
}

/// Limits all values to ten times the usual one, so that a few giant values do not drown everything else.
fn clipped(values: &[f64]) -> Vec<f64> {
    let usual = median(&values.iter().map(|v| v.abs()).collect::<Vec<_>>());
    let most = if usual > 0.0 { 10.0 * usual } else { f64::MAX };
    values.iter().map(|v| v.clamp(-most, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_even_from_random_or_bunched_intervals() {
        // 10.8 requests in a bin: 10 or 11 of them.
        let equal: Vec<f64> = (0..4_000)
            .map(|i| ((f64::from(i) + 1.0) * 10.8).floor() - (f64::from(i) * 10.8).floor())
            .collect();
        assert!(is_even(&equal));
        let bunched: Vec<f64> = (0..4_000).map(|i| if i % 20 == 0 { 40.0 } else { 9.0 }).collect();
        assert!(!is_even(&bunched));
        // A quarter of the bins has a request, at random places: as random as can be.
        let mut state = 7u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 62 == 0 { 1.0 } else { 0.0 }
        };
        let random: Vec<f64> = (0..4_000).map(|_| draw()).collect();
        assert!(!is_even(&random));
    }

    #[test]
    fn refining_a_period_takes_one_step_per_multiple() {
        // Everything resembles everything: the best place near each multiple is the one before it.
        let r = (0..2_000).map(|lag| 1.0 - f64::from(lag) / 4_000.0).collect();
        let correlogram = Correlogram { r, threshold: 0.1 };
        let refined = correlogram.refined(4);
        assert!((2.0..=4.0).contains(&refined), "{refined}");
    }
}
