//! Random numbers by counter: the number of a request determines its random numbers, without those before it.
//!
//! SplitMix64 (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014) is a counter whose values are
//! mixed, so any of its numbers can be had at once. Each purpose has a separate counter.

/// The golden ratio in 64 bits, odd: the step of the counter.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser (Stafford's variant 13): every bit of the result depends on every bit of `z`.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Both halves of the product, folded: a mixer in one multiplication.
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Uniform below `bound` from a uniform `x`, by multiplication instead of division (Lemire 2019); its bias is below
/// `bound` ÷ 2^64.
pub(crate) const fn below(x: u64, bound: u64) -> u64 {
    ((x as u128 * bound as u128) >> 64) as u64
}

/// Uniform in the open interval (0, 1) from a uniform `x`.
pub(crate) fn unit(x: u64) -> f64 {
    ((x >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// Exponentially distributed with mean 1 from a uniform `x`. Like all that is computed here, the same on every
/// machine: `libm` is not that of the system.
pub(crate) fn exponential(x: u64) -> f64 {
    -libm::log(unit(x))
}

/// Purpose of random numbers; no two purposes share any.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Address = 1,
    Size = 2,
    Arrival = 3,
    Scatter = 4,
    Lap = 5,
    Mix = 6,
}

/// The random numbers of one purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// `stream` separates the sources of different targets and passes.
    pub(crate) fn new(seed: u64, stream: u64, purpose: Purpose) -> Draws {
        let seed = mix(seed.wrapping_add(STEP));
        let stream = mix(seed ^ stream).wrapping_add(STEP);
        Draws { key: mix(stream ^ purpose as u64) }
    }

    /// The random number of a request: uniform over 64 bits.
    pub(crate) fn at(self, number: u64) -> u64 {
        mix(self.key.wrapping_add(number.wrapping_mul(STEP)))
    }

    /// A series of random numbers of a request, of any length.
    pub(crate) fn series(self, number: u64) -> Series {
        Series { state: self.at(number) }
    }
}

/// A series of random numbers that belong to one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series {
    state: u64,
}

impl Series {
    /// The series that `key` starts.
    pub(crate) fn of(key: u64) -> Series {
        Series { state: key }
    }

    /// The next: uniform over 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::chi_square_is_plausible;

    fn buckets(draws: impl Iterator<Item = u64>, count: usize) -> Vec<u64> {
        let mut buckets = vec![0; count];
        draws.for_each(|x| buckets[below(x, count as u64) as usize] += 1);
        buckets
    }

    #[test]
    fn draws_are_uniform_for_any_seed_stream_and_purpose() {
        for seed in 0..4 {
            for stream in 0..4 {
                for purpose in [Purpose::Address, Purpose::Size, Purpose::Arrival] {
                    let draws = Draws::new(seed, stream, purpose);
                    let seen = buckets((0..10_000).map(|i| draws.at(i)), 64);
                    chi_square_is_plausible(&seen, &[10_000.0 / 64.0; 64]);
                }
            }
        }
    }

    #[test]
    fn neighbouring_draws_are_independent() {
        let of = |seed, stream, purpose| Draws::new(seed, stream, purpose);
        let base = of(1, 1, Purpose::Address);
        for other in [of(2, 1, Purpose::Address), of(1, 2, Purpose::Address), of(1, 1, Purpose::Size), base] {
            let mut seen = vec![0; 256];
            for i in 0..50_000 {
                let number = if other.key == base.key { i + 1 } else { i };
                seen[(below(base.at(i), 16) * 16 + below(other.at(number), 16)) as usize] += 1;
            }
            chi_square_is_plausible(&seen, &[50_000.0 / 256.0; 256]);
        }
    }

    #[test]
    fn series_do_not_overlap() {
        let draws = Draws::new(1, 0, Purpose::Address);
        let mut all: Vec<u64> = (0..1000)
            .flat_map(|i| {
                let mut series = draws.series(i);
                [series.next(), series.next(), series.next(), draws.at(i)]
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
    }

    #[test]
    fn unit_interval_excludes_its_ends() {
        assert!(unit(0) > 0.0 && unit(u64::MAX) < 1.0);
        assert!(exponential(u64::MAX) >= 0.0 && exponential(0) < 40.0);
    }
}
