//! Reads the kernel's buffers in rounds, each of which gives all events up to its start, in the order of time.

use crate::blktrace::Blktrace;
use crate::error::CaptureError;
use crate::tracepoints::Tracepoints;
use iosonar_trace::kernel::{Device, Event};
use rustix::time::{ClockId, clock_gettime};

/// Which events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// What was requested (`block_bio_queue`, blktrace's Q), before the kernel joins and splits it.
    Queue,
    /// What the driver was given (`block_rq_issue`, blktrace's D), joined and split. Devices without requests (zram) have
    /// none.
    Issue,
    /// What was requested and what the driver was given, for the order of both.
    Order,
}

/// Where the kernel tells of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Its tracepoints: any number of recorders at a time.
    Tracepoints,
    /// Its blktrace interface: one user for each device.
    Blktrace,
}

/// What is recorded, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whole devices; events of partitions tell those.
    pub devices: Vec<Device>,
    /// Which events.
    pub watch: Watch,
    /// Where they are read.
    pub interface: Interface,
    /// Bytes of the buffers of all CPUs together.
    pub buffer_bytes: u64,
}

impl Settings {
    /// Each CPU of the machine has buffers, those that this process may not use, too.
    pub(crate) fn buffer_bytes_of_cpu(&self) -> u64 {
        let entries = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
        let is_cpu = |name: &str| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let cpus = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_cpu)).count();
        self.buffer_bytes / cpus.max(1) as u64
    }
}

/// What a round gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Events that were lost since the round before.
    pub lost: u64,
    /// Pages or events that could not be read wholly.
    pub damaged: u64,
}

/// Records while it lives; what it changed in the kernel is undone when it is dropped.
pub struct Recorder {
    source: Source,
    /// Read, but maybe later than what another CPU still has.
    waiting: Vec<Event>,
    ready: Vec<Event>,
    /// Events that were lost so far.
    lost: u64,
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
    /// Switches recording on.
    ///
    /// # Errors
    /// What the kernel refuses or does not have.
    pub fn start(settings: &Settings) -> Result<Recorder, CaptureError> {
        let source = match settings.interface {
            Interface::Tracepoints => Source::Tracepoints(Tracepoints::start(settings)?),
            Interface::Blktrace => Source::Blktrace(Blktrace::start(settings)?),
        };
        Ok(Recorder { source, waiting: Vec::new(), ready: Vec::new(), lost: 0 })
    }

    /// Switches the kernel's events on or off, so that a kernel without them is the one of a machine without recording.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        self.source.set_events(on)
    }

    /// Reads what the buffers hold. The events up to the start of this round are [`Recorder::events`] afterwards.
    ///
    /// # Errors
    /// Buffers that cannot be read.
    pub fn round(&mut self) -> Result<Round, CaptureError> {
        let before = monotonic_ns();
        let damaged = self.source.drain(&mut self.waiting)?;
        let lost = self.source.lost()?.saturating_sub(self.lost);
        self.lost += lost;
        // Each CPU's events are in order: sorting runs that are sorted is joining them.
        self.waiting.sort_by_key(|event| event.time);
        let ready = self.waiting.partition_point(|event| event.time.0 < before);
        self.ready.clear();
        self.ready.extend(self.waiting.drain(..ready));
        Ok(Round { lost, damaged })
    }

    /// Events of the last round, in the order of time.
    pub fn events(&self) -> &[Event] {
        &self.ready
    }

    /// Switches recording off and reads what is left.
    ///
    /// # Errors
    /// Buffers that cannot be read.
    pub fn stop(mut self) -> Result<(Vec<Event>, Round), CaptureError> {
        self.source.stop()?;
        let round = self.round()?;
        let mut events = std::mem::take(&mut self.ready);
        events.append(&mut self.waiting);
        Ok((events, round))
    }
}

/// The clock that the events carry.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
