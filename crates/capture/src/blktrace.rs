//! Events of the kernel's blktrace interface: for each device and CPU a file in debugfs, in the form that `blktrace(8)` keeps.
//!
//! A device has one such trace at most, whoever made it. What a recorder that was killed left running is told by a file
//! below `/run`, so that [`cleanup`] removes that and no other.

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
        Watch::Order => category::QUEUE | category::ISSUE,
        Watch::Issue => category::ISSUE | category::REQUEUE | category::COMPLETE,
    }
}

/// Those of an action's category that the tracepoints tell, too: joins, splits and the like share a category with what was
/// requested.
fn actions(watch: Watch) -> &'static [Action] {
    match watch {
        Watch::Queue => &[Action::Queue, Action::Complete],
        Watch::Order => &[Action::Queue, Action::Issue],
        Watch::Issue => &[Action::Issue, Action::Requeue, Action::Complete],
    }
}

/// Traces of devices, which run while it lives.
pub(crate) struct Blktrace {
    /// By CPU, so that each is visited once.
    files: Vec<CpuFile>,
    /// Paths of all files that were ever opened.
    opened: HashSet<PathBuf>,
    traces: Vec<Trace>,
    names: SharedNames,
    actions: &'static [Action],
    mark: Mark,
    /// The last field: it goes when nothing is traced any more.
    _debugfs: Debugfs,
}

/// A trace of one device. It is stopped and removed when this is dropped.
struct Trace {
    /// The device's file. It is open for moments only: nobody who detaches the device waits for a recorder.
    node: PathBuf,
    dir: PathBuf,
    /// Of one of its files, which tells it from a later trace.
    inode: u64,
    /// Events that it could not keep, when that was asked last.
    lost: u64,
}

/// What one CPU says of one device.
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

    /// Lets the traces run, or stops them.
    pub(crate) fn set_events(&self, on: bool) -> Result<(), CaptureError> {
        self.traces.iter().filter(|trace| trace.is_there()).try_for_each(|trace| {
            let set = |node: File| if on { blktrace::start(node) } else { blktrace::stop(node) };
            match trace.open().and_then(|node| Ok(set(node)?)) {
                // It is so already.
                Err(error) if Errno::from_io_error(&error) != Some(Errno::INVAL) => {
                    Err(at(&trace.node)(error))
                }
                _ => Ok(()),
            }
        })
    }

    /// Opens the files that are new: those of all CPUs at the start, later of CPUs that were switched on.
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
                    // The device has just vanished.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(at(&path)(error)),
                }
            }
        }
        self.files.sort_by_key(|file| file.cpu);
        Ok(())
    }

    /// Takes what the buffers hold; how many places of it were damaged.
    pub(crate) fn drain(&mut self, out: &mut Vec<Event>) -> Result<u64, CaptureError> {
        self.open_files()?;
        let (mut damaged, mut over) = (0, Vec::new());
        let mut visit = Visit::begin();
        for (index, file) in self.files.iter_mut().enumerate() {
            visit.go_to(file.cpu);
            match file.drain(self.actions, out) {
                Ok(more) => damaged += more,
                Err(error) if self.traces[file.trace].is_there() => return Err(error),
                // The device has vanished, and its trace with it; what was read is kept.
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

    /// Events that could not be kept, since the start.
    pub(crate) fn lost(&mut self) -> Result<u64, CaptureError> {
        self.traces.iter_mut().try_fold(0, |lost, trace| Ok(lost + trace.count_lost()?))
    }
}

/// Lets this thread run on one CPU after the other; dropped, wherever it could before.
///
/// A CPU writes its events with interrupts off: who reads them there meets none that is half written. Where this process
/// may not go, they are read from elsewhere.
struct Visit {
    home: Option<CpuSet>,
    here: Option<usize>,
}

impl Visit {
    fn begin() -> Visit {
        Visit { home: sched_getaffinity(None).ok(), here: None }
    }

    fn go_to(&mut self, cpu: usize) {
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

    /// Whether it is still the device's: it goes with the device, and others can end it.
    fn is_there(&self) -> bool {
        self.inode == 0 || fs::metadata(self.dir.join("dropped")).is_ok_and(|facts| facts.ino() == self.inode)
    }

    /// Events that it could not keep; of one that is gone, those that were told last.
    fn count_lost(&mut self) -> Result<u64, CaptureError> {
        let path = self.dir.join("dropped");
        match fs::read_to_string(&path) {
            _ if !self.is_there() => {}
            Ok(text) => self.lost = text.trim().parse().unwrap_or(self.lost),
            Err(error) => return Err(at(&path)(error)),
        }
        Ok(self.lost)
    }

    /// Stops and removes it. Nothing if it is gone.
    fn end(&self) -> io::Result<()> {
        if !self.is_there() {
            return Ok(());
        }
        let node = self.open()?;
        match blktrace::stop(&node) {
            // One that was not started does not stop.
            Ok(()) | Err(Errno::INVAL) => Ok(blktrace::teardown(&node)?),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Opens a device without waiting, as blktrace(8) does: a drive without a medium need not answer.
fn quick(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)
}

/// Why a device cannot be traced.
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

/// Debugfs, as long as it is used: a directory in it is open, so that nobody unmounts it.
struct Debugfs(Option<File>);

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
        Ok(Debugfs(File::open(traces()).ok()))
    }
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        self.0 = None;
        let _turn = turn();
        // What cannot be undone here, a cleanup can.
        let _ = DEBUGFS.unmount_if_ours();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // What cannot be undone here, a cleanup can.
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
                // The file is at its end as long as nothing new is there.
                Ok(None) => return Ok(damaged),
                Err(error) => {
                    return Err(CaptureError::Impossible(format!("{}: {error}", shown(&self.path))));
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
        // A process of the same number may have been killed.
        end_traces(&path)?;
        file.set_len(0).map_err(at(&path))?;
        let made = Made::created(&path, &file).map_err(at(&path))?;
        Ok(Mark { path, file, made })
    }

    /// Notes a trace: number of the device, inode, and directory.
    fn add(&mut self, trace: &Trace, device: Device) -> Result<(), CaptureError> {
        writeln!(self.file, "{device} {} {}", trace.inode, trace.dir.display()).map_err(at(&self.path))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Nobody can be told any more; a cleanup removes it, too.
        let _ = self.made.remove();
    }
}

/// Ends the traces of recorders that are gone: their processes' numbers go to `removed`, those of living ones to `alive`.
pub(crate) fn cleanup(removed: &mut Vec<u32>, alive: &mut Vec<u32>) -> Result<(), CaptureError> {
    let marks: Vec<(u32, PathBuf)> =
        fs::read_dir(MARKS).into_iter().flatten().flatten().filter_map(mark_of).collect();
    if !marks.is_empty() {
        // Where a trace is told from a later one.
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

/// What became of a mark.
enum Ended {
    Gone,
    Alive,
    /// It went while it was looked at.
    Nothing,
}

/// Ends what a mark tells of, if its process is gone. The mark goes only when all has ended.
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
    text.lines().filter_map(told).try_for_each(|trace| trace.end().map_err(at(&trace.node)))
}

/// The trace of a line of [`Mark::add`], if its device is still there.
fn told(line: &str) -> Option<Trace> {
    let mut words = line.splitn(3, ' ');
    let (device, inode, dir) = (Device::parse(words.next()?)?, words.next()?.parse().ok()?, words.next()?);
    let is_told = inode > 0;
    is_told.then_some(Trace { node: node(device).ok()?, dir: dir.into(), inode, lost: 0 })
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
    fn lines_that_are_damaged_tell_of_nothing() {
        assert!(
            ["", "8,0", "x y z", "4000,1 7 /nowhere", "8,0 0 /x"]
                .into_iter()
                .all(|line| told(line).is_none())
        );
    }

    #[test]
    fn a_visit_ends_where_it_began() {
        let home = || sched_getaffinity(None).unwrap();
        let before = home();
        let mut visit = Visit::begin();
        visit.go_to(0);
        drop(visit);
        assert_eq!(home(), before);
    }

    #[test]
    fn a_trace_that_is_gone_keeps_its_count_and_is_not_ended() {
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
