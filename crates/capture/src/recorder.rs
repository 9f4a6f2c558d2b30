//! Reads the kernel's ring buffers in rounds, each of which gives all events up to its begin, in the order of time.

use crate::tracefs::{CaptureError, Instance, at};
use iosonar_trace::kernel::ring::{Forms, Pages};
use iosonar_trace::kernel::{Device, Event};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Which events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// What was asked for (`block_bio_queue`), before the kernel joins and splits it.
    Queue,
    /// What the driver was given (`block_rq_issue`), joined and split. Devices without requests (zram) have none.
    Issue,
}

/// Ends are told by requests, or, of devices that have none, by bios.
const ENDS: [&str; 2] = ["block_rq_complete", "block_bio_complete"];

impl Watch {
    fn events(self) -> &'static [&'static str] {
        match self {
            Watch::Queue => &["block_bio_queue", ENDS[0], ENDS[1]],
            Watch::Issue => &["block_rq_issue", "block_rq_requeue", ENDS[0]],
        }
    }
}

/// What is recorded, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whole devices; events of partitions tell those.
    pub devices: Vec<Device>,
    /// Which events.
    pub watch: Watch,
    /// Bytes of each CPU's ring buffer.
    pub buffer_bytes: u64,
}

/// What a round gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Events that were lost since the round before.
    pub lost: u64,
    /// Pages that could not be read wholly.
    pub damaged: u64,
}

/// What the kernel counted of the whole recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Events that were lost because a ring buffer was full.
    pub lost: u64,
    /// Pages that could not be read wholly.
    pub damaged: u64,
}

/// Records while it lives; what it changed in the kernel is undone when it is dropped.
pub struct Recorder {
    cpus: Vec<Cpu>,
    forms: Forms,
    page: Vec<u8>,
    /// Read, but maybe later than what another CPU still has.
    waiting: Vec<Event>,
    ready: Vec<Event>,
    counts: Counts,
    events: Vec<&'static str>,
    /// The last field: it goes when the buffers are closed.
    instance: Instance,
}

struct Cpu {
    dir: PathBuf,
    pipe: File,
    lost: u64,
}

impl Recorder {
    /// Switches recording on.
    ///
    /// # Errors
    /// What the kernel refuses or does not have.
    pub fn start(settings: &Settings) -> Result<Recorder, CaptureError> {
        let instance = Instance::create()?;
        let events = instance.known(settings.watch.events());
        let begin = settings.watch.events()[0];
        if !events.contains(&begin) {
            return Err(CaptureError::Impossible(format!(
                "this kernel has no event block:{begin}: it was built without CONFIG_BLK_DEV_IO_TRACE"
            )));
        }
        // Times that can be compared with those of a run, and old events kept rather than new ones.
        instance.write("trace_clock", "mono")?;
        instance.write("options/overwrite", "0")?;
        instance.write("buffer_size_kb", &(settings.buffer_bytes / 1024).max(64).to_string())?;
        let (forms, page) = instance.forms(&events)?;
        for event in &events {
            instance.enable(event, &settings.devices)?;
        }
        let cpu = |(dir, pipe)| Cpu { dir, pipe, lost: 0 };
        let cpus = instance.pipes()?.into_iter().map(cpu).collect();
        instance.write("tracing_on", "1")?;
        let (page, counts) = (vec![0; page], Counts::default());
        Ok(Recorder { cpus, forms, page, waiting: Vec::new(), ready: Vec::new(), counts, events, instance })
    }

    /// Switches the kernel's events on or off, so that a kernel without them is the one of a machine without recording.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        let word = if on { "1" } else { "0" };
        self.events
            .iter()
            .try_for_each(|event| self.instance.write(&format!("events/block/{event}/enable"), word))
    }

    /// Reads what the buffers hold. The events up to the begin of this round are [`Recorder::events`] afterwards.
    ///
    /// # Errors
    /// Buffers that cannot be read.
    pub fn round(&mut self) -> Result<Round, CaptureError> {
        let before = monotonic_ns();
        let mut round = Round::default();
        for cpu in &mut self.cpus {
            round.damaged += cpu.drain(&self.forms, &mut self.page, &mut self.waiting)?;
            let lost = cpu.count_lost()?;
            round.lost += lost - cpu.lost.min(lost);
            cpu.lost = lost;
        }
        self.counts.lost += round.lost;
        self.counts.damaged += round.damaged;
        // Each CPU's events are in order: sorting runs that are sorted is joining them.
        self.waiting.sort_by_key(|event| event.time);
        let ready = self.waiting.partition_point(|event| event.time.0 < before);
        self.ready.clear();
        self.ready.extend(self.waiting.drain(..ready));
        Ok(round)
    }

    /// Events of the last round, in the order of time.
    pub fn events(&self) -> &[Event] {
        &self.ready
    }

    /// Switches recording off and reads what is left.
    ///
    /// # Errors
    /// Buffers that cannot be read.
    pub fn stop(mut self) -> Result<(Vec<Event>, Round, Counts), CaptureError> {
        self.instance.write("tracing_on", "0")?;
        let round = self.round()?;
        let mut events = std::mem::take(&mut self.ready);
        events.append(&mut self.waiting);
        Ok((events, round, self.counts))
    }
}

impl Cpu {
    /// Reads all pages; how many of them could not be read wholly.
    fn drain(&mut self, forms: &Forms, page: &mut [u8], out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        let mut damaged = 0;
        let mut pages = Pages::new(forms);
        loop {
            match self.pipe.read(page) {
                Ok(0) => return Ok(damaged),
                Ok(read) => {
                    let facts = pages.decode(&page[..read], &mut |event| out.push(event));
                    damaged += u64::from(facts.bad.is_some());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(damaged),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(at(&self.dir.join("trace_pipe_raw"))(error)),
            }
        }
    }

    /// Events that this CPU could not keep, since the begin.
    fn count_lost(&self) -> Result<u64, CaptureError> {
        let path = self.dir.join("stats");
        let text = std::fs::read_to_string(&path).map_err(at(&path))?;
        let count = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
        };
        Ok(count("overrun") + count("commit overrun") + count("dropped events"))
    }
}

/// The clock that the events carry.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
