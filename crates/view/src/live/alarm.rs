//! The line of alarm: the run cannot follow its target times, by how much, and why.

use super::Moment;
use crate::units::{self, Charset};
use iosonar_plan::Nanos;

/// Requests that are issued later than this are late: a timer alone is never so late.
const LATE: Nanos = Nanos(100_000_000);
/// Seconds of lateness per second of the run from which it grows.
const GROWS: f64 = 0.05;

/// A run that is late, and becomes later, or is later than its limit allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alarm {
    /// Issue delay of the latest request.
    pub late: Nanos,
    /// Seconds by which it grew per second of the run; negative while the run catches up.
    pub growth: f64,
    /// Requests done per request that became due, in the last second.
    pub share: Option<f64>,
    /// Whether as many requests as allowed are in flight.
    pub is_full: bool,
}

impl Alarm {
    /// The alarm of a moment; `None` if the run follows its target times, or has none.
    pub fn of(moment: &Moment, depth: Option<u64>, late_limit: Option<Nanos>) -> Option<Alarm> {
        let growth = moment.growth?;
        let is_beyond = late_limit.is_some_and(|limit| moment.late > limit);
        if moment.late < LATE || (growth < GROWS && !is_beyond) {
            return None;
        }
        let wanted = moment.demanded.filter(|wanted| *wanted > 0);
        let share = wanted.map(|wanted| moment.completed as f64 / wanted as f64);
        let is_full = depth.is_some_and(|depth| moment.in_flight.is_some_and(|n| n >= depth));
        // More than all is done while the run catches up.
        Some(Alarm { late: moment.late, growth, share: share.filter(|share| *share < 1.0), is_full })
    }

    /// `LATE 4.6 s and growing 0.9 s/s: 25 % of what is wanted, depth full`, shorter in fewer than that many `columns`.
    pub(super) fn text(&self, charset: Charset, columns: usize) -> String {
        let late = format!("LATE {}", units::duration(self.late.0, charset));
        let growth = match self.growth {
            growth if growth >= GROWS => format!(" and growing {growth:.1} s/s"),
            growth if growth <= -GROWS => format!(" and shrinking {:.1} s/s", -growth),
            _ => String::new(),
        };
        let full = self.is_full.then(|| "depth full".to_string());
        let with = |share: Option<String>| {
            let why: Vec<String> = share.into_iter().chain(full.clone()).collect();
            let colon = if why.is_empty() { "" } else { ": " };
            format!("{late}{growth}{colon}{}", why.join(", "))
        };
        let share = self.share.map(|share| format!("{:.0} %", 100.0 * share));
        let long = with(share.as_ref().map(|share| format!("{share} of what is wanted")));
        if long.chars().count() <= columns { long } else { with(share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(late_ms: u64, growth: f64) -> Moment {
        Moment {
            late: Nanos(late_ms * 1_000_000),
            growth: Some(growth),
            completed: 500,
            demanded: Some(2000),
            in_flight: Some(16),
            ..Moment::default()
        }
    }

    #[test]
    fn says_size_growth_share_and_depth() {
        let alarm = Alarm::of(&moment(4600, 0.9), Some(16), None).unwrap();
        let text = "LATE 4.60 s and growing 0.9 s/s: 25 % of what is wanted, depth full";
        assert_eq!(alarm.text(Charset::Ascii, 80), text);
        assert_eq!(alarm.text(Charset::Ascii, 60), "LATE 4.60 s and growing 0.9 s/s: 25 %, depth full");
        let with_room = Alarm::of(&moment(4600, 0.9), Some(17), None).unwrap();
        assert!(!with_room.text(Charset::Ascii, 80).contains("depth"));
        let unknown = Moment { demanded: None, in_flight: None, ..moment(4600, 0.9) };
        let unknown = Alarm::of(&unknown, Some(16), None).unwrap();
        assert_eq!(unknown.text(Charset::Ascii, 80), "LATE 4.60 s and growing 0.9 s/s");
    }

    #[test]
    fn is_silent_unless_it_is_true() {
        for (late_ms, growth) in [(0, 0.0), (99, 0.9), (4600, 0.0), (4600, -0.5), (4600, 0.04)] {
            assert_eq!(Alarm::of(&moment(late_ms, growth), Some(16), Some(Nanos(10_000_000_000))), None);
        }
        let closed_loop = Moment { growth: None, ..moment(4600, 0.9) };
        assert_eq!(Alarm::of(&closed_loop, Some(16), Some(Nanos(0))), None);
    }

    #[test]
    fn a_run_beyond_its_limit_is_late_while_it_catches_up() {
        let moment = Moment { completed: 3000, ..moment(12_000, -0.5) };
        let alarm = Alarm::of(&moment, None, Some(Nanos(10_000_000_000))).unwrap();
        assert_eq!(alarm.text(Charset::Ascii, 80), "LATE 12.0 s and shrinking 0.5 s/s");
        let steady = Moment { growth: Some(0.0), ..moment };
        let alarm = Alarm::of(&steady, None, Some(Nanos(10_000_000_000))).unwrap();
        assert_eq!(alarm.text(Charset::Ascii, 80), "LATE 12.0 s");
    }
}
