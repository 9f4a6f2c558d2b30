//! Estimates the offset of another machine's clock from round trips.
//!
//! A round trip that starts at `sent` and ends at `received` contains the other clock's reading. The shortest of
//! several is the most precise; half of it is the maximum error (Cristian, "Probabilistic clock synchronization",
//! 1989).

/// Offset of another clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offset {
    /// The other clock minus this one, in nanoseconds.
    pub(crate) ahead: i64,
    /// The shortest round trip, in nanoseconds; twice the maximum error.
    pub(crate) round_trip: u64,
}

/// A round trip, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    /// Start time, on this clock.
    pub(crate) sent: u64,
    /// Reading of the other clock.
    pub(crate) time: u64,
    /// End time, on this clock.
    pub(crate) received: u64,
}

impl Offset {
    /// Computes it from the shortest round trip; `None` without round trips.
    pub(crate) fn of(trips: &[RoundTrip]) -> Option<Offset> {
        let length = |trip: &&RoundTrip| trip.received.saturating_sub(trip.sent);
        let shortest = trips.iter().min_by_key(length)?;
        let middle = shortest.sent + length(&shortest) / 2;
        Some(Offset { ahead: shortest.time.wrapping_sub(middle) as i64, round_trip: length(&shortest) })
    }

    /// Converts a time of the other clock to this one.
    pub(crate) fn here(self, time: u64) -> u64 {
        time.saturating_add_signed(self.ahead.saturating_neg())
    }

    /// Converts a time of this clock to the other one.
    pub(crate) fn there(self, time: u64) -> u64 {
        time.saturating_add_signed(self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_shortest_round_trip() {
        let trips = [
            RoundTrip { sent: 1000, time: 91_900, received: 3000 },
            RoundTrip { sent: 5000, time: 95_020, received: 5100 },
            RoundTrip { sent: 7000, time: 97_000, received: 7500 },
        ];
        let offset = Offset::of(&trips).unwrap();
        assert_eq!((offset.ahead, offset.round_trip), (89_970, 100));
        assert_eq!((offset.here(95_020), offset.there(5050)), (5050, 95_020));
        assert_eq!(Offset::of(&[]), None);
    }

    /// For any split of a round trip into its two ways, the error is at most half of it.
    #[test]
    fn offset_error_is_at_most_half_the_round_trip() {
        for (way_out, way_back) in [(0, 900), (900, 0), (450, 450), (1, 7)] {
            for ahead in [-1_000_000i64, 0, 123_456_789] {
                let sent = 10_000_000_000u64;
                let time = (sent + way_out).saturating_add_signed(ahead);
                let trip = RoundTrip { sent, time, received: sent + way_out + way_back };
                let offset = Offset::of(&[trip]).unwrap();
                assert!((offset.ahead - ahead).unsigned_abs() <= offset.round_trip.div_ceil(2));
            }
        }
    }

    #[test]
    fn converts_times_of_clock_with_negative_offset() {
        let trip = RoundTrip { sent: 1000, time: 100, received: 1200 };
        let offset = Offset::of(&[trip]).unwrap();
        assert_eq!((offset.ahead, offset.there(1100), offset.here(100)), (-1000, 100, 1100));
    }
}
