//! A permutation of 0 .. length in constant memory: random order without repeats and without a map.
//!
//! A Feistel network over `rows` × `columns` (the generalised Feistel of Black and Rogaway: *Ciphers with Arbitrary
//! Finite Domains*, CT-RSA 2002), where each half in turn is shifted by a keyed function of the other. `columns` is a
//! power of two near the square root and `rows` as few as hold the length, so that hardly a value falls outside;
//! one that does goes through again (cycle walking, ibid.). Luby and Rackoff (1988) prove four rounds enough for
//! round functions that are random. Ours are a multiplication each, with a separate factor (multiply-shift hashing, Dietzfelbinger
//! and others 1997, is pairwise independent over its factors), so there are six; and sixteen in short permutations, where a half is
//! a few bits and a round mixes little.

use crate::draws::{Series, below, fold};

/// Rounds in short permutations, and number of keys.
const ROUNDS: usize = 16;
/// Rounds in long ones.
const ROUNDS_OF_LONG: usize = 6;
/// Minimum length of a long permutation.
const LONG: u64 = 1 << 12;

/// A permutation that its key chooses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permutation {
    length: u64,
    rows: u64,
    column_bits: u32,
    keys: [Key; ROUNDS],
}

/// The key of one round.
#[derive(Debug, Clone, Copy)]
struct Key {
    mask: u64,
    /// Odd.
    factor: u64,
}

impl Key {
    #[inline]
    fn of(self, half: u64) -> u64 {
        fold(half ^ self.mask, self.factor)
    }
}

impl Permutation {
    /// A permutation of 0 .. `length`, which is not 0.
    pub(crate) fn new(length: u64, key: u64) -> Permutation {
        let bits = u64::BITS - (length - 1).leading_zeros();
        let column_bits = bits / 2;
        let rows = ((length - 1) >> column_bits) + 1;
        Permutation { length, rows, column_bits, keys: keys(key) }
    }

    /// Another permutation of the same length.
    pub(crate) fn rekey(&mut self, key: u64) {
        self.keys = keys(key);
    }

    /// Where `index`, which is below the length, goes.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        let mut at = self.once(index);
        while at >= self.length {
            at = self.once(at);
        }
        at
    }

    #[inline]
    fn once(&self, index: u64) -> u64 {
        if self.length >= LONG { self.rounds::<ROUNDS_OF_LONG>(index) } else { self.rounds::<ROUNDS>(index) }
    }

    #[inline]
    fn rounds<const N: usize>(&self, index: u64) -> u64 {
        let mask = (1 << self.column_bits) - 1;
        let (mut row, mut column) = (index >> self.column_bits, index & mask);
        for pair in self.keys[..N].chunks_exact(2) {
            column ^= pair[0].of(row) >> 32 & mask;
            row += below(pair[1].of(column), self.rows);
            row -= if row >= self.rows { self.rows } else { 0 };
        }
        row << self.column_bits | column
    }
}

fn keys(key: u64) -> [Key; ROUNDS] {
    let mut series = Series::of(key);
    std::array::from_fn(|_| Key { mask: series.next(), factor: series.next() | 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::mix;
    use crate::statistics::{SIGMAS, chi_square_is_plausible, correlation};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn permutation_is_a_bijection(length in 1u64..5000, key: u64) {
            let permutation = Permutation::new(length, key);
            let mut seen = vec![false; length as usize];
            for index in 0..length {
                let at = permutation.at(index) as usize;
                prop_assert!(!seen[at]);
                seen[at] = true;
            }
        }

        #[test]
        fn long_permutations_stay_in_range(length in 1u64.., key: u64, index: u64) {
            let permutation = Permutation::new(length, key);
            prop_assert!(permutation.at(index % length) < length);
        }
    }

    #[test]
    fn domain_is_barely_larger_than_length() {
        for length in [1, 2, 3, 1000, 1 << 20, (1 << 20) + 1, (1 << 40) - 1, u64::MAX >> 1] {
            let p = Permutation::new(length, 1);
            let domain = u128::from(p.rows) << p.column_bits;
            assert!(domain >= length.into() && domain < u128::from(length) + (1 << p.column_bits));
            assert!(p.column_bits <= 32);
        }
    }

    /// Over many keys, each pair of neighbours goes to each ordered pair of places equally often.
    #[test]
    fn pairs_are_uniform_over_keys() {
        for length in [3u64, 5, 8, 12, 17, 40] {
            let keys = 40_000;
            for (first, second) in [(0, 1), (1, 2), (0, length - 1)] {
                let mut seen = vec![0; (length * length) as usize];
                for key in 0..keys {
                    let p = Permutation::new(length, mix(key));
                    seen[(p.at(first) * length + p.at(second)) as usize] += 1;
                }
                let pairs = seen.iter().enumerate().filter(|(i, _)| *i as u64 / length != *i as u64 % length);
                let pairs: Vec<u64> = pairs.map(|(_, n)| *n).collect();
                let expected = keys as f64 / (length * (length - 1)) as f64;
                chi_square_is_plausible(&pairs, &vec![expected; pairs.len()]);
            }
        }
    }

    /// In one long permutation, successive places fall into a grid without a lattice, at every distance.
    #[test]
    fn permutation_shows_no_lattice() {
        for (length, key) in [(1 << 16, 3), (100_003, 4), (1 << 30, 5), ((1 << 40) + 12_345, 6)] {
            let p = Permutation::new(length, mix(key));
            let count = length.min(200_000);
            for distance in [1, 2, 3, 16, 255, 256, 257, 1000] {
                let mut seen = vec![0u64; 32 * 32];
                let cell = |at: u64| (u128::from(at) * 32 / u128::from(length)) as usize;
                for i in 0..count - distance {
                    seen[cell(p.at(i)) * 32 + cell(p.at(i + distance))] += 1;
                }
                let expected = (count - distance) as f64 / 1024.0;
                chi_square_is_plausible_without_repeats(&seen, expected);
            }
        }
    }

    /// Draws without repeats are spread more evenly than at random, so only too much is suspicious.
    #[track_caller]
    fn chi_square_is_plausible_without_repeats(seen: &[u64], expected: f64) {
        let (chi, degrees) = crate::statistics::chi_square(seen, &vec![expected; seen.len()]);
        assert!(chi < degrees + SIGMAS * (2.0 * degrees).sqrt(), "{chi} of {degrees}");
    }

    #[test]
    fn low_bits_and_steps_are_random() {
        let p = Permutation::new(1 << 30, 7);
        let at: Vec<u64> = (0..100_000).map(|i| p.at(i)).collect();
        let mut bits = vec![0; 256];
        at.iter().for_each(|a| bits[(a & 255) as usize] += 1);
        chi_square_is_plausible(&bits, &[100_000.0 / 256.0; 256]);
        let places: Vec<f64> = at.iter().map(|a| *a as f64).collect();
        let numbers: Vec<f64> = (0..100_000).map(f64::from).collect();
        for (a, b) in [(&places[..], &numbers[..]), (&places[1..], &places[..99_999])] {
            assert!(correlation(a, b).abs() < SIGMAS / (a.len() as f64).sqrt());
        }
        let mut steps: Vec<u64> = at.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect();
        steps.sort_unstable();
        let repeated = steps.windows(2).filter(|w| w[0] == w[1]).count();
        // 100 000 steps in about 2^30: a few coincide by chance (about n² ÷ 2^31 = 4.7), a lattice's would all.
        assert!(repeated < 20, "{repeated}");
    }
}
