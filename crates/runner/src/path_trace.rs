//! Records the kernel's events of the requests of a run, into a directory of its archive.

use crate::Error;
use crate::kernel_watch::{BUFFERS, EVERY, FirstDevice, KernelWatch};
use crate::path_sampling::Sampling;
use anyhow::Context;
use iosonar_archive::PATH_EVENTS;
use iosonar_capture::{Interface, Recorder, Segments, Settings, Watch};
use iosonar_evidence::{Environment, Fact, PathTracing, TargetFacts};
use iosonar_os::create::new_dir;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_text::shown;
use iosonar_trace::kernel::{self, Event};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Events that the kernel keeps in its buffers, until there is an archive for them.
pub(crate) struct PathTrace {
    recorder: Recorder,
    /// One of this number of windows is recorded.
    one_of: u32,
}

impl PathTrace {
    /// Starts recording the devices of the targets, in one of `one_of` windows of time.
    ///
    /// # Errors
    /// A target is on no device, or the kernel does not let us record.
    pub(crate) fn start(environment: &Environment, one_of: u32) -> Result<PathTrace, Error> {
        let mut devices = Vec::new();
        for target in &environment.targets {
            devices.extend(device(target)?.numbers());
        }
        devices.sort_unstable();
        devices.dedup();
        let settings = Settings {
            devices,
            watch: Watch::Path,
            interface: Interface::Tracepoints,
            buffer_bytes: BUFFERS,
        };
        let recorder = Recorder::start(&settings).map_err(|why| {
            Error::refused_because(format_args!(
                "--trace-path: {why}; without it, only the path in the kernel stays unknown"
            ))
        })?;
        Ok(PathTrace { recorder, one_of })
    }

    /// Keeps the events in an archive's directory from now on.
    pub(crate) fn keep_in(self, archive: &Path) -> KeptTrace {
        let dir = archive.join(PATH_EVENTS);
        KeptTrace(KernelWatch::start("path", move |is_over| record(self, dir, is_over)))
    }
}

/// The device of a target, whose place on its disk is known.
fn device(target: &TargetFacts) -> Result<FirstDevice, Error> {
    FirstDevice::of(target).filter(|device| device.start.is_some()).ok_or_else(|| {
        Error::refused_because(format_args!(
            "--trace-path: {} is not on one block device, so no kernel events belong to its requests",
            shown(&target.path)
        ))
    })
}

/// A thread that keeps the events.
pub(crate) struct KeptTrace(std::io::Result<KernelWatch<PathTracing>>);

impl KeptTrace {
    /// Ends it, and returns what it recorded, and its cost.
    pub(crate) fn end(self) -> Fact<PathTracing> {
        match self.0.map(KernelWatch::end) {
            Ok(Some(tracing)) => Fact::Known(tracing),
            Ok(None) => Fact::absent("the thread that recorded the events has failed"),
            Err(error) => Fact::absent(format!("no thread could record the events: {error}")),
        }
    }
}

fn record(trace: PathTrace, dir: PathBuf, is_over: &AtomicBool) -> PathTracing {
    let begun = Instant::now();
    let mut tracing = PathTracing { one_of: trace.one_of, ..PathTracing::default() };
    let kept = keep(trace, &dir, is_over, &mut tracing);
    tracing.broken = kept.err().map(|error| format!("{error:#}"));
    tracing.took_ns = begun.elapsed().as_nanos() as u64;
    tracing.cpu_ns = thread_cpu_ns();
    tracing
}

fn keep(
    PathTrace { mut recorder, one_of }: PathTrace,
    dir: &Path,
    is_over: &AtomicBool,
    tracing: &mut PathTracing,
) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", shown(dir));
    new_dir(dir).with_context(cannot_write)?;
    let mut segments = Segments::begin(dir, Duration::MAX, None).with_context(cannot_write)?;
    let mut sampling = match one_of {
        0 | 1 => None,
        _ => Some(Sampling::begin(one_of, dir).with_context(cannot_write)?),
    };
    let mut append = |events: &[Event], lost: u64, tracing: &mut PathTracing| {
        segments.append(events, lost).with_context(cannot_write)?;
        tracing.lost_events += lost;
        tracing.events += events.len() as u64;
        tracing.bytes = segments.stored().bytes;
        anyhow::Ok(())
    };
    while !is_over.load(Relaxed) {
        if let Some(sampling) = &mut sampling {
            sampling.step(&recorder)?;
        }
        std::thread::sleep(EVERY);
        let round = recorder.round()?;
        tracing.damaged_pages += round.damaged;
        append(recorder.events(), round.lost, tracing)?;
    }
    if let Some(sampling) = &mut sampling {
        tracing.windows = sampling.end().with_context(cannot_write)?;
    }
    let (left, round) = recorder.stop()?;
    tracing.damaged_pages += round.damaged;
    append(&left, round.lost, tracing)?;
    segments.end().with_context(cannot_write)?;
    Ok(())
}

/// Disks of the partitions among the targets.
pub(crate) fn disks(environment: &Environment) -> impl Iterator<Item = (kernel::Device, kernel::Device)> {
    environment.targets.iter().filter_map(FirstDevice::of).map(|first| (first.device, first.disk))
}
