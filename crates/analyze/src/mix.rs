//! A mixing function of 64 bits.

/// Each bit of the result depends on each bit of `value` (the finalizer of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
