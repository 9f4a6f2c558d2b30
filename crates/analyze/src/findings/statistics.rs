//! Small robust statistics that several findings share.

/// Maximum points whose slopes are compared pair by pair.
const MOST_POINTS: usize = 200;

/// The middle value; 0 without values.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The `q`-quantile, linear between neighbours; 0 without values.
pub(super) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = q * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Median of the slopes between all pairs of points (Theil 1950, Sen 1968), for each step of the index. Long series are
/// reduced to equidistant points.
pub(crate) fn theil_sen(values: &[f64]) -> f64 {
    let step = values.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().step_by(step).map(|(i, value)| (i as f64, *value)).collect();
    let pairs = points.iter().enumerate().flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (a, b)));
    let slopes: Vec<f64> = pairs.map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
    median(&slopes)
}

/// Probability of a trend at least as clear as this by chance, up or down (Mann 1945, Kendall 1975): exact up to 12 values
/// without ties, by the normal approximation above.
pub(super) fn mann_kendall_p(values: &[f64]) -> f64 {
    let n = values.len();
    let sign = |a: f64, b: f64| i64::from(b > a) - i64::from(b < a);
    let pairs = |f: &dyn Fn(f64, f64) -> i64| -> i64 {
        (0..n).map(|i| (i + 1..n).map(|j| f(values[i], values[j])).sum::<i64>()).sum()
    };
    let s = pairs(&sign);
    let ties = pairs(&|a, b| i64::from(a == b));
    if n <= 12 && ties == 0 { exact_kendall_p(n, s) } else { normal_kendall_p(values, s) }
}

/// Share of all orders of `n` values with |S| at least this. With k pairs in the wrong order S = n(n-1)/2 - 2k.
fn exact_kendall_p(n: usize, s: i64) -> f64 {
    let mut orders = vec![1.0f64];
    for size in 2..=n {
        // The greatest value may stand at any of `size` places, which makes 0 to size - 1 wrong pairs.
        let mut more = vec![0.0; orders.len() + size - 1];
        for (wrong, count) in orders.iter().enumerate() {
            more[wrong..wrong + size].iter_mut().for_each(|m| *m += count);
        }
        orders = more;
    }
    let most = orders.len() as i64 - 1;
    let all: f64 = orders.iter().sum();
    let extreme = (0..).zip(&orders).filter(|(wrong, _)| (most - 2 * wrong).abs() >= s.abs());
    extreme.map(|(_, count)| count).sum::<f64>() / all
}

fn normal_kendall_p(values: &[f64], s: i64) -> f64 {
    let pairs = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let tied: f64 = sorted.chunk_by(|a, b| a == b).map(|group| pairs(group.len() as f64)).sum();
    let variance = (pairs(values.len() as f64) - tied) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (s.abs() - 1).max(0) as f64 / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_match_known_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(theil_sen(&[1.0, 3.0, 5.0, 100.0, 9.0]), 2.0);
        assert_eq!(theil_sen(&[7.0]), 0.0);
        // Kendall's table: n = 5, S = 10 in 1 of 120 orders on each side; n = 4, S = 4 or more in 4 of 24.
        assert!((mann_kendall_p(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 120.0).abs() < 1e-12);
        assert!((mann_kendall_p(&[1.0, 2.0, 4.0, 3.0]) - 8.0 / 24.0).abs() < 1e-12);
        // The normal distribution's quantile, to all digits of a double.
        assert!((libm::erfc(1.959_963_984_540_054 / std::f64::consts::SQRT_2) - 0.05).abs() < 1e-15);
        let rising: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(mann_kendall_p(&rising) < 1e-9);
        assert_eq!(mann_kendall_p(&[2.0; 30]), 1.0);
    }
}
