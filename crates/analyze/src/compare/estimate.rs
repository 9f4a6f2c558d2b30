//! A figure of one run with each block's contribution to its error, and the interval of the ratio of two such figures.
//!
//! The error of a mean is that of a sum over blocks, linearised. For a quantile the share of requests below it is such a
//! sum, and its interval is converted to times by the run's own distribution (Woodruff 1952): no density has to be
//! estimated, and both sides may differ. Intervals of both runs are combined as by Zou and Donner (2008).

use super::blocks::{Blocks, Quantity, Times, Who};
use super::histogram::{Cut, HALF_STEP, LogHistogram};
use super::noise::{LEAST_BLOCKS, Noise};

/// Least half-width of the interval of a mean or a rate, as a difference of natural logarithms: less than 0.1 % is no
/// difference between runs.
pub(super) const LEAST_HALF_WIDTH: f64 = 0.001;

/// How an error of the linear quantity becomes one of the figure's logarithm.
#[derive(Debug, Clone)]
enum Scale {
    /// It is one already.
    Log,
    /// It is a share of requests below the quantile.
    Quantile { q: f64, all: LogHistogram },
}

/// A figure of one run.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    /// Nanoseconds, or per second.
    pub(super) value: f64,
    scale: Scale,
    /// Contribution of each block to the error; they add up to 0.
    influence: Vec<f64>,
    /// Blocks that count: others hold nothing.
    counts: Vec<bool>,
    /// Change of the figure's logarithm per change of the linear quantity.
    slope: f64,
    noise: Option<Noise>,
}

/// A quantile's name is only given where at least this many requests lie beyond it.
const LEAST_BEYOND: f64 = 10.0;

impl Estimate {
    fn new(value: f64, scale: Scale, influence: Vec<f64>, counts: Vec<bool>) -> Estimate {
        let noise = Noise::of(&kept(&influence, &counts));
        let mut estimate = Estimate { value, scale, influence, counts, slope: 1.0, noise };
        estimate.slope = estimate.slope();
        estimate
    }

    /// A value that is known without error.
    pub(super) fn exact(value: f64) -> Estimate {
        let noise = Some(Noise { error: 0.0, freedom: f64::INFINITY });
        Estimate { value, scale: Scale::Log, influence: Vec::new(), counts: Vec::new(), slope: 1.0, noise }
    }

    /// The mean of a run's times; `None` if nothing completed.
    pub(super) fn mean(blocks: &Blocks, total: &Times, quantity: Quantity, who: Who) -> Option<Estimate> {
        let (count, sum) = (total.histogram.count() as f64, total.sum as f64);
        if count == 0.0 {
            return None;
        }
        let mean = sum / count;
        let one = |times: (f64, f64)| (times.1 - mean * times.0) / sum.max(1.0);
        let sums = |block: &super::blocks::Block| {
            who.kinds()
                .iter()
                .map(|kind| block.times(quantity, *kind))
                .fold((0.0, 0.0), |(n, s), times| (n + times.histogram.count() as f64, s + times.sum as f64))
        };
        let parts: Vec<(f64, f64)> = blocks.list().iter().map(sums).collect();
        let counts = parts.iter().map(|(n, _)| *n > 0.0).collect();
        Some(Estimate::new(mean, Scale::Log, parts.into_iter().map(one).collect(), counts))
    }

    /// A quantile of a run's times; `None` if too few requests lie beyond it.
    pub(super) fn quantile(
        blocks: &Blocks,
        total: &Times,
        (quantity, who): (Quantity, Who),
        q: f64,
    ) -> Option<Estimate> {
        let histograms = |block: usize| {
            who.kinds().iter().map(move |kind| &blocks.list()[block].times(quantity, *kind).histogram)
        };
        Estimate::quantile_of(blocks.list().len(), histograms, total.histogram.clone(), q)
    }

    /// A quantile of the merged histograms of the blocks.
    pub(super) fn quantile_of<'a, I: Iterator<Item = &'a LogHistogram>>(
        blocks: usize,
        histograms: impl Fn(usize) -> I,
        all: LogHistogram,
        q: f64,
    ) -> Option<Estimate> {
        let count = all.count() as f64;
        let cut = all.cut(q).filter(|_| count * (1.0 - q) >= LEAST_BEYOND - 1e-6)?;
        let below = |cut: Cut| all.below(cut) / count;
        let share = below(cut);
        let part = |block: usize| {
            histograms(block).fold((0.0, 0.0), |(n, lower), h| (n + h.count() as f64, lower + h.below(cut)))
        };
        let parts: Vec<(f64, f64)> = (0..blocks).map(part).collect();
        // More requests below the cut mean that the quantile lies lower: hence the sign.
        let influence = parts.iter().map(|(n, lower)| (n * share - lower) / count).collect();
        let counts = parts.iter().map(|(n, _)| *n > 0.0).collect();
        Some(Estimate::new(cut.value(), Scale::Quantile { q: share, all }, influence, counts))
    }

    /// A rate of things that happen all the time; `None` if the run has too few whole blocks.
    pub(super) fn rate(per_block: &[f64], seconds: f64) -> Option<Estimate> {
        let sum: f64 = per_block.iter().sum();
        let first = per_block.iter().position(|n| *n > 0.0)? + 1;
        let last = per_block.iter().rposition(|n| *n > 0.0)?;
        // The first and the last block are not whole.
        let whole = per_block.get(first..last)?;
        if whole.len() < LEAST_BLOCKS || seconds <= 0.0 {
            return None;
        }
        let in_whole: f64 = whole.iter().sum();
        let mean = in_whole / whole.len() as f64;
        let is_whole = |i: usize| (first..last).contains(&i);
        let influence = per_block
            .iter()
            .enumerate()
            .map(|(i, n)| if is_whole(i) { (n - mean) / in_whole.max(1.0) } else { 0.0 });
        let counts = (0..per_block.len()).map(is_whole).collect();
        Some(Estimate::new(sum / seconds, Scale::Log, influence.collect(), counts))
    }

    /// The same quantile of a part of the run, with the error that it would have if its requests were independent; `None`
    /// if too few requests lie beyond it.
    fn within(&self, part: &LogHistogram, freedom: f64) -> Option<Estimate> {
        let Scale::Quantile { q, .. } = &self.scale else { return None };
        let cut = part.cut(*q).filter(|_| part.count() as f64 * (1.0 - q) >= LEAST_BEYOND - 1e-6)?;
        let noise = Noise { error: (q * (1.0 - q) / part.count() as f64).sqrt(), freedom };
        let mut estimate = Estimate {
            value: cut.value(),
            scale: Scale::Quantile { q: *q, all: part.clone() },
            influence: Vec::new(),
            counts: Vec::new(),
            slope: 1.0,
            noise: Some(noise),
        };
        estimate.slope = estimate.slope();
        Some(estimate)
    }

    fn slope(&self) -> f64 {
        let Scale::Quantile { .. } = self.scale else { return 1.0 };
        let Some(error) = self.noise.map(|n| n.error).filter(|e| *e > 0.0) else { return 0.0 };
        match self.sides(error) {
            (Some(low), Some(high)) => (low + high) / (2.0 * error),
            (Some(side), None) | (None, Some(side)) => side / error,
            (None, None) => 0.0,
        }
    }

    /// By how much the figure's logarithm goes down and up when the linear quantity goes by `error`. `None` if that
    /// leaves the distribution.
    fn sides(&self, error: f64) -> (Option<f64>, Option<f64>) {
        match &self.scale {
            Scale::Log => (Some(error.max(LEAST_HALF_WIDTH)), Some(error.max(LEAST_HALF_WIDTH))),
            Scale::Quantile { q, all } => {
                let edge = 0.5 / all.count() as f64;
                let log_at = |p: f64| {
                    let cut = (edge..=1.0 - edge).contains(&p).then(|| all.cut(p)).flatten()?;
                    Some(log(cut.value()))
                };
                let side = |p: f64| log_at(p).map(|v| (v - log(self.value)).abs().max(HALF_STEP));
                (side(q - error), side(q + error))
            }
        }
    }

    /// The interval of the value that misses the truth with probability `alpha`; `None` if it has an open end.
    pub(super) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let noise = self.noise?;
        let (low, high) = self.sides(noise.error * noise.critical(alpha));
        Some((self.value * (-low?).exp(), self.value * high?.exp()))
    }

    /// Contribution of a block to the error of the figure's logarithm.
    pub(super) fn log_influence(&self, block: usize) -> f64 {
        self.influence.get(block).copied().unwrap_or(0.0) * self.slope
    }
}

/// The natural logarithm of a time; 0 ns counts as 1 ns.
fn log(value: f64) -> f64 {
    value.max(1.0).ln()
}

fn kept(series: &[f64], counts: &[bool]) -> Vec<f64> {
    series.iter().zip(counts).filter(|(_, counts)| **counts).map(|(y, _)| *y).collect()
}

/// A figure of two runs.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) a: Estimate,
    pub(super) b: Estimate,
    /// Noise of the logarithm of the ratio; `None` if unknown.
    noise: Option<Noise>,
    /// Factor by which the noise of the difference is less than that of independent runs.
    shrink: f64,
    paired: bool,
}

/// An interval of the logarithm of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Difference that would be found 8 times in 10.
    pub(super) visible: f64,
}

impl Pair {
    /// `paired`: equal blocks of both runs hold the same requests, so that what they have in common is no noise.
    pub(super) fn new(a: Estimate, b: Estimate, paired: bool) -> Pair {
        let independent = a.noise.zip(b.noise).map(|(na, nb)| na.times(a.slope).and(nb.times(b.slope)));
        let mut pair = Pair { a, b, noise: independent, shrink: 1.0, paired };
        if let Some(independent) = independent.filter(|n| paired && n.error > 0.0) {
            pair.noise = Noise::of(&pair.differences());
            pair.shrink = pair.noise.map_or(1.0, |n| n.error / independent.error);
        }
        pair
    }

    /// The same figure of a part of both runs, as if requests were independent. `freedom`: that of the noise which the
    /// caller adds.
    pub(super) fn within(&self, a: &LogHistogram, b: &LogHistogram, freedom: f64) -> Option<Pair> {
        let mut pair = Pair::new(self.a.within(a, freedom)?, self.b.within(b, freedom)?, false);
        pair.noise = pair.noise.map(|noise| Noise { freedom, ..noise });
        Some(pair)
    }

    /// Contribution of each block to the error of the logarithm of the ratio.
    fn differences(&self) -> Vec<f64> {
        let len = self.a.influence.len().max(self.b.influence.len());
        let counts = |e: &Estimate, i: usize| e.counts.get(i).copied().unwrap_or(false);
        let both = (0..len).filter(|i| counts(&self.a, *i) || counts(&self.b, *i));
        both.map(|i| self.b.log_influence(i) - self.a.log_influence(i)).collect()
    }

    /// Whether there is a ratio at all: times of 0 ns have none.
    pub(super) fn has_ratio(&self) -> bool {
        let positive = |e: &Estimate| match e.scale {
            Scale::Log => e.value > 0.0,
            Scale::Quantile { .. } => e.value >= 1.0,
        };
        positive(&self.a) && positive(&self.b)
    }

    /// Natural logarithm of B ÷ A.
    pub(super) fn log_ratio(&self) -> f64 {
        if !self.has_ratio() {
            return 0.0;
        }
        (self.b.value / self.a.value).ln()
    }

    /// The noise as numbers that are correlated with those of other figures of the same runs: one for each block of a
    /// coarser cut.
    pub(super) fn signature(&self, cuts: usize) -> Option<Vec<f64>> {
        self.noise.filter(|n| n.error > 0.0)?;
        let coarse = |e: &Estimate, sign: f64| -> Vec<f64> {
            let len = e.influence.len();
            let border = |i: usize| i * len / cuts;
            (0..cuts).map(|i| (border(i)..border(i + 1)).map(|b| sign * e.log_influence(b)).sum()).collect()
        };
        let (mut a, b) = (coarse(&self.a, -1.0), coarse(&self.b, 1.0));
        if self.paired {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            a.resize(2 * cuts, 0.0);
        } else {
            a.extend(b);
        }
        let norm = a.iter().map(|y| y * y).sum::<f64>().sqrt();
        (norm > 0.0).then(|| a.iter().map(|y| y / norm).collect())
    }

    /// The interval that misses the truth with probability `alpha`; `None` if it has an open end.
    pub(super) fn interval(&self, alpha: f64) -> Option<Interval> {
        self.interval_above(alpha, 0.0)
    }

    /// Like [`Pair::interval`], where the standard error of the logarithm of the ratio is known to be at least `least`.
    pub(super) fn interval_above(&self, alpha: f64, least: f64) -> Option<Interval> {
        let noise = self.noise.filter(|_| self.has_ratio())?;
        let critical = noise.critical(alpha);
        // With as much freedom as the difference has, each run by itself.
        let sides = |e: &Estimate| {
            let error = e.noise?.error * critical * self.shrink;
            let (low, high) = e.sides(error);
            low.zip(high)
        };
        let ((a_low, a_high), (b_low, b_high)) = (sides(&self.a)?, sides(&self.b)?);
        let least = least * critical;
        // libm's: the standard library's hypot needs glibc 2.35.
        let (down, up) = (libm::hypot(b_low, a_high).max(least), libm::hypot(b_high, a_low).max(least));
        let ratio = self.log_ratio();
        let visible = down.max(up) * (1.0 + super::student::POWER_80 / critical);
        Some(Interval { low: ratio - down, high: ratio + up, visible })
    }
}
