//! Statistics of repeated measurements of a cell.

use iosonar_analyze::compare::critical_t;

/// Statistics of repeated measurements of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeated {
    /// Number of measurements.
    pub n: usize,
    /// Median.
    pub median: f64,
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
    /// Geometric mean, suitable for changes by factors.
    pub mean: f64,
    /// Standard error of the mean's logarithm; 0 below two measurements.
    error: f64,
}

/// Error probability of an interval.
const ALPHA: f64 = 0.05;

impl Repeated {
    /// Computes it from all values above zero; `None` if there are no such values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Repeated> {
        let mut values: Vec<f64> = values.filter(|value| is_rate(*value)).collect();
        values.sort_by(f64::total_cmp);
        let (n, middle) = (values.len(), values.len() / 2);
        let (least, most) = (*values.first()?, *values.last()?);
        let median = if n % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        let logs = Logs::of(values.into_iter());
        let error = (logs.variance / n as f64).sqrt();
        // Rounding must not move the mean outside.
        Some(Repeated { n, median, least, most, mean: logs.mean.exp().clamp(least, most), error })
    }

    /// 95 % confidence interval of the geometric mean, by Student's t on the logarithms; `None` below two measurements.
    /// The quantile takes far longer than all other figures.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = (self.n > 1).then(|| critical_t(ALPHA, (self.n - 1) as f64) * self.error)?;
        Some((self.mean / half.exp(), self.mean * half.exp()))
    }

    /// Half of the interval in percent of the mean.
    pub fn half_percent(&self) -> Option<f64> {
        self.interval().map(|(low, high)| 100.0 * ((high / low).sqrt() - 1.0))
    }
}

/// Whether a value can be a rate.
pub(crate) fn is_rate(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// Bounded exponential function: JSON has no infinity.
pub(crate) fn bounded_exp(log: f64) -> f64 {
    log.clamp(-690.0, 690.0).exp()
}

/// Mean and variance of logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Logs {
    pub(crate) n: u64,
    pub(crate) mean: f64,
    /// Variance of a single value; 0 below two values.
    pub(crate) variance: f64,
}

/// Smaller standard deviations of logarithms are rounding errors.
const ROUNDING: f64 = 1e-12;

impl Logs {
    /// Computes the logarithms of these rates.
    pub(crate) fn of(rates: impl Iterator<Item = f64>) -> Logs {
        Logs::of_logs(&rates.filter(|rate| is_rate(*rate)).map(f64::ln).collect::<Vec<_>>())
    }

    /// Statistics of these logarithms.
    pub(crate) fn of_logs(logs: &[f64]) -> Logs {
        let n = logs.len() as f64;
        let Some(first) = logs.first() else { return Logs::default() };
        // Relative to the first: the mean of equal values is exact.
        let mean = first + logs.iter().map(|log| log - first).sum::<f64>() / n;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        let variance = if logs.len() < 2 { 0.0 } else { squares / (n - 1.0) };
        let variance = if variance.sqrt() < ROUNDING { 0.0 } else { variance };
        Logs { n: logs.len() as u64, mean, variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_statistics_of_few_measurements() {
        let of = |values: &[f64]| Repeated::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0.0, f64::NAN]), None);
        let one = of(&[4.0]).unwrap();
        assert_eq!((one.n, one.median, one.interval()), (1, 4.0, None));
        let four = of(&[8.0, 1.0, 2.0, 4.0]).unwrap();
        assert_eq!((four.median, four.least, four.most), (3.0, 1.0, 8.0));
        assert!((four.mean - 8f64.sqrt()).abs() < 1e-12);
        // Logarithms in units of ln 2: 0 to 3, deviation 1.291; t of 3 degrees of freedom is 3.182.
        let half = 3.182 * 1.291 / 2.0 * 2f64.ln();
        assert!((four.half_percent().unwrap() - 100.0 * half.exp_m1()).abs() < 1.0);
        let same = of(&[5.0, 5.0]).unwrap();
        assert!((same.half_percent().unwrap()).abs() < 1e-9);
    }

    /// In 95 of 100 cases the interval contains the mean of the process.
    #[test]
    fn intervals_contain_the_mean() {
        use rand_core::{Rng, SeedableRng};
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(3);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        for n in [2, 3, 5] {
            let mut missed = 0;
            for _ in 0..1000 {
                // The sum of twelve uniform values is sufficiently normal.
                let mut value = || (0.1 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp();
                let values: Vec<f64> = (0..n).map(|_| value()).collect();
                let (low, high) = Repeated::of(values.into_iter()).unwrap().interval().unwrap();
                missed += u32::from(!(low..=high).contains(&1.0));
            }
            assert!((25..80).contains(&missed), "{n}: {missed} of 1000");
        }
    }
}
