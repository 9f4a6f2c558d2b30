//! Facts about a run as a whole, kept as `run.json`.

use crate::faults::Verified;
use iosonar_evidence::{ExtentRuns, WrittenRange};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// Version of the archive's form. A reader refuses a version that it does not know.
pub const ARCHIVE_VERSION: u32 = 2;

/// Name and version of this program, as results carry it.
pub const TOOL: &str = concat!("iosonar ", env!("CARGO_PKG_VERSION"));

/// [`RunInfo::tool`] of what was recorded or converted, not executed.
pub const RECORDING: &str = "recording";

/// What the engine knows about a run beside the records. Written at the start, and again at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`ARCHIVE_VERSION`].
    pub archive_version: u32,
    /// Name and version of the program that wrote this, for example `iosonar 0.1.0`.
    pub tool: String,
    /// The command as typed.
    pub command: String,
    /// The directory that the run was started in: relative paths of the plan start there. Absent where an earlier version ran, or
    /// the name is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Wall clock at the run's time zero, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// `CLOCK_MONOTONIC` at the run's time zero, in nanoseconds: comparable with the kernel's trace clock `mono`.
    pub origin_monotonic_ns: u64,
    /// How far the run came.
    pub state: RunState,
    /// One for each target of the plan, in its order.
    pub targets: Vec<TargetInfo>,
    /// How often, and for how long in all, issuing had to wait for the recorder's writer.
    pub recorder_stalls: Stalls,
    /// How often, and for how long in all, the push-back list was full, so that requests without a conflict
    /// had to wait too.
    pub push_back_stalls: Stalls,
    /// How often, and for how long in all, a due request waited for memory for its data.
    pub buffer_stalls: Stalls,
    /// What the plan left open, and what really was used.
    pub means: ResolvedSetup,
    /// CPU time of the whole process from time zero until the last target had ended, in nanoseconds.
    pub cpu: CpuUse,
    /// The archive was made from a text that names neither engine nor depth: those of the plan are assumptions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_import: bool,
    /// What is known of a recording's events; absent of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// Whose requests were recorded, those with most requests first, the smallest ones together; empty of everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessLoad>,
    /// What verification did and found; absent where the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The phases of a plan that names them, as far as they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTimes>,
    /// When each issuing loop executed each pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassTimes>,
}

impl RunInfo {
    /// Of a run that has not started.
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
            means: ResolvedSetup::default(),
            cpu: CpuUse::default(),
            is_import: false,
            recorded: None,
            processes: Vec::new(),
            verified: None,
            phases: Vec::new(),
            passes: Vec::new(),
        }
    }

    /// The same, started in the current directory.
    pub fn started_here(self) -> RunInfo {
        let here = std::env::current_dir().ok();
        RunInfo { directory: here.and_then(|dir| dir.into_os_string().into_string().ok()), ..self }
    }
}

/// What became of the events of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Events that are there.
    pub events: u64,
    /// Those that were lost because a buffer of the kernel was full.
    pub lost: u64,
    /// The kernel counted events that are not kept among the lost ones (`blktrace`): fewer may be missing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost_at_most: bool,
    /// Events of segments that were removed to limit the size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
    /// How long was recorded, from the run's time zero; 0 if unknown, as in traces of other programs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_ns: u64,
    /// Requests that became records.
    pub requests: u64,
    /// Ends that may be those of other requests of the same kind, place and length.
    pub ambiguous: u64,
    /// Requests without an end.
    pub no_end: u64,
    /// Ends without a request.
    pub no_begin: u64,
    /// Places of the events that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
}

/// Requests of the processes of one name in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessLoad {
    /// The name, as the kernel tells it; absent where the trace tells none, and of the sum of several.
    pub name: Option<String>,
    /// The sum of those with the fewest requests.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_rest: bool,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Requests that transfer no data, most of them flushes.
    pub others: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Reads and writes that begin where the one before of the same process on the same device ended.
    pub sequential: u64,
}

impl ProcessLoad {
    /// Reads and writes.
    pub fn transfers(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }

    /// Takes another one into account, too.
    pub fn add(&mut self, other: &ProcessLoad) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.others = self.others.saturating_add(other.others);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// When a phase was executed, on the run's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Its name in the plan.
    pub name: String,
    /// When it began for all of its jobs.
    pub start: Nanos,
    /// When the last of its issuing loops had ended.
    pub end: Nanos,
}

/// When an issuing loop executed a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassTimes {
    /// Number of the target.
    pub target: u16,
    /// Number of the loop among those of its target.
    pub job: u16,
    /// Number of the phase, from 0.
    #[serde(default, skip_serializing_if = "is_no_phase")]
    pub phase: u16,
    /// Number of the pass in its phase, from 0.
    pub pass: u32,
    /// When the pass began for it, on the run's clock.
    pub start: Nanos,
    /// When its last request had completed, and what it wrote was flushed where the plan says so.
    pub end: Nanos,
    /// CPU time of its thread from start to end, in nanoseconds.
    pub cpu_ns: u64,
    /// How long it took to open the target's file for this pass; 0 where it stayed open.
    pub open_ns: u64,
}

/// What checking the data of a target found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checks {
    /// Requests whose data was checked.
    pub requests: u64,
    /// Those that were not what they should be.
    pub miscompared: u64,
    /// The first of those.
    pub first: Vec<Miscompare>,
}

impl Checks {
    /// Most miscompares that are told one by one.
    pub const MOST_TOLD: usize = 100;

    /// Adds what another loop of the target found.
    pub fn merge(&mut self, other: Checks) {
        self.requests += other.requests;
        self.miscompared += other.miscompared;
        self.first.extend(other.first);
        self.first.sort_by_key(|m| (m.phase, m.pass, m.sequence));
        self.first.truncate(Self::MOST_TOLD);
    }
}

/// A request whose data was not what it should be.
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
    /// The first bad byte, counted from the start of the request.
    pub at: u64,
    /// What that byte should be.
    pub expected: u8,
    /// What it is.
    pub found: u8,
    /// How many bytes are bad.
    pub bad_bytes: u64,
    /// The read succeeded and did not change the memory at that byte.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untransferred: bool,
}

/// What a run really used, where the plan leaves it open or the machine did not allow it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResolvedSetup {
    /// Name of the engine that carried the requests out.
    pub engine: String,
    /// Why that is not the plan's engine, where it is not.
    pub fallback: Option<String>,
    /// What else the machine did not allow, or what limits the engine: one sentence each.
    pub notices: Vec<String>,
    /// How long before a due time the issuing threads stopped sleeping; 0: never.
    pub spin: Nanos,
    /// Bytes of memory for data, of all targets together.
    pub buffer_bytes: u64,
    /// The clock that took the times.
    pub clock: ClockInfo,
}

/// The clock that took the times.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockInfo {
    /// `tsc`, calibrated against `CLOCK_MONOTONIC`, or `clock_gettime`.
    pub source: String,
    /// What one reading costs, in picoseconds.
    pub cost_ps: u64,
    /// Greatest difference to `CLOCK_MONOTONIC` that was seen, at the start and at the end of the run.
    pub error: Nanos,
}

/// CPU time of the process, all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Of both, what it took to show how the run went on: progress line and live view.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub watching_ns: u64,
    /// Of both, what it took to sample the counters of the machine.
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

/// How far a run came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "why", rename_all = "kebab-case")]
pub enum RunState {
    /// It goes on, or it was killed.
    Running,
    /// Every request of the plan was dealt with.
    Finished,
    /// A signal stopped it; what was in flight was drained. Holds the signal's name.
    Interrupted(String),
    /// It could not go on. Holds the reason.
    Broken(String),
    /// Every request of the plan was dealt with, but the result could not be written in its finished form, for example
    /// because the disk was full. No record is lost. Holds the reason.
    Unconverted(String),
}

impl RunState {
    /// Whether every request of the plan was dealt with.
    pub fn is_complete(&self) -> bool {
        matches!(self, RunState::Finished | RunState::Unconverted(_))
    }
}

/// What is known about a target when the run starts, and what was counted on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Path as typed.
    pub path: String,
    /// Path or name of its load, with its filters after ` | `, or of its pattern.
    pub source: String,
    /// Usable size in bytes.
    pub size: u64,
    /// Logical block size in bytes, to which requests were rounded.
    pub block: u64,
    /// Highest end in bytes that the source requested inside its window, before wrapping.
    pub max_requested_end: u64,
    /// Requests of its recorded loads that are no whole logical blocks, so that they are rounded; as far as that is known before the run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounded_requests: u64,
    /// Lines of the load, text included, up to the end of the window.
    pub input_lines: u64,
    /// Lines that looked like requests and were skipped (`--skip-bad`).
    pub bad_lines: u64,
    /// Where the load's time ran backward and was shifted.
    pub back_shifts: u64,
    /// Most requests that waited for a conflict at the same time; absent where it is not known.
    pub max_waiting: Option<u64>,
    /// Most requests that were handed to the engine at the same time; of several jobs the sum, which is an upper bound.
    /// With `threads` that includes those whose thread had not woken up yet, so fewer may have been with the kernel.
    /// Absent where it is not known.
    pub max_in_flight: Option<u64>,
    /// Requests that the whole plan has for it, where that is known.
    #[serde(default)]
    pub expected_requests: Option<u64>,
    /// Why its part ended before its end, while others went on.
    #[serde(default)]
    pub ended_early: Option<String>,
    /// Hash of what was issued: of pass, number, operation and place of every request, in any order, as 16 hexadecimal
    /// digits. Equal sequences have equal hashes, whatever the engine, the depth or the number of threads. Empty where
    /// it is not known.
    #[serde(default)]
    pub issued_hash: String,
    /// Bytes that are requested of a file, or of the file behind a loop device, and that held no data when the run began: reading
    /// them costs nothing. Known up to the highest requested end.
    #[serde(default)]
    pub hole_bytes: u64,
    /// Bytes among which [`TargetInfo::hole_bytes`] were looked for: from the first to the last byte that may be requested. 0 in results
    /// of earlier versions, which looked from 0 to the highest requested end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hole_range_bytes: u64,
    /// Bytes of that range that were in the page cache when the run began. Known where jobs read through it and claim a device, and the
    /// kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_bytes: Option<u64>,
    /// From the lowest to the highest byte that requests change: planned while the run goes on, and then what was issued. Absent where
    /// nothing is changed, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenRange>,
    /// How the used range of a file, or of the file behind a loop device, lay on the device when the run began. Absent where nobody tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<ExtentRuns>,
    /// Flushes of its load, and writes with FUA or a preflush, that were skipped or made plain (`--flush drop`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_flushes: u64,
    /// Discards and write zeroes of its load that were skipped (`--discard drop`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_discards: u64,
    /// What checking its data found; absent where nothing was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
}

impl TargetInfo {
    /// Highest requested end ÷ size (blkreplay manual 3.1.4).
    pub fn wraparound_factor(&self) -> f64 {
        self.max_requested_end as f64 / self.size as f64
    }
}

/// Waiting that the tool itself caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stalls {
    /// How often.
    pub count: u64,
    /// How long in all.
    pub total: Nanos,
}

impl Stalls {
    /// Counts one more wait.
    pub fn add(&mut self, length: Nanos) {
        self.count += 1;
        self.total.0 += length.0;
    }

    /// Counts all of `other` too.
    pub fn merge(&mut self, other: Stalls) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
    }
}
