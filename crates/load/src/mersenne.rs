//! The order of IOzone's random tests: one permutation for each number of records, the same in every run.

use iosonar_plan::Order;
use rand_mt::Mt64;
use std::sync::Arc;

/// Initial key of IOzone's generator (MT19937-64).
const KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

/// Each of `blocks` blocks once; `None` for more of them than [`Order::MOST_MERSENNE`].
///
/// IOzone exchanges each element with any of all, so that some permutations are likelier than others.
pub(crate) fn order(blocks: u64) -> Option<Arc<[u32]>> {
    let count = u32::try_from(blocks).ok().filter(|_| blocks <= Order::MOST_MERSENNE)?;
    let mut order: Arc<[u32]> = (0..count).collect();
    let places = Arc::get_mut(&mut order)?;
    let mut random = Mt64::new_with_key(KEY);
    for place in 0..places.len() {
        places.swap(place, (random.next_u64() % blocks) as usize);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As traced from IOzone 3.471.
    #[test]
    fn orders_match_iozone() {
        assert_eq!(order(16).unwrap()[..], [3, 15, 8, 1, 12, 9, 7, 2, 5, 0, 6, 10, 14, 13, 4, 11]);
        assert_eq!(order(4).unwrap()[..], [0, 3, 1, 2]);
        assert_eq!(order(1).unwrap()[..], [0]);
    }

    #[test]
    fn each_block_occurs_once_and_too_many_are_rejected() {
        let mut all = order(100_003).unwrap().to_vec();
        all.sort_unstable();
        assert!((0..).zip(&all).all(|(place, block)| place == *block));
        assert!(order(Order::MOST_MERSENNE + 1).is_none() && order(1 << 40).is_none());
    }
}
