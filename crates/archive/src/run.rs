//! Facts about a run as a whole, kept as `run.json`.

use crate::faults::Verified;
use crate::hosts::HostRun;
use crate::state::RunState;
use iosonar_evidence::{ExtentRuns, WrittenRange};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// Version of the archive's format. Readers refuse unknown versions.
pub const ARCHIVE_VERSION: u32 = 2;

/// Name and version of this program in results.
pub const TOOL: &str = concat!("iosonar ", env!("CARGO_PKG_VERSION"));

/// [`RunInfo::tool`] of recorded or converted results, which were not executed.
pub const RECORDING: &str = "recording";

/// Facts about a run from the engine, besides the records. Written at the start, and again at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`ARCHIVE_VERSION`].
    pub archive_version: u32,
    /// Name and version of the program that wrote it, for example `iosonar 0.1.0`.
    pub tool: String,
    /// The command as typed.
    pub command: String,
    /// The directory in which the run was started: base of the plan's relative paths. Absent if the
    /// name is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Wall clock at the run's time zero, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// `CLOCK_MONOTONIC` at the run's time zero, in nanoseconds: comparable with the kernel's trace clock `mono`.
    pub origin_monotonic_ns: u64,
    /// State of the run.
    pub state: RunState,
    /// One per target of the plan, in its order.
    pub targets: Vec<TargetInfo>,
    /// Waits of issuing for the recorder's writer.
    pub recorder_stalls: Stalls,
    /// Waits because of a full push-back list, which affect requests without a conflict, too.
    pub push_back_stalls: Stalls,
    /// Waits of due requests for data memory.
    pub buffer_stalls: Stalls,
    /// Resolved values of settings that the plan left open.
    #[serde(rename = "means")]
    pub setup: ResolvedSetup,
    /// CPU time of the whole process from time zero until the last target ended, in nanoseconds.
    pub cpu: CpuUse,
    /// The archive was made from a text without engine and depth: those of the plan are assumptions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_import: bool,
    /// Facts about a recording's events; absent for other archives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// Recorded processes, those with most requests first, the smallest ones combined; empty for other archives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessLoad>,
    /// Verification results; absent if the plan has no verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Numbers of the targets whose part of a run it is; absent for a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Vec<u16>>,
    /// The processes of a run on several machines; empty for other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRun>,
    /// Phases of a plan that names them, if started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTimes>,
    /// Times of each worker's passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassTimes>,
}

impl RunInfo {
    /// Facts of a run that has not started.
    pub fn new(tool: &str, command: &str, targets: Vec<TargetInfo>) -> RunInfo {
        RunInfo {
            archive_version: ARCHIVE_VERSION,
            tool: tool.into(),
            command: command.into(),
            directory: None,
            started_unix_ns: 0,
            origin_monotonic_ns: 0,
            state: RunState::Running,
            targets,
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            setup: ResolvedSetup::default(),
            cpu: CpuUse::default(),
            is_import: false,
            recorded: None,
            processes: Vec::new(),
            verified: None,
            part: None,
            hosts: Vec::new(),
            phases: Vec::new(),
            passes: Vec::new(),
        }
    }

    /// Results of the checks of targets, where their jobs name expected data.
    fn checks(&self) -> impl Iterator<Item = &Checks> {
        self.targets.iter().filter_map(|target| target.checks.as_ref())
    }

    /// Requests whose data was not the expected data of their jobs.
    pub fn miscompared(&self) -> u64 {
        self.checks().map(|checks| checks.miscompared).sum()
    }

    /// Whether any data was not what it should be.
    pub fn has_data_errors(&self) -> bool {
        self.miscompared() > 0 || self.verified.as_ref().is_some_and(|verified| verified.total() > 0)
    }

    /// Whether jobs name expected data and no data was compared with it.
    pub fn has_compared_nothing(&self) -> bool {
        self.checks().next().is_some() && self.checks().all(|checks| checks.requests == 0)
    }

    /// Whether data was to be verified and none was compared.
    pub fn has_verified_nothing(&self) -> bool {
        self.has_compared_nothing() || self.verified.as_ref().is_some_and(Verified::is_empty)
    }

    /// The same, started in the current directory.
    pub fn started_here(self) -> RunInfo {
        let here = std::env::current_dir().ok();
        RunInfo { directory: here.and_then(|dir| dir.into_os_string().into_string().ok()), ..self }
    }
}

/// Counts of the events of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Events present.
    pub events: u64,
    /// Events lost because a buffer of the kernel was full.
    pub lost: u64,
    /// The kernel also counted events as lost that are not kept (`blktrace`): fewer may be missing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost_at_most: bool,
    /// Events of segments that were removed to limit the size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
    /// Duration of the recording from the run's time zero; 0 if unknown, as in traces of other programs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_ns: u64,
    /// Requests converted to records.
    pub requests: u64,
    /// Completions that may be those of other requests of the same kind, place and length.
    pub ambiguous: u64,
    /// Requests without a completion.
    pub no_end: u64,
    /// Completions without a request.
    pub no_begin: u64,
    /// Unreadable places in the events.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
}

/// Requests of the processes of one name in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessLoad {
    /// Process name from the kernel; absent if the trace lacks it, and for the sum of several.
    pub name: Option<String>,
    /// Whether this is the sum of those with the fewest requests.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_rest: bool,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Requests that transfer no data, mostly flushes.
    pub others: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Reads and writes that start at the end of the previous one of the same process on the same device.
    pub sequential: u64,
}

impl ProcessLoad {
    /// Reads and writes.
    pub fn transfers(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }

    /// Adds the counts of another process.
    pub fn add(&mut self, other: &ProcessLoad) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.others = self.others.saturating_add(other.others);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// Times of a phase, on the run's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Name in the plan.
    pub name: String,
    /// Start time for all of its jobs.
    pub start: Nanos,
    /// End time of the last of its workers.
    pub end: Nanos,
}

/// Times of a worker's pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassTimes {
    /// Number of the target.
    pub target: u16,
    /// Number of the worker within its target.
    pub job: u16,
    /// Number of the phase, from 0.
    #[serde(default, skip_serializing_if = "is_no_phase")]
    pub phase: u16,
    /// Number of the pass in its phase, from 0.
    pub pass: u32,
    /// Start time, on the run's clock.
    pub start: Nanos,
    /// End time: the last request has completed, and data is flushed if the plan requests it.
    pub end: Nanos,
    /// CPU time of its thread from start to end, in nanoseconds.
    pub cpu_ns: u64,
    /// Time to open the target's file for this pass; 0 if it stayed open.
    pub open_ns: u64,
}

/// Result of checking the data of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checks {
    /// Requests whose data was checked.
    pub requests: u64,
    /// Requests with wrong data.
    pub miscompared: u64,
    /// The first miscompares.
    pub first: Vec<Miscompare>,
}

impl Checks {
    /// Maximum number of miscompares listed.
    pub const MOST_TOLD: usize = 100;

    /// Adds the result of another worker of the target.
    pub fn merge(&mut self, other: Checks) {
        self.requests += other.requests;
        self.miscompared += other.miscompared;
        self.first.extend(other.first);
        self.first.sort_by_key(|m| (m.phase, m.pass, m.sequence));
        self.first.truncate(Self::MOST_TOLD);
    }
}

/// A request with wrong data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miscompare {
    /// Number of the phase, from 0.
    #[serde(default, skip_serializing_if = "is_no_phase")]
    pub phase: u16,
    /// Number of the pass in its phase, from 0.
    pub pass: u32,
    /// Number of the request in its pass, from 0.
    pub sequence: u64,
    /// Byte offset of the request on the target.
    pub offset: u64,
    /// Offset of the first bad byte in the request.
    pub at: u64,
    /// Expected byte.
    pub expected: u8,
    /// Byte found.
    pub found: u8,
    /// Number of bad bytes.
    pub bad_bytes: u64,
    /// The read succeeded but did not change the memory at that byte.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untransferred: bool,
}

/// Resolved setup of a run, where the plan leaves it open or the machine did not allow it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResolvedSetup {
    /// Engine that executed the requests.
    pub engine: String,
    /// Why that is not the plan's engine, if it differs.
    pub fallback: Option<String>,
    /// Other restrictions of the machine, and limits of the engine: one sentence each.
    pub notices: Vec<String>,
    /// Time before a due time at which the issuing threads stopped sleeping; 0: never.
    pub spin: Nanos,
    /// Bytes of data memory of all targets.
    pub buffer_bytes: u64,
    /// Clock that took the times.
    pub clock: ClockInfo,
}

/// Clock that took the times.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockInfo {
    /// `tsc`, calibrated against `CLOCK_MONOTONIC`, or `clock_gettime`.
    pub source: String,
    /// Cost of a clock reading, in picoseconds.
    pub cost_ps: u64,
    /// Maximum difference to `CLOCK_MONOTONIC` seen at the start and at the end of the run.
    pub error: Nanos,
}

/// CPU time of the process, all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// User mode.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Part of both used for showing progress: progress line and live view.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub watching_ns: u64,
    /// Part of both used for sampling the machine's counters.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sampling_ns: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_no_phase(phase: &u16) -> bool {
    *phase == 0
}

fn is_false(is: &bool) -> bool {
    !is
}

/// Facts about a target at the start of the run, and counts of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Path as typed.
    pub path: String,
    /// Path or name of its load, with its filters after ` | `, or name of its pattern.
    pub source: String,
    /// Usable size in bytes.
    pub size: u64,
    /// Logical block size in bytes, to which requests were rounded.
    pub block: u64,
    /// Highest end in bytes that the source requested inside its window, before wrapping.
    pub max_requested_end: u64,
    /// Unaligned requests of its recorded loads, which are rounded to logical blocks; as far as known before the run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounded_requests: u64,
    /// Lines of the load, text included, up to the end of the window.
    pub input_lines: u64,
    /// Skipped lines that looked like requests (`--skip-bad`).
    pub bad_lines: u64,
    /// Number of times the load's time went backward and was shifted.
    pub back_shifts: u64,
    /// Maximum number of requests waiting for a conflict; absent if unknown.
    pub max_waiting: Option<u64>,
    /// Maximum number of requests submitted to the engine and not completed; for several jobs the sum, which is an
    /// upper bound. With `threads` that includes those whose thread had not woken up yet, so fewer may have been in the
    /// kernel. Absent if unknown.
    pub max_in_flight: Option<u64>,
    /// Requests of the whole plan for it, if known.
    pub expected_requests: Option<u64>,
    /// Why its part ended early while others continued.
    pub ended_early: Option<String>,
    /// Hash of the issued requests: of pass, number, operation and place of every request, in any order, as 16
    /// hexadecimal digits. Equal sequences have equal hashes, for any engine, depth or number of threads. Empty if
    /// unknown.
    pub issued_hash: String,
    /// Bytes that are requested of a file, or of a loop device's backing file, and that were holes at the start:
    /// reading them costs nothing. Known up to the highest requested end.
    pub hole_bytes: u64,
    /// Bytes searched for [`TargetInfo::hole_bytes`]: from the first to the last byte that may be requested. 0 in
    /// results of earlier versions, which searched from 0 to the highest requested end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hole_range_bytes: u64,
    /// Bytes of that range in the page cache at the start. Known if jobs read through it and claim a device, and the
    /// kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_bytes: Option<u64>,
    /// From the lowest to the highest changed byte: planned during the run, then as issued. Absent if nothing is
    /// changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenRange>,
    /// Layout of the used range of a file, or of a loop device's backing file, on the device at the start. Absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<ExtentRuns>,
    /// Flushes of its load, and writes with FUA or a preflush, that were skipped or made plain (`--flush drop`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_flushes: u64,
    /// Discards and write zeroes of its load that were skipped (`--discard drop`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_discards: u64,
    /// Result of checking its data; absent if nothing was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
}

impl TargetInfo {
    /// Highest requested end ÷ size (blkreplay manual 3.1.4).
    pub fn wraparound_factor(&self) -> f64 {
        self.max_requested_end as f64 / self.size as f64
    }
}

/// Waits caused by the tool itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stalls {
    /// Number of waits.
    pub count: u64,
    /// Total time.
    pub total: Nanos,
}

impl Stalls {
    /// Adds a wait.
    pub fn add(&mut self, length: Nanos) {
        self.count += 1;
        self.total.0 += length.0;
    }

    /// Adds all waits of `other`.
    pub fn merge(&mut self, other: Stalls) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
    }
}
