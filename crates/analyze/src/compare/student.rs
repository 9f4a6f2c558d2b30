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

/// Probability that |t| is exceeded, with `freedom` degrees of freedom. With t = tan(a) · sqrt(freedom) the density
/// becomes cos(a)^(freedom - 1).
fn tails(t: f64, freedom: f64) -> f64 {
    let density = |a: f64| a.cos().max(0.0).powf(freedom - 1.0);
    integral((t / freedom.sqrt()).atan(), FRAC_PI_2, density) / integral(0.0, FRAC_PI_2, density)
}

/// The t that is exceeded on either side with probability `alpha`. Freedom below 2 counts as 2, above 1000 as 1000.
pub(crate) fn critical(alpha: f64, freedom: f64) -> f64 {
    let freedom = if freedom.is_finite() { freedom.clamp(2.0, 1000.0) } else { 1000.0 };
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if tails(middle, freedom) > alpha { low = middle } else { high = middle }
    }
    high
}

/// The same for any freedom from 1 on; 1 is Cauchy's distribution.
pub fn critical_t(alpha: f64, freedom: f64) -> f64 {
    if freedom < 2.0 { (FRAC_PI_2 * (1.0 - alpha)).tan() } else { critical(alpha, freedom) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_tables() {
        assert!((critical_t(0.05, 1.0) - 12.706).abs() < 0.001);
        assert_eq!(critical_t(0.05, 10.0), critical(0.05, 10.0));
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
}
