//! Series of samples, taken while a run goes on.

use iosonar_archive::SeriesLog;
use iosonar_host::sampler::Sampler;
use iosonar_os::Clock;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_plan::Nanos;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The clock needs no more corrections than this.
const CORRECTED_EVERY: Duration = Duration::from_secs(1);

/// Whether the run has ended. Waiting for it goes to sleep at once: a channel would first spin, and yield, at each sample.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

/// Ends the run for those who wait when it is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct EndsRun<'a>(pub(crate) &'a RunEnd);

impl Drop for EndsRun<'_> {
    fn drop(&mut self) {
        *self.0.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl RunEnd {
    /// Waits until a time, or the end; whether that is here.
    fn wait_until(&self, time: Instant) -> bool {
        let has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let left = time.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(has_ended, left, |has_ended| !*has_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// How the sampling went.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sampled {
    /// How far the clock was off at most.
    pub(crate) clock_error: Nanos,
    /// CPU time of the thread.
    pub(crate) cpu_ns: u64,
}

/// Takes a sample each `interval` and corrects the clock, until the run has ended, in a thread of its own.
pub(crate) fn sample(
    mut sampler: Sampler,
    mut log: SeriesLog,
    interval: Nanos,
    clock: &Clock,
    end: &RunEnd,
) -> Sampled {
    let names: Vec<String> = sampler.series().iter().map(ToString::to_string).collect();
    let mut values = Vec::new();
    let mut next = Instant::now();
    let mut corrects_at = next;
    let (mut error, mut has_ended) = (Nanos(0), false);
    loop {
        if has_ended || next >= corrects_at {
            error = error.max(Nanos(clock.correct()));
            corrects_at = next + CORRECTED_EVERY;
        }
        values.clear();
        sampler.sample(&mut values);
        let samples = values.iter().map(|(id, value)| (names[usize::from(id.0)].as_str(), *value));
        // A full disk ends the records too, and they tell.
        let _ = log.append(clock.now(), samples);
        if has_ended {
            return Sampled { clock_error: error, cpu_ns: thread_cpu_ns() };
        }
        next = Instant::now().max(next + Duration::from_nanos(interval.0));
        // The end is sampled too: the last part of an interval counts.
        has_ended = end.wait_until(next);
    }
}
