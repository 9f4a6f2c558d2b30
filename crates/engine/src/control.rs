//! Stops a run from outside.

use iosonar_archive::{Interruption, Signal};
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// A stop that may come at any time: from a signal, or at a set time of the run. A worker that breaks ends its own
/// target's part only.
#[derive(Debug)]
pub struct Control {
    /// The signal that requested the stop; 0 if there was none yet.
    signal: AtomicI32,
    stop_at: AtomicU64,
}

impl Default for Control {
    fn default() -> Control {
        Control { signal: AtomicI32::new(0), stop_at: AtomicU64::new(u64::MAX) }
    }
}

impl Control {
    /// Stops all submission because of a signal; requests in flight are awaited.
    pub fn stop(&self, signal: i32) {
        self.signal.store(signal, Relaxed);
    }

    /// The signal that requested a stop, if one did.
    pub fn signal(&self) -> Option<Signal> {
        Some(self.signal.load(Relaxed)).filter(|s| *s != 0).map(Signal)
    }

    /// The cause of the stop, for a run that was stopped.
    pub(crate) fn interruption(&self) -> Interruption {
        self.signal().map_or(Interruption::EndTime, Interruption::Signal)
    }

    /// Stops at a time of the run's own clock: how a simulation is interrupted.
    pub fn stop_at(&self, time: Nanos) {
        self.stop_at.store(time.0, Relaxed);
    }

    /// When it stops by itself; the end of time where it does not.
    pub(crate) fn stop_time(&self) -> Nanos {
        Nanos(self.stop_at.load(Relaxed))
    }

    /// Whether to stop at time `now`.
    pub fn is_stopped(&self, now: Nanos) -> bool {
        self.signal.load(Relaxed) != 0 || now.0 >= self.stop_at.load(Relaxed)
    }
}
