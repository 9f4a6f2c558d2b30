//! Events of the kernel's blktrace interface: one file per device and CPU in debugfs, in the format of `blktrace(8)`.
//!
//! A device has at most one such trace, of any program. Each recorder lists its traces in a file below `/run`, so that
//! [`cleanup`] removes those of killed recorders and no others.

use crate::error::{CaptureError, at};
use crate::mount::{DEBUGFS, turn};
use crate::recorder::{Settings, Watch};
use iosonar_os::blktrace;
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::shared_file;
use iosonar_os::made::Made;
use iosonar_text::shown;
use iosonar_trace::Entry;
use iosonar_trace::kernel::blktrace::Blktrace as Events;
use iosonar_trace::kernel::{Action, Device, Event, Events as _, SharedNames};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Directory of all devices' traces in debugfs.
const TRACES: &str = "block";
/// Buffers per CPU: while one is read another is filled.
const BUFFERS: u64 = 4;
/// Minimum and maximum size of a buffer in bytes.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 16 << 10..=256 << 20;
/// Directory and name prefix of the files that list a recorder's traces; the process id follows.
const MARKS: &str = "/run";
const MARK: &str = "iosonar-blktrace-";

/// Categories of actions: the lower half of `BLK_TC_...`.
mod category {
    pub const QUEUE: u16 = 1 << 4;
    pub const REQUEUE: u16 = 1 << 5;
    pub const ISSUE: u16 = 1 << 6;
    pub const COMPLETE: u16 = 1 << 7;
}

fn mask(watch: Watch) -> u16 {
    match watch {
        Watch::Queue => category::QUEUE | category::COMPLETE,
        Watch::Order => category::QUEUE | category::ISSUE,
        Watch::Path => category::QUEUE | category::ISSUE | category::COMPLETE,
        Watch::Issue => category::ISSUE | category::REQUEUE | category::COMPLETE,
    }
}

/// Actions of the enabled categories that the tracepoints have, too: merges, splits and the like share a category with
/// queued requests.
fn actions(watch: Watch) -> &'static [Action] {
    match watch {
        Watch::Queue => &[Action::Queue, Action::Complete],
        Watch::Order => &[Action::Queue, Action::Issue],
        Watch::Path => &[Action::Queue, Action::Issue, Action::Complete],
        Watch::Issue => &[Action::Issue, Action::Requeue, Action::Complete],
    }
}

/// Running traces of devices.
pub(crate) struct Blktrace {
    /// Sorted by CPU, so that each is visited once.
    files: Vec<CpuFile>,
    /// Paths of all files opened so far.
    opened: HashSet<PathBuf>,
    traces: Vec<Trace>,
    names: SharedNames,
    actions: &'static [Action],
    mark: Mark,
    /// Last field, so that it is dropped after all traces have ended.
    _debugfs: Debugfs,
}

/// A trace of one device. It is stopped and removed on drop.
struct Trace {
    /// The device's file. It is open only briefly, so that a recorder does not prevent detaching the device.
    node: PathBuf,
    dir: PathBuf,
    /// Inode of one of its files, which distinguishes it from a later trace.
    inode: u64,
    /// Lost events when last read.
    lost: u64,
}

/// The events of one device on one CPU.
struct CpuFile {
    cpu: usize,
    /// Index of its trace.
    trace: usize,
    path: PathBuf,
    events: Events<File>,
}

impl Blktrace {
    pub(crate) fn start(settings: &Settings) -> Result<Blktrace, CaptureError> {
        let debugfs = Debugfs::find()?;
        let mark = Mark::create()?;
        let mut all = Blktrace {
            files: Vec::new(),
            opened: HashSet::new(),
            traces: Vec::new(),
            names: SharedNames::default(),
            actions: actions(settings.watch),
            mark,
            _debugfs: debugfs,
        };
        let share = settings.buffer_bytes_of_cpu() / settings.devices.len().max(1) as u64 / BUFFERS;
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

    /// Starts or stops the traces.
    pub(crate) fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        self.traces.iter().filter(|trace| trace.is_there()).try_for_each(|trace| {
            let set = |node: File| if on { blktrace::start(node) } else { blktrace::stop(node) };
            match trace.open().and_then(|node| Ok(set(node)?)) {
                // Already in that state.
                Err(error) if Errno::from_io_error(&error) != Some(Errno::INVAL) => {
                    Err(at(&trace.node)(error))
                }
                _ => Ok(()),
            }
        })
    }

    /// Opens new files: those of all CPUs at the start, later those of CPUs that came online.
    fn open_files(&mut self) -> Result<(), CaptureError> {
        for (trace, Trace { dir, .. }) in self.traces.iter().enumerate().filter(|(_, trace)| trace.is_there())
        {
            let Ok(entries) = fs::read_dir(dir) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let name = path.file_name().and_then(|name| name.to_str());
                let Some(cpu) = name.and_then(|name| name.strip_prefix("trace")?.parse().ok()) else {
                    continue;
                };
                if self.opened.contains(&path) {
                    continue;
                }
                match quick(&path) {
                    Ok(file) => {
                        self.opened.insert(path.clone());
                        self.files.push(CpuFile { cpu, trace, path, events: Events::new(file) });
                    }
                    // The device has just been removed.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(at(&path)(error)),
                }
            }
        }
        self.files.sort_by_key(|file| file.cpu);
        Ok(())
    }

    /// Reads the buffers; returns the number of damaged places.
    pub(crate) fn drain(&mut self, out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        self.open_files()?;
        let (mut damaged, mut over) = (0, Vec::new());
        let mut visit = Visit::begin();
        for (index, file) in self.files.iter_mut().enumerate() {
            visit.move_to(file.cpu);
            match file.drain(self.actions, out) {
                Ok(more) => damaged += more,
                Err(error) if self.traces[file.trace].is_there() => return Err(error),
                // The device and its trace have been removed; events read so far are kept.
                Err(_) => over.push(index),
            }
        }
        drop(visit);
        over.into_iter().rev().for_each(|index| drop(self.files.remove(index)));
        for event in out {
            let missing = self.names.missing(event.process, self.files.iter().map(|file| &file.events));
            event.process.name = missing.unwrap_or(event.process.name);
        }
        Ok(damaged)
    }

    /// Number of events lost since the start.
    pub(crate) fn lost(&mut self) -> Result<u64, CaptureError> {
        self.traces.iter_mut().try_fold(0, |lost, trace| Ok(lost + trace.count_lost()?))
    }
}

/// Moves this thread from CPU to CPU; restores its affinity on drop.
///
/// A CPU writes its events with interrupts off: a reader on the same CPU sees no partial event. Events of CPUs that
/// this process may not use are read from elsewhere.
struct Visit {
    home: Option<CpuSet>,
    here: Option<usize>,
}

impl Visit {
    fn begin() -> Visit {
        Visit { home: sched_getaffinity(None).ok(), here: None }
    }

    fn move_to(&mut self, cpu: usize) {
        if self.home.is_none() || self.here == Some(cpu) || cpu >= CpuSet::MAX_CPU {
            return;
        }
        let mut set = CpuSet::new();
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
        self.here = Some(cpu);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            let _ = sched_setaffinity(None, home);
        }
    }
}

impl Trace {
    fn of(device: Device, mask: u16, bytes: u32) -> Result<Trace, CaptureError> {
        let node = node(device)?;
        let file = quick(&node).map_err(at(&node))?;
        let name =
            blktrace::setup(&file, mask, bytes, BUFFERS as u32).map_err(|errno| refused(&node, errno))?;
        // From here on there is something to undo.
        let mut trace = Trace { node, dir: traces().join(name), inode: 0, lost: 0 };
        let counter = trace.dir.join("dropped");
        trace.inode = fs::metadata(&counter).map_err(at(&counter))?.ino();
        Ok(trace)
    }

    fn open(&self) -> io::Result<File> {
        quick(&self.node)
    }

    /// Whether the device still has this trace: it is removed with the device, and other programs can end it.
    fn is_there(&self) -> bool {
        self.inode == 0 || fs::metadata(self.dir.join("dropped")).is_ok_and(|facts| facts.ino() == self.inode)
    }

    /// Number of events it lost; after its removal, the last known value.
    fn count_lost(&mut self) -> Result<u64, CaptureError> {
        let path = self.dir.join("dropped");
        match fs::read_to_string(&path) {
            _ if !self.is_there() => {}
            Ok(text) => self.lost = text.trim().parse().unwrap_or(self.lost),
            Err(error) => return Err(at(&path)(error)),
        }
        Ok(self.lost)
    }

    /// Stops and removes it. No effect if it is gone.
    fn end(&self) -> io::Result<()> {
        if !self.is_there() {
            return Ok(());
        }
        let node = self.open()?;
        match blktrace::stop(&node) {
            // A trace that was not started cannot be stopped.
            Ok(()) | Err(Errno::INVAL) => Ok(blktrace::teardown(&node)?),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Opens a device with `O_NONBLOCK`, like blktrace(8): a drive without a medium need not answer.
fn quick(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)
}

/// Explains why a device cannot be traced.
fn refused(node: &Path, errno: Errno) -> CaptureError {
    let node_text = shown(&node);
    match errno {
        Errno::BUSY => CaptureError::Impossible(format!(
            "{node_text} is traced by blktrace already, and a device has one such trace: end the other (record --cleanup, if \
             a recorder was killed; blktrace -d {node_text} -k), or record with --interface tracepoints"
        )),
        Errno::NOTTY | Errno::NOENT | Errno::OPNOTSUPP => CaptureError::Impossible(format!(
            "this kernel has no blktrace interface of {node_text} (CONFIG_BLK_DEV_IO_TRACE, CONFIG_DEBUG_FS): record with \
             --interface tracepoints"
        )),
        errno => at(node)(errno.into()),
    }
}

fn traces() -> PathBuf {
    Path::new(DEBUGFS.place).join(TRACES)
}

/// Keeps debugfs mounted: holds a directory in it open.
struct Debugfs(Option<File>);

impl Debugfs {
    /// Finds debugfs, or mounts it.
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
        Ok(Debugfs(File::open(traces()).ok()))
    }
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        self.0 = None;
        let _turn = turn();
        // On failure, a cleanup can unmount it.
        let _ = DEBUGFS.unmount_if_ours();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // On failure, a cleanup can remove it.
        let _ = self.end();
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
                // The file is at EOF until there are new events.
                Ok(None) => return Ok(damaged),
                Err(error) => {
                    return Err(CaptureError::Impossible(format!("{}: {error}", shown(&self.path))));
                }
            }
        }
    }
}

/// Path of a device's file.
fn node(device: Device) -> Result<PathBuf, CaptureError> {
    let numbers = Path::new("/sys/dev/block").join(device.to_string().replace(',', ":"));
    let link = fs::read_link(&numbers).map_err(at(&numbers))?;
    let name = link.file_name().map(|name| name.to_string_lossy().replace('!', "/"));
    Ok(Path::new("/dev").join(name.unwrap_or_default()))
}

/// Lists the traces of this process during its life, which a lock on the file shows.
struct Mark {
    path: PathBuf,
    file: File,
    made: Made,
}

impl Mark {
    fn create() -> Result<Mark, CaptureError> {
        let path = Path::new(MARKS).join(format!("{MARK}{}", std::process::id()));
        let _turn = turn();
        let file = shared_file(&path).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
            Err(TryLockError::WouldBlock) => {
                return Err(CaptureError::Impossible(format!(
                    "{} belongs to a recorder with the same number as this process, in another namespace: start again",
                    shown(&path)
                )));
            }
        }
        // A killed process may have had the same number.
        end_traces(&path)?;
        file.set_len(0).map_err(at(&path))?;
        let made = Made::created(&path, &file).map_err(at(&path))?;
        Ok(Mark { path, file, made })
    }

    /// Adds a trace: device number, inode, and directory.
    fn add(&mut self, trace: &Trace, device: Device) -> Result<(), CaptureError> {
        writeln!(self.file, "{device} {} {}", trace.inode, trace.dir.display()).map_err(at(&self.path))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // On failure, a cleanup removes it, too.
        let _ = self.made.remove();
    }
}

/// Ends the traces of recorders that are gone: their process numbers are added to `removed`, those of living ones to
/// `alive`.
pub(crate) fn cleanup(removed: &mut Vec<u32>, alive: &mut Vec<u32>) -> Result<(), CaptureError> {
    let marks: Vec<(u32, PathBuf)> =
        fs::read_dir(MARKS).into_iter().flatten().flatten().filter_map(mark_of).collect();
    if !marks.is_empty() {
        // Needed to distinguish a trace from a later one.
        let debugfs = Debugfs::find();
        {
            let _turn = turn();
            for (pid, path) in marks {
                match end_mark(&path)? {
                    Ended::Gone => removed.push(pid),
                    Ended::Alive => alive.push(pid),
                    Ended::Nothing => {}
                }
            }
        }
        drop(debugfs);
    }
    let _turn = turn();
    DEBUGFS.unmount_if_ours().map_err(at(Path::new(DEBUGFS.place)))
}

fn mark_of(entry: fs::DirEntry) -> Option<(u32, PathBuf)> {
    let name = entry.file_name();
    Some((name.to_str()?.strip_prefix(MARK)?.parse().ok()?, entry.path()))
}

/// Result of handling a mark.
enum Ended {
    Gone,
    Alive,
    /// Removed meanwhile.
    Nothing,
}

/// Ends the traces listed in a mark, if its process is gone. The mark is removed only when all have ended.
fn end_mark(path: &Path) -> Result<Ended, CaptureError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ended::Nothing),
        Err(error) => return Err(at(path)(error)),
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(Ended::Alive),
        Err(TryLockError::Error(error)) => Err(at(path)(error)),
        Ok(()) => {
            end_traces(path)?;
            let mark = Made::created(path, &file).map_err(at(path))?;
            mark.remove().map_err(at(path))?;
            Ok(Ended::Gone)
        }
    }
}

fn end_traces(mark: &Path) -> Result<(), CaptureError> {
    let text = read_text(mark, TEXT_LIMIT).map_err(|unread| at(mark)(unread.into()))?;
    text.lines().filter_map(parse_trace).try_for_each(|trace| trace.end().map_err(at(&trace.node)))
}

/// Parses a line of [`Mark::add`]; `None` if its device is gone.
fn parse_trace(line: &str) -> Option<Trace> {
    let mut words = line.splitn(3, ' ');
    let (device, inode, dir) = (Device::parse(words.next()?)?, words.next()?.parse().ok()?, words.next()?);
    let is_reported = inode > 0;
    is_reported.then_some(Trace { node: node(device).ok()?, dir: dir.into(), inode, lost: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_has_trace_file_or_reason() {
        let entry = fs::read_dir("/sys/dev/block").ok().and_then(|mut all| all.next()?.ok());
        if let Some(entry) = entry {
            let device = Device::parse(entry.file_name().to_str().unwrap()).unwrap();
            assert!(node(device).unwrap().starts_with("/dev"));
        }
        assert!(node(Device::new(4000, 1).unwrap()).unwrap_err().to_string().contains("4000:1"));
    }

    #[test]
    fn ignores_damaged_lines() {
        assert!(
            ["", "8,0", "x y z", "4000,1 7 /nowhere", "8,0 0 /x"]
                .into_iter()
                .all(|line| parse_trace(line).is_none())
        );
    }

    #[test]
    fn visit_restores_cpu_affinity() {
        let home = || sched_getaffinity(None).unwrap();
        let before = home();
        let mut visit = Visit::begin();
        visit.move_to(0);
        drop(visit);
        assert_eq!(home(), before);
    }

    #[test]
    fn vanished_trace_keeps_lost_count_and_is_not_ended() {
        let dir = tempfile::tempdir().unwrap();
        let counter = dir.path().join("dropped");
        fs::write(&counter, "17\n").unwrap();
        let inode = fs::metadata(&counter).unwrap().ino();
        let mut trace = Trace { node: "/nowhere".into(), dir: dir.path().into(), inode, lost: 0 };
        assert_eq!(trace.count_lost().unwrap(), 17);
        assert!(trace.end().is_err(), "there is no such device");
        // Another trace of the same name has started.
        fs::rename(&counter, dir.path().join("kept")).unwrap();
        fs::write(&counter, "3\n").unwrap();
        assert_eq!(trace.count_lost().unwrap(), 17);
        trace.end().unwrap();
    }
}
