//! Health of the replayer itself: whether requests were issued when due, whether their completions were seen in time, and
//! the cost.

use crate::fits::Fits;
use crate::timeline::{AtEnd, Drift, Timeline};
use crate::{Distribution, TimeStats};
use iosonar_archive::{Marks, Record, RunInfo, RunState, Stalls};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// Health of the replayer. Unknown values are absent: most of them for a result of another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The resolved setup. Absent if the archive does not record it; then `issue_error` and its relatives are absent too,
    /// because it is unknown which requests had to wait.
    #[serde(rename = "means")]
    pub setup: Option<SetupFacts>,
    /// submitted − due of the submitted requests that did not have to wait: the generator's issue delay. Absent without a
    /// timetable.
    pub issue_error: Option<TimeStats>,
    /// Its drift over the run.
    pub issue_error_drift: Option<Drift>,
    /// The requests that are excluded from the issue delay, because they had to wait.
    pub held: Option<HeldFacts>,
    /// Lateness of the last requests, including those that had to wait. Absent without a timetable.
    pub at_end: Option<AtEnd>,
    /// Completion poll delay: how much earlier a request may have ended than was seen, because the issuing thread was busy; of all
    /// submitted requests. Not a bound: the thread's wait for a CPU is not in it.
    pub reap_lag: Option<TimeStats>,
    /// Waiting that the tool itself caused.
    pub stalls: StallFacts,
    /// CPU time of the process.
    pub cpu: Option<CpuFacts>,
}

/// The resolved setup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetupFacts {
    /// Name of the engine that was used.
    pub engine: String,
    /// Why that is not the plan's engine; `None` if it is.
    pub fallback: Option<String>,
    /// Other features that the machine did not allow.
    pub notices: Vec<String>,
    /// How long before a due time the issuing threads stopped sleeping; 0: never.
    pub spin_ns: u64,
    /// Memory for data, of all targets together.
    pub buffer_bytes: u64,
    /// The clock source: `tsc` or `clock_gettime`; empty if unknown.
    pub clock: String,
    /// Cost of one reading.
    pub clock_cost_ns: f64,
    /// Greatest observed difference to `CLOCK_MONOTONIC`.
    pub clock_error_ns: u64,
}

/// Requests that had to wait for something other than the generator. One may have waited for several things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeldFacts {
    /// Submitted requests that waited for any of these.
    pub requests: u64,
    /// For a request that they conflicted with.
    pub conflict: Waits,
    /// For their turn: the depth was used up, or one before them waited and held up all after it (overlap policy `order`,
    /// or a full push-back list).
    pub turn: Waits,
    /// For buffer memory, all of which was in use.
    pub no_buffer: Waits,
}

/// Requests that waited for one kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waits {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their delays.
    pub delay_ns: u64,
    /// The greatest of their delays.
    pub delay_max_ns: u64,
}

/// Count and total time of issue stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StallFacts {
    /// For the recorder's writer.
    pub recorder: Stall,
    /// Because the push-back list was full.
    pub push_back: Stall,
    /// For memory for data.
    pub buffer: Stall,
}

/// Count and total time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stall {
    /// Number of stalls.
    pub count: u64,
    /// Total time.
    pub total_ns: u64,
}

/// CPU time of the whole process, all threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Part of both that progress line and live view took.
    pub watching_ns: u64,
    /// Part of both that sampling the machine's counters took.
    pub sampling_ns: u64,
    /// `sampling_ns` divided by the time from zero to the last completion; absent on a simulated clock.
    pub sampling_share_of_one: Option<f64>,
    /// User and system time, divided by the number of submitted requests, including the ramp.
    pub per_request_ns: Option<u64>,
    /// User and system time, divided by the time from zero to the last completion: 1.0 is one CPU all the time. Absent on a
    /// simulated clock.
    pub share_of_one: Option<f64>,
}

impl Waits {
    fn add(&mut self, delay: Nanos) {
        self.requests += 1;
        self.delay_ns = self.delay_ns.saturating_add(delay.0);
        self.delay_max_ns = self.delay_max_ns.max(delay.0);
    }

    fn merge(&mut self, other: &Waits) {
        self.requests += other.requests;
        self.delay_ns = self.delay_ns.saturating_add(other.delay_ns);
        self.delay_max_ns = self.delay_max_ns.max(other.delay_max_ns);
    }
}

impl From<Stalls> for Stall {
    fn from(stalls: Stalls) -> Stall {
        Stall { count: stalls.count, total_ns: stalls.total.0 }
    }
}

/// Marks of a request that waited for a conflict.
const CONFLICT: u16 = Marks::PUSHED.0 | Marks::ORDERED.0;
/// Marks of a request that waited for something other than the generator.
pub(crate) const WAITED: u16 = CONFLICT | Marks::HELD.0 | Marks::NO_BUFFER.0;

/// The partial of [`Health`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct HealthTally {
    issue_error: Distribution,
    reap_lag: Distribution,
    held: HeldFacts,
    timeline: Timeline,
}

impl Fits for HealthTally {
    fn fits(&self, own: &Self) -> bool {
        self.issue_error.fits(&own.issue_error)
            && self.reap_lag.fits(&own.reap_lag)
            && self.timeline.fits(&own.timeline)
    }
}

impl HealthTally {
    /// Counts a request that was submitted and returned, completed or failed.
    pub(crate) fn add(&mut self, record: &Record, delay: Nanos, response: Nanos) {
        let is_held = record.marks.0 & WAITED != 0;
        if is_held {
            self.hold(record.marks, delay);
        } else {
            self.issue_error.add(delay.0);
        }
        self.reap_lag.add(record.reap_lag.0);
        self.timeline.add(record.due.0, delay.0, response.0, is_held);
    }

    fn hold(&mut self, marks: Marks, delay: Nanos) {
        self.held.requests += 1;
        if marks.0 & CONFLICT != 0 {
            self.held.conflict.add(delay);
        }
        if marks.has(Marks::HELD) {
            self.held.turn.add(delay);
        }
        if marks.has(Marks::NO_BUFFER) {
            self.held.no_buffer.add(delay);
        }
    }

    /// Merges `other`.
    pub(crate) fn merge(&mut self, other: &HealthTally) {
        self.issue_error.merge(&other.issue_error);
        self.reap_lag.merge(&other.reap_lag);
        self.held.requests += other.held.requests;
        self.held.conflict.merge(&other.held.conflict);
        self.held.turn.merge(&other.held.turn);
        self.held.no_buffer.merge(&other.held.no_buffer);
        self.timeline.merge(&other.timeline);
    }

    /// Submitted requests that returned.
    fn requests(&self) -> u64 {
        self.reap_lag.count()
    }
}

/// Inputs of a run's health besides its tally.
pub(crate) struct Circumstances<'a> {
    pub(crate) info: &'a RunInfo,
    pub(crate) has_timetable: bool,
    /// Whether the clock was simulated.
    pub(crate) is_simulated: bool,
    /// From time zero to the last completion.
    pub(crate) end_ns: u64,
    /// Submitted requests of the ramp.
    pub(crate) ramp: u64,
}

impl Health {
    pub(crate) fn new(tally: &HealthTally, about: &Circumstances<'_>) -> Health {
        let setup = SetupFacts::of(about.info);
        let is_known = setup.is_some();
        let is_judged = is_known && about.has_timetable;
        Health {
            issue_error: tally.issue_error.stats().filter(|_| is_judged),
            issue_error_drift: tally.timeline.drift().filter(|_| is_judged),
            held: is_known.then_some(tally.held),
            at_end: tally.timeline.at_end().filter(|_| about.has_timetable),
            reap_lag: tally.reap_lag.stats().filter(|_| is_known),
            stalls: StallFacts {
                recorder: about.info.recorder_stalls.into(),
                push_back: about.info.push_back_stalls.into(),
                buffer: about.info.buffer_stalls.into(),
            },
            cpu: CpuFacts::of(about, tally.requests() + about.ramp),
            setup,
        }
    }

    /// Share of the submitted requests that waited for memory.
    pub(crate) fn share_without_buffer(&self) -> f64 {
        let all = self.reap_lag.map_or(0, |s| s.count).max(1);
        self.held.map_or(0.0, |held| held.no_buffer.requests as f64 / all as f64)
    }
}

impl SetupFacts {
    fn of(info: &RunInfo) -> Option<SetupFacts> {
        let setup = &info.setup;
        (!setup.engine.is_empty()).then(|| SetupFacts {
            engine: setup.engine.clone(),
            fallback: setup.fallback.clone(),
            notices: setup.notices.clone(),
            spin_ns: setup.spin.0,
            buffer_bytes: setup.buffer_bytes,
            clock: setup.clock.source.clone(),
            clock_cost_ns: setup.clock.cost_ps as f64 / 1e3,
            clock_error_ns: setup.clock.error.0,
        })
    }
}

impl CpuFacts {
    /// CPU times; `None` for a run without an end.
    fn of(about: &Circumstances<'_>, requests: u64) -> Option<CpuFacts> {
        let cpu = about.info.cpu;
        let sum = cpu.user_ns.saturating_add(cpu.system_ns);
        let is_known = sum > 0 && about.info.state != RunState::Running;
        let share =
            |ns: u64| (about.end_ns > 0 && !about.is_simulated).then(|| ns as f64 / about.end_ns as f64);
        is_known.then(|| CpuFacts {
            user_ns: cpu.user_ns,
            watching_ns: cpu.watching_ns,
            sampling_ns: cpu.sampling_ns,
            sampling_share_of_one: share(cpu.sampling_ns),
            system_ns: cpu.system_ns,
            per_request_ns: sum.checked_div(requests),
            share_of_one: share(sum),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use iosonar_archive::Outcome;
    use iosonar_plan::Engine;

    #[test]
    fn waiting_requests_do_not_count_as_issue_delay() {
        let mut f =
            Fixture::from_times(&[(0, 10, 20), (5, 1_005, 1_010), (9, 2_009, 2_010), (9, 3_009, 3_010)]);
        f.records[1].marks = Marks::PUSHED;
        f.records[2].marks = Marks(Marks::HELD.0 | Marks::NO_BUFFER.0);
        f.records[3].marks = Marks::ORDERED;
        f.records[0].outcome = Outcome::Failed;
        let health = f.summary().health;
        let error = health.issue_error.unwrap();
        assert_eq!((error.count, error.max_ns), (1, 10));
        let held = health.held.unwrap();
        assert_eq!((held.requests, held.conflict.requests), (3, 2));
        assert_eq!(held.conflict, Waits { requests: 2, delay_ns: 4_000, delay_max_ns: 3_000 });
        assert_eq!(held.turn, held.no_buffer);
        assert_eq!(held.turn, Waits { requests: 1, delay_ns: 2_000, delay_max_ns: 2_000 });
    }

    #[test]
    fn unknown_figures_are_absent() {
        let mut f = Fixture::mixed();
        assert!(f.summary().health.issue_error_drift.is_some());
        f.info.setup = Default::default();
        let health = f.summary().health;
        assert_eq!((health.issue_error, health.reap_lag, health.held), (None, None, None));
        assert_eq!((health.setup, health.cpu), (None, None));
        let empty = Fixture::empty().summary().health;
        assert_eq!((empty.issue_error, empty.at_end), (None, None));
    }

    #[test]
    fn completion_poll_delay_covers_all_completed_requests() {
        let mut f = Fixture::from_times(&[(0, 10, 20), (5, 15, 25)]);
        f.records[1].reap_lag = Nanos(4);
        f.records[1].marks = Marks::PUSHED;
        let lag = f.summary().health.reap_lag.unwrap();
        assert_eq!((lag.count, lag.min_ns, lag.mean_ns, lag.max_ns), (2, 0, 2, 4));
    }

    #[test]
    fn cpu_time_is_divided_among_requests() {
        let mut f = Fixture::from_times(&[(0, 10, 20), (5, 15, 1_000)]);
        (f.info.cpu.user_ns, f.info.cpu.system_ns) = (300, 200);
        let cpu = f.summary().health.cpu.unwrap();
        assert_eq!((cpu.per_request_ns, cpu.share_of_one), (Some(250), Some(0.5)));
        f.plan.engine = Engine::Sim(Default::default());
        assert_eq!(f.summary().health.cpu.unwrap().share_of_one, None);
        f.info.state = RunState::Running;
        assert_eq!(f.summary().health.cpu, None);
    }
}
