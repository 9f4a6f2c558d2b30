//! How far repetitions of the same measurement lie apart.

use iosonar_analyze::compare::student_critical;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Repetitions of a rate, in numbers. All are 0 without a value.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Repeated {
    /// Values above zero.
    pub n: u64,
    /// Their median.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Their geometric mean.
    pub mean: f64,
    /// Lower end of the 95 % interval of the geometric mean, by Student's t on the logarithms; absent below two values.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
}

impl Repeated {
    /// Of these values. Zero, negative and infinite ones are skipped: they have no logarithm.
    pub fn of(values: &[f64]) -> Repeated {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| is_rate(*value)).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return Repeated::default() };
        let logs = Logs::of(sorted.iter().copied());
        let (upper, lower) = (sorted.len() / 2, (sorted.len() - 1) / 2);
        let half = (logs.n >= 2).then(|| critical_95(logs.n - 1) * (logs.variance / logs.n as f64).sqrt());
        Repeated {
            n: logs.n,
            median: sorted[lower] + (sorted[upper] - sorted[lower]) / 2.0,
            least: *least,
            most: *most,
            // Rounding must not put it outside.
            mean: logs.mean.exp().clamp(*least, *most),
            low: half.map(|half| bounded_exp(logs.mean - half)),
            high: half.map(|half| bounded_exp(logs.mean + half)),
        }
    }
}

/// Whether a value can be a rate.
pub(crate) fn is_rate(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// Never infinite: JSON has no form for it.
pub(crate) fn bounded_exp(log: f64) -> f64 {
    log.clamp(-690.0, 690.0).exp()
}

/// Mean and variance of logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Logs {
    pub(crate) n: u64,
    pub(crate) mean: f64,
    /// Of one value; 0 below two values.
    pub(crate) variance: f64,
}

/// Below this a standard deviation of logarithms is rounding of the arithmetic.
const ROUNDING: f64 = 1e-12;

impl Logs {
    /// Of the logarithms of these rates.
    pub(crate) fn of(rates: impl Iterator<Item = f64>) -> Logs {
        Logs::of_logs(&rates.filter(|rate| is_rate(*rate)).map(f64::ln).collect::<Vec<_>>())
    }

    /// Of these logarithms.
    pub(crate) fn of_logs(logs: &[f64]) -> Logs {
        let n = logs.len() as f64;
        let Some(first) = logs.first() else { return Logs::default() };
        // Relative to the first: equal values have exactly their own mean.
        let mean = first + logs.iter().map(|log| log - first).sum::<f64>() / n;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        let variance = if logs.len() < 2 { 0.0 } else { squares / (n - 1.0) };
        let variance = if variance.sqrt() < ROUNDING { 0.0 } else { variance };
        Logs { n: logs.len() as u64, mean, variance }
    }
}

/// Student's t that is exceeded on either side in 5 %. Quantiles are integrals, and tables have thousands of cells.
fn critical_95(freedom: u64) -> f64 {
    static KNOWN: [OnceLock<f64>; 64] = [const { OnceLock::new() }; 64];
    match KNOWN.get(freedom as usize) {
        Some(known) => *known.get_or_init(|| student_critical(0.05, freedom as f64)),
        None => student_critical(0.05, freedom as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_few_values() {
        assert_eq!(Repeated::of(&[]), Repeated::default());
        assert_eq!(Repeated::of(&[0.0, -3.0, f64::NAN, f64::INFINITY]).n, 0);
        let one = Repeated::of(&[0.0, 7.0]);
        assert_eq!((one.n, one.median, one.least, one.most, one.low), (1, 7.0, 7.0, 7.0, None));
        let two = Repeated::of(&[100.0, 400.0]);
        assert_eq!((two.n, two.median, two.least, two.most), (2, 250.0, 100.0, 400.0));
        assert!((two.mean - 200.0).abs() < 1e-9);
        // ln 2 is half the distance, so the standard error is ln 2 as well.
        let wanted = 200.0 * (-12.706 * 2f64.ln()).exp();
        assert!((two.low.unwrap() / wanted - 1.0).abs() < 1e-3, "{two:?}");
        let even = Repeated::of(&[5.0, 5.0, 5.0]);
        assert!((even.low.unwrap() - 5.0).abs() < 1e-9 && (even.high.unwrap() - 5.0).abs() < 1e-9);
        let back: Repeated = serde_json::from_str(&serde_json::to_string(&two).unwrap()).unwrap();
        assert_eq!(back.n, 2);
    }
}
