//! The one clock of a run: `CLOCK_MONOTONIC`, in whole nanoseconds from the run's time zero.

use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `CLOCK_MONOTONIC` in nanoseconds: comparable with the kernel's trace clock `mono`.
pub fn monotonic_ns() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Wall clock in nanoseconds since 1970, for display only.
pub fn realtime_ns() -> u64 {
    nanos(ClockId::Realtime)
}

fn nanos(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Tells the time since an origin; before it, 0. Clones share the origin.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Arc<AtomicU64>,
}

impl Clock {
    /// Time zero at `origin` on `CLOCK_MONOTONIC`.
    pub fn from_origin(origin: u64) -> Clock {
        Clock { origin: Arc::new(AtomicU64::new(origin)) }
    }

    /// Moves time zero. For the moment between the preparations and the start of a run, when the length of the
    /// preparations is known.
    pub fn set_origin(&self, origin: u64) {
        self.origin.store(origin, Relaxed);
    }

    /// Time zero on `CLOCK_MONOTONIC`, in nanoseconds.
    pub fn origin(&self) -> u64 {
        self.origin.load(Relaxed)
    }

    /// Nanoseconds since time zero.
    pub fn now(&self) -> u64 {
        monotonic_ns().saturating_sub(self.origin())
    }
}
