//! Windows of loads that are replayed at the same time, each later than that of the target before.

use iosonar_engine::Prepared;
use iosonar_plan::{Nanos, Window, Workload};
use iosonar_runner::Error;
use iosonar_text::shown;

/// The windows of the loads of all targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Start of the window of the first target, in the time of its load.
    pub start: Nanos,
    /// End of that window; `None`: by its duration, otherwise the end of the load.
    pub end: Option<Nanos>,
    /// Length of each window; ignored if there is an end.
    pub duration: Option<Nanos>,
    /// Time from the window of a target to that of the next one.
    pub delta: Nanos,
}

impl Windows {
    /// The window of the load of a target.
    pub fn of(&self, target: usize) -> Window {
        let shift = self.delta.0.saturating_mul(target as u64);
        let start = Nanos(self.start.0.saturating_add(shift));
        let end = self.end.map(|end| end.0.saturating_add(shift));
        let end = end.or(self.duration.map(|d| start.0.saturating_add(d.0))).map(Nanos);
        Window { start, end }
    }

    /// Refuses windows that hold no request.
    ///
    /// # Errors
    /// The end is not after the start, or the duration is 0.
    pub fn check(&self) -> Result<(), Error> {
        if let Some(end) = self.end.filter(|end| *end <= self.start) {
            return Err(Error::refused_because(format_args!(
                "--end {end}: the window holds no request, because it starts at --start {}: set --end after it",
                self.start
            )));
        }
        if self.duration == Some(Nanos(0)) {
            return Err(Error::refused_because(
                "--duration 0: the window holds no request: give a time above 0",
            ));
        }
        Ok(())
    }

    /// Refuses a window that `delta` moves beyond the end of its load: the load would silently be shorter than the others (blkreplay
    /// manual, `replay_delta`). The plan of the prepared run has these windows.
    ///
    /// # Errors
    /// There is such a window.
    pub fn check_moved(&self, prepared: &Prepared) -> Result<(), Error> {
        if self.delta.0 == 0 {
            return Ok(());
        }
        let jobs = prepared.plan().jobs_by_target();
        for target in prepared.targets().iter().skip(1) {
            let job = jobs.get(target.number()).and_then(|jobs| jobs.first());
            let Some(Workload::Trace(load)) = job.map(|job| &job.workload) else { continue };
            let (Some(end), Some(facts)) = (load.window.end, target.load()) else { continue };
            if facts.load_end < end {
                return Err(Error::refused_because(format_args!(
                    "--delta {} moves the window of target {} to {} .. {end}, and load {} ends at {}: use a smaller --delta or --duration, or a longer load",
                    self.delta,
                    shown(target.path()),
                    load.window.start,
                    shown(&load.file),
                    facts.load_end
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Windows =
        Windows { start: Nanos(10), end: None, duration: Some(Nanos(5)), delta: Nanos(100) };

    #[test]
    fn each_target_starts_later_by_delta() {
        assert_eq!(FIRST.of(0), Window { start: Nanos(10), end: Some(Nanos(15)) });
        assert_eq!(FIRST.of(2), Window { start: Nanos(210), end: Some(Nanos(215)) });
        let to_end = Windows { duration: None, ..FIRST };
        assert_eq!(to_end.of(1), Window { start: Nanos(110), end: None });
        assert_eq!(Windows { end: Some(Nanos(20)), ..FIRST }.of(1).end, Some(Nanos(120)));
    }

    #[test]
    fn refuses_empty_windows() {
        assert!(FIRST.check().is_ok());
        assert!(Windows { duration: Some(Nanos(0)), ..FIRST }.check().is_err());
        assert!(Windows { end: Some(Nanos(10)), ..FIRST }.check().is_err());
    }
}
