//! Spearman's rank correlation between the number of fragments and the rate of scans.

use serde::Serialize;

/// Minimum number of methods for a rank correlation: with five, even a perfect order has a probability of 1 in 60 by
/// chance.
pub const MIN_METHODS: usize = 5;

/// Rank correlation over methods between fragments per MiB and scan rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Correlation {
    /// Number of methods.
    pub n: usize,
    /// -1: more fragments, slower; 1: more fragments, faster; 0: no order. Absent below [`MIN_METHODS`], or if all are
    /// equal.
    pub rho: Option<f64>,
}

impl Correlation {
    /// Computes it for pairs of fragments per MiB and rate. Equal values share their mean rank (Spearman 1904).
    pub fn of(pairs: &[(f64, f64)]) -> Correlation {
        let n = pairs.len();
        let enough = n >= MIN_METHODS;
        let ranks = |value: fn(&(f64, f64)) -> f64| ranks(&pairs.iter().map(value).collect::<Vec<_>>());
        let rho = enough.then(|| pearson(&ranks(|p| p.0), &ranks(|p| p.1))).flatten();
        Correlation { n, rho }
    }
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let less = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|value| less(*value) + (equal(*value) + 1.0) / 2.0).collect()
}

fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - mean_x, y - mean_y)).sum::<f64>();
    let scale = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (scale > 0.0).then(|| sum(&|x, y| x * y) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_depends_on_ranks_not_values() {
        let rho = |pairs: &[(f64, f64)]| Correlation::of(pairs).rho;
        let falling = [(1.0, 9.0), (2.0, 8.0), (4.0, 7.0), (8.0, 1.0), (900.0, 0.5)];
        assert!((rho(&falling).unwrap() + 1.0).abs() < 1e-12);
        // Ranks 1..5 against 2 1 4 3 5: 1 - 6·4 / (5·24) = 0.8.
        let mixed = [(1.0, 20.0), (2.0, 10.0), (3.0, 40.0), (4.0, 30.0), (5.0, 50.0)];
        assert!((rho(&mixed).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(rho(&falling[..4]), None);
        assert_eq!(rho(&[(1.0, 5.0); 6]), None);
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [2.5, 1.0, 2.5]);
    }
}
