//! A rate that rises: the demand of an overload test.

use crate::rules::{MAX_TIME, Result, require, time, within};
use crate::{InvalidPlan, Nanos};
use serde::{Deserialize, Serialize};

/// Request rate that rises independently of the target: from one rate to another in some time, and constant after it. Every due
/// time is a function of the request's number, rounded down to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rising {
    /// Requests per second at the start, 1 to 1 000 000 000.
    pub from: u64,
    /// Requests per second at the end, at least as many.
    pub to: u64,
    /// Duration of the rise, above 0.
    pub over: Nanos,
    /// Shape of the rise.
    #[serde(default)]
    pub shape: RisingShape,
}

/// Shape of a rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RisingShape {
    /// By the same amount in each second.
    #[default]
    Linear,
    /// By the same factor in each second.
    Exponential,
}

impl Rising {
    /// Requests per second at a time.
    pub fn rate(&self, time: Nanos) -> f64 {
        let (from, to) = (self.from as f64, self.to as f64);
        let share = (time.as_secs_f64() / self.over.as_secs_f64()).min(1.0);
        match self.shape {
            RisingShape::Linear => from + (to - from) * share,
            RisingShape::Exponential => from * libm::exp(self.logarithm() * share),
        }
    }

    /// Requests that are due before a time: the integral of the rate, which is no whole number.
    pub fn until(&self, time: Nanos) -> f64 {
        let (from, over) = (self.from as f64, self.over.as_secs_f64());
        let t = time.as_secs_f64().min(over);
        let risen = match self.shape {
            _ if self.from == self.to => from * t,
            RisingShape::Linear => (from + self.slope() * t / 2.0) * t,
            RisingShape::Exponential => {
                let k = self.logarithm() / over;
                from / k * libm::expm1(k * t)
            }
        };
        risen + time.saturating_sub(self.over).as_secs_f64() * self.to as f64
    }

    /// Due time of a request; `number` counts from 0.
    pub fn due(&self, number: u64) -> Nanos {
        let (n, from, over) = (number as f64, self.from as f64, self.over.as_secs_f64());
        let at_end = self.until(self.over);
        let seconds = match self.shape {
            _ if n > at_end => over + (n - at_end) / self.to as f64,
            _ if self.from == self.to => n / from,
            // The usual solution of the quadratic equation, turned so that nothing cancels out.
            RisingShape::Linear => 2.0 * n / (from + (from * from + 2.0 * self.slope() * n).sqrt()),
            RisingShape::Exponential => {
                let k = self.logarithm() / over;
                libm::log1p(k * n / from) / k
            }
        };
        Nanos((seconds * 1e9) as u64)
    }

    /// Number of requests due before the rate has risen to its end.
    pub fn requests(&self) -> u64 {
        self.until(self.over).ceil() as u64
    }

    /// Increase of the rate (requests per second) in each second.
    fn slope(&self) -> f64 {
        (self.to - self.from) as f64 / self.over.as_secs_f64()
    }

    fn logarithm(&self) -> f64 {
        libm::log(self.to as f64 / self.from as f64)
    }
}

/// Checks the rules beyond the types.
pub(crate) fn validate_rising(rising: &Rising) -> Result {
    within("from", rising.from, 1, 1_000_000_000)?;
    within("to", rising.to, 1, 1_000_000_000)?;
    require(rising.from <= rising.to, || {
        InvalidPlan::of("to", format!("a rate that rises ends at {} or above, where it starts", rising.from))
            .value(rising.to)
    })?;
    time("over", rising.over)?;
    require(rising.over > Nanos(0) && rising.over <= MAX_TIME, || {
        InvalidPlan::of("over", "it must be above 0").value(rising.over)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPES: [RisingShape; 2] = [RisingShape::Linear, RisingShape::Exponential];

    #[test]
    fn rates_and_sums_match_the_formulas() {
        let linear = Rising { from: 100, to: 300, over: Nanos::from_secs(10), shape: RisingShape::Linear };
        assert_eq!(linear.rate(Nanos::from_secs(5)), 200.0);
        assert_eq!(linear.until(Nanos::from_secs(5)), 750.0);
        assert_eq!(linear.requests(), 2000);
        assert_eq!(linear.until(Nanos::from_secs(11)), 2300.0);
        assert_eq!((linear.due(0), linear.due(750)), (Nanos(0), Nanos::from_secs(5)));
        assert_eq!(linear.due(2300), Nanos::from_secs(11));
        let exponential =
            Rising { from: 10, to: 1000, over: Nanos::from_secs(4), shape: RisingShape::Exponential };
        assert!((exponential.rate(Nanos::from_secs(2)) - 100.0).abs() < 1e-9);
        // (1000 - 10) / (ln 100 / 4)
        assert!((exponential.until(Nanos::from_secs(4)) - 859.9).abs() < 0.1);
    }

    proptest! {
        #[test]
        fn time_and_count_are_inverse_and_monotonic(
            from in 1u64..100_000,
            more in 0u64..1_000_000,
            over_ms in 1u64..1_000_000,
            number in 0u64..100_000_000,
            which in 0..2usize,
        ) {
            let over = Nanos(over_ms * 1_000_000);
            let rising = Rising { from, to: from + more, over, shape: SHAPES[which] };
            let due = rising.due(number);
            prop_assert!(due <= rising.due(number + 1));
            let back = rising.until(due);
            prop_assert!((back - number as f64).abs() < 0.01 + number as f64 * 1e-9, "{back}");
            prop_assert!(rising.rate(due) >= from as f64 && rising.rate(due) <= rising.to as f64 * 1.000_001);
        }
    }
}
