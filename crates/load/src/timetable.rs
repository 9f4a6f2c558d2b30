//! Due times of generated requests: a running sum that every job computes alike.

use crate::draws::{Draws, exponential};
use iosonar_plan::{Decimal, Generator, Nanos, Pace, Process, Rising};

const SECOND: u64 = Nanos::SECOND.0;

/// The rule of the due times.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// No due times.
    Closed,
    /// Request i is due at i × (`whole` + `rest` ÷ `per`) nanoseconds.
    Even { whole: u64, rest: u64, per: u64 },
    /// A request is due when the bytes of all before it have been due.
    Bytes { per_second: u64 },
    /// Exponentially distributed distances with this mean in nanoseconds.
    Poisson { mean: f64, draws: Draws },
    /// Faster and faster.
    Rising(Rising),
}

/// Due times, from that of request 0 on.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    rule: Rule,
    /// Due time of the present request, in nanoseconds.
    due: u64,
    /// Remainder of rounding, in parts of the rule's divisor. Of a rising rate, the number of the present request.
    rest: u64,
    /// Remainder of rounding of random distances, in nanoseconds.
    fraction: f64,
}

impl Timetable {
    /// The timetable of a valid generator. `draws` are those of arrivals.
    pub(crate) fn new(pattern: &Generator, draws: Draws) -> Timetable {
        let even = |units: u64, per: u64| Rule::Even { whole: units / per, rest: units % per, per };
        let poisson = |mean: f64| Rule::Poisson { mean, draws };
        let billion = Decimal::whole(1).parts();
        let rule = match pattern.pace {
            Pace::Closed => Rule::Closed,
            Pace::Rate { iops, process: Process::Poisson } => poisson(SECOND as f64 / iops.as_f64()),
            Pace::Rate { iops, .. } => even(SECOND * billion, iops.parts()),
            Pace::Rising(rising) => Rule::Rising(rising),
            Pace::Bandwidth { bytes_per_second, process } => match (process, pattern.fixed_size()) {
                (Process::Poisson, _) => {
                    poisson(pattern.mean_size() * SECOND as f64 / bytes_per_second.0 as f64)
                }
                // Below 2^30 × 10^9, which fits into 64 bits.
                (_, Some(size)) => even(size * SECOND, bytes_per_second.0),
                (_, None) => Rule::Bytes { per_second: bytes_per_second.0 },
            },
        };
        let mut table = Timetable { rule, due: 0, rest: 0, fraction: 0.0 };
        match pattern.pace {
            Pace::Rate { process: Process::Trailing, .. } => table.jump(1),
            Pace::Bandwidth { process: Process::Trailing, .. } => table.walk(0, pattern.mean_size() as u64),
            _ => {}
        }
        if let Rule::Poisson { mean, draws } = rule {
            table.add(exponential(draws.at(0)) * mean);
        }
        table
    }

    /// When the present request is due; `None` in a closed loop.
    #[inline]
    pub(crate) fn due(&self) -> Option<Nanos> {
        if matches!(self.rule, Rule::Closed) { None } else { Some(Nanos(self.due)) }
    }

    /// Whether every request in between has to be walked over.
    pub(crate) fn is_walked(&self) -> bool {
        matches!(self.rule, Rule::Bytes { .. } | Rule::Poisson { .. })
    }

    /// Whether due times depend on sizes.
    pub(crate) fn needs_sizes(&self) -> bool {
        matches!(self.rule, Rule::Bytes { .. })
    }

    /// Advances by `steps` requests, where no walk is needed.
    #[inline]
    pub(crate) fn jump(&mut self, steps: u64) {
        let (whole, rest, per) = match self.rule {
            Rule::Even { whole, rest, per } => (whole, rest, per),
            Rule::Rising(rising) => {
                self.rest = self.rest.saturating_add(steps);
                self.due = rising.due(self.rest).0;
                return;
            }
            Rule::Closed | Rule::Bytes { .. } | Rule::Poisson { .. } => return,
        };
        if steps == 1 {
            self.rest += rest;
            let carry = u64::from(self.rest >= per);
            self.rest -= carry * per;
            self.due = self.due.saturating_add(whole + carry);
        } else {
            let rest = u128::from(steps) * u128::from(rest) + u128::from(self.rest);
            self.rest = (rest % u128::from(per)) as u64;
            let carry = (rest / u128::from(per)) as u64;
            self.due = self.due.saturating_add(whole.saturating_mul(steps).saturating_add(carry));
        }
    }

    /// Advances from request `number` of `length` bytes to the next.
    #[inline]
    pub(crate) fn walk(&mut self, number: u64, length: u64) {
        match self.rule {
            Rule::Closed => {}
            Rule::Even { .. } | Rule::Rising(_) => self.jump(1),
            Rule::Bytes { per_second } => {
                let units = length * SECOND + self.rest;
                self.due = self.due.saturating_add(units / per_second);
                self.rest = units % per_second;
            }
            Rule::Poisson { mean, draws } => self.add(exponential(draws.at(number + 1)) * mean),
        }
    }

    fn add(&mut self, distance: f64) {
        let exact = self.fraction + distance;
        let whole = exact as u64;
        self.due = self.due.saturating_add(whole);
        self.fraction = exact - whole as f64;
    }
}
