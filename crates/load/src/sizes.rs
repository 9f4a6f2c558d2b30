//! Lengths of a pattern's requests, from random numbers.

use crate::draws::below;
use iosonar_plan::BlockSizes;

/// Lengths in bytes.
#[derive(Debug, Clone)]
pub(crate) enum Sizes {
    /// All lengths are equal.
    One(u64),
    /// The first `count` multiples of `least`.
    Range { least: u64, count: u64 },
    /// A length for each percent.
    Split(Box<[u64; 100]>),
}

impl Sizes {
    /// The sizes of a valid pattern.
    pub(crate) fn new(sizes: &BlockSizes) -> Sizes {
        match sizes {
            BlockSizes::One(size) => Sizes::One(size.0),
            BlockSizes::Range(range) => {
                Sizes::Range { least: range.least.0, count: range.most.0 / range.least.0 }
            }
            BlockSizes::Split(shares) => {
                let of_percent = shares.iter().flat_map(|s| std::iter::repeat_n(s.size.0, s.percent.into()));
                let mut table = [0; 100];
                table.iter_mut().zip(of_percent).for_each(|(entry, size)| *entry = size);
                Sizes::Split(Box::new(table))
            }
        }
    }

    /// A length from a random number, which is drawn only where needed.
    #[inline]
    pub(crate) fn draw(&self, x: impl FnOnce() -> u64) -> u64 {
        match self {
            Sizes::One(size) => *size,
            Sizes::Range { least, count } => (below(x(), *count) + 1) * least,
            Sizes::Split(table) => table[below(x(), 100) as usize],
        }
    }
}
