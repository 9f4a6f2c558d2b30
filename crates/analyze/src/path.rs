//! Where the time of the requests went in the kernel: figures of each step.

use crate::{Distribution, TimeStats};
use iosonar_archive::{Archive, ArchiveError, RequestPath, SampledLatency};
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
    /// Requests outside of the recorded windows of time.
    #[serde(default)]
    pub not_sampled: u64,
    /// One of this number of windows was recorded; 1: all of the run.
    #[serde(default)]
    pub one_of: u32,
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
    /// Requests by response, a twentieth of them in each group, the fastest first: what their time consists of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<PathGroup>,
    /// The requests with the longest responses, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowRequest>,
    /// Cost of the recording.
    pub cost: PathCost,
    /// Why the recording ended early. Absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Time of each step, in nanoseconds. They add up to the response time; without a timetable there is no delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepTimes {
    /// due → submitted.
    pub delay_ns: u64,
    /// submitted → queued.
    pub submit_to_queue_ns: u64,
    /// queued → issued; 0 for devices without a queue of requests.
    pub queue_to_issue_ns: u64,
    /// issued → completed.
    pub issue_to_complete_ns: u64,
    /// completed → seen.
    pub complete_to_seen_ns: u64,
}

/// Requests with similar responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathGroup {
    /// Number of requests.
    pub requests: u64,
    /// Mean of each step.
    #[serde(flatten)]
    pub mean: StepTimes,
}

/// A request with a long response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// Number, as in its record.
    pub sequence: u64,
    /// Target.
    pub target: u16,
    /// Due time in nanoseconds.
    pub due_ns: u64,
    /// Each step.
    #[serde(flatten)]
    pub times: StepTimes,
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
    /// Median latencies of requests that were traced, and of those that were not; absent if all of the run was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SampledLatency>,
}

impl PathFacts {
    /// Reads the steps of a run. `None` if its path was not traced, or its events are not joined.
    ///
    /// # Errors
    /// Reading failed.
    pub fn of(archive: &Archive, has_timetable: bool) -> Result<Option<PathFacts>, ArchiveError> {
        let mut steps = Steps::default();
        let mut slowest = Slowest::default();
        let read = archive.for_each_path(&mut |request| {
            let times = StepTimes::of(request, has_timetable);
            steps.add(request, times);
            slowest.add(request, times);
        })?;
        let Some(counts) = read else { return Ok(None) };
        // The borders of the groups are known only now.
        let mut groups = Groups::between(&slowest.responses);
        archive.for_each_path(&mut |request| groups.add(StepTimes::of(request, has_timetable)))?;
        let tracing = archive.environment_after().and_then(|after| after.path_tracing.known().cloned());
        let tracing = tracing.unwrap_or_default();
        Ok(Some(PathFacts {
            joined: counts.joined,
            not_joined: counts.not_joined,
            without_place: counts.without_place,
            not_sampled: counts.not_sampled,
            one_of: tracing.one_of.max(1),
            lost_events: tracing.lost_events,
            delay: steps.delay.stats().filter(|_| has_timetable),
            submit_to_queue: steps.submit_to_queue.stats(),
            queue_to_issue: steps.queue_to_issue.stats(),
            issue_to_complete: steps.issue_to_complete.stats(),
            complete_to_seen: steps.complete_to_seen.stats(),
            groups: groups.means(),
            slowest: slowest.list,
            cost: PathCost::of(&tracing, counts.sampled_latency),
            broken: tracing.broken,
        }))
    }
}

impl PathCost {
    fn of(tracing: &PathTracing, latency: Option<SampledLatency>) -> PathCost {
        let PathTracing { events, bytes, cpu_ns, took_ns, .. } = *tracing;
        PathCost {
            events,
            bytes,
            cpu_ns,
            share_of_one: (took_ns > 0).then(|| cpu_ns as f64 / took_ns as f64),
            latency,
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
    fn add(&mut self, request: &RequestPath, times: StepTimes) {
        self.delay.add(times.delay_ns);
        self.submit_to_queue.add(times.submit_to_queue_ns);
        if request.issued.is_some() {
            self.queue_to_issue.add(times.queue_to_issue_ns);
        }
        self.issue_to_complete.add(times.issue_to_complete_ns);
        self.complete_to_seen.add(times.complete_to_seen_ns);
    }
}

impl StepTimes {
    /// A clock that differs from the kernel's by less than a microsecond makes no step negative.
    fn of(request: &RequestPath, has_timetable: bool) -> StepTimes {
        let RequestPath { due, submitted, queued, issued, done, completed, .. } = *request;
        let step = |from: Nanos, to: Nanos| to.saturating_sub(from).0;
        StepTimes {
            delay_ns: if has_timetable { step(due, submitted) } else { 0 },
            submit_to_queue_ns: step(submitted, queued),
            queue_to_issue_ns: issued.map_or(0, |issued| step(queued, issued)),
            issue_to_complete_ns: step(issued.unwrap_or(queued), done),
            complete_to_seen_ns: step(done, completed),
        }
    }

    /// The steps in their order.
    pub fn each(&self) -> [u64; 5] {
        let StepTimes {
            delay_ns,
            submit_to_queue_ns,
            queue_to_issue_ns,
            issue_to_complete_ns,
            complete_to_seen_ns,
        } = *self;
        [delay_ns, submit_to_queue_ns, queue_to_issue_ns, issue_to_complete_ns, complete_to_seen_ns]
    }

    /// Names of the steps, in their order.
    pub const NAMES: [&str; 5] =
        ["issue delay", "submit to queue", "queue to driver", "device", "completion delay"];

    /// The response time: the sum of the steps.
    pub fn response_ns(&self) -> u64 {
        self.each().into_iter().fold(0, u64::saturating_add)
    }
}

/// Most requests among the slowest.
const SLOWEST: usize = 8;
/// Most groups by response.
const GROUPS: usize = 20;

/// The requests with the longest responses, and the distribution of all.
#[derive(Default)]
struct Slowest {
    list: Vec<SlowRequest>,
    responses: Distribution,
}

impl Slowest {
    fn add(&mut self, request: &RequestPath, times: StepTimes) {
        let response_ns = times.response_ns();
        self.responses.add(response_ns);
        let place = self.list.partition_point(|slower| slower.times.response_ns() >= response_ns);
        if place < SLOWEST {
            let RequestPath { sequence, target, due, .. } = *request;
            self.list.insert(place, SlowRequest { sequence, target, due_ns: due.0, times });
            self.list.truncate(SLOWEST);
        }
    }
}

/// Sums of the steps of requests by their responses.
struct Groups {
    /// The greatest response of each group but the last.
    borders: Vec<u64>,
    sums: Vec<(u64, [u128; 5])>,
}

impl Groups {
    fn between(responses: &Distribution) -> Groups {
        let border = |n: usize| responses.histogram().value_at_quantile(n as f64 / GROUPS as f64);
        Groups { borders: (1..GROUPS).map(border).collect(), sums: vec![(0, [0; 5]); GROUPS] }
    }

    fn add(&mut self, times: StepTimes) {
        let group = self.borders.partition_point(|border| *border < times.response_ns());
        let (requests, sums) = &mut self.sums[group];
        *requests += 1;
        sums.iter_mut().zip(times.each()).for_each(|(sum, ns)| *sum += u128::from(ns));
    }

    fn means(&self) -> Vec<PathGroup> {
        let mean = |(requests, sums): &(u64, [u128; 5])| {
            let [delay_ns, submit_to_queue_ns, queue_to_issue_ns, issue_to_complete_ns, complete_to_seen_ns] =
                sums.map(|sum| (sum / u128::from(*requests)) as u64);
            let mean = StepTimes {
                delay_ns,
                submit_to_queue_ns,
                queue_to_issue_ns,
                issue_to_complete_ns,
                complete_to_seen_ns,
            };
            PathGroup { requests: *requests, mean }
        };
        self.sums.iter().filter(|(requests, _)| *requests > 0).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_all_requests_and_the_slowest_come_first() {
        let request = |n: u64| RequestPath {
            sequence: n,
            target: 0,
            phase: 0,
            pass: 0,
            due: Nanos(n * 1000),
            submitted: Nanos(n * 1000 + 10),
            queued: Nanos(n * 1000 + 20),
            issued: Some(Nanos(n * 1000 + 30)),
            done: Nanos(n * 1000 + 100 + n * 50),
            completed: Nanos(n * 1000 + 110 + n * 50),
        };
        let mut slowest = Slowest::default();
        for request in (0..2000).map(|n| request(n * 7 % 2000)) {
            slowest.add(&request, StepTimes::of(&request, true));
        }
        let sequences: Vec<u64> = slowest.list.iter().map(|one| one.sequence).collect();
        assert_eq!(sequences, [1999, 1998, 1997, 1996, 1995, 1994, 1993, 1992]);
        assert_eq!(slowest.list[0].times.response_ns(), 110 + 1999 * 50);
        let mut groups = Groups::between(&slowest.responses);
        (0..2000).for_each(|n| groups.add(StepTimes::of(&request(n), true)));
        let means = groups.means();
        assert_eq!(means.len(), GROUPS);
        assert_eq!(means.iter().map(|group| group.requests).sum::<u64>(), 2000);
        assert!(means.iter().all(|group| group.requests.abs_diff(100) < 10), "{means:?}");
        assert!(means.windows(2).all(|pair| pair[0].mean.response_ns() < pair[1].mean.response_ns()));
        assert_eq!(means[3].mean.each()[..3], [10, 10, 10]);
        // Without a timetable nothing is due.
        assert_eq!(StepTimes::of(&request(1), false).delay_ns, 0);
    }

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
        let add = |steps: &mut Steps, request: &RequestPath| steps.add(request, StepTimes::of(request, true));
        add(&mut steps, &request);
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
        let without_issue = RequestPath { issued: None, submitted: at(158), completed: at(959), ..request };
        add(&mut steps, &without_issue);
        assert_eq!(sums(&steps), [108, 7, 3, 1603, 40]);
        assert_eq!(steps.queue_to_issue.count(), 1);
    }
}
