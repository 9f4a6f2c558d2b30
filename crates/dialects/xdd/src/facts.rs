//! Input of the reports: plain facts that the caller collects from plan, archive and machine.

use crate::settings::{TargetSettings, ThrottleSettings};
use iosonar_archive::Record;
use iosonar_plan::{BetweenPasses, Decimal, Lockstep, Nanos, Op};

/// Converts the run's clock to the absolute time of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunClock {
    /// Wall clock at the run's time zero, in nanoseconds since 1970.
    pub epoch_unix_ns: u64,
    /// Offset to the time server, in nanoseconds; 0 without one.
    pub delta_ns: i64,
}

impl RunClock {
    /// Absolute time in picoseconds; never below zero.
    pub fn picoseconds(&self, time: Nanos) -> u128 {
        let local = i128::from(self.epoch_unix_ns) + i128::from(time.0);
        let global = (local + i128::from(self.delta_ns)) * 1000;
        u128::try_from(global).unwrap_or(0)
    }

    /// Offset to the time server in picoseconds.
    pub fn delta_ps(&self) -> i128 {
        i128::from(self.delta_ns) * 1000
    }
}

/// Properties of a target for the rate table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateTarget {
    /// Number of its queue threads.
    pub queue_depth: u32,
    /// Bytes of a block, the unit of request sizes.
    pub block_size: u64,
    /// Requested share of reads in percent; determines the kind of I/O if there was none.
    pub read_percent: Decimal,
    /// Reopened between passes, so that the table has a column for the open time.
    pub reopened: bool,
}

impl RateTarget {
    /// The target as the command line sets it.
    pub fn of(target: &TargetSettings) -> RateTarget {
        RateTarget {
            queue_depth: target.queuedepth,
            block_size: target.blocksize,
            read_percent: target.read_percent,
            reopened: target.between_passes != BetweenPasses::Keep,
        }
    }
}

/// Level of detail of the rate table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateDetail {
    /// Rows for each pass and averages, not only the combined row.
    pub verbose: bool,
    /// Start and end of each row, and the size of the skew; includes `verbose`.
    pub really_verbose: bool,
    /// Rows for each queue thread, if there are rows for each pass.
    pub queue_threads: bool,
    /// Clock for start and end of each row.
    pub clock: RunClock,
}

impl RateDetail {
    /// Whether each pass has its rows.
    pub fn has_passes(&self) -> bool {
        self.verbose || self.really_verbose
    }
}

/// Facts about a run for the options section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderFacts {
    /// Version of the program.
    pub version: String,
    /// Date and time of the start, as [`ctime`](crate::ctime) writes it.
    pub started: String,
    /// Id of the run.
    pub id: String,
    /// Whether the process has the highest priority.
    pub max_priority: bool,
    /// Requested passes.
    pub passes: u32,
    /// Time between passes.
    pub pass_delay: Nanos,
    /// Number of errors in a pass after which the target ends that pass; `None`: no limit.
    pub max_errors: Option<u64>,
    /// Blocks between the locations of neighboring targets.
    pub target_offset: u64,
    /// Number of operations after which all queue threads synchronize; 0: never.
    pub sync_io: u64,
    /// Maximum time of the whole run; `None`: no limit.
    pub run_time: Option<Nanos>,
    /// Destination of results.
    pub output: String,
    /// Destination of comma-separated results.
    pub csv_output: String,
    /// Destination of errors.
    pub error_output: String,
    /// Destination of the combined row, if any.
    pub combined_output: Option<String>,
    /// Whether each pass has different random locations.
    pub randomize: bool,
    /// Whether written data is flushed at the end of each pass.
    pub sync_write: bool,
    /// Whether targets wait for each other between passes.
    pub barriers: bool,
    /// The time server, if any.
    pub time_service: Option<TimeServiceFacts>,
    /// Number of targets.
    pub targets: u32,
    /// Number of queue threads of all targets.
    pub io_threads: u64,
}

/// Time server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeServiceFacts {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Start of the run in seconds of its time; 0: at once.
    pub start: u64,
}

/// Facts about the machine for the system section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemFacts {
    /// Name of the machine.
    pub computer: String,
    /// Name of the user.
    pub user: String,
    /// Name, release and version of the operating system.
    pub system: String,
    /// Kind of the machine, for example `x86_64`.
    pub hardware: String,
    /// Number of processors.
    pub processors: u32,
    /// Bytes of a memory page.
    pub page_size: u64,
    /// Pages of physical memory.
    pub pages: u64,
    /// Time until the first request.
    pub until_start: Nanos,
}

/// Facts about a target, or about one of its queue threads, for a target section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Number of the target, from 0.
    pub number: u16,
    /// Number of the queue thread among those of the target, from 0.
    pub queue_thread: u16,
    /// Name as typed, with the directory prepended.
    pub name: String,
    /// Directory prepended to names; may be empty.
    pub directory: String,
    /// Process id.
    pub process_id: u32,
    /// Thread id, if known.
    pub thread_id: Option<u32>,
    /// Processor to which it is bound, if any.
    pub processor: Option<u32>,
    /// Share of reads in percent.
    pub read_percent: Decimal,
    /// Limit of the rate, if any.
    pub throttle: Option<ThrottleSettings>,
    /// Maximum time of a pass, if any.
    pub time_limit: Option<Nanos>,
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of a request.
    pub request_blocks: u64,
    /// Requests of a pass, if known.
    pub requests: Option<u64>,
    /// First block.
    pub start_offset: u64,
    /// Amount of a pass, if given in bytes.
    pub amount: Option<PassAmount>,
    /// Offset of each pass to the previous one, in blocks.
    pub pass_offset: u64,
    /// Whether data is in a shared memory segment.
    pub shared_memory: bool,
    /// Alignment of data in memory: bytes after a page, or the size of a page.
    pub alignment: u64,
    /// Data pattern, in words or as a byte.
    pub data_pattern: String,
    /// Verification, in words.
    pub verification: String,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Order of locations: `sequential`, `random`, `staggered`, `interleaved`, `queued_interleaved`, `none`.
    pub seek_pattern: String,
    /// Blocks of the range; `None` if only time ends a pass.
    pub seek_range: Option<u64>,
    /// Blocks of 1024 bytes that are allocated before the first pass.
    pub preallocation: u64,
    /// Number of queue threads.
    pub queue_depth: u32,
    /// Time stamp reports, if any.
    pub stamps: Option<StampFacts>,
    /// Whether the file is deleted at the end of the run.
    pub delete_file: bool,
    /// Lockstep pairs of the target.
    pub lockstep: Vec<Lockstep>,
}

/// The amount of a pass, in the unit of its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassAmount {
    /// Units of 1 048 576 bytes.
    MegaBytes(u64),
    /// Units of 1024 bytes.
    KiloBytes(u64),
}

/// Time stamp reports of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StampFacts {
    /// A row for each operation.
    pub detailed: bool,
    /// Averages and ranges.
    pub summary: bool,
    /// Text file; `None`: included in the results.
    pub text_file: Option<String>,
    /// File of the binary dump, if any.
    pub dump_file: Option<String>,
}

/// The time stamps of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampEntry {
    /// Pass, from 0.
    pub pass: u32,
    /// Read or write.
    pub op: Op,
    /// Number of the operation among those of its queue thread and pass, from 0.
    pub number: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes that were requested.
    pub length: u64,
    /// Bytes transferred, or the negative errno.
    pub result: i64,
    /// Submission time, on the run's clock.
    pub start: Nanos,
    /// Completion time, on the run's clock.
    pub end: Nanos,
}

impl StampEntry {
    /// Stamps of `record`, operation `number` of its queue thread and pass; `None` if it was not executed.
    pub fn from_record(record: &Record, number: u64) -> Option<StampEntry> {
        if !record.op.is_transfer() {
            return None;
        }
        Some(StampEntry {
            pass: record.pass,
            op: record.op,
            number,
            offset: record.executed.offset,
            length: record.executed.length,
            result: record.result,
            start: record.submitted?,
            end: record.completed?,
        })
    }

    /// Bytes actually transferred.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.result).unwrap_or(0)
    }

    /// Duration of the operation.
    pub fn io_time(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_adds_epoch_and_delta_and_stays_positive() {
        let clock = RunClock { epoch_unix_ns: 1_000, delta_ns: -400 };
        assert_eq!(clock.picoseconds(Nanos(5)), 605_000);
        assert_eq!(clock.delta_ps(), -400_000);
        assert_eq!(RunClock { epoch_unix_ns: 0, delta_ns: -9 }.picoseconds(Nanos(1)), 0);
        let latest = RunClock { epoch_unix_ns: u64::MAX, delta_ns: i64::MAX };
        assert!(latest.picoseconds(Nanos(u64::MAX)) > u128::from(u64::MAX));
    }
}
