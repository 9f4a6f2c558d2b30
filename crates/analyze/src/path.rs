//! Where the time of the requests went in the kernel: figures of each step.

use crate::{Distribution, TimeStats};
use iosonar_archive::{Archive, ArchiveError, RequestPath};
use iosonar_evidence::PathTracing;
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// Steps of the completed requests after the ramp that were found among the kernel's events. The steps of a request add up to its response time, apart
/// from the difference of the clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathFacts {
    /// Requests with known steps.
    pub joined: u64,
    /// Requests without events that cover them.
    pub not_joined: u64,
    /// Requests without a place on the device: flushes, holes, preallocated blocks.
    pub without_place: u64,
    /// Events lost by the kernel.
    pub lost_events: u64,
    /// due → submitted. Absent without a timetable.
    pub delay: Option<TimeStats>,
    /// submitted → queued in the block layer.
    pub submit_to_queue: Option<TimeStats>,
    /// queued → issued to the driver. Absent for devices without a queue of requests.
    pub queue_to_issue: Option<TimeStats>,
    /// issued → completed: the device's own time. From queueing, for devices without a queue of requests.
    pub issue_to_complete: Option<TimeStats>,
    /// completed by the device → seen by the run: the completion delay, which includes the wait for a CPU.
    pub complete_to_seen: Option<TimeStats>,
    /// Cost of the recording.
    pub cost: PathCost,
    /// Why the recording ended early. Absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Cost of recording the kernel's events, without the time that the kernel itself needs for each event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathCost {
    /// Events that were recorded.
    pub events: u64,
    /// Their size on disk, until they were joined.
    pub bytes: u64,
    /// CPU time of the thread that read them.
    pub cpu_ns: u64,
    /// The same divided by the duration of the recording; absent if that is unknown.
    pub share_of_one: Option<f64>,
}

impl PathFacts {
    /// Reads the steps of a run. `None` if its path was not traced, or its events are not joined.
    ///
    /// # Errors
    /// Reading failed.
    pub fn of(archive: &Archive, has_timetable: bool) -> Result<Option<PathFacts>, ArchiveError> {
        let mut steps = Steps::default();
        let Some(counts) = archive.for_each_path(&mut |request| steps.add(request))? else { return Ok(None) };
        let tracing = archive.environment_after().and_then(|after| after.path_tracing.known().cloned());
        let tracing = tracing.unwrap_or_default();
        Ok(Some(PathFacts {
            joined: counts.joined,
            not_joined: counts.not_joined,
            without_place: counts.without_place,
            lost_events: tracing.lost_events,
            delay: steps.delay.stats().filter(|_| has_timetable),
            submit_to_queue: steps.submit_to_queue.stats(),
            queue_to_issue: steps.queue_to_issue.stats(),
            issue_to_complete: steps.issue_to_complete.stats(),
            complete_to_seen: steps.complete_to_seen.stats(),
            cost: PathCost::of(&tracing),
            broken: tracing.broken,
        }))
    }
}

impl PathCost {
    fn of(tracing: &PathTracing) -> PathCost {
        let PathTracing { events, bytes, cpu_ns, took_ns, .. } = *tracing;
        PathCost {
            events,
            bytes,
            cpu_ns,
            share_of_one: (took_ns > 0).then(|| cpu_ns as f64 / took_ns as f64),
        }
    }
}

/// Distributions of the steps.
#[derive(Default)]
struct Steps {
    delay: Distribution,
    submit_to_queue: Distribution,
    queue_to_issue: Distribution,
    issue_to_complete: Distribution,
    complete_to_seen: Distribution,
}

impl Steps {
    /// A clock that differs from the kernel's by less than a microsecond makes no step negative.
    fn add(&mut self, request: &RequestPath) {
        let RequestPath { due, submitted, queued, issued, done, completed, .. } = *request;
        let step = |from: Nanos, to: Nanos| to.saturating_sub(from).0;
        self.delay.add(step(due, submitted));
        self.submit_to_queue.add(step(submitted, queued));
        if let Some(issued) = issued {
            self.queue_to_issue.add(step(queued, issued));
        }
        self.issue_to_complete.add(step(issued.unwrap_or(queued), done));
        self.complete_to_seen.add(step(done, completed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_to_the_response_time() {
        let mut steps = Steps::default();
        let at = |ns: u64| Nanos(ns);
        let request = RequestPath {
            sequence: 0,
            target: 0,
            phase: 0,
            pass: 0,
            due: at(100),
            submitted: at(150),
            queued: at(157),
            issued: Some(at(160)),
            done: at(960),
            completed: at(1_000),
        };
        steps.add(&request);
        let sums = |steps: &Steps| {
            [
                &steps.delay,
                &steps.submit_to_queue,
                &steps.queue_to_issue,
                &steps.issue_to_complete,
                &steps.complete_to_seen,
            ]
            .map(Distribution::sum)
        };
        assert_eq!(sums(&steps), [50, 7, 3, 800, 40]);
        // Without issue events the device's time begins at the queue; clocks that differ make no step negative.
        steps.add(&RequestPath { issued: None, submitted: at(158), completed: at(959), ..request });
        assert_eq!(sums(&steps), [108, 7, 3, 1603, 40]);
        assert_eq!(steps.queue_to_issue.count(), 1);
    }
}
