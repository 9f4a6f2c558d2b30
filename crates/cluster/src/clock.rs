//! The clock of another machine, read by exchanges of a message and its answer.
//!
//! The answer carries when the message arrived and when the answer left, on the other clock. For any delays of both ways, the
//! middle of the exchange is known to half of the time that it spent on the way (Cristian, "Probabilistic clock synchronization", 1989;
//! RFC 5905, section 8). Between two readings the difference is a line; the error grows with the distance to the nearer one.

use crate::protocol::SystemTimes;
use iosonar_archive::{ClockFacts, ClockReading, HostClock};
use iosonar_host::Root;
use iosonar_os::realtime_ns;
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::OnceLock;

/// Least departure of a clock from the line between two readings, in parts per million: crystals wander by less.
const WANDER_PPM: u64 = 15;
/// Greatest drift outside of the readings, which do not show it: the kernel corrects a clock by this at most.
const MOST_DRIFT_PPM: u64 = 500;
/// Of single exchanges the best in this time is kept, at first.
const WINDOW_NS: u64 = 10_000_000_000;
/// Most doublings of the window, to four months.
const MOST_WIDENED: u32 = 20;
/// Most readings; when there are more, the window doubles.
const MOST: usize = 512;

/// Identifies the clock of this process: boot and time namespace. Equal for processes with the same `CLOCK_MONOTONIC`.
pub(crate) fn own_clock() -> String {
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{} {}", this_boot(), shown(&namespace))
}

/// Identifies this machine since its start. Unknown ones are equal to none.
pub(crate) fn this_boot() -> String {
    static UNKNOWN: OnceLock<String> = OnceLock::new();
    let unknown = || format!("{}-{}", std::process::id(), realtime_ns());
    let boot = Root::default().read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if boot.is_empty() { UNKNOWN.get_or_init(unknown).clone() } else { boot }
}

/// A message and its answer, in nanoseconds of `CLOCK_MONOTONIC` on either side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// When the message was sent, here.
    pub(crate) sent: u64,
    /// When it arrived, there.
    pub(crate) arrived: u64,
    /// When the answer was sent, there.
    pub(crate) answered: u64,
    /// When the answer arrived, here.
    pub(crate) heard: u64,
    /// The reading by the wall clocks of both machines, in place of the way there and back.
    pub(crate) agreed: Option<Agreed>,
}

/// The other clock by the wall clocks of both machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    here: u64,
    there: u64,
    error: u64,
}

impl Agreed {
    /// At the time of the reading `here`; `None` unless something keeps both wall clocks equal to others. Their errors add up.
    pub(crate) fn of(here: &SystemTimes, there: &SystemTimes) -> Option<Agreed> {
        let apart = here.realtime.wrapping_sub(there.realtime) as i64;
        let drift = u128::from(apart.unsigned_abs()) * u128::from(MOST_DRIFT_PPM) / 1_000_000;
        Some(Agreed {
            here: here.monotonic,
            there: there.monotonic.wrapping_add_signed(apart),
            error: here.error_ns?.saturating_add(there.error_ns?).saturating_add(drift as u64),
        })
    }
}

/// The other clock as read by an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    /// Time of this clock, and of the other one.
    here: u64,
    there: u64,
    error: u64,
    /// One of a series in a short time, of which it is the best: kept in any case.
    is_anchor: bool,
}

impl Exchange {
    /// Time on the way, both ways.
    fn way(&self) -> u64 {
        self.heard.saturating_sub(self.sent).saturating_sub(self.answered.saturating_sub(self.arrived))
    }

    /// Whether the wall clocks do not contradict the exchange, which is right whatever they say.
    pub(crate) fn allows(&self, agreed: &Agreed) -> bool {
        let measured = Exchange { agreed: None, ..*self }.reading(false);
        let apart = measured.ahead().abs_diff(agreed.there.wrapping_sub(agreed.here) as i64);
        apart <= measured.error.saturating_add(agreed.error)
    }

    fn reading(&self, is_anchor: bool) -> Reading {
        if let Some(Agreed { here, there, error }) = self.agreed {
            return Reading { here, there, error, is_anchor };
        }
        let middle = |a: u64, b: u64| a + b.saturating_sub(a) / 2;
        Reading {
            here: middle(self.sent, self.heard),
            there: middle(self.arrived, self.answered),
            // Both middles are rounded down.
            error: self.way().div_ceil(2) + 1,
            is_anchor,
        }
    }
}

impl Reading {
    fn ahead(&self) -> i64 {
        self.there.wrapping_sub(self.here) as i64
    }

    /// Error of a time at some distance.
    fn error_at(&self, distance: u64, ppm: u64) -> u64 {
        self.error.saturating_add((u128::from(distance) * u128::from(ppm) / 1_000_000) as u64)
    }
}

/// A reading by another process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Read {
    /// Time of this side, and of the other clock.
    here: u64,
    there: u64,
    error: u64,
    exchanges: u64,
    least_round_trip: u64,
}

/// Readings of another clock over time, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockTrack {
    /// Ascending.
    readings: Vec<Reading>,
    exchanges: u64,
    least_round_trip: Option<u64>,
    /// The window is doubled this many times.
    widened: u32,
}

/// A time of the other clock on this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) here: u64,
    pub(crate) error: u64,
}

impl ClockTrack {
    /// Adds the exchanges of a series: their best is kept.
    pub(crate) fn add_series(&mut self, series: &[Exchange]) {
        series.iter().for_each(|exchange| self.count(exchange));
        let readings = series.iter().map(|exchange| exchange.reading(true));
        if let Some(best) = readings.min_by_key(|reading| reading.error) {
            self.push(best);
        }
    }

    /// Adds a single exchange.
    pub(crate) fn add(&mut self, exchange: &Exchange) {
        self.count(exchange);
        let new = exchange.reading(false);
        let window = |reading: &Reading| reading.here / (WINDOW_NS << self.widened.min(MOST_WIDENED));
        match self.readings.last_mut() {
            Some(last) if !last.is_anchor && window(last) == window(&new) => {
                if new.error <= last.error {
                    *last = new;
                }
            }
            _ => self.push(new),
        }
    }

    /// Adds a reading by another process, which has read the clock on this side.
    pub(crate) fn add_reading_of(&mut self, read: Read) {
        let Read { here, there, error, exchanges, least_round_trip } = read;
        self.exchanges += exchanges;
        let least = self.least_round_trip.map_or(least_round_trip, |least| least.min(least_round_trip));
        self.least_round_trip = Some(least);
        self.push(Reading { here, there, error, is_anchor: true });
    }

    /// The last reading for the other process, with times of this side on a third clock. Their errors add up.
    pub(crate) fn reading_for(&self, third: impl Fn(u64) -> Mapped) -> Option<Read> {
        let last = self.readings.last()?;
        let mapped = third(last.here);
        Some(Read {
            here: mapped.here,
            there: last.there,
            error: last.error.saturating_add(mapped.error),
            exchanges: self.exchanges,
            least_round_trip: self.least_round_trip(),
        })
    }

    fn count(&mut self, exchange: &Exchange) {
        self.exchanges += 1;
        let way = exchange.way();
        self.least_round_trip = Some(self.least_round_trip.map_or(way, |least| least.min(way)));
    }

    fn push(&mut self, reading: Reading) {
        // Answers arrive in their order; one that did not would turn the line around.
        if self.readings.last().is_none_or(|last| last.here < reading.here && last.there < reading.there) {
            self.readings.push(reading);
        }
        if self.readings.len() > MOST {
            self.widen();
        }
    }

    /// Doubles the window: of two neighbours the better one is kept.
    fn widen(&mut self) {
        self.widened += 1;
        let (first, last) = (self.readings[0], self.readings[self.readings.len() - 1]);
        let inner = &self.readings[1..self.readings.len() - 1];
        let better = |pair: &[Reading]| pair.iter().copied().min_by_key(|reading| reading.error);
        let inner = inner.chunks(2).filter_map(better);
        self.readings = [first].into_iter().chain(inner).chain([last]).collect();
    }

    /// Readings without those that are worse than the line between two close ones, and agree with it.
    fn useful(&self) -> Vec<Reading> {
        let mut useful: Vec<Reading> = Vec::with_capacity(self.readings.len());
        for (place, reading) in self.readings.iter().enumerate() {
            let next =
                self.readings[place + 1..].iter().find(|next| next.is_anchor || next.error < reading.error);
            let is_worse = match (useful.last(), next) {
                (Some(last), Some(next)) if !reading.is_anchor && next.here - last.here <= 2 * WINDOW_NS => {
                    let line = between(last, next, reading.there, WANDER_PPM);
                    let agrees = line.here.abs_diff(reading.here) <= line.error + reading.error;
                    agrees && line.error <= reading.error
                }
                _ => false,
            };
            if !is_worse {
                useful.push(*reading);
            }
        }
        useful
    }

    /// Time of the other clock at a time of this one; `None` without a reading.
    pub(crate) fn there(&self, here: u64) -> Option<u64> {
        Some(here.wrapping_add_signed(self.readings.last()?.ahead()))
    }

    /// Greatest error of a time now; the greatest number without a reading.
    pub(crate) fn error_at(&self, here: u64) -> u64 {
        let distance = |reading: &Reading| reading.error_at(here.abs_diff(reading.here), MOST_DRIFT_PPM);
        self.readings.iter().map(distance).min().unwrap_or(u64::MAX)
    }

    /// The shortest exchange; 0 without one.
    pub(crate) fn least_round_trip(&self) -> u64 {
        self.least_round_trip.unwrap_or(0)
    }

    /// The map of the run's times.
    pub(crate) fn map(&self) -> ClockMap {
        ClockMap { readings: self.useful() }
    }

    /// How exactly the clock is known in the run from `origin` to `end`.
    pub(crate) fn facts(&self, origin: u64, end: u64) -> HostClock {
        let map = self.map();
        let reading = |reading: &Reading| ClockReading {
            at_ns: reading.here.wrapping_sub(origin) as i64,
            ahead_ns: reading.ahead(),
            error_ns: reading.error,
        };
        let stepped_at_ns = map.step().map(|here| here.saturating_sub(origin));
        let known = ClockFacts {
            exchanges: self.exchanges,
            least_round_trip_ns: self.least_round_trip(),
            max_error_ns: map.max_error(origin, end),
            start_error_ns: map.at_here(origin).error,
            drift_ppb: map.drift_ppb(),
            stepped_at_ns,
        };
        HostClock { known, readings: map.readings.iter().map(reading).collect() }
    }
}

/// From times of the other clock to times of this one. Without a reading both are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockMap {
    readings: Vec<Reading>,
}

impl ClockMap {
    /// The map of a run that began at `origin`; without facts about the clock, both are the same.
    pub(crate) fn of_known(clock: Option<&HostClock>, origin: u64) -> ClockMap {
        clock.map(|clock| ClockMap::of_facts(clock, origin)).unwrap_or_default()
    }

    /// The map of a run that began at `origin`, from the facts that its result has.
    fn of_facts(clock: &HostClock, origin: u64) -> ClockMap {
        let reading = |one: &ClockReading| {
            let here = origin.wrapping_add_signed(one.at_ns);
            Reading {
                here,
                there: here.wrapping_add_signed(one.ahead_ns),
                error: one.error_ns,
                is_anchor: true,
            }
        };
        ClockMap { readings: clock.readings.iter().map(reading).collect() }
    }
}

/// The time on the line between two readings, from which the clock may depart by this drift.
fn between(a: &Reading, b: &Reading, there: u64, ppm: u64) -> Mapped {
    let (span, part) = (b.there.saturating_sub(a.there).max(1), there.saturating_sub(a.there));
    let grown = (i128::from(b.ahead()) - i128::from(a.ahead())) * i128::from(part) / i128::from(span);
    let distance = part.min(span.saturating_sub(part));
    Mapped {
        here: there.wrapping_add_signed(-(a.ahead() + grown as i64)),
        error: a.error_at(distance, ppm).max(b.error_at(distance, ppm)),
    }
}

/// Drift between two readings, in parts per million.
fn drift_ppm(a: &Reading, b: &Reading) -> f64 {
    (b.ahead() - a.ahead()) as f64 / b.here.saturating_sub(a.here).max(1) as f64 * 1e6
}

impl ClockMap {
    /// A time of the other clock on this one.
    pub(crate) fn here(&self, there: u64) -> Mapped {
        let after = self.readings.partition_point(|reading| reading.there <= there);
        match (after.checked_sub(1).map(|before| &self.readings[before]), self.readings.get(after)) {
            (Some(a), Some(b)) => between(a, b, there, self.wander_ppm(after)),
            (Some(only), None) | (None, Some(only)) => Mapped {
                here: there.wrapping_add_signed(only.ahead().wrapping_neg()),
                error: only.error_at(there.abs_diff(only.there), MOST_DRIFT_PPM),
            },
            (None, None) => Mapped { here: there, error: 0 },
        }
    }

    /// How much the clock may depart from the line that ends at a reading: its drift changes at most by the difference to the drifts before
    /// and after it, of which errors of the readings are a part.
    fn wander_ppm(&self, end: usize) -> u64 {
        let drift = |end: usize| {
            let begin = end.checked_sub(1)?;
            Some(drift_ppm(self.readings.get(begin)?, self.readings.get(end)?))
        };
        let Some(own) = drift(end) else { return MOST_DRIFT_PPM };
        let near = [end.checked_sub(1).and_then(drift), drift(end + 1)].into_iter().flatten();
        let most = near.map(|other| (other - own).abs()).fold(0.0, f64::max);
        (most.ceil() as u64).clamp(WANDER_PPM, MOST_DRIFT_PPM)
    }

    /// The same from a time of this clock.
    fn at_here(&self, here: u64) -> Mapped {
        let nearest = self.readings.iter().min_by_key(|reading| reading.here.abs_diff(here));
        self.here(here.wrapping_add_signed(nearest.map_or(0, Reading::ahead)))
    }

    /// The greatest error from one time of this clock to another: it is at one of them, at a reading, or in the middle of two.
    fn max_error(&self, from: u64, to: u64) -> u64 {
        let middles = self.readings.windows(2).map(|pair| pair[0].here + (pair[1].here - pair[0].here) / 2);
        let inside = self.readings.iter().map(|reading| reading.here).chain(middles);
        let inside = inside.filter(|here| (from..=to).contains(here));
        inside.chain([from, to]).map(|here| self.at_here(here).error).max().unwrap_or(0)
    }

    /// Drift over all readings, if it exceeds their error.
    fn drift_ppb(&self) -> Option<i64> {
        let (first, last) = (self.readings.first()?, self.readings.last()?);
        let span = last.here.checked_sub(first.here).filter(|span| *span > 0)?;
        let grown = last.ahead() - first.ahead();
        (grown.unsigned_abs() > first.error + last.error)
            .then(|| (i128::from(grown) * 1_000_000_000 / i128::from(span)) as i64)
    }

    /// The first reading that no drift from the one before it explains.
    fn step(&self) -> Option<u64> {
        let is_step = |pair: &&[Reading]| {
            let grown = pair[1].ahead().abs_diff(pair[0].ahead());
            grown > pair[0].error_at(pair[1].here - pair[0].here, MOST_DRIFT_PPM) + pair[1].error
        };
        self.readings.windows(2).find(is_step).map(|pair| pair[1].here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// An exchange with a clock that is ahead, with these delays of both ways.
    fn exchange(sent: u64, ahead: i64, way_out: u64, way_back: u64) -> Exchange {
        let arrived = (sent + way_out).wrapping_add_signed(ahead);
        Exchange {
            sent,
            arrived,
            answered: arrived + 70,
            heard: sent + way_out + 70 + way_back,
            agreed: None,
        }
    }

    #[test]
    fn wall_clocks_that_are_kept_equal_give_the_difference() {
        let times = |monotonic, realtime, error_ns| SystemTimes { monotonic, realtime, error_ns };
        let here = times(5_000, 1_000_000, Some(300));
        let there = times(70_000, 998_000, Some(200));
        let agreed = Agreed::of(&here, &there).unwrap();
        assert_eq!(agreed, Agreed { here: 5_000, there: 72_000, error: 501 });
        assert_eq!(Agreed::of(&here, &times(70_000, 998_000, None)), None);
        let mut track = ClockTrack::default();
        track.add_series(&[Exchange { agreed: Some(agreed), ..exchange(5_000, 9, 400, 90_000) }]);
        assert_eq!((track.there(6_000), track.error_at(5_000)), (Some(73_000), 501));
        assert_eq!(track.least_round_trip(), 90_400);
        // A wall clock that has stepped by a second contradicts the exchange.
        let stepped = Agreed { there: agreed.there + 1_000_000_000, ..agreed };
        let measured = exchange(5_000, 67_000, 400, 90_000);
        assert!(measured.allows(&agreed) && !measured.allows(&stepped));
    }

    /// For any two ways, the true difference lies within the error.
    #[test]
    fn difference_of_clocks_lies_within_the_error() {
        for (way_out, way_back) in [(0, 900), (900, 0), (450, 450), (1, 7), (5_000_000, 20_000_000)] {
            for ahead in [-1_000_000i64, 0, 123_456_789, -9_000_000_000] {
                let reading = exchange(10 * SECOND, ahead, way_out, way_back).reading(false);
                assert!(reading.ahead().abs_diff(ahead) <= reading.error, "{way_out} {way_back} {ahead}");
                assert_eq!(reading.error, (way_out + way_back).div_ceil(2) + 1);
            }
        }
    }

    /// A clock with a drift, read with delays that differ: every time of the run is mapped within its error.
    #[test]
    fn times_of_a_drifting_clock_are_mapped_within_their_error() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for (drift_ppm, seconds) in [(0i64, 3u64), (40, 30), (-300, 100), (80, 20_000)] {
            let origin = 50 * SECOND;
            let ahead = |here: u64| 7_000_000_000 + (here as i64 - origin as i64) / 1_000_000 * drift_ppm;
            let mut track = ClockTrack::default();
            let mut series = |at: u64, track: &mut ClockTrack| {
                let all: Vec<Exchange> = (0..64)
                    .map(|n| {
                        let sent = at + n * 1_000_000;
                        exchange(sent, ahead(sent), 20_000 + next(500_000), 20_000 + next(3_000_000))
                    })
                    .collect();
                track.add_series(&all);
            };
            series(origin - 500_000_000, &mut track);
            for second in 0..seconds {
                let sent = origin + second * SECOND;
                track.add(&exchange(sent, ahead(sent), 30_000 + second % 7 * 90_000, 40_000));
            }
            series(origin + seconds * SECOND, &mut track);
            let map = track.map();
            for step in 0..=1000 {
                let here = origin + seconds * SECOND / 1000 * step;
                let mapped = map.here(here.wrapping_add_signed(ahead(here)));
                // The drift of the test is a line of whole microseconds.
                assert!(
                    mapped.here.abs_diff(here) <= mapped.error + 400,
                    "{drift_ppm} {step}: {mapped:?} {here}"
                );
            }
            let facts = track.facts(origin, origin + seconds * SECOND);
            assert!(facts.readings.len() <= MOST && facts.known.exchanges == 128 + seconds, "{facts:?}");
            assert!(facts.known.stepped_at_ns.is_none(), "{facts:?}");
            assert!(
                facts.known.start_error_ns < 2_000_000 && facts.known.max_error_ns < 10_000_000,
                "{facts:?}"
            );
            let again = ClockMap::of_facts(&facts, origin);
            let there = (origin + SECOND).wrapping_add_signed(ahead(origin + SECOND));
            assert_eq!(again.here(there), map.here(there));
            if drift_ppm != 0 {
                let drift = facts.known.drift_ppb.expect("it is greater than the error");
                assert!(drift.abs_diff(drift_ppm * 1000) < 40_000, "{drift}");
            }
        }
    }

    /// The rate changes in the middle of the run by less than a step: readings that contradict the line between better ones count.
    #[test]
    fn times_are_within_their_error_after_a_change_of_the_rate() {
        for (error, ppm) in [(600_000u64, 400i64), (80_000, 400), (80_000, 60), (30_000, 200)] {
            let change = 33 * SECOND;
            let ahead = |here: u64| here.saturating_sub(change) as i64 / 1_000_000 * ppm;
            let mut track = ClockTrack::default();
            track.add_series(&[exchange(SECOND, ahead(SECOND), 30_000, 30_000)]);
            for second in 2..60 {
                let sent = second * SECOND;
                track.add(&exchange(sent, ahead(sent), error, error));
            }
            track.add_series(&[exchange(61 * SECOND, ahead(61 * SECOND), 30_000, 30_000)]);
            let map = track.map();
            for step in 0..=600 {
                let here = SECOND + step * SECOND / 10;
                let mapped = map.here(here.wrapping_add_signed(ahead(here)));
                assert!(
                    mapped.here.abs_diff(here) <= mapped.error + 400,
                    "{error} {ppm} {step}: {mapped:?} {here}"
                );
            }
        }
    }

    #[test]
    fn bad_readings_between_good_ones_are_left_out() {
        let mut track = ClockTrack::default();
        track.add_series(&[exchange(SECOND, 500, 1000, 1000)]);
        track.add(&exchange(3 * SECOND, 500, 1000, 90_000_000));
        track.add_series(&[exchange(5 * SECOND, 500, 1000, 1000)]);
        let facts = track.facts(SECOND, 5 * SECOND);
        assert_eq!((facts.known.exchanges, facts.readings.len()), (3, 2));
        assert!(facts.known.max_error_ns < 1001 + 2 * 15_000 + 10, "{facts:?}");
    }

    #[test]
    fn a_step_of_the_clock_is_found() {
        let mut track = ClockTrack::default();
        track.add_series(&[exchange(SECOND, 0, 1000, 1000)]);
        track.add_series(&[exchange(11 * SECOND, 20_000_000, 1000, 1000)]);
        let facts = track.facts(SECOND, 11 * SECOND);
        assert_eq!(facts.known.stepped_at_ns.map(|at| at / SECOND), Some(10));
    }

    #[test]
    fn without_a_reading_both_clocks_are_the_same() {
        let track = ClockTrack::default();
        assert_eq!((track.map().here(7), track.there(7)), (Mapped { here: 7, error: 0 }, None));
    }
}
