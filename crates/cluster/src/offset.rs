//! How far the clock of another machine is ahead of this one's, from round trips.
//!
//! A round trip that starts at `sent` and ends at `received` brings the other clock's time from somewhere between. The shortest
//! of several says most; half of it is the greatest error (Cristian, "Probabilistic clock synchronization", 1989).

/// What round trips have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offset {
    /// The other clock minus this one, in nanoseconds.
    pub(crate) ahead: i64,
    /// The shortest round trip, in nanoseconds; twice the greatest error.
    pub(crate) round_trip: u64,
}

/// A round trip, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    /// When it started, on this clock.
    pub(crate) sent: u64,
    /// What the other clock said.
    pub(crate) time: u64,
    /// When it ended, on this clock.
    pub(crate) received: u64,
}

impl Offset {
    /// From the shortest of some round trips; none without any.
    pub(crate) fn of(trips: &[RoundTrip]) -> Option<Offset> {
        let length = |trip: &&RoundTrip| trip.received.saturating_sub(trip.sent);
        let shortest = trips.iter().min_by_key(length)?;
        let middle = shortest.sent + length(&shortest) / 2;
        Some(Offset { ahead: shortest.time.wrapping_sub(middle) as i64, round_trip: length(&shortest) })
    }

    /// A time of the other clock on this one.
    pub(crate) fn here(self, time: u64) -> u64 {
        time.saturating_add_signed(self.ahead.saturating_neg())
    }

    /// A time of this clock on the other one.
    pub(crate) fn there(self, time: u64) -> u64 {
        time.saturating_add_signed(self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts() {
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

    /// Whatever the two ways of a round trip take: the error is at most half of it.
    #[test]
    fn the_error_is_at_most_half_of_the_round_trip() {
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
    fn a_clock_behind_this_one() {
        let trip = RoundTrip { sent: 1000, time: 100, received: 1200 };
        let offset = Offset::of(&[trip]).unwrap();
        assert_eq!((offset.ahead, offset.there(1100), offset.here(100)), (-1000, 100, 1100));
    }
}
