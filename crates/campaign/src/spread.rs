//! Several measurements of the same cell: what they have in common, and how far apart they lie.

use iosonar_analyze::compare::critical_t;

/// Measurements of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeated {
    /// How many.
    pub n: usize,
    /// Half of them are no greater.
    pub median: f64,
    /// The least one.
    pub least: f64,
    /// The greatest one.
    pub most: f64,
    /// Geometric mean: what changes by factors is averaged so.
    pub mean: f64,
    /// Standard error of the logarithm of that mean; 0 below two measurements.
    error: f64,
}

/// Probability that an interval does not contain the mean.
const ALPHA: f64 = 0.05;

impl Repeated {
    /// Of all values above zero; none if there is none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Repeated> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let (n, middle) = (values.len(), values.len() / 2);
        let (least, most) = (*values.first()?, *values.last()?);
        let median = if n % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let error = (squares / (n - 1).max(1) as f64 / n as f64).sqrt();
        Some(Repeated { n, median, least, most, mean: mean.exp(), error })
    }

    /// Ends of the 95 % confidence interval of the geometric mean, by Student's t on the logarithms; none below two measurements.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_few_measurements() {
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
                // The sum of twelve uniform values is normal enough.
                let mut value = || (0.1 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp();
                let values: Vec<f64> = (0..n).map(|_| value()).collect();
                let (low, high) = Repeated::of(values.into_iter()).unwrap().interval().unwrap();
                missed += u32::from(!(low..=high).contains(&1.0));
            }
            assert!((25..80).contains(&missed), "{n}: {missed} of 1000");
        }
    }
}
