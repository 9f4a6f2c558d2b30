//! Series of samples, taken while a run goes on.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use iosonar_archive::SeriesLog;
use iosonar_host::sampler::Sampler;
use iosonar_os::Clock;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_plan::Nanos;
use std::time::{Duration, Instant};

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
    ended: Receiver<()>,
) -> Sampled {
    let names: Vec<String> = sampler.series().iter().map(ToString::to_string).collect();
    let mut values = Vec::new();
    let mut next = Instant::now();
    let (mut error, mut has_ended) = (Nanos(0), false);
    loop {
        error = error.max(Nanos(clock.correct()));
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
        has_ended = !matches!(ended.recv_deadline(next), Err(RecvTimeoutError::Timeout));
    }
}
