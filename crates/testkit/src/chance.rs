//! Seeded random numbers for tests, the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014). Its field is the seed.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// Returns any number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    /// Returns a number from 0 to below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a fraction from 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn numbers_match_the_reference() {
        let mut chance = SplitMix(1_234_567);
        assert_eq!([chance.next(), chance.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
