//! How far a sum over the blocks of a run would move if the run were repeated: its variance, with what
//! neighbouring blocks have in common.
//!
//! Two estimates are made, and the greater one counts. The first takes the blocks as an autoregressive series of order 1
//! with correlation r between neighbours: variance × (1 + r) ÷ (1 − r), r corrected for its bias by (1 + 3 r) ÷ n
//! (Kendall 1954). It is sharp where noise lasts for some blocks. The second is the variance of 16 batch means: it sees
//! slow changes below quick noise, which r does not show.

use super::student;

/// Batches of the second estimate.
const BATCHES: usize = 16;
/// Minimum number of blocks for an estimate.
pub(super) const LEAST_BLOCKS: usize = 16;
/// Greatest correlation that is reckoned with: beyond it a run is no longer than its noise.
const MOST_CORRELATION: f64 = 0.97;

/// Noise of a sum over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    /// Standard error of the sum.
    pub(super) error: f64,
    /// Degrees of freedom after it.
    pub(super) freedom: f64,
}

impl Noise {
    /// Noise of a series, block by block, that adds up to 0; `None` if it is too short.
    pub(super) fn of(series: &[f64]) -> Option<Noise> {
        let n = series.len() as f64;
        if series.len() < LEAST_BLOCKS {
            return None;
        }
        let square: f64 = series.iter().map(|y| y * y).sum();
        let lagged: f64 = series.windows(2).map(|y| y[0] * y[1]).sum();
        if square <= 0.0 {
            return Some(Noise { error: 0.0, freedom: n });
        }
        let raw = lagged / square;
        let r = (raw + (1.0 + 3.0 * raw) / n).clamp(0.0, MOST_CORRELATION);
        let stretch = (1.0 + r) / (1.0 - r);
        let regressive = square * n / (n - 1.0) * stretch;
        // Relative variance of that estimate: 2/n for the variance, and (2 sd(r) / (1 - r))^2 for r, where
        // sd(r)^2 = (1 - r^2) / n. Degrees of freedom are 2 / it (Satterthwaite).
        let freedom = n / (1.0 + 2.0 * stretch);
        let variance = regressive.max(batched(series));
        Some(Noise { error: variance.sqrt(), freedom })
    }

    /// Noise of a difference of independent sums (Welch and Satterthwaite).
    pub(super) fn and(self, other: Noise) -> Noise {
        let (a, b) = (self.error.powi(2), other.error.powi(2));
        let weight = a * a / self.freedom + b * b / other.freedom;
        let freedom = if weight > 0.0 { (a + b).powi(2) / weight } else { self.freedom + other.freedom };
        Noise { error: (a + b).sqrt(), freedom }
    }

    /// Multiple of the standard error that noise alone exceeds with probability `alpha`.
    pub(super) fn critical(self, alpha: f64) -> f64 {
        student::critical(alpha, self.freedom)
    }

    /// The same noise in another unit.
    pub(super) fn times(self, factor: f64) -> Noise {
        Noise { error: self.error * factor.abs(), ..self }
    }
}

/// Variance of the sum from sums over batches.
fn batched(series: &[f64]) -> f64 {
    let border = |i: usize| i * series.len() / BATCHES;
    let sums = (0..BATCHES).map(|i| series[border(i)..border(i + 1)].iter().sum::<f64>());
    sums.map(|sum| sum * sum).sum::<f64>() * BATCHES as f64 / (BATCHES - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    fn centred(mut series: Vec<f64>) -> Vec<f64> {
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        series.iter_mut().for_each(|y| *y -= mean);
        series
    }

    /// Mean of the estimated standard error ÷ the true one, over seeds.
    fn ratio(correlation: f64) -> f64 {
        let (n, seeds) = (200usize, 300);
        let long_run = 1.0 / (1.0 - correlation);
        let estimate = |seed| {
            let series = Random::new(seed).correlated(n, correlation);
            Noise::of(&centred(series)).unwrap().error
        };
        let scale = (1.0 - correlation * correlation).sqrt() * long_run * (n as f64).sqrt();
        (0..seeds).map(estimate).sum::<f64>() / f64::from(seeds as u32) / scale
    }

    #[test]
    fn estimates_error_of_sum_for_any_correlation() {
        for correlation in [0.0, 0.5, 0.8, 0.9] {
            let ratio = ratio(correlation);
            assert!((0.9..1.35).contains(&ratio), "{correlation}: {ratio}");
        }
    }

    #[test]
    fn detects_slow_changes_below_fast_noise() {
        let slow = |i: usize| (i as f64 / 256.0 * std::f64::consts::TAU).sin();
        let mut random = Random::new(1);
        let quick: Vec<f64> = (0..256).map(|i| slow(i) + 3.0 * random.normal()).collect();
        let alone: Vec<f64> = (0..256).map(|i| quick[i] - slow(i)).collect();
        let of = |series| Noise::of(&centred(series)).unwrap().error;
        assert!(of(quick) > 1.2 * of(alone));
    }

    #[test]
    fn small_samples_have_no_noise_estimate() {
        assert_eq!(Noise::of(&[0.0; 15]), None);
        assert_eq!(Noise::of(&[0.0; 20]).unwrap().error, 0.0);
    }
}
