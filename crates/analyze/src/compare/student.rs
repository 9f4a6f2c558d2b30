//! Quantiles of Student's t and of the normal distribution, by integration: exact enough in the far tail, where short
//! formulas are not.

use std::f64::consts::{FRAC_PI_2, PI};

/// Normal quantile of 0.8: a difference of (critical value + this) standard errors is found 8 times in 10.
pub(super) const POWER_80: f64 = 0.841_621_2;

/// Simpson's rule.
fn integral(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 400;
    let h = (to - from) / STEPS as f64;
    let inner: f64 = (1..STEPS).map(|i| f(from + i as f64 * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (f(from) + f(to) + inner) * h / 3.0
}

/// Probability that a standard normal value lies further than `z` from 0.
pub(super) fn normal_tails(z: f64) -> f64 {
    2.0 / (2.0 * PI).sqrt() * integral(z, z + 10.0, |x| (-x * x / 2.0).exp())
}

/// With t = tan(a) · sqrt(freedom) the density becomes cos(a)^(freedom - 1).
fn density(freedom: f64) -> impl Fn(f64) -> f64 {
    move |a: f64| a.cos().max(0.0).powf(freedom - 1.0)
}

/// The t that is exceeded on either side with probability `alpha`. Freedom below 2 counts as 2, above 1000 as 1000.
pub(crate) fn critical(alpha: f64, freedom: f64) -> f64 {
    solve(alpha, if freedom.is_finite() { freedom.max(2.0) } else { freedom }, 1e4)
}

/// The t that is exceeded on either side with probability `alpha`. Freedom below 1 counts as 1, above 1000 as 1000.
pub fn critical_t(alpha: f64, freedom: f64) -> f64 {
    // With one degree of freedom it is the quantile of Cauchy's distribution, and nothing lies above that.
    let most = 1.0 / (PI * alpha / 2.0).tan();
    if freedom <= 1.0 { most } else { solve(alpha, freedom, most.max(1.0) * 1.001) }
}

/// Bisection between 0 and `most`.
fn solve(alpha: f64, freedom: f64, most: f64) -> f64 {
    let freedom = if freedom.is_finite() { freedom.min(1000.0) } else { 1000.0 };
    let density = density(freedom);
    let all = integral(0.0, FRAC_PI_2, &density);
    // Probability that |t| is exceeded.
    let tails = |t: f64| integral((t / freedom.sqrt()).atan(), FRAC_PI_2, &density) / all;
    let (mut low, mut high) = (0.0, most);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tails(middle) > alpha { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_tables() {
        for (alpha, freedom, t) in [
            (0.05, 10.0, 2.228),
            (0.01, 5.0, 4.032),
            (0.001, 15.0, 4.073),
            (0.05, 1000.0, 1.962),
            (0.05, 2.0, 4.303),
        ] {
            assert!(
                (critical(alpha, freedom) - t).abs() < 0.001,
                "{alpha} {freedom}: {}",
                critical(alpha, freedom)
            );
        }
        assert!((normal_tails(1.959_964) - 0.05).abs() < 1e-6);
        assert!((normal_tails(POWER_80) - 0.4).abs() < 1e-6);
        assert!((normal_tails(4.0) / 6.334e-5 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn few_degrees_of_freedom_are_exact() {
        for (alpha, freedom, t) in [
            (0.05, 1.0, 12.706),
            (0.01, 1.0, 63.657),
            (0.05, 0.0, 12.706),
            (0.05, 2.0, 4.303),
            (0.05, 4.0, 2.776),
            (0.05, f64::INFINITY, 1.962),
        ] {
            let found = critical_t(alpha, freedom);
            assert!((found / t - 1.0).abs() < 3e-4, "{alpha} {freedom}: {found}");
        }
        assert_eq!(critical(0.05, 1.0), critical(0.05, 2.0));
        // In between it falls without a step.
        let between: Vec<f64> = (0..=20).map(|i| critical_t(0.001, 1.0 + f64::from(i) / 20.0)).collect();
        assert!(between.windows(2).all(|pair| pair[1] < pair[0] && pair[1] > pair[0] / 1.5), "{between:?}");
    }
}
