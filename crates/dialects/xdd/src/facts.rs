//! What the reports are made of: plain facts that the caller collects from plan, archive and machine.

use crate::settings::ThrottleSettings;
use iosonar_archive::Record;
use iosonar_plan::{Decimal, Lockstep, Nanos, Op};

/// How the run's own clock becomes the absolute time of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunClock {
    /// Wall clock at the run's time zero, in nanoseconds since 1970.
    pub epoch_unix_ns: u64,
    /// What is added to get the time of the time server, in nanoseconds; 0 without one.
    pub delta_ns: i64,
}

impl RunClock {
    /// Absolute time in picoseconds; never below zero.
    pub fn picoseconds(&self, time: Nanos) -> u128 {
        let local = i128::from(self.epoch_unix_ns) + i128::from(time.0);
        let global = (local + i128::from(self.delta_ns)) * 1000;
        u128::try_from(global).unwrap_or(0)
    }

    /// The difference to the time server in picoseconds.
    pub fn delta_ps(&self) -> i128 {
        i128::from(self.delta_ns) * 1000
    }
}

/// What the rate table must know about a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateTarget {
    /// Number of its queue threads.
    pub queue_depth: u32,
    /// Bytes of a block, in which request sizes are told.
    pub block_size: u64,
    /// Share of reads in percent that was requested; tells the kind of I/O where nothing was done.
    pub read_percent: Decimal,
    /// It is opened again between passes, so that the table has a column for the time of it.
    pub reopened: bool,
}

/// How much the rate table tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateDetail {
    /// Rows for each pass and averages, not only the combined row.
    pub verbose: bool,
    /// Start and end of each row, and how large the skew is; includes `verbose`.
    pub really_verbose: bool,
    /// Rows for each queue thread, where there are rows for each pass.
    pub queue_threads: bool,
    /// For start and end of each row.
    pub clock: RunClock,
}

impl RateDetail {
    /// Whether each pass has its rows.
    pub fn has_passes(&self) -> bool {
        self.verbose || self.really_verbose
    }
}

/// What the options section says about a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderFacts {
    /// Version of the program.
    pub version: String,
    /// Date and time of the start, as [`ctime`](crate::ctime) writes it.
    pub started: String,
    /// Text that identifies the run.
    pub id: String,
    /// Highest priority for the process.
    pub max_priority: bool,
    /// Passes that were requested.
    pub passes: u32,
    /// Time between passes.
    pub pass_delay: Nanos,
    /// After so many errors in a pass a target gets no more requests of it; none: never.
    pub max_errors: Option<u64>,
    /// Blocks between the locations of neighboring targets.
    pub target_offset: u64,
    /// All queue threads meet every so many operations; 0: never.
    pub sync_io: u64,
    /// When the whole run ends at the latest; none: no limit.
    pub run_time: Option<Nanos>,
    /// Where results go.
    pub output: String,
    /// Where the comma-separated results go.
    pub csv_output: String,
    /// Where errors go.
    pub error_output: String,
    /// Where the combined row is added, if anywhere.
    pub combined_output: Option<String>,
    /// Each pass has random locations of its own.
    pub randomize: bool,
    /// What was written is flushed at the end of each pass.
    pub sync_write: bool,
    /// Targets wait for each other between passes.
    pub barriers: bool,
    /// The time server, if any.
    pub time_service: Option<TimeServiceFacts>,
    /// Number of targets.
    pub targets: u32,
    /// Number of queue threads of all targets.
    pub io_threads: u64,
}

/// Whose clock rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeServiceFacts {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Start of the run in seconds of its time; 0: at once.
    pub start: u64,
}

/// What the system section says about the machine.
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

/// What a target section says about a target, or about one of its queue threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Number of the target, from 0.
    pub number: u16,
    /// Number of the queue thread among those of the target, from 0.
    pub queue_thread: u16,
    /// Name as typed, with the directory in front.
    pub name: String,
    /// What stands in front of names; empty: nothing.
    pub directory: String,
    /// The process.
    pub process_id: u32,
    /// The thread, where it is known.
    pub thread_id: Option<u32>,
    /// The processor to which it is bound, if any.
    pub processor: Option<u32>,
    /// Share of reads in percent.
    pub read_percent: Decimal,
    /// Limit of the rate, if any.
    pub throttle: Option<ThrottleSettings>,
    /// When a pass ends at the latest, if ever.
    pub time_limit: Option<Nanos>,
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of a request.
    pub request_blocks: u64,
    /// Requests of a pass, where they are known.
    pub requests: Option<u64>,
    /// First block.
    pub start_offset: u64,
    /// Amount of a pass, where it was given in bytes.
    pub amount: Option<PassAmount>,
    /// Blocks by which each pass moves on.
    pub pass_offset: u64,
    /// Data lies in a shared memory segment.
    pub shared_memory: bool,
    /// Alignment of data in memory: bytes after a page, or the size of a page.
    pub alignment: u64,
    /// What is written, in words or as a byte.
    pub data_pattern: String,
    /// What is checked, in words.
    pub verification: String,
    /// The page cache is bypassed.
    pub direct: bool,
    /// Where requests go: `sequential`, `random`, `staggered`, `interleaved`, `queued_interleaved`, `none`.
    pub seek_pattern: String,
    /// Blocks of the range; none: where only time ends a pass.
    pub seek_range: Option<u64>,
    /// Blocks of 1024 bytes that are allocated before the first pass.
    pub preallocation: u64,
    /// Number of queue threads.
    pub queue_depth: u32,
    /// Which time stamp reports there are, if any.
    pub stamps: Option<StampFacts>,
    /// The file is deleted at the end of the run.
    pub delete_file: bool,
    /// Where the target takes part in lockstep.
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

/// Which time stamp reports a target has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StampFacts {
    /// A row for each operation.
    pub detailed: bool,
    /// Averages and ranges.
    pub summary: bool,
    /// Where the text goes; none: to the results.
    pub text_file: Option<String>,
    /// Where the binary dump goes, if anywhere.
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
    /// When it was submitted, on the run's clock.
    pub start: Nanos,
    /// When it was complete, on the run's clock.
    pub end: Nanos,
}

impl StampEntry {
    /// The stamps of `record`, operation `number` of its queue thread and pass; none if it was not executed.
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

    /// Bytes that really were transferred.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.result).unwrap_or(0)
    }

    /// Time of the operation.
    pub fn io_time(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_adds_epoch_and_delta_and_stays_above_zero() {
        let clock = RunClock { epoch_unix_ns: 1_000, delta_ns: -400 };
        assert_eq!(clock.picoseconds(Nanos(5)), 605_000);
        assert_eq!(clock.delta_ps(), -400_000);
        assert_eq!(RunClock { epoch_unix_ns: 0, delta_ns: -9 }.picoseconds(Nanos(1)), 0);
        let latest = RunClock { epoch_unix_ns: u64::MAX, delta_ns: i64::MAX };
        assert!(latest.picoseconds(Nanos(u64::MAX)) > u128::from(u64::MAX));
    }
}
