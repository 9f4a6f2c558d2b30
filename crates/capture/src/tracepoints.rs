//! Events of the kernel's block tracepoints, from the ring buffers of a separate tracing instance.

use crate::error::{CaptureError, at};
use crate::recorder::{Settings, Watch};
use crate::tracefs::Instance;
use iosonar_trace::kernel::Event;
use iosonar_trace::kernel::ring::{Forms, Pages};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Completions are events of requests, or, on bio-based devices, of bios.
const ENDS: [&str; 2] = ["block_rq_complete", "block_bio_complete"];

/// Issues, for requests that count when queued: only device flushes are needed, to match the requests they serve.
const ISSUE: &str = "block_rq_issue";

fn events_of(watch: Watch) -> &'static [&'static str] {
    match watch {
        Watch::Queue => &["block_bio_queue", ISSUE, ENDS[0], ENDS[1]],
        Watch::Order => &["block_bio_queue", ISSUE],
        Watch::Path => &["block_bio_queue", ISSUE, ENDS[0], ENDS[1]],
        Watch::Issue => &[ISSUE, "block_rq_requeue", ENDS[0]],
    }
}

/// Active tracepoints.
pub(crate) struct Tracepoints {
    cpus: Vec<Cpu>,
    forms: Forms,
    page: Vec<u8>,
    events: Vec<&'static str>,
    /// Last field, so that it is dropped after the buffers are closed.
    instance: Instance,
}

struct Cpu {
    dir: PathBuf,
    pipe: File,
}

impl Tracepoints {
    pub(crate) fn start(settings: &Settings) -> Result<Tracepoints, CaptureError> {
        let instance = Instance::create()?;
        let wanted = events_of(settings.watch);
        let events = instance.known(wanted);
        let begin = wanted[0];
        if !events.contains(&begin) {
            return Err(CaptureError::Impossible(format!(
                "this kernel has no event block:{begin}: it was built without CONFIG_BLK_DEV_IO_TRACE"
            )));
        }
        // Times comparable with those of a run; keep old events rather than new ones.
        instance.write("trace_clock", "mono")?;
        instance.write("options/overwrite", "0")?;
        instance.write("buffer_size_kb", &(settings.buffer_bytes_of_cpu() / 1024).max(64).to_string())?;
        let (forms, page) = instance.forms(&events)?;
        for event in &events {
            let flushes_only = settings.watch == Watch::Queue && *event == ISSUE;
            instance.enable(event, &settings.devices, flushes_only)?;
        }
        let cpus = instance.pipes()?.into_iter().map(|(dir, pipe)| Cpu { dir, pipe }).collect();
        instance.write("tracing_on", "1")?;
        Ok(Tracepoints { cpus, forms, page: vec![0; page], events, instance })
    }

    /// Enables or disables the kernel's events, to compare a kernel without them with a machine without recording.
    pub(crate) fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        let word = if on { "1" } else { "0" };
        self.events
            .iter()
            .try_for_each(|event| self.instance.write(&format!("events/block/{event}/enable"), word))
    }

    /// Reads the buffers; returns the number of pages that could not be read completely.
    pub(crate) fn drain(&mut self, out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        let Tracepoints { cpus, forms, page, .. } = self;
        cpus.iter_mut().try_fold(0, |damaged, cpu| Ok(damaged + cpu.drain(forms, page, out)?))
    }

    /// Number of events lost since the start.
    pub(crate) fn lost(&self) -> Result<u64, CaptureError> {
        self.cpus.iter().try_fold(0, |lost, cpu| Ok(lost + cpu.count_lost()?))
    }

    pub(crate) fn stop(&self) -> Result<(), CaptureError> {
        self.instance.write("tracing_on", "0")
    }
}

impl Cpu {
    /// Reads all pages; returns the number that could not be read completely.
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

    /// Number of events lost on this CPU since the start.
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
