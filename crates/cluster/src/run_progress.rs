//! Progress of a run of several processes.

use crate::protocol::HostProgress;
use iosonar_text::units;
use std::fmt;
use std::time::Duration;

/// How far a run is.
#[derive(Debug, Clone)]
pub struct RunProgress<'a> {
    /// Its phase.
    pub phase: PhaseProgress<'a>,
    /// Its processes, or all ranks together; empty if all are on this machine.
    pub parts: Vec<PartProgress>,
}

/// How far a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartProgress {
    /// Its machine.
    pub name: String,
    /// Its requests.
    pub requests: HostProgress,
    /// When it reported them, as `CLOCK_MONOTONIC` of this machine; 0 before.
    pub reported_ns: u64,
    /// Whether it was lost.
    pub is_lost: bool,
    /// Whether its part of the phase has ended.
    pub has_ended: bool,
}

/// The phase that runs. Its `Display` is a line for people.
#[derive(Debug, Clone, Copy)]
pub struct PhaseProgress<'a> {
    /// Number of the starting phase, from 0.
    pub number: usize,
    /// Number of phases.
    pub of: usize,
    /// Its name in the plan.
    pub name: &'a str,
    /// Time since the start of the run.
    pub elapsed: Duration,
}

/// Phases take different times, so the remaining time is an estimate.
impl fmt::Display for PhaseProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.number as f64 / self.of.max(1) as f64;
        let left = if share > 0.0 { self.elapsed.mul_f64(1.0 / share - 1.0) } else { Duration::ZERO };
        let clock = |time: Duration| units::clock(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        write!(
            f,
            "{:.0}% {} | about {} left | phase {} of {}: {}",
            100.0 * share,
            clock(self.elapsed),
            clock(left),
            self.number + 1,
            self.of,
            self.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_percent_and_remaining_time() {
        let elapsed = Duration::from_secs(30);
        let now = PhaseProgress { number: 10, of: 40, name: "read 1MiB/64KiB", elapsed };
        assert_eq!(now.to_string(), "25% 00:30 | about 01:30 left | phase 11 of 40: read 1MiB/64KiB");
    }
}
