//! Events of the kernel's blktrace interface: for each device and CPU a file in debugfs, in the form that `blktrace(8)` keeps.
//!
//! A device has one such trace at most, whoever made it. What a recorder that was killed left running is told by a file
//! below `/run`, so that [`cleanup`] removes that and no other.

use crate::error::{CaptureError, at};
use crate::mount::{DEBUGFS, turn};
use crate::recorder::{Settings, Watch};
use iosonar_os::blktrace;
use iosonar_trace::Entry;
use iosonar_trace::kernel::blktrace::Blktrace as Events;
use iosonar_trace::kernel::{Action, Device, Event, Events as _, SharedNames};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the traces of all devices are, in debugfs.
const TRACES: &str = "block";
/// Buffers of a CPU: while one is read another is filled.
const BUFFERS: u64 = 4;
/// Least and greatest size of one, bytes.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 16 << 10..=256 << 20;
/// How files begin that tell what a recorder traces; the number of its process follows.
const MARKS: &str = "/run";
const MARK: &str = "iosonar-blktrace-";

/// Categories of actions: the lower half of `BLK_TC_…`.
mod category {
    pub const QUEUE: u16 = 1 << 4;
    pub const REQUEUE: u16 = 1 << 5;
    pub const ISSUE: u16 = 1 << 6;
    pub const COMPLETE: u16 = 1 << 7;
}

fn mask(watch: Watch) -> u16 {
    match watch {
        Watch::Queue => category::QUEUE | category::COMPLETE,
        Watch::Issue => category::ISSUE | category::REQUEUE | category::COMPLETE,
    }
}

/// Those of an action's category that the tracepoints tell, too: joins, splits and the like share a category with what was
/// asked for.
fn actions(watch: Watch) -> &'static [Action] {
    match watch {
        Watch::Queue => &[Action::Queue, Action::Complete],
        Watch::Issue => &[Action::Issue, Action::Requeue, Action::Complete],
    }
}

/// Traces of devices, which run while it lives.
pub(crate) struct Blktrace {
    /// By CPU, so that each is visited once.
    files: Vec<CpuFile>,
    traces: Vec<Trace>,
    names: SharedNames,
    actions: &'static [Action],
    mark: Mark,
    /// The last field: it goes when nothing is traced any more.
    _debugfs: Debugfs,
}

/// A trace of one device. It is stopped and removed when this is dropped.
struct Trace {
    node: File,
    dir: PathBuf,
}

/// What one CPU says of one device.
struct CpuFile {
    cpu: usize,
    path: PathBuf,
    events: Events<File>,
}

impl Blktrace {
    pub(crate) fn start(settings: &Settings) -> Result<Blktrace, CaptureError> {
        let debugfs = Debugfs::find()?;
        let mark = Mark::create()?;
        let mut all = Blktrace {
            files: Vec::new(),
            traces: Vec::new(),
            names: SharedNames::default(),
            actions: actions(settings.watch),
            mark,
            _debugfs: debugfs,
        };
        let share = settings.buffer_bytes / settings.devices.len().max(1) as u64 / BUFFERS;
        let bytes = share.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end()) as u32;
        for device in &settings.devices {
            let trace = Trace::of(*device, mask(settings.watch), bytes)?;
            all.mark.add(&trace, *device)?;
            all.traces.push(trace);
        }
        all.open_files()?;
        all.set_events(true)?;
        Ok(all)
    }

    /// Lets the traces run, or stops them.
    pub(crate) fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        self.traces.iter().try_for_each(|trace| {
            let done = if on { blktrace::start(&trace.node) } else { blktrace::stop(&trace.node) };
            match done {
                // It is so already, or the device has vanished, and its trace with it.
                Ok(()) | Err(Errno::INVAL) => Ok(()),
                Err(errno) => Err(at(&trace.dir)(errno.into())),
            }
        })
    }

    /// Opens the files that are new: those of all CPUs at the begin, later of CPUs that were switched on.
    fn open_files(&mut self) -> Result<(), CaptureError> {
        for Trace { dir, .. } in &self.traces {
            // A device that vanished takes its directory along; what was read is kept.
            let Ok(entries) = fs::read_dir(dir) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let name = path.file_name().and_then(|name| name.to_str());
                let cpu = name.and_then(|name| name.strip_prefix("trace")?.parse().ok());
                let Some(cpu) = cpu.filter(|_| self.files.iter().all(|file| file.path != path)) else {
                    continue;
                };
                let mut options = File::options();
                let options = options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
                let events = Events::new(options.open(&path).map_err(at(&path))?);
                self.files.push(CpuFile { cpu, path, events });
            }
        }
        self.files.sort_by_key(|file| file.cpu);
        Ok(())
    }

    /// Takes what the buffers hold; how many places of it were damaged.
    pub(crate) fn drain(&mut self, out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        self.open_files()?;
        let home = sched_getaffinity(None).ok();
        let (mut damaged, mut here) = (0, None);
        for file in &mut self.files {
            // A CPU writes its events with interrupts off: who reads there meets none that is half written. Where this
            // process may not go, damage is seldom, and seen.
            if here != Some(file.cpu) && file.cpu < CpuSet::MAX_CPU {
                let mut set = CpuSet::new();
                set.set(file.cpu);
                let _ = sched_setaffinity(None, &set);
                here = Some(file.cpu);
            }
            damaged += file.drain(self.actions, out)?;
        }
        if let Some(home) = home {
            let _ = sched_setaffinity(None, &home);
        }
        for event in out {
            let missing = self.names.missing(event.process, self.files.iter().map(|file| &file.events));
            event.process.name = missing.unwrap_or(event.process.name);
        }
        Ok(damaged)
    }

    /// Events that could not be kept, since the begin.
    pub(crate) fn lost(&self) -> Result<u64, CaptureError> {
        self.traces.iter().try_fold(0, |lost, trace| {
            let path = trace.dir.join("dropped");
            match fs::read_to_string(&path) {
                Ok(text) => Ok(lost + text.trim().parse::<u64>().unwrap_or(0)),
                // The device has vanished, and its trace with it.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(lost),
                Err(error) => Err(at(&path)(error)),
            }
        })
    }
}

impl Trace {
    fn of(device: Device, mask: u16, bytes: u32) -> Result<Trace, CaptureError> {
        let path = node(device)?;
        // Like blktrace(8): a drive without a medium need not answer.
        let mut options = File::options();
        let options = options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        let node = options.open(&path).map_err(at(&path))?;
        let name = blktrace::setup(&node, mask, bytes, BUFFERS as u32).map_err(|errno| match errno {
            Errno::BUSY => CaptureError::Impossible(format!(
                "{} is traced by blktrace already, and a device has one such trace: end the other (record --cleanup, if a \
                 recorder was killed; blktrace -d {} -k), or record with --interface tracepoints",
                path.display(),
                path.display()
            )),
            Errno::NOTTY | Errno::NOENT | Errno::OPNOTSUPP => {
                CaptureError::Impossible(format!(
                    "this kernel has no blktrace interface of {} (CONFIG_BLK_DEV_IO_TRACE, CONFIG_DEBUG_FS): record with \
                     --interface tracepoints",
                    path.display()
                ))
            }
            errno => at(&path)(errno.into()),
        })?;
        // From here on there is something to undo.
        let trace = Trace { node, dir: traces().join(name) };
        let counter = trace.dir.join("dropped");
        if counter.exists() { Ok(trace) } else { Err(at(&counter)(ErrorKind::NotFound.into())) }
    }
}

fn traces() -> PathBuf {
    Path::new(DEBUGFS.place).join(TRACES)
}

/// Debugfs, as long as it is used.
struct Debugfs;

impl Debugfs {
    /// Finds it, or mounts it.
    fn find() -> Result<Debugfs, CaptureError> {
        let _turn = turn();
        if !traces().is_dir() {
            DEBUGFS.mount().map_err(|error| match error {
                CaptureError::Io { error, .. } if Errno::from_io_error(&error) == Some(Errno::NODEV) => {
                    CaptureError::Impossible(
                        "this kernel has no debugfs (CONFIG_DEBUG_FS), in which blktrace's events are: record with \
                         --interface tracepoints"
                            .into(),
                    )
                }
                error => error,
            })?;
        }
        Ok(Debugfs)
    }
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        let _turn = turn();
        // What cannot be undone here, a cleanup can.
        let _ = DEBUGFS.unmount_if_ours();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // What cannot be undone here, a cleanup can.
        let _ = blktrace::stop(&self.node);
        let _ = blktrace::teardown(&self.node);
    }
}

impl CpuFile {
    fn drain(&mut self, actions: &[Action], out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        let mut damaged = 0;
        loop {
            match self.events.next() {
                Ok(Some(Entry::One(event))) if actions.contains(&event.action) => out.push(*event),
                Ok(Some(Entry::One(_))) => {}
                Ok(Some(Entry::Bad(_))) => damaged += 1,
                // The file is at its end as long as nothing new is there.
                Ok(None) => return Ok(damaged),
                Err(error) => {
                    return Err(CaptureError::Impossible(format!("{}: {error}", self.path.display())));
                }
            }
        }
    }
}

/// The file of a device.
fn node(device: Device) -> Result<PathBuf, CaptureError> {
    let numbers = Path::new("/sys/dev/block").join(device.to_string().replace(',', ":"));
    let link = fs::read_link(&numbers).map_err(at(&numbers))?;
    let name = link.file_name().map(|name| name.to_string_lossy().replace('!', "/"));
    Ok(Path::new("/dev").join(name.unwrap_or_default()))
}

/// Tells what this process traces, as long as it lives: it holds a lock.
struct Mark {
    path: PathBuf,
    file: File,
}

impl Mark {
    fn create() -> Result<Mark, CaptureError> {
        let path = Path::new(MARKS).join(format!("{MARK}{}", std::process::id()));
        let file = File::create(&path).map_err(at(&path))?;
        file.lock().map_err(at(&path))?;
        Ok(Mark { path, file })
    }

    /// Notes a trace: number of the device, and the inode of one of its files, which tells it from a later one.
    fn add(&mut self, trace: &Trace, device: Device) -> Result<(), CaptureError> {
        let inode = fs::metadata(trace.dir.join("dropped")).map_or(0, |facts| facts.ino());
        writeln!(self.file, "{device} {inode} {}", trace.dir.display()).map_err(at(&self.path))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Nobody can be told any more; a cleanup removes it, too.
        let _ = fs::remove_file(&self.path);
    }
}

/// Ends the traces of recorders that are gone: their processes' numbers go to `removed`, those of living ones to `alive`.
pub(crate) fn cleanup(removed: &mut Vec<u32>, alive: &mut Vec<u32>) -> Result<(), CaptureError> {
    let Ok(entries) = fs::read_dir(MARKS) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(pid) = name.and_then(|name| name.strip_prefix(MARK)?.parse().ok()) else { continue };
        let file = File::open(&path).map_err(at(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => alive.push(pid),
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
            Ok(()) => {
                // Where a trace is told from a later one.
                let _debugfs = Debugfs::find();
                fs::read_to_string(&path).map_err(at(&path))?.lines().for_each(end_trace);
                fs::remove_file(&path).map_err(at(&path))?;
                removed.push(pid);
            }
        }
    }
    let _turn = turn();
    DEBUGFS.unmount_if_ours().map_err(at(Path::new(DEBUGFS.place)))
}

/// Ends the trace of a line of [`Mark::add`], if it is still the same.
fn end_trace(line: &str) {
    let mut words = line.splitn(3, ' ');
    let (Some(device), Some(inode), Some(dir)) =
        (words.next().and_then(Device::parse), words.next(), words.next())
    else {
        return;
    };
    let is_same = fs::metadata(Path::new(dir).join("dropped")).is_ok_and(|f| f.ino().to_string() == inode);
    let Some(node) = node(device).ok().filter(|_| is_same).and_then(|path| File::open(path).ok()) else {
        return;
    };
    drop(Trace { node, dir: dir.into() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_file_or_a_reason() {
        let entry = fs::read_dir("/sys/dev/block").ok().and_then(|mut all| all.next()?.ok());
        if let Some(entry) = entry {
            let device = Device::parse(entry.file_name().to_str().unwrap()).unwrap();
            assert!(node(device).unwrap().starts_with("/dev"));
        }
        assert!(node(Device::new(4000, 1).unwrap()).unwrap_err().to_string().contains("4000:1"));
    }

    #[test]
    fn lines_that_are_damaged_end_nothing() {
        ["", "8,0", "x y z", "4000,1 7 /nowhere"].into_iter().for_each(end_trace);
    }
}
