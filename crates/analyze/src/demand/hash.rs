//! The hash of pages and sectors: two multiplications, the same on every machine.

use std::hash::{BuildHasherDefault, Hasher};

/// Two rounds of multiplying by an odd constant and folding the upper half of the product into the lower one.
pub(super) fn fold(n: u64) -> u64 {
    let round = |n: u64, factor: u64| {
        let product = u128::from(n) * u128::from(factor);
        (product as u64) ^ ((product >> 64) as u64)
    };
    round(
        round(n ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93) ^ 0x2545_f491_4f6c_dd1d,
        0xa076_1d64_78bd_642f,
    )
}

/// A hasher of single numbers.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = fold(self.0 ^ u64::from(*b)));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = fold(self.0 ^ n);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Makes such hashers.
pub(super) type NumberHash = BuildHasherDefault<NumberHasher>;
