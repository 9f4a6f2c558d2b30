//! Bounds for tests of random numbers. All follow from the number of draws, at six standard deviations: a sound generator fails
//! once in a billion, and seeds are fixed, so a test that passes keeps passing.

/// Six standard deviations: 2 in 10^9 for a normal distribution.
pub(crate) const SIGMAS: f64 = 6.0;

/// Pearson's chi² of counts against expected ones, classes of less than 10 taken together; and the degrees of freedom.
pub(crate) fn chi_square(seen: &[u64], expected: &[f64]) -> (f64, f64) {
    assert_eq!(seen.len(), expected.len());
    let (mut chi, mut classes) = (0.0, 0u32);
    let (mut pooled_seen, mut pooled_expected) = (0.0, 0.0);
    for (seen, expected) in seen.iter().zip(expected) {
        pooled_seen += *seen as f64;
        pooled_expected += expected;
        if pooled_expected >= 10.0 {
            chi += (pooled_seen - pooled_expected) * (pooled_seen - pooled_expected) / pooled_expected;
            classes += 1;
            (pooled_seen, pooled_expected) = (0.0, 0.0);
        }
    }
    (chi, f64::from(classes.max(2) - 1))
}

/// Panics where chi² is too high or too low by more than six standard deviations, after Wilson and Hilferty (1931):
/// the cube root of chi² ÷ degrees is normal with mean 1 - 2/(9k) and variance 2/(9k).
#[track_caller]
pub(crate) fn chi_square_is_plausible(seen: &[u64], expected: &[f64]) {
    let (chi, degrees) = chi_square(seen, expected);
    let variance = 2.0 / (9.0 * degrees);
    let z = ((chi / degrees).cbrt() - (1.0 - variance)) / variance.sqrt();
    assert!(z.abs() < SIGMAS, "chi² = {chi:.1} with {degrees} degrees of freedom: z = {z:.2}");
}

/// Mean and variance.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0))
}

/// Pearson's correlation. Of n independent pairs it is normal with mean 0 and variance 1/n.
pub(crate) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, var_a), (mean_b, var_b)) = (moments(a), moments(b));
    let covariance = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>();
    covariance / (a.len() as f64 - 1.0) / (var_a * var_b).sqrt()
}
