//! Skewed ranks: Zipf and Pareto, and the normal distribution; each draw in constant time and memory.

use crate::draws::{Series, unit};

/// Ranks 1 .. n with probabilities proportional to rank^-theta, by rejection-inversion (Hörmann and Derflinger:
/// *Rejection-Inversion to Generate Variates from Monotone Discrete Distributions*, ACM TOMACS 6(3), 1996). No sum
/// over all ranks is needed, neither before nor during the draws.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    /// Integral of the density up to 1.5, less the probability of rank 1.
    low: f64,
    /// Integral of the density up to n + 0.5.
    high: f64,
    /// Values nearer to their rank than this are accepted at once.
    sure: f64,
}

impl Zipf {
    /// For `n` ranks, at least 1, and `theta` above 0.
    pub(crate) fn new(n: u64, theta: f64) -> Zipf {
        let zipf = Zipf { n: n as f64, theta, low: 0.0, high: 0.0, sure: 0.0 };
        Zipf {
            low: zipf.integral(1.5) - 1.0,
            high: zipf.integral(n as f64 + 0.5),
            sure: 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0)),
            ..zipf
        }
    }

    /// A rank, from 0.
    pub(crate) fn draw(&self, series: &mut Series) -> u64 {
        loop {
            let u = self.high + unit(series.next()) * (self.low - self.high);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.n);
            if rank - x <= self.sure || u >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// (x^(1-theta) - 1) ÷ (1 - theta), and ln x where theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        relative(libm::expm1, (1.0 - self.theta) * log) * log
    }

    fn inverse(&self, y: f64) -> f64 {
        // Rounding may lead below the least value that has a logarithm.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        libm::exp(relative(libm::log1p, t) * y)
    }
}

/// `f(x)` ÷ x, where that is 1 at 0.
fn relative(f: fn(f64) -> f64, x: f64) -> f64 {
    if x.abs() > 1e-8 { f(x) / x } else { 1.0 }
}

/// Ranks 0 .. n of which a share h is drawn with a probability of 1 - h: n × U^(ln h ÷ ln(1 - h)), as in fio.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pareto {
    n: u64,
    exponent: f64,
}

impl Pareto {
    /// For `n` ranks, at least 1, and 0 < `h` < 1.
    pub(crate) fn new(n: u64, h: f64) -> Pareto {
        Pareto { n, exponent: libm::log(h) / libm::log1p(-h) }
    }

    /// A rank, from 0.
    pub(crate) fn draw(&self, x: u64) -> u64 {
        let rank = libm::pow(unit(x), self.exponent) * self.n as f64;
        (rank as u64).min(self.n - 1)
    }
}

/// Places 0 .. n, normally distributed around the middle and cut off at both ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    n: f64,
    deviation: f64,
}

impl Normal {
    /// For `n` places, at least 1; `deviation` is the standard deviation as a share of them, above 0, at most 1.
    pub(crate) fn new(n: u64, deviation: f64) -> Normal {
        Normal { n: n as f64, deviation }
    }

    /// A place. Box and Muller (1958); values outside are drawn again, at most 62 % of all.
    pub(crate) fn draw(&self, series: &mut Series) -> u64 {
        loop {
            let radius = (-2.0 * libm::log(unit(series.next()))).sqrt();
            let z = radius * libm::cos(std::f64::consts::TAU * unit(series.next()));
            let place = (0.5 + self.deviation * z) * self.n;
            if (0.0..self.n).contains(&place) {
                return place as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{Draws, Purpose};
    use crate::statistics::{SIGMAS, chi_square_is_plausible};

    const DRAWS: u64 = 50_000;

    /// Counts of `classes` equal parts of 0 .. n.
    fn histogram(n: u64, classes: usize, seed: u64, draw: impl Fn(&mut Series) -> u64) -> Vec<u64> {
        let draws = Draws::new(seed, 0, Purpose::Address);
        let mut seen = vec![0; classes];
        for i in 0..DRAWS {
            let rank = draw(&mut draws.series(i));
            assert!(rank < n);
            seen[(u128::from(rank) * classes as u128 / u128::from(n)) as usize] += 1;
        }
        seen
    }

    #[test]
    fn zipf_is_exact_for_every_rank() {
        for (seed, theta) in
            [(1, 0.2), (2, 0.5), (3, 0.99), (4, 1.0), (5, 1.000_001), (6, 1.2), (7, 2.5), (8, 10.0)]
        {
            for n in [1u64, 2, 3, 100, 3000] {
                let zipf = Zipf::new(n, theta);
                let seen = histogram(n, n as usize, seed, |s| zipf.draw(s));
                let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-theta)).collect();
                let sum: f64 = weights.iter().sum();
                let expected: Vec<f64> = weights.iter().map(|w| w / sum * DRAWS as f64).collect();
                if n == 1 {
                    assert_eq!(seen, [DRAWS]);
                } else if expected[1] >= 10.0 {
                    chi_square_is_plausible(&seen, &expected);
                }
            }
        }
    }

    /// The hottest rank of many, whose probability comes from the sum by Euler and Maclaurin.
    #[test]
    fn zipf_is_right_for_a_billion_ranks() {
        let (n, theta) = (1_000_000_000u64, 1.1f64);
        let head: f64 = (1..10_000).map(|k| f64::from(k).powf(-theta)).sum();
        let tail = |x: f64| x.powf(1.0 - theta) / (theta - 1.0);
        let m = 10_000f64;
        let sum = head + tail(m) - tail(n as f64) + 0.5 * m.powf(-theta);
        let zipf = Zipf::new(n, theta);
        let draws = Draws::new(9, 0, Purpose::Address);
        let hits = (0..DRAWS).filter(|i| zipf.draw(&mut draws.series(*i)) == 0).count() as f64;
        let p = 1.0 / sum;
        let deviation = (DRAWS as f64 * p * (1.0 - p)).sqrt();
        assert!((hits - DRAWS as f64 * p).abs() < SIGMAS * deviation, "{hits}");
    }

    #[test]
    fn pareto_follows_its_power() {
        for (seed, h) in [(1, 0.1), (2, 0.2), (3, 0.5), (4, 0.8)] {
            let (n, classes) = (1 << 20, 200);
            let pareto = Pareto::new(n, h);
            let seen = histogram(n, classes, seed, |s| pareto.draw(s.next()));
            let until = |x: f64| x.powf((1.0 - h).ln() / h.ln());
            let expected: Vec<f64> = (0..classes)
                .map(|c| {
                    (until((c as f64 + 1.0) / classes as f64) - until(c as f64 / classes as f64))
                        * DRAWS as f64
                })
                .collect();
            chi_square_is_plausible(&seen, &expected);
            // A share h of the ranks gets 1 - h of the draws.
            let hot: u64 = seen[..(h * classes as f64).round() as usize].iter().sum();
            let deviation = (DRAWS as f64 * h * (1.0 - h)).sqrt();
            assert!((hot as f64 - (1.0 - h) * DRAWS as f64).abs() < SIGMAS * deviation, "{h}: {hot}");
        }
    }

    /// The cumulative normal distribution.
    fn phi(z: f64) -> f64 {
        0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
    }

    #[test]
    fn normal_is_a_truncated_bell() {
        for (seed, deviation) in [(1, 0.01), (2, 0.1), (3, 0.2), (4, 1.0)] {
            let (n, classes) = (1 << 20, 100);
            let normal = Normal::new(n, deviation);
            let seen = histogram(n, classes, seed, |s| normal.draw(s));
            let until = |x: f64| phi((x - 0.5) / deviation);
            let inside = until(1.0) - until(0.0);
            let expected: Vec<f64> = (0..classes)
                .map(|c| until((c as f64 + 1.0) / classes as f64) - until(c as f64 / classes as f64))
                .map(|share| share / inside * DRAWS as f64)
                .collect();
            chi_square_is_plausible(&seen, &expected);
        }
    }
}
