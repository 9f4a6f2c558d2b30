//! Joint error of all figures of a comparison: the more figures there are, the further each has to lie beyond its noise.
//!
//! Figures of the same runs are correlated (p90 and p99, reads and all), so dividing 5 % by their number would hide too
//! much. The greatest of all standardised errors is simulated instead: each block's share of the error is multiplied with a
//! normal random number, the same one for all figures.

use super::estimate::Pair;
use super::random::Random;
use super::student::normal_tails;

/// Coarser blocks for the simulation: it needs only what figures have in common.
const CUTS: usize = 64;
const ROUNDS: usize = 999;
const SEED: u64 = 0x10_50_4a;

/// Error probability that each figure may have, so that all of them together have `alpha`.
pub(super) fn adjusted(pairs: &[&Pair], alpha: f64) -> f64 {
    together(pairs.iter().filter_map(|pair| pair.signature(CUTS)).collect(), alpha)
}

/// Like [`adjusted`], for figures with these contributions to their errors, block by block or run by run. The sum of the squares
/// of each figure is 1.
pub(super) fn together(signatures: Vec<Vec<f64>>, alpha: f64) -> f64 {
    let Some(parts) = signatures.iter().map(Vec::len).max() else { return alpha };
    let mut random = Random::new(SEED);
    let mut greatest: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let weights: Vec<f64> = (0..parts).map(|_| random.normal()).collect();
            let size = |s: &Vec<f64>| s.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>().abs();
            signatures.iter().map(size).fold(0.0, f64::max)
        })
        .collect();
    greatest.sort_by(f64::total_cmp);
    let at = ((1.0 - alpha) * (ROUNDS + 1) as f64).ceil() as usize;
    normal_tails(greatest[at.clamp(1, ROUNDS) - 1]).min(alpha)
}
