//! Reads the kernel's buffers in rounds; each returns all events up to its start, in time order.

use crate::blktrace::Blktrace;
use crate::error::CaptureError;
use crate::tracepoints::Tracepoints;
use iosonar_trace::kernel::{Device, Event};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Events to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Queued requests (`block_bio_queue`, blktrace's Q), before the kernel merges and splits them.
    Queue,
    /// Requests issued to the driver (`block_rq_issue`, blktrace's D), merged and split. Bio-based devices (zram) have
    /// none.
    Issue,
    /// Queued and issued requests, to compare their order.
    Order,
    /// Queued, issued and completed requests: where their time went.
    Path,
}

/// Source of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Tracepoints: any number of concurrent recorders.
    Tracepoints,
    /// The blktrace interface: one user per device.
    Blktrace,
}

/// Settings of a recording.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whole devices; events of partitions have their numbers.
    pub devices: Vec<Device>,
    /// Events to record.
    pub watch: Watch,
    /// Source of the events.
    pub interface: Interface,
    /// Total bytes of the buffers of all CPUs.
    pub buffer_bytes: u64,
}

impl Settings {
    /// Bytes per CPU. Each CPU of the machine has buffers, even those that this process may not use.
    pub(crate) fn buffer_bytes_of_cpu(&self) -> u64 {
        let entries = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
        let is_cpu = |name: &str| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let cpus = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_cpu)).count();
        self.buffer_bytes / cpus.max(1) as u64
    }
}

/// Result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Events lost since the previous round.
    pub lost: u64,
    /// Pages or events that could not be read completely.
    pub damaged: u64,
}

/// Records until it is dropped, which undoes its changes in the kernel.
pub struct Recorder {
    source: Source,
    /// Events read, but possibly later than unread ones of another CPU.
    waiting: Vec<Event>,
    ready: Vec<Event>,
    /// Number of events lost so far.
    lost: u64,
    /// Dropped last, when the kernel's state is undone.
    _live: Live,
}

/// Recorders of this process whose changes in the kernel are not undone yet.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether this process has changes in the kernel that its recorders have not undone yet.
pub fn is_recording() -> bool {
    LIVE.load(Relaxed) > 0
}

/// Counts a recorder while it exists.
struct Live;

impl Live {
    fn new() -> Live {
        LIVE.fetch_add(1, Relaxed);
        Live
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

enum Source {
    Tracepoints(Tracepoints),
    Blktrace(Blktrace),
}

impl Source {
    fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        match self {
            Source::Tracepoints(source) => source.set_events(on),
            Source::Blktrace(source) => source.set_events(on),
        }
    }

    fn drain(&mut self, out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        match self {
            Source::Tracepoints(source) => source.drain(out),
            Source::Blktrace(source) => source.drain(out),
        }
    }

    fn lost(&mut self) -> Result<u64, CaptureError> {
        match self {
            Source::Tracepoints(source) => source.lost(),
            Source::Blktrace(source) => source.lost(),
        }
    }

    fn stop(&self) -> Result<(), CaptureError> {
        match self {
            Source::Tracepoints(source) => source.stop(),
            Source::Blktrace(source) => source.set_events(false),
        }
    }
}

impl Recorder {
    /// Starts recording.
    ///
    /// # Errors
    /// The kernel refuses, or lacks the interface.
    pub fn start(settings: &Settings) -> Result<Recorder, CaptureError> {
        let live = Live::new();
        let source = match settings.interface {
            Interface::Tracepoints => Source::Tracepoints(Tracepoints::start(settings)?),
            Interface::Blktrace => Source::Blktrace(Blktrace::start(settings)?),
        };
        Ok(Recorder { source, waiting: Vec::new(), ready: Vec::new(), lost: 0, _live: live })
    }

    /// Enables or disables the kernel's events, to compare a kernel without them with a machine without recording.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        self.source.set_events(on)
    }

    /// Reads the buffers. The events up to the start of this round are in [`Recorder::events`] afterwards.
    ///
    /// # Errors
    /// Reading the buffers failed.
    pub fn round(&mut self) -> Result<Round, CaptureError> {
        let before = monotonic_ns();
        let damaged = self.source.drain(&mut self.waiting)?;
        let lost = self.source.lost()?.saturating_sub(self.lost);
        self.lost += lost;
        // Each CPU's events are in order: sorting sorted runs is merging.
        self.waiting.sort_by_key(|event| event.time);
        let ready = self.waiting.partition_point(|event| event.time.0 < before);
        self.ready.clear();
        self.ready.extend(self.waiting.drain(..ready));
        Ok(Round { lost, damaged })
    }

    /// Events of the last round, in time order.
    pub fn events(&self) -> &[Event] {
        &self.ready
    }

    /// Stops recording and reads the remaining events.
    ///
    /// # Errors
    /// Reading the buffers failed.
    pub fn stop(mut self) -> Result<(Vec<Event>, Round), CaptureError> {
        self.source.stop()?;
        let round = self.round()?;
        let mut events = std::mem::take(&mut self.ready);
        events.append(&mut self.waiting);
        Ok((events, round))
    }
}

/// Clock of the events.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
