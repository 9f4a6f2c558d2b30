//! Series of samples, taken while a run goes on.

use iosonar_archive::SeriesLog;
use iosonar_evidence::{OwnUse, Series};
use iosonar_host::sampler::{Probe, Sampler};
use iosonar_os::Clock;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A sampler that has not begun by then is not waited for: the series are an addition.
const FIRST_SAMPLE: Duration = Duration::from_secs(1);

/// The sampler wakes up at least so often, to know whether the process runs at all. Threads that wait for the target tell nothing of
/// that: it may be the target that stands still.
const BEAT: Duration = Duration::from_millis(100);

/// A thread that wakes up later than that was not only waiting for its turn: threads share a CPU in slices of some milliseconds.
const LATE: Duration = Duration::from_millis(100);

/// The clock needs no more corrections than this.
const CORRECTED_EVERY: Duration = Duration::from_secs(1);

/// Something that happens once, and that others wait for. Waiting goes to sleep at once: a channel would first spin, and yield, at
/// each sample.
#[derive(Debug, Default)]
pub(crate) struct Event {
    has_come: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    fn come(&self) {
        *self.has_come.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits until a time, or until it has come; whether it has.
    fn wait_until(&self, time: Instant) -> bool {
        let has_come = self.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        let left = time.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(has_come, left, |has_come| !*has_come);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What the sampler and the run tell each other.
#[derive(Debug, Default)]
pub(crate) struct RunMoments {
    first_sample: Event,
    end: Event,
}

impl RunMoments {
    /// Waits for the first sample: what counters count of the run is to lie between it and the last.
    pub(crate) fn await_first_sample(&self) {
        self.first_sample.wait_until(Instant::now() + FIRST_SAMPLE);
    }
}

/// Ends the run for those who wait when it is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct EndsRun<'a>(pub(crate) &'a RunMoments);

impl Drop for EndsRun<'_> {
    fn drop(&mut self) {
        self.0.end.come();
    }
}

/// Nanoseconds by which the sampler's thread woke up late.
#[derive(Debug, Clone, Default)]
pub(crate) struct Halts(Arc<AtomicU64>);

impl Halts {
    /// Waits until a time, or until the run is over, and notes when nobody lets this thread run; whether the run is over.
    fn wait_until(&self, time: Instant, end: &Event) -> bool {
        loop {
            let beat = (Instant::now() + BEAT).min(time);
            if end.wait_until(beat) {
                return true;
            }
            let late = beat.elapsed();
            if late >= LATE {
                self.0.fetch_add(late.as_nanos() as u64, Relaxed);
            }
            if Instant::now() >= time {
                return false;
            }
        }
    }
}

impl Probe for Halts {
    fn series(&self) -> &[Series] {
        &[Series::Own(OwnUse::Halted)]
    }

    fn sample(&mut self, give: &mut dyn FnMut(usize, f64)) {
        give(0, self.0.load(Relaxed) as f64);
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
    moments: &RunMoments,
) -> Sampled {
    let halts = Halts::default();
    sampler.add(Box::new(halts.clone()));
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
        moments.first_sample.come();
        if has_ended {
            return Sampled { clock_error: error, cpu_ns: thread_cpu_ns() };
        }
        next = Instant::now().max(next + Duration::from_nanos(interval.0));
        // The end is sampled too: the last part of an interval counts.
        has_ended = halts.wait_until(next, &moments.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_wakes_up_late_has_been_halted() {
        let (halts, end) = (Halts::default(), Event::default());
        // A time that is over long since is one at which it should have run.
        assert!(!halts.wait_until(Instant::now() - Duration::from_secs(3), &end));
        let halted = halts.0.load(Relaxed);
        assert!(halted >= 3_000_000_000, "{halted}");
        end.come();
        assert!(halts.wait_until(Instant::now() + Duration::from_secs(3600), &end));
        assert_eq!(halts.0.load(Relaxed), halted);
    }
}
