//! Time series, sampled during a run.

use crate::Progress;
use iosonar_archive::SeriesLog;
use iosonar_evidence::{OwnUse, Series};
use iosonar_host::sampler::{Probe, Sampler, SeriesId};
use iosonar_os::usage::thread_cpu_ns;
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for the sampler's first sample: the series are an addition.
const FIRST_SAMPLE: Duration = Duration::from_secs(1);

/// Wake-up interval of the sampler, to detect halts of the process. Threads that wait for the target cannot detect them: the target
/// itself may halt.
const BEAT: Duration = Duration::from_millis(100);

/// Minimum wake-up delay that counts as a halt, not as scheduling: threads share a CPU in slices of some milliseconds.
const LATE: Duration = Duration::from_millis(100);

/// Lead of the sample of time zero: counters must grow little before the first request, and a slow machine must have taken the
/// sample by then.
const BEFORE_ZERO: Duration = Duration::from_millis(20);

/// Samples at each beat of a gap, beside as many as there are regular ones: a run in which nothing ever completes has at most twice the
/// usual number, and these.
const FINE_SAMPLES: u64 = 100;

/// Interval of clock corrections.
const CORRECTED_EVERY: Duration = Duration::from_secs(1);

/// An event that happens once, and that others wait for. Waiting sleeps at once: a channel would first spin, and yield, at each
/// sample.
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

    fn wait(&self) {
        let has_come = self.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(has_come, |has_come| !*has_come));
    }

    /// Waits until a time, or until the event; returns whether it has happened.
    fn wait_until(&self, time: Instant) -> bool {
        let has_come = self.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        let left = time.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(has_come, left, |has_come| !*has_come);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Events that synchronise the sampler and the run.
#[derive(Debug, Default)]
pub(crate) struct RunMoments {
    first_sample: Event,
    /// Set when time zero is known.
    begin: Event,
    end: Event,
}

impl RunMoments {
    /// Waits for the first sample: counters of the run must start at it or later.
    pub(crate) fn await_first_sample(&self) {
        self.first_sample.wait_until(Instant::now() + FIRST_SAMPLE);
    }

    /// Announces that the clock knows time zero.
    pub(crate) fn begin(&self) {
        self.begin.come();
    }
}

/// Ends the run for those who wait when it is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct EndsRun<'a>(pub(crate) &'a RunMoments);

impl Drop for EndsRun<'_> {
    fn drop(&mut self) {
        self.0.end.come();
        // A run that could not begin has no time zero to wait for.
        self.0.begin.come();
    }
}

/// Reason why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// Its time came.
    InTime,
    /// The process did not run for a while: a sample now shows when that was.
    AfterHalt,
    /// Nothing completes: a sample now shows who else uses the devices and the CPUs meanwhile.
    InGap,
    /// The run is over.
    AtEnd,
}

/// Times in which nothing completes although requests are in flight. They are sampled at each beat, and at the one after them, so that
/// they are distinguished from the time before and after.
struct Gaps<'a> {
    progress: &'a Progress,
    /// Requests that had ended at the last beat.
    ended: u64,
    is_gap: bool,
    /// Samples that gaps may still have.
    left: u64,
}

impl Gaps<'_> {
    fn new(progress: &Progress) -> Gaps<'_> {
        Gaps { progress, ended: progress.ended(), is_gap: false, left: FINE_SAMPLES }
    }

    /// Whether this beat is sampled.
    fn are_sampled(&mut self) -> bool {
        let (before, was_gap) = (self.ended, self.is_gap);
        self.ended = self.progress.ended();
        self.is_gap = self.ended == before && self.progress.in_flight() > 0;
        let is_sampled = (self.is_gap || was_gap) && self.left > 0;
        self.left -= u64::from(is_sampled);
        is_sampled
    }
}

/// Nanoseconds by which the sampler's thread woke up late.
#[derive(Debug, Clone, Default)]
pub(crate) struct Halts(Arc<AtomicU64>);

impl Halts {
    /// Waits until a time, or until the run is over, and adds late wake-ups of this thread.
    fn wait_until(&self, time: Instant, end: &Event, gaps: &mut Gaps<'_>) -> Woken {
        loop {
            let beat = (Instant::now() + BEAT).min(time);
            if end.wait_until(beat) {
                return Woken::AtEnd;
            }
            let late = beat.elapsed();
            if late >= LATE {
                self.0.fetch_add(late.as_nanos() as u64, Relaxed);
                return Woken::AfterHalt;
            }
            if Instant::now() >= time {
                return Woken::InTime;
            }
            if gaps.are_sampled() {
                return Woken::InGap;
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

/// Outcome of the sampling.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sampled {
    /// Maximum error of the clock.
    pub(crate) clock_error: Nanos,
    /// CPU time of the thread.
    pub(crate) cpu_ns: u64,
}

/// Source and destination of samples.
struct Samples {
    sampler: Sampler,
    log: SeriesLog,
    names: Vec<String>,
    values: Vec<(SeriesId, f64)>,
}

impl Samples {
    fn new(sampler: Sampler, log: SeriesLog) -> Samples {
        let names = sampler.series().iter().map(ToString::to_string).collect();
        Samples { sampler, log, names, values: Vec::new() }
    }

    /// Queries all probes.
    fn take(&mut self) {
        self.values.clear();
        self.sampler.sample(&mut self.values);
    }

    /// Writes the last samples.
    fn keep(&mut self, time_ns: u64) {
        let samples = self.values.iter().map(|(id, value)| (self.names[usize::from(id.0)].as_str(), *value));
        // A full disk ends the records too, and they report it.
        let _ = self.log.append(time_ns, samples);
    }
}

/// Takes a sample at time zero and each `interval` from there, at each beat of a gap, and corrects the clock, until the run has ended;
/// runs in a separate thread.
pub(crate) fn sample(
    mut sampler: Sampler,
    log: SeriesLog,
    interval: Nanos,
    clock: &Clock,
    moments: &RunMoments,
    progress: &Progress,
) -> Sampled {
    let halts = Halts::default();
    sampler.add(Box::new(halts.clone()));
    let mut samples = Samples::new(sampler, log);
    samples.take();
    moments.first_sample.come();
    moments.begin.wait();
    let zero = Instant::now() + Duration::from_nanos(clock.origin().saturating_sub(monotonic_ns()));
    // Foreign I/O before the start must not count as the run's. Where the run starts at once, the first sample serves.
    let is_early = zero.saturating_duration_since(Instant::now()) > BEFORE_ZERO;
    if is_early && !moments.end.wait_until(zero - BEFORE_ZERO) {
        samples.take();
    }
    samples.keep(0);
    let mut error = Nanos(clock.correct());
    let mut corrects_at = zero + CORRECTED_EVERY;
    let interval = Duration::from_nanos(interval.0);
    let mut next = zero + interval;
    let mut gaps = Gaps::new(progress);
    loop {
        let woken = halts.wait_until(next, &moments.end, &mut gaps);
        if woken == Woken::AtEnd || Instant::now() >= corrects_at {
            error = error.max(Nanos(clock.correct()));
            corrects_at = Instant::now() + CORRECTED_EVERY;
        }
        samples.take();
        samples.keep(clock.now());
        // The end is sampled too: the last part of an interval counts.
        if woken == Woken::AtEnd {
            return Sampled { clock_error: error, cpu_ns: thread_cpu_ns() };
        }
        // A sample after a halt, or in a gap, comes before its time.
        if Instant::now() >= next {
            next = Instant::now().max(next + interval);
            gaps.left += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::Record;

    #[test]
    fn gaps_are_sampled_at_each_beat_until_they_have_ended() {
        let progress = Progress::new(1);
        let ends = |count: usize| {
            (0..count).for_each(|_| progress.gauge(0).count(&Record::default()));
        };
        let mut gaps = Gaps::new(&progress);
        let flies = |in_flight| progress.gauge(0).set(Nanos(0), in_flight, 0);
        // Nothing to do is no gap.
        assert!(!gaps.are_sampled());
        flies(3);
        ends(1);
        assert!(!gaps.are_sampled());
        assert!(gaps.are_sampled() && gaps.are_sampled());
        ends(2);
        // The first beat after it shows where it has ended.
        assert!(gaps.are_sampled());
        ends(1);
        assert!(!gaps.are_sampled());
        let endless = (0..3 * FINE_SAMPLES).filter(|_| gaps.are_sampled()).count() as u64;
        assert_eq!(endless, FINE_SAMPLES - 3);
    }

    #[test]
    fn late_wakeup_counts_as_halt() {
        let (halts, end, progress) = (Halts::default(), Event::default(), Progress::new(1));
        let gaps = &mut Gaps::new(&progress);
        // A time that is over long since is one at which it should have run.
        assert_eq!(halts.wait_until(Instant::now() - Duration::from_secs(3), &end, gaps), Woken::AfterHalt);
        let halted = halts.0.load(Relaxed);
        assert!(halted >= 3_000_000_000, "{halted}");
        end.come();
        assert_eq!(halts.wait_until(Instant::now() + Duration::from_secs(3600), &end, gaps), Woken::AtEnd);
        assert_eq!(halts.0.load(Relaxed), halted);
    }
}
