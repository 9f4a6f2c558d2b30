//! The archive: a directory with a plan, the environment, one record per request, and the summary.
//!
//! During a run, records are appended to a log that survives `kill -9`; a finished run is Parquet. The format is
//! described in `docs/archive.md`.
//!
//! This crate depends on no engine and no statistics.

mod columns;
mod dir;
mod encoded;
mod error;
mod extents;
mod faults;
mod fields;
mod following;
mod frame;
mod hosts;
mod journal;
mod log;
mod names;
mod notes;
mod pages;
mod parquet;
mod path;
mod path_windows;
mod paths;
mod record;
mod recording;
mod run;
mod state;
mod text;

pub use dir::{
    Archive, ArchiveWriter, DerivedLog, EVENTS, HISTOGRAMS, LOG, MadeRecords, PARTS, PATH_EVENTS, PathFile,
    RECORDS, SERIES_LOG, SUMMARY, SeriesLog, is_kept_plan, is_whole, parse_sample, remove_archive,
};
pub use error::ArchiveError;
pub use extents::TargetMap;
pub use faults::{
    CrashFacts, Damaged, Fault, FaultBytes, FaultClass, FaultCount, FaultWrite, FoundBy, KnownBy, MOST_DUMPS,
    MOST_FAULTS, MissingWrites, OutsideFacts, READS_AGAIN, ReadAgain, ScanFacts, Survival, TornPattern,
    Verified, WriteId,
};
pub use fields::Fields;
pub use following::Following;
pub use frame::{FRAME_BYTES, Frame};
pub use hosts::{ClockFacts, ClockReading, HostClock, HostLost, HostRun};
pub use journal::{
    JOURNAL_HEAD, JOURNAL_SLOTS, JournalError, SLOT_WORDS, journal_head, read_journal, slot_ended, slot_of,
};
pub use log::{Damage, LogEnd, LogFollower, LogWriter, read_log_from};
pub use notes::{LONGEST_NOTE, MOST_NOTES, NOTES, Note};
pub use parquet::{ColumnBatch, ROW_GROUP, RecordFile, read_records_from};
pub use path::{PathCounts, RequestPath, SampledLatency};
pub use path_windows::{PathWindows, PathWindowsFile};
pub use paths::{Located, Missing, PlaceOfPath};
pub use record::{Marks, Outcome, RECORD_BYTES, Record};
pub use recording::{BLKTRACE, RecordingCounts, RecordingFacts};
pub use run::{
    ARCHIVE_VERSION, Checks, ClockInfo, CpuUse, Miscompare, PassTimes, PhaseTimes, ProcessLoad, RECORDING,
    Recorded, ResolvedSetup, RunInfo, Stalls, TOOL, TargetInfo,
};
pub use state::{Breakage, Interruption, RunState, Signal};
pub use text::{CsvWriter, JsonWriter};
