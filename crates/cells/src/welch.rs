//! Welch's t test: whether two samples of logarithms differ.

use crate::spread::{Logs, bounded_exp};
use iosonar_analyze::compare::critical_t;
use serde::Serialize;
use std::collections::HashMap;

/// Verdict on the difference from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is faster: the whole interval is above 0.
    Faster,
    /// B is slower: the whole interval is below 0.
    Slower,
    /// The change may be noise alone.
    NoDifferenceShown,
    /// A side has fewer than two repetitions.
    CannotBeTold,
}

impl Verdict {
    /// Returns the text.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::CannotBeTold => "cannot be told",
        }
    }

    /// Whether a difference is shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

/// Change from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Repetitions of A.
    pub n_a: u64,
    /// Repetitions of B.
    pub n_b: u64,
    /// Geometric mean of A.
    pub a_bytes_per_second: f64,
    /// Geometric mean of B.
    pub b_bytes_per_second: f64,
    /// Change in percent of A.
    pub change_percent: f64,
    /// Lower end of the interval of the change. Intervals of all rows are simultaneous.
    pub low_percent: Option<f64>,
    /// Upper end of the interval.
    pub high_percent: Option<f64>,
    /// Verdict from the interval.
    pub verdict: Verdict,
}

/// Critical values, each computed once: a quantile is an integral, and a comparison has many.
#[derive(Default)]
pub(crate) struct Critical {
    /// By the bits of the error probability, and the degrees of freedom in steps.
    known: HashMap<(u64, u32), f64>,
}

/// Steps per degree of freedom; values in between are rounded down, which widens intervals.
const STEPS: f64 = 20.0;

impl Critical {
    fn at(&mut self, alpha: f64, freedom: f64) -> f64 {
        let step = (freedom.clamp(1.0, 1000.0) * STEPS).floor();
        let key = (alpha.to_bits(), step as u32);
        *self.known.entry(key).or_insert_with(|| critical_t(alpha, step / STEPS))
    }
}

/// Rates that differ by no more than this may be the same rate rounded: tables may have whole KiB per second.
const RESOLUTION: f64 = 1024.5;

/// Compares B with A; both have at least one value. `alpha` is the error probability of the interval.
pub(crate) fn welch(a: Logs, b: Logs, alpha: f64, critical: &mut Critical) -> Change {
    let (rate_a, rate_b) = (bounded_exp(a.mean), bounded_exp(b.mean));
    let change = b.mean - a.mean;
    let half = (a.n >= 2 && b.n >= 2).then(|| half_width(a, b, alpha, critical));
    let (low, high) = (half.map(|half| change - half), half.map(|half| change + half));
    let is_rounding = half == Some(0.0) && (rate_a - rate_b).abs() <= RESOLUTION;
    let verdict = match (low, high) {
        (None, _) | (_, None) => Verdict::CannotBeTold,
        _ if is_rounding => Verdict::NoDifferenceShown,
        (Some(low), _) if low > 0.0 => Verdict::Faster,
        (_, Some(high)) if high < 0.0 => Verdict::Slower,
        _ => Verdict::NoDifferenceShown,
    };
    Change {
        n_a: a.n,
        n_b: b.n,
        a_bytes_per_second: rate_a,
        b_bytes_per_second: rate_b,
        change_percent: percent(change),
        low_percent: low.map(percent),
        high_percent: high.map(percent),
        verdict,
    }
}

/// Half of the interval of the difference. 0 without any spread: then the interval is a point.
fn half_width(a: Logs, b: Logs, alpha: f64, critical: &mut Critical) -> f64 {
    let (n_a, n_b) = (a.n as f64, b.n as f64);
    let (of_a, of_b) = (a.variance / n_a, b.variance / n_b);
    let all = of_a + of_b;
    if all <= 0.0 {
        return 0.0;
    }
    let freedom = all * all / (of_a * of_a / (n_a - 1.0) + of_b * of_b / (n_b - 1.0));
    // The estimate is too high if a small spread occurs by chance, especially in the far tail that counts: half way to
    // the minimum degrees of freedom, errors stay as rare as requested even if the spreads of the sides differ tenfold.
    let least = n_a.min(n_b) - 1.0;
    critical.at(alpha, (freedom + least) / 2.0) * all.sqrt()
}

/// A difference of logarithms in percent.
fn percent(log: f64) -> f64 {
    // Otherwise a zero change could be -0.
    if log == 0.0 { 0.0 } else { (bounded_exp(log.min(600.0)) - 1.0) * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(a: &[f64], b: &[f64]) -> Change {
        let logs = |values: &[f64]| Logs::of(values.iter().map(|value| value * 1e6));
        welch(logs(a), logs(b), 0.05, &mut Critical::default())
    }

    #[test]
    fn single_repetition_has_change_without_interval() {
        let change = change(&[2.0], &[3.0, 3.1]);
        assert!((change.change_percent - 52.5).abs() < 0.1, "{change:?}");
        assert_eq!((change.low_percent, change.verdict), (None, Verdict::CannotBeTold));
    }

    #[test]
    fn without_spread_the_interval_is_a_point() {
        let same = change(&[3.0, 3.0, 3.0], &[3.0, 3.0]);
        assert_eq!((same.change_percent, same.low_percent, same.high_percent), (0.0, Some(0.0), Some(0.0)));
        assert_eq!(same.verdict, Verdict::NoDifferenceShown);
        let half = change(&[3.0, 3.0], &[4.5, 4.5]);
        assert_eq!(half.verdict, Verdict::Faster);
        assert!((half.low_percent.unwrap() - 50.0).abs() < 1e-6, "{half:?}");
        assert_eq!(change(&[3.0, 3.0], &[3.001, 3.001]).verdict, Verdict::NoDifferenceShown);
    }

    /// Standard error sqrt(1/3 + 20/12) = sqrt(2), freedom 4 / (1/18 + 25/27) = 4.075, half way to 2: 3.037; in steps 3.
    #[test]
    fn interval_matches_welch() {
        let logs = |values: &[f64]| Logs::of_logs(values);
        let (a, b) = (logs(&[0.0, 1.0, 2.0]), logs(&[4.0, 6.0, 8.0, 10.0]));
        let half = half_width(a, b, 0.05, &mut Critical::default());
        assert!((half / 2f64.sqrt() - 3.182).abs() < 0.002, "{half}");
    }
}
