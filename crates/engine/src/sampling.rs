//! Counters of the machine, read once a second while a run goes on.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use iosonar_archive::SeriesLog;
use iosonar_host::sample::Sampler;
use iosonar_host::{Root, TargetFacts};
use iosonar_os::Clock;
use iosonar_plan::Nanos;
use std::time::{Duration, Instant};

/// Time between two samples of the counters, and between two corrections of the clock.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Samples the counters and corrects the clock until the run has ended; gives how far the clock was off at most.
pub(crate) fn sample(
    mut series: SeriesLog,
    facts: &[TargetFacts],
    clock: &Clock,
    ended: Receiver<()>,
) -> Nanos {
    let mut sampler = Sampler::new(facts, &Root::default());
    let names = sampler.names().to_vec();
    let mut values = Vec::new();
    let mut next = Instant::now();
    let (mut error, mut has_ended) = (Nanos(0), false);
    loop {
        error = error.max(Nanos(clock.correct()));
        values.clear();
        sampler.sample(&mut values);
        let named = values.iter().map(|(id, value)| (names[usize::from(id.0)].as_str(), *value));
        // A full disk ends the records too, and they tell.
        let _ = series.append(clock.now(), named);
        if has_ended {
            return error;
        }
        next = Instant::now().max(next + SAMPLE_EVERY);
        // The end is sampled too: the last part of a second counts.
        has_ended = !matches!(ended.recv_deadline(next), Err(RecvTimeoutError::Timeout));
    }
}
