//! `iosonar record`: the block I/O of live devices as an archive.

mod archive;
mod overhead;
mod presence;

pub use archive::requests as recorded_requests;

use crate::exit::{Exit, Failure};
use crate::output::{self, print, print_message};
use crate::record_args::{InterfaceArg, RecordArgs, WatchArg};
use crate::signals;
use anyhow::{Context, anyhow};
use iosonar_capture::{Interface, Recorder, Round, Segments, Settings, Stored, Watch, cleanup};
use iosonar_host::{BlockDevice, Role, Root, TargetFacts, TargetKind, identify};
use iosonar_os::usage::own_cpu_time;
use iosonar_text::shown;
use iosonar_trace::kernel::Device;
use presence::{Gone, Presence};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often the ring buffers are emptied.
const ROUND: Duration = Duration::from_millis(100);
/// Events written at once, and the longest wait of the last ones: the loss after a kill.
const TOGETHER: usize = 1 << 14;
const LATEST: Duration = Duration::from_secs(1);

/// Number of checks whether tracing is off, one each 10 ms.
const PATIENCE: u32 = 200;

/// Least size that a recording is limited to.
const LEAST_SIZE: u64 = 1 << 20;

/// Records, measures the overhead of recording, or cleans up.
pub fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    if args.cleanup {
        return clean(args);
    }
    if args.max_size.is_some_and(|size| size.0 < LEAST_SIZE) {
        return Err(Failure::refused(anyhow!(
            "--max-size: give 1MiB at least, or nothing would be left of a recording"
        )));
    }
    let devices = devices(&args.devices)?;
    refuse_without_requests(args, &devices)?;
    let settings = settings(args, &devices);
    if args.measure_overhead {
        return overhead::measure(&settings, &devices, args.duration);
    }
    let dir = args.out.clone().unwrap_or_else(|| {
        output::unused_name(&format!(
            "{}-{}",
            devices[0].1.name,
            output::utc_stamp(iosonar_os::realtime_ns())
        ))
    });
    let end = Arc::new(AtomicI32::new(0));
    let kernel = InKernel::default();
    let (in_kernel, aborted) = (kernel.clone(), dir.clone());
    signals::end_on_signal(end.clone(), move || tell_aborted(in_kernel.is_left(), &aborted))?;
    // Nothing is created on disk before the kernel has agreed.
    kernel.set(true);
    let recorder = Recorder::start(&settings).map_err(Failure::refused)?;
    let facts: Vec<TargetFacts> = devices.iter().map(|(facts, _)| facts.clone()).collect();
    let begun = archive::Begun::create(&dir, &facts, &devices, args)?;
    warn_of_itself(&dir, &devices);
    let presence = Presence::of(devices.iter().map(|(_, device)| device));
    let recording = match Recording::new(args, recorder, presence, &begun, &end) {
        Ok(recording) => recording,
        Err(failure) => {
            begun.discard();
            return Err(failure);
        }
    };
    let recorded = recording.run(&kernel)?;
    let summary = begun.conclude(&recorded).inspect_err(|_| {
        print_message(format_args!(
            "iosonar: all that was recorded is kept; after a repair, 'iosonar record --cleanup {}' makes the archive of it",
            shown(&dir)
        ));
    })?;
    print(&summary)?;
    println!("{}", shown(&dir));
    // Ctrl-C is the normal end of a recording: no failure.
    Ok(if recorded.broken.is_some() { Exit::Failed } else { Exit::Fine })
}

/// Whether tracing is on in the kernel, for the handler that aborts the program.
#[derive(Clone, Default)]
pub struct InKernel(Arc<AtomicBool>);

impl InKernel {
    /// Sets the state.
    pub fn set(&self, on: bool) {
        self.0.store(on, Relaxed);
    }

    /// Waits until the stopping recorder has switched tracing off; returns whether it is still on. Only the recorder can do that, because
    /// its buffers are open.
    pub fn is_left(&self) -> bool {
        let is_on = |_| {
            std::thread::sleep(Duration::from_millis(10));
            self.0.load(Relaxed)
        };
        (0..PATIENCE).all(is_on)
    }
}

fn tell_aborted(is_left: bool, dir: &Path) {
    let left = if is_left { "switches tracing off, and " } else { "" };
    print_message(format_args!(
        "\niosonar: aborted; what was recorded until now is kept: 'iosonar record --cleanup {}' {left}makes the archive of it",
        shown(&dir)
    ));
}

/// Result of a recording.
pub struct Recorded {
    /// Files on disk.
    pub stored: Stored,
    /// Events that the kernel could not keep, and unreadable pages.
    pub lost: Round,
    /// How long it took.
    pub took: Duration,
    /// CPU time of this process, nanoseconds.
    pub cpu_ns: u64,
    /// Why it ended early.
    pub broken: Option<String>,
    /// Devices that disappeared meanwhile.
    pub gone: Vec<Gone>,
}

struct Recording<'a> {
    args: &'a RecordArgs,
    recorder: Recorder,
    presence: Presence,
    gone: Vec<Gone>,
    segments: Segments,
    /// Directory of the segments.
    events: &'a Path,
    end: &'a AtomicI32,
    begun: Instant,
    waiting: Vec<iosonar_trace::kernel::Event>,
    waiting_lost: u64,
    written: Instant,
    sum: Round,
}

impl<'a> Recording<'a> {
    fn new(
        args: &'a RecordArgs,
        recorder: Recorder,
        presence: Presence,
        begun: &'a archive::Begun,
        end: &'a AtomicI32,
    ) -> Result<Recording<'a>, Failure> {
        let every = Duration::from_nanos(args.segment.0);
        let segments = Segments::begin(&begun.events, every, args.max_size.map(|size| size.0));
        let segments = segments.with_context(|| format!("cannot write in {}", shown(&begun.events)))?;
        let events = begun.events.as_path();
        let (begun, waiting, gone) = (Instant::now(), Vec::new(), Vec::new());
        let (sum, waiting_lost, written) = (Round::default(), 0, begun);
        Ok(Recording {
            args,
            recorder,
            presence,
            gone,
            segments,
            events,
            end,
            begun,
            waiting,
            waiting_lost,
            written,
            sum,
        })
    }

    fn run(mut self, kernel: &InKernel) -> Result<Recorded, Failure> {
        let cpu = cpu_ns();
        let broken = self.until_the_end();
        let Recording {
            recorder,
            mut segments,
            events: dir,
            begun,
            mut waiting,
            waiting_lost,
            mut sum,
            gone,
            ..
        } = self;
        let (stopped, broken) = match recorder.stop() {
            Ok(stopped) => (stopped, broken),
            // Events read before the error are kept.
            Err(error) => (Default::default(), broken.or(Some(error.to_string()))),
        };
        let (events, last) = stopped;
        kernel.set(false);
        let took = begun.elapsed();
        sum.lost += last.lost;
        sum.damaged += last.damaged;
        waiting.extend(events);
        let kept = segments.append(&waiting, waiting_lost + last.lost);
        let broken = broken.or(kept.err().map(|error| cannot_write(dir, &error)));
        let stored = segments.stored();
        let broken = broken.or(segments.end().err().map(|error| cannot_write(dir, &error)));
        if let Some(why) = &broken {
            print_message(format_args!("iosonar: {why}"));
        }
        Ok(Recorded { stored, lost: sum, took, cpu_ns: cpu_ns() - cpu, broken, gone })
    }

    /// Records until its end, or until an error: returns its reason.
    fn until_the_end(&mut self) -> Option<String> {
        let limit = self.args.duration.map(|d| Duration::from_nanos(d.0));
        let mut shown = Instant::now();
        while self.end.load(Relaxed) == 0 && limit.is_none_or(|limit| self.begun.elapsed() < limit) {
            let left = limit.map_or(ROUND, |limit| limit.saturating_sub(self.begun.elapsed()).min(ROUND));
            std::thread::sleep(left);
            if let Err(why) = self.round() {
                return Some(why);
            }
            if !self.args.no_progress && shown.elapsed() >= Duration::from_secs(1) {
                shown = Instant::now();
                self.show(limit);
            }
        }
        if !self.args.no_progress && std::io::stderr().is_terminal() {
            print_message("");
        }
        None
    }

    fn round(&mut self) -> Result<(), String> {
        let round = self.recorder.round().map_err(|error| error.to_string())?;
        self.sum.lost += round.lost;
        self.sum.damaged += round.damaged;
        self.waiting_lost += round.lost;
        self.waiting.extend_from_slice(self.recorder.events());
        if self.waiting.len() >= TOGETHER || self.written.elapsed() >= LATEST {
            let kept = self.segments.append(&self.waiting, self.waiting_lost);
            kept.map_err(|error| cannot_write(self.events, &error))?;
            self.waiting.clear();
            self.waiting_lost = 0;
            self.written = Instant::now();
            self.look_after_devices();
        }
        Ok(())
    }

    /// Immediately reports devices that disappeared: later events are of no device, or of another one.
    fn look_after_devices(&mut self) {
        let gone = self.presence.gone(self.begun.elapsed());
        for Gone { path, after } in &gone {
            print_message(format_args!(
                "iosonar: WARNING: {path} is gone, {} s after the start: it was detached or removed; the recording goes on until it is ended",
                after.as_secs()
            ));
        }
        self.gone.extend(gone);
    }

    fn show(&self, limit: Option<Duration>) {
        let stored = self.segments.stored();
        let took = self.begun.elapsed().as_secs();
        let of = limit.map(|limit| format!("/{} s", limit.as_secs())).unwrap_or_else(|| " s".into());
        let line = format!(
            "recording {took}{of}: {} events, {} lost, {:.1} MiB",
            stored.events + self.waiting.len() as u64,
            self.sum.lost,
            stored.bytes as f64 / f64::from(1 << 20)
        );
        if std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        } else if took.is_multiple_of(10) {
            print_message(line);
        }
    }
}

/// Remedy if a recording cannot be written.
fn cannot_write(events: &Path, error: &std::io::Error) -> String {
    let remedy = match error.kind() {
        ErrorKind::StorageFull => {
            ": make room, record to another disk with --out, or keep less with --max-size"
        }
        _ => "",
    };
    format!("cannot write events in {}: {error}{remedy}; what was written until then is kept", shown(&events))
}

/// CPU time of this process so far.
fn cpu_ns() -> u64 {
    let used = own_cpu_time();
    used.user_ns + used.system_ns
}

fn settings(args: &RecordArgs, devices: &[(TargetFacts, BlockDevice)]) -> Settings {
    Settings {
        devices: devices.iter().map(|(_, device)| number(device)).collect(),
        watch: match args.at {
            WatchArg::Queue => Watch::Queue,
            WatchArg::Issue => Watch::Issue,
        },
        interface: match args.interface {
            InterfaceArg::Tracepoints => Interface::Tracepoints,
            InterfaceArg::Blktrace => Interface::Blktrace,
        },
        buffer_bytes: args.buffer.0,
    }
}

/// The kernel's packed number of a device.
fn number(device: &BlockDevice) -> Device {
    Device::new(device.number.major, device.number.minor).unwrap_or_default()
}

/// The whole disks that were named.
fn devices(paths: &[PathBuf]) -> Result<Vec<(TargetFacts, BlockDevice)>, Failure> {
    let mut found: Vec<(TargetFacts, BlockDevice)> = Vec::new();
    for path in paths {
        let facts = identify(path, &Root::default()).map_err(Failure::refused)?;
        let TargetKind::BlockDevice(device) = facts.kind.clone() else {
            return Err(Failure::refused(anyhow!(
                "{} is a file: block I/O is recorded of devices; name the one that its file system is on",
                shown(&path)
            )));
        };
        if let Role::Partition { disk, .. } = &device.role {
            return Err(Failure::refused(anyhow!(
                "{} is a partition, and the kernel's events are those of its disk: record {}",
                shown(&path),
                shown(&disk.dev_path())
            )));
        }
        if found.iter().all(|(_, known)| known.number != device.number) {
            found.push((facts, *device));
        }
    }
    Ok(found)
}

/// Refuses devices without requests, of which nothing would be recorded.
fn refuse_without_requests(args: &RecordArgs, devices: &[(TargetFacts, BlockDevice)]) -> Result<(), Failure> {
    if args.at == WatchArg::Queue {
        return Ok(());
    }
    let Some((facts, _)) = devices.iter().find(|(_, device)| !presence::has_requests(device)) else {
        return Ok(());
    };
    Err(Failure::refused(anyhow!(
        "--at issue: {} has no requests, its driver takes bios as requested, so there are no issue events: use --at queue",
        shown(&facts.path)
    )))
}

/// Warns if a recording is written to a recorded device: it records itself.
fn warn_of_itself(dir: &Path, devices: &[(TargetFacts, BlockDevice)]) {
    let Ok(below) = identify(&dir.join("run.json"), &Root::default()) else { return };
    for device in below.devices() {
        if devices.iter().any(|(_, recorded)| recorded.number == device.number) {
            print_message(format_args!(
                "iosonar: WARNING: {} lies on {}, which is recorded: the recording's own writes will be part of it; use --out on another disk",
                shown(&dir),
                shown(&device.dev_path())
            ));
        }
    }
}

fn clean(args: &RecordArgs) -> Result<Exit, Failure> {
    let cleaned = cleanup().map_err(Failure::broke)?;
    for pid in &cleaned.removed {
        print_message(format_args!(
            "iosonar: process {pid} is gone: its tracing was switched off and removed"
        ));
    }
    for pid in &cleaned.alive {
        print_message(format_args!("iosonar: process {pid} still records, and was left alone"));
    }
    if cleaned.removed.is_empty() {
        print_message("iosonar: nothing was left in the kernel");
    }
    for dir in &args.devices {
        match archive::conclude_cut_off(dir)? {
            Some(summary) => print(&summary)?,
            None => print_message(format_args!(
                "iosonar: {} is whole already: there is nothing to do",
                shown(&dir)
            )),
        }
        println!("{}", shown(&dir));
    }
    Ok(Exit::Fine)
}
