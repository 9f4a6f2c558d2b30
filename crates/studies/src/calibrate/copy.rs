//! Rates of memory copies: within the CPU's caches, and from memory to memory.

use iosonar_analyze::Rounds;
use iosonar_os::monotonic_ns;
use std::hint::black_box;

/// Bytes that fit into every cache.
const SMALL: usize = 4096;
/// Bytes that exceed nearly every cache.
const LARGE: usize = 64 << 20;
/// Bytes copied in a round.
const AMOUNT: usize = 128 << 20;

/// Rates in bytes per second, one of each round.
#[derive(Debug, Default)]
pub(super) struct Copies {
    memory: Option<[Vec<u8>; 2]>,
    small: Vec<f64>,
    large: Vec<f64>,
}

impl Copies {
    /// Measures another round.
    pub fn measure(&mut self) {
        let [from, to] = self.memory.get_or_insert_with(|| {
            let mut memory = [vec![0xa5; LARGE], vec![0x5a; LARGE]];
            // An idle CPU is slow at first.
            let [from, to] = &mut memory;
            rate(from, to, SMALL);
            memory
        });
        self.small.push(rate(from, to, SMALL));
        self.large.push(rate(from, to, LARGE));
    }

    /// Bytes of a copy and the rates, for small and for large copies.
    pub fn rows(&self) -> impl Iterator<Item = (u64, Rounds)> {
        let of = |size: usize, rates: &[f64]| Some((size as u64, Rounds::of(rates.iter().copied())?));
        [of(SMALL, &self.small), of(LARGE, &self.large)].into_iter().flatten()
    }
}

fn rate(from: &[u8], to: &mut [u8], size: usize) -> f64 {
    let begin = monotonic_ns();
    for _ in 0..AMOUNT / size {
        to[..size].copy_from_slice(&black_box(from)[..size]);
        black_box(&mut *to);
    }
    AMOUNT as f64 / ((monotonic_ns() - begin).max(1) as f64 / 1e9)
}
