//! A load whose requests come faster and faster: t(0) = 0, t(k+1) = t(k) + 1 / max(1, growth · t(k)), in seconds
//! (blkreplay's `conv_load_to_ramped.pl`). From the second second on the rate grows by `growth` requests per second in
//! each second.

use iosonar_plan::Nanos;

/// Fastest growth: a request each microsecond after one second.
pub const MAX_GROWTH: u64 = 1_000_000;

/// A second, in the unit that times are summed up in: 2^-60 s. Rounding loses less than a nanosecond in a thousand million
/// requests, and gives the same everywhere.
const ONE: u128 = 1 << 60;

/// Times of the ramp, from that of request 0 on; `growth` is 1 to [`MAX_GROWTH`].
pub fn times(growth: u64) -> impl Iterator<Item = Nanos> {
    let growth = u128::from(growth.clamp(1, MAX_GROWTH));
    std::iter::successors(Some(0u128), move |time| Some(time + ONE * ONE / (growth * time).max(ONE)))
        .map(|time| Nanos(((time * 1_000_000_000 + ONE / 2) / ONE) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_times_match_the_formula() {
        let first: Vec<u64> = times(10).take(4).map(|t| t.0).collect();
        assert_eq!(first, [0, 1_000_000_000, 1_100_000_000, 1_190_909_091]);
        let slow: Vec<u64> = times(1).take(4).map(|t| t.0).collect();
        assert_eq!(slow, [0, 1_000_000_000, 2_000_000_000, 2_500_000_000]);
    }

    #[test]
    fn rate_growth_stays_exact_over_long_ramps() {
        // t² ≈ t(0)² + 2k / growth, and a little more.
        let at = times(MAX_GROWTH).nth(2_000_000).unwrap().as_secs_f64();
        assert!((at - 5f64.sqrt()).abs() < 1e-5, "{at}");
    }
}
