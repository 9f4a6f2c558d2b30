//! Seeded random orders.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Fisher and Yates, as in Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P.
pub(crate) fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        items.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
}
