//! Random numbers that are the same every time.

use crate::mix::mix;

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    /// Between 0 and 1, never 0.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((mix(self.0) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// An autoregressive series of order 1 with mean 0 and variance 1.
    #[cfg(test)]
    pub(super) fn correlated(&mut self, n: usize, correlation: f64) -> Vec<f64> {
        let fresh = (1.0 - correlation * correlation).sqrt();
        let mut value = self.normal();
        let mut step = || {
            value = correlation * value + fresh * self.normal();
            value
        };
        (0..n).map(|_| step()).collect()
    }
}
