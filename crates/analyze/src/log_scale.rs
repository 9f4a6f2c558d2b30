//! A scale of whole numbers: exact below `STEPS`, then `STEPS` slots of equal width for each factor of two.
//!
//! `STEPS` is a power of two, so a slot is found by a shift.

/// The slot that holds a value.
#[inline]
pub(crate) fn slot_of<const STEPS: u64>(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEPS.ilog2();
    (u64::from(shift + 1) * STEPS + (value >> shift) % STEPS) as usize
}

/// Least value of a slot; that of the one after the last is 2^64.
pub(crate) fn begin_of<const STEPS: u64>(slot: usize) -> u128 {
    let slot = slot as u64;
    if slot < STEPS {
        return slot.into();
    }
    u128::from(STEPS + slot % STEPS) << (slot / STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const STEPS: u64>(value: u64) -> Result<(), TestCaseError> {
        let slot = slot_of::<STEPS>(value);
        let (begin, end) = (begin_of::<STEPS>(slot), begin_of::<STEPS>(slot + 1));
        prop_assert!(begin <= value.into() && u128::from(value) < end);
        prop_assert!(end - begin <= 1 + u128::from(value / STEPS));
        Ok(())
    }

    proptest! {
        #[test]
        fn slot_bounds_contain_their_values(value: u64, shift in 0u32..64) {
            check::<8>(value >> shift)?;
            check::<16>(value >> shift)?;
            check::<256>(value >> shift)?;
        }
    }

    #[test]
    fn maximum_value_uses_the_last_slot() {
        let slot = slot_of::<16>(u64::MAX);
        assert_eq!((slot, begin_of::<16>(slot + 1)), (975, 1 << 64));
    }
}
