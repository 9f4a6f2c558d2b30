//! Facts about a recording of live devices, apart from its requests: `recording.json`.

use crate::error::{ArchiveError, RECORDING_FACTS};
use crate::state::RunState;
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::write_whole;
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `interface` of recordings through blktrace's interface.
pub const BLKTRACE: &str = "blktrace";

/// Facts about a recording, apart from its requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordingFacts {
    /// Which event counts: `queue` or `issue`.
    pub at: String,
    /// The kernel's interface: `tracepoints` or `blktrace`; empty in older recordings, which are of tracepoints.
    #[serde(default)]
    pub interface: String,
    /// `CLOCK_MONOTONIC` at its start, nanoseconds: the clock of the events.
    pub origin_monotonic_ns: u64,
    /// Devices by the kernel's numbers, with their paths.
    pub devices: Vec<(String, String)>,
    /// Counts; absent while it is running, and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<RecordingCounts>,
}

/// Counts of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordingCounts {
    /// Duration.
    pub seconds: f64,
    /// Events on disk.
    pub events: u64,
    /// Events that the kernel could not keep.
    pub lost_events: u64,
    /// Unreadable pages of the kernel's ring buffers.
    pub damaged_pages: u64,
    /// Size of the events on disk.
    pub bytes: u64,
    /// Segments that were removed to limit the size.
    pub removed_segments: u64,
    /// Events in them.
    pub removed_events: u64,
    /// CPU time of the recorder.
    pub cpu_seconds: f64,
    /// The same for each event.
    pub cpu_ns_per_event: f64,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Devices that disappeared while they were recorded, and seconds since the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<(String, f64)>,
}

impl RecordingFacts {
    /// Stores the facts in the directory of a recording. The old file stays until the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, dir: &Path) -> Result<(), ArchiveError> {
        let path = dir.join(RECORDING_FACTS);
        let write = || write_whole(&path, (serde_json::to_string_pretty(self)? + "\n").as_bytes()).map(drop);
        write().map_err(|error| ArchiveError::io(&path, error))
    }

    /// Reads the facts of a recording.
    ///
    /// # Errors
    /// The directory is no recording, or its facts are damaged.
    pub fn of(dir: &Path) -> Result<RecordingFacts, ArchiveError> {
        let path = dir.join(RECORDING_FACTS);
        let text =
            read_text(&path, TEXT_LIMIT).map_err(|_| ArchiveError::NoRecording(shown(dir).to_string()))?;
        serde_json::from_str(&text).map_err(|error| ArchiveError::damaged(&path, error.to_string()))
    }

    /// Whether the events were read through blktrace's interface.
    pub fn uses_blktrace(&self) -> bool {
        self.interface == BLKTRACE
    }
}

impl RecordingCounts {
    /// The state of the run that stands for the recording.
    pub fn state(&self) -> RunState {
        self.broken.clone().map_or(RunState::Finished, |why| RunState::Broken(why.into()))
    }
}
