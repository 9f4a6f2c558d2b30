//! The summary of a run as plain versioned data (`summary.json`).

use crate::MostAtOnce;
use crate::{
    ByScope, Caution, CountsByOp, ErrorCount, Health, HostFacts, Judgement, Machine, OtherOp, Parts,
    PathFacts, Percentile, Rate, Span, Story, TimeStats, Verdict, Verdicts,
};
use iosonar_archive::{Note, ProcessLoad, RunState, Verified};
use iosonar_plan::{OverlapPolicy, Stamp};
use serde::{Deserialize, Serialize};

/// Version of the summary's form. A reader refuses a version that it does not know.
pub const SUMMARY_VERSION: u32 = 3;

/// The engine's name in the summary of a recording: the real one is unknown.
pub(crate) const RECORDED: &str = "recorded";

/// The summary of a run. Times are nanoseconds, sizes bytes; the names say so.
///
/// Latency, delay and response are those of *completed* requests only; failed ones are counted by reason. Requests
/// of a ramp are in none of the figures, they are counted as `ramp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_VERSION`].
    pub version: u32,
    /// The run, and its state.
    pub run: RunFacts,
    /// Host and devices. Absent if not recorded, and for several inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Why the figures are no storage result; empty if they are.
    pub stamps: Vec<Stamp>,
    /// Counts of requests.
    pub counts: CountsByOp,
    /// Requests that transfer no data, by operation. The figures of reads and writes exclude them; in flight, waiting, health
    /// and errors are those of all requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherOp>,
    /// Processes whose requests were recorded, those with most requests first, the smallest ones together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessLoad>,
    /// Failed requests by reason, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// First and last times.
    pub span: Span,
    /// completed − submitted: the time that the target took. Absent if nothing completed.
    pub latency: ByScope<Option<TimeStats>>,
    /// Requested percentiles of the latency, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    /// submitted − due: the issue delay.
    pub delay: ByScope<Option<TimeStats>>,
    /// completed − due: the response time of an application with this timing.
    pub response: ByScope<Option<TimeStats>>,
    /// Demanded and delivered throughput.
    pub throughput: Throughput,
    /// Steps of the requests in the kernel. Absent if they were not traced (`--trace-path`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathFacts>,
    /// Requests between submission and completion.
    pub in_flight: OccupancyFacts,
    /// Requests between their due time and submission.
    pub waiting: WaitingFacts,
    /// Health of the replayer itself.
    pub health: Health,
    /// Whether latency and delay stayed below their limits.
    pub limits: Verdicts,
    /// One for each target of the plan, in its order.
    pub targets: Vec<TargetSummary>,
    /// The machines of a run on several; empty for other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostFacts>,
    /// Separate figures of each target, worker and pass.
    pub parts: Parts,
    /// Results of verification. Absent if nothing was to be verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Cautions to read before believing the figures, most severe first.
    pub cautions: Vec<Caution>,
    /// What happened, why, what the figures are worth, and what to do. Absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// Notes of users on parts of the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Verdict on the figures. Absent if nothing is known of the machine, as in results of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
}

/// Facts of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Name and version of the program that ran it.
    pub tool: String,
    /// The command as typed.
    pub command: String,
    /// The plan's run id, 12 or more hexadecimal digits.
    pub run_id: String,
    /// Wall clock at the run's time zero, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// State of the run.
    #[serde(flatten)]
    pub state: RunState,
    /// Name of the engine; absent if unknown.
    pub engine: Option<String>,
    /// Whether I/O goes through the page cache.
    pub buffered: bool,
    /// Queue depth per target in the plan; absent if unknown.
    pub depth: Option<u32>,
    /// Passes requested.
    pub passes: u32,
    /// Names of the phases that were started, if the plan names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// Handling of requests that conflict.
    pub policy: OverlapPolicy,
    /// Whether requests have a timetable, so that delay and demand mean something. Not so in a closed loop, or if all
    /// requests are due at once.
    pub has_timetable: bool,
}

/// Demanded and delivered throughput over the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// All requests, from the first due time to the last. Absent without a timetable.
    pub demanded: Option<Rate>,
    /// Completed requests, from the first due time to the last completion. Absent if nothing completed.
    pub delivered: Option<Rate>,
    /// Delivered ÷ demanded requests per second. Failed requests are not delivered. Absent without a timetable, and for a
    /// recording, which has no target rate.
    pub delivered_share: Option<f64>,
}

/// Number of requests in a state at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OccupancyFacts {
    /// Maximum in flight in the engine on any one target, counted at each event. With the engine `threads` that includes
    /// requests whose thread had not woken up yet. Absent for a run without an end.
    pub max_on_one_target: Option<u64>,
    /// Mean over time, of all targets together, from the first due time to the last completion; exact. Absent
    /// where nothing completed.
    pub mean_time_weighted: Option<f64>,
    /// Maximum of a recording, of all targets together. Absent for runs, whose engine counts each target separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<MostAtOnce>,
}

/// Number of requests that were due and not submitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WaitingFacts {
    /// Maximum waiting for a conflict on any one target, counted by the engine, so exact; under `order` at most 1, since
    /// all after it wait too. Others wait because the generator was late, or because the depth was reached. Absent for a
    /// run without an end.
    pub max_for_conflict_on_one_target: Option<u64>,
    /// Maximum waiting at the same time, for any reason, of all targets together, without the ramp. Exact up to 131 072,
    /// then right to 1 %.
    pub max: Option<u64>,
    /// Mean over time of all waiting requests, for any reason, of all targets together; exact. Absent if nothing completed.
    pub mean_time_weighted: Option<f64>,
}

/// A target and its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// Path as typed.
    pub path: String,
    /// Path or name of its load, with its filters after ` | `, or of its pattern.
    pub source: String,
    /// Usable size.
    pub size_bytes: u64,
    /// Logical block size, to which requests were rounded.
    pub block_bytes: u64,
    /// Highest requested end ÷ size (blkreplay manual 3.1.4); absent for a target without size.
    pub wraparound_factor: Option<f64>,
    /// Hash of the issued requests; equal sequences have equal hashes. Absent if unknown.
    pub issued_hash: Option<String>,
    /// Maximum in flight, counted by the engine; absent if unknown.
    pub max_in_flight: Option<u64>,
    /// Maximum waiting, counted by the engine; absent if unknown.
    pub max_waiting: Option<u64>,
    /// Its requests.
    pub counts: CountsByOp,
    /// Results of data checks; absent if no data was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<CheckedFacts>,
}

/// Data that was compared with the expected data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedFacts {
    /// Requests whose data was checked.
    pub requests: u64,
    /// Those of them that miscompared.
    pub miscompared: u64,
}

impl Summary {
    /// Whether the run was judged, with this verdict.
    pub fn has_verdict(&self, verdict: Verdict) -> bool {
        self.judgement.as_ref().is_some_and(|judgement| judgement.verdict == verdict)
    }

    /// Whether the issue delay is known. For a recording it is not.
    pub fn knows_delay(&self) -> bool {
        !self.run.is_recording() || self.delay.all.is_some()
    }

    /// Whether there is a target rate: a closed loop and a recording have none.
    pub fn has_target_rate(&self) -> bool {
        self.run.has_timetable && self.knows_delay()
    }

    /// Why there is no target rate.
    pub fn why_no_target_rate(&self) -> &'static str {
        if self.run.is_recording() { "none (recorded)" } else { "none (closed loop)" }
    }

    /// As indented JSON with a line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a summary holds only what JSON can hold") + "\n"
    }

    /// Reads a summary; refuses versions that this program does not know.
    pub fn from_json(text: &str) -> Result<Summary, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let unreadable = |e: serde_json::Error| format!("this is no summary: {e}");
        // The version comes first: another version may have other fields.
        match serde_json::from_str(text).map_err(unreadable)? {
            Version { version: SUMMARY_VERSION } => serde_json::from_str(text).map_err(unreadable),
            Version { version } => Err(format!(
                "the summary has version {version}, this program reads {SUMMARY_VERSION}; recreate it from the archive"
            )),
        }
    }
}

impl RunFacts {
    /// Whether it was recorded, so that engine, depth, access and conflicts are not known.
    pub fn is_recording(&self) -> bool {
        self.engine.as_deref() == Some(RECORDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use iosonar_archive::{Interruption, Signal};

    #[test]
    fn json_round_trips() {
        let (mut interrupted, mut running) = (Fixture::mixed(), Fixture::empty());
        interrupted.info.state = RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT));
        running.info.state = RunState::Running;
        for f in [Fixture::mixed(), Fixture::empty(), interrupted, running] {
            let summary = f.summary();
            let json = summary.to_json();
            assert_eq!(Summary::from_json(&json).unwrap(), summary, "{json}");
            let newer = json.replace("\"version\": 3", "\"version\": 4");
            assert!(Summary::from_json(&newer).unwrap_err().contains("version 4"));
        }
    }
}
