//! Regular files that a plan makes, allocates, opens again, makes again or deletes.

use crate::error::PrepareError;
use iosonar_host::extent_map::MapReader;
use iosonar_layout::Map;
use iosonar_os::allocate;
use iosonar_os::made::Made;
use iosonar_os::page_cache::evict;
use iosonar_os::statx::{self, DirectIo};
use iosonar_plan::{Access, BetweenPasses, FileLifecycle, Nanos, Op, SyncFlag, Target};
use iosonar_text::shown;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Options for opening a target.
pub(crate) fn options(access: Access, writes: bool) -> fs::OpenOptions {
    options_with(access, writes, 0)
}

/// Creates a target for writing.
///
/// # Errors
/// `AlreadyExists` for anything with that name.
pub(crate) fn create(path: &Path, access: Access) -> io::Result<(File, Made)> {
    let file = options(access, true).create_new(true).open(path)?;
    let made = Made::created(path, &file)?;
    Ok((file, made))
}

fn options_with(access: Access, writes: bool, mut flags: i32) -> fs::OpenOptions {
    if !access.buffered {
        flags |= libc::O_DIRECT;
    }
    flags |= match access.sync {
        SyncFlag::None => 0,
        SyncFlag::Dsync => libc::O_DSYNC,
        SyncFlag::Sync => libc::O_SYNC,
        SyncFlag::Rsync => libc::O_RSYNC | libc::O_SYNC,
    };
    let mut options = File::options();
    options.read(true).write(writes).custom_flags(flags);
    options
}

/// The name of the file of a pass, from 0.
pub(crate) fn name_of_pass(path: &Path, lifecycle: &FileLifecycle, pass: u32) -> PathBuf {
    match lifecycle.between_passes {
        BetweenPasses::NewFile => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{:08}", pass + 1));
            name.into()
        }
        _ => path.to_path_buf(),
    }
}

/// Whether two names lead to the same file.
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.dev() == other.dev() && one.ino() == other.ino()
}

/// Returns `opened` if it is the file that was judged.
fn same_file(opened: File, judged: &File) -> io::Result<File> {
    match is_same(&opened.metadata()?, &judged.metadata()?) {
        true => Ok(opened),
        false => Err(io::Error::other("it is another file by now")),
    }
}

/// Allocates space before the first pass.
pub(crate) fn preallocate(file: &File, lifecycle: &FileLifecycle, path: &Path) -> Result<(), PrepareError> {
    match lifecycle.preallocate.0 {
        0 => Ok(()),
        bytes => allocate(file, bytes).map_err(|error| PrepareError::Preallocate {
            path: shown(path).to_string(),
            bytes,
            error,
        }),
    }
}

/// A target's file through its passes, shared by its issuing loops.
#[derive(Debug)]
pub(crate) struct TargetFile {
    path: PathBuf,
    lifecycle: FileLifecycle,
    access: Access,
    writes: bool,
    current: Mutex<Current>,
}

/// The files that a run has made for a target so far, shared by clones: files may be deleted and made again during the run.
#[derive(Debug, Clone)]
pub struct MadeFiles(Arc<Mutex<Vec<(u32, Made)>>>);

impl MadeFiles {
    fn of(first: Option<Made>) -> MadeFiles {
        MadeFiles(Arc::new(Mutex::new(first.into_iter().map(|made| (0, made)).collect())))
    }

    /// Lists the files that exist now, unless others have removed them.
    pub fn list(&self) -> Vec<Made> {
        self.lock().iter().map(|(_, made)| made.clone()).collect()
    }

    /// Locks the list, which includes the passes.
    fn lock(&self) -> MutexGuard<'_, Vec<(u32, Made)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Current {
    pass: u32,
    /// Passes whose file was there before the run and was judged with the target.
    judged: Vec<u32>,
    made: MadeFiles,
    opened: OpenFile,
    open_time: Nanos,
}

/// The file that a target's loops share.
#[derive(Debug)]
enum OpenFile {
    Open(File),
    /// Closed while its file system is remounted; with its earlier metadata.
    Closed(fs::Metadata),
}

impl Current {
    fn file(&self) -> io::Result<&File> {
        match &self.opened {
            OpenFile::Open(file) => Ok(file),
            OpenFile::Closed(_) => {
                Err(io::Error::other("it could not be opened again after its file system was mounted"))
            }
        }
    }

    fn set(&mut self, file: File) {
        self.opened = OpenFile::Open(file);
    }

    /// Whether a pass has a file that this run may open for writing.
    fn knows(&self, pass: u32) -> bool {
        self.judged.contains(&pass) || self.made.lock().iter().any(|(made, _)| *made == pass)
    }

    /// Notes the file that the run has made for a pass; the one that it made before is gone.
    fn note_made(&self, pass: u32, made: Made) {
        let mut all = self.made.lock();
        all.retain(|(other, _)| *other != pass);
        all.push((pass, made));
    }
}

/// A file operation between two passes, on the run's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Length in its record: of an eviction the bytes in the page cache before it, of a truncation the new length, else 0.
    pub(crate) length: u64,
    /// Result in its record, if it does not fail: of an eviction the bytes that stay in the page cache, else 0. Negative: unknown.
    pub(crate) result: i64,
}

impl Step {
    pub(crate) fn new(op: Op, start: Nanos, end: Nanos) -> Step {
        Step { op, start, end, length: 0, result: 0 }
    }
}

/// The file of a pass, as a worker has it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Duration of opening it.
    pub(crate) open_time: Nanos,
    /// Steps of this worker for opening it; empty where another worker was first.
    pub(crate) steps: Vec<Step>,
}

impl TargetFile {
    /// An open target before its first pass, and whether it was made. `judged`: later passes whose files are there already and
    /// may be written.
    pub(crate) fn new(
        target: &Target,
        access: Access,
        writes: bool,
        judged: Vec<u32>,
        (file, made): (File, Option<Made>),
    ) -> TargetFile {
        let judged = judged.into_iter().chain(made.is_none().then_some(0)).collect();
        let current = Mutex::new(Current {
            pass: 0,
            judged,
            made: MadeFiles::of(made),
            opened: OpenFile::Open(file),
            open_time: Nanos(0),
        });
        let (path, lifecycle) = (target.path.clone(), target.file);
        TargetFile { path, lifecycle, access, writes, current }
    }

    /// Whether each pass has a separate file or descriptor.
    pub(crate) fn changes(&self) -> bool {
        self.lifecycle.between_passes != BetweenPasses::Keep
    }

    /// Whether the file of each pass replaces that of the pass before.
    pub(crate) fn makes_files(&self) -> bool {
        self.lifecycle.between_passes.makes_files()
    }

    /// The same file for reading with direct I/O, where its file system can; written data is flushed first, and dropped from the
    /// page cache.
    pub(crate) fn for_scan(&self) -> io::Result<File> {
        let shared = self.shared()?;
        // A target that is only read has nothing to flush, and need not allow it.
        let flushed = shared.sync_all();
        if self.writes {
            flushed?;
        }
        let _ = evict(&shared);
        self.for_look()
    }

    /// The same file for reading before the run. Cached pages stay in the page cache.
    pub(crate) fn for_look(&self) -> io::Result<File> {
        let shared = self.shared()?;
        let direct = Access { buffered: false, ..self.access };
        self.opened_again(&shared, direct).or_else(|_| self.opened_again(&shared, self.access))
    }

    /// Passes are counted from 0 again: with the file that is there, or the first one where each pass has its own.
    pub(crate) fn begin_phase(&self) -> io::Result<()> {
        let mut current = self.current();
        if current.pass > 0 && self.lifecycle.between_passes == BetweenPasses::NewFile {
            let first = self.open(0, &mut current)?;
            current.set(first);
        }
        current.pass = 0;
        Ok(())
    }

    /// Alignment of direct reads of the open file, where its file system reports it: a file that the run has made could not be
    /// inspected before.
    pub(crate) fn direct_block(&self) -> Option<u64> {
        let file = self.shared().ok()?;
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        match statx::extra(Path::new(&name)).ok()?.direct_io {
            DirectIo::Aligned { offset, .. } => Some(offset.into()),
            DirectIo::Unsupported | DirectIo::NotReported => None,
        }
    }

    /// Closes the file, so that its file system can be unmounted.
    pub(crate) fn let_go(&self) -> io::Result<()> {
        let mut current = self.current();
        let known = current.file()?.metadata()?;
        current.opened = OpenFile::Closed(known);
        Ok(())
    }

    /// Opens the file again after [`TargetFile::let_go`]. The device number may have changed by now; the file system's attributes
    /// of the file may not.
    pub(crate) fn take_back(&self) -> io::Result<()> {
        let mut current = self.current();
        let OpenFile::Closed(known) = &current.opened else { return Ok(()) };
        let path = name_of_pass(&self.path, &self.lifecycle, current.pass);
        let file = options(self.access, self.writes).open(path)?;
        let found = file.metadata()?;
        let facts = |m: &fs::Metadata| (m.ino(), m.len(), m.is_file());
        if facts(&found) != facts(known) {
            return Err(io::Error::other("it is another file since its file system was mounted again"));
        }
        current.set(file);
        Ok(())
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is a file, and not a device.
    pub(crate) fn is_file(&self) -> bool {
        self.size_of_file().is_some()
    }

    /// Bytes of the open file; `None` of a device.
    pub(crate) fn size_of_file(&self) -> Option<u64> {
        let current = self.current();
        current.file().ok()?.metadata().ok().filter(fs::Metadata::is_file).map(|m| m.len())
    }

    /// The block map of the open file; `name_of_pass` is the name that it was opened by.
    pub(crate) fn map(&self, reader: &mut MapReader) -> io::Result<Map> {
        let current = self.current();
        reader.read(&name_of_pass(&self.path, &self.lifecycle, current.pass), current.file()?)
    }

    /// Its name as typed.
    pub(crate) fn name(&self) -> &Path {
        &self.path
    }

    /// As typed.
    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens the file of a pass for one more worker, as its job requires. The first worker of a pass opens it for all.
    pub(crate) fn of_pass(
        &self,
        pass: u32,
        access: Access,
        now: &mut dyn FnMut() -> Nanos,
    ) -> io::Result<Opened> {
        let mut current = self.current();
        let mut steps = Vec::new();
        if current.pass < pass && self.changes() {
            let start = now();
            if self.lifecycle.between_passes == BetweenPasses::Recreate {
                self.delete_own(current.file()?)?;
                steps.push(Step::new(Op::Delete, start, now()));
            }
            let opening = now();
            let next = self.open(pass, &mut current)?;
            current.set(next);
            let end = now();
            steps.push(Step::new(Op::Open, opening, end));
            (current.pass, current.open_time) = (pass, end.saturating_sub(start));
        }
        let (shared, open_time) = (current.file()?.try_clone()?, current.open_time);
        drop(current);
        Ok(Opened { file: self.opened_again(&shared, access)?, open_time, steps })
    }

    /// Flushes the writes of the present pass. The file that was open before reports errors of earlier writes, too.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.shared()?.sync_all()
    }

    /// One more descriptor of the file that was opened with the target, or for the present pass.
    pub(crate) fn shared(&self) -> io::Result<File> {
        self.current().file()?.try_clone()
    }

    /// The same file for one more loop. Loops on several CPUs would bounce the use count of one open file at each request, so each
    /// opens it for itself, as the threads of fio and XDD do. The access time of a device node is not updated, as in fio: that is
    /// no work of the device.
    fn opened_again(&self, file: &File, access: Access) -> io::Result<File> {
        // This is the file that was judged, wherever its name leads now.
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        let is_device = file.metadata()?.file_type().is_block_device();
        let flags: &[i32] = if is_device { &[libc::O_NOATIME, 0] } else { &[0] };
        let open = |f: &i32| options_with(access, self.writes, *f).open(&same);
        match flags.iter().find_map(|f| open(f).ok()) {
            Some(opened) => Ok(opened),
            // Where it cannot be opened again (no /proc, too many files), the count is shared.
            None if access == self.access => file.try_clone(),
            None => open(&0),
        }
    }

    /// Opens the file by its name again.
    pub(crate) fn open_by_name(&self, access: Access) -> io::Result<File> {
        let current = self.current();
        same_file(options(access, self.writes).open(&self.path)?, current.file()?)
    }

    /// Deletes the file that is open.
    pub(crate) fn delete_current(&self) -> io::Result<()> {
        self.delete_own(self.current().file()?)
    }

    /// Creates the file again, after [`TargetFile::delete_current`].
    pub(crate) fn create_again(&self, access: Access) -> io::Result<File> {
        let mut current = self.current();
        let (file, made) = create(&self.path, access)?;
        // A separate open, so that the step that closes the file closes its last use.
        let shared = self.opened_again(&file, self.access)?;
        let pass = current.pass;
        current.note_made(pass, made);
        current.set(shared);
        Ok(file)
    }

    /// Deletes the file of the pass before, if its name still leads to it.
    fn delete_own(&self, last: &File) -> io::Result<()> {
        Made::permitted(&self.path, last, "the plan recreates or deletes the target that it names")?.remove()
    }

    /// A name never leads to a file that was not judged: a file is recreated, or is one that the guard has seen.
    fn open(&self, pass: u32, current: &mut Current) -> io::Result<File> {
        let path = name_of_pass(&self.path, &self.lifecycle, pass);
        let options = options(self.access, self.writes);
        match self.lifecycle.between_passes {
            BetweenPasses::Keep | BetweenPasses::Reopen => same_file(options.open(&path)?, current.file()?),
            BetweenPasses::Recreate => {
                let (file, made) = create(&path, self.access)?;
                current.note_made(0, made);
                Ok(file)
            }
            BetweenPasses::NewFile if current.knows(pass) => {
                let file = options.open(&path)?;
                // Between judging and opening nothing but a file can have taken its place unseen.
                match file.metadata()?.is_file() && fs::symlink_metadata(&path)?.is_file() {
                    true => Ok(file),
                    false => Err(io::Error::other(format!("{} is no file any more", shown(&path)))),
                }
            }
            BetweenPasses::NewFile => {
                let named =
                    |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", shown(&path)));
                let (file, made) = create(&path, self.access).map_err(named)?;
                current.note_made(pass, made);
                Ok(file)
            }
        }
    }

    /// Whether the writes of a job are flushed at the end of a pass, from 0.
    pub(crate) fn syncs(&self, pass: u32) -> bool {
        let FileLifecycle { sync_each_pass, sync_every_passes, .. } = self.lifecycle;
        sync_each_pass || sync_every_passes > 0 && (pass + 1).is_multiple_of(sync_every_passes)
    }

    /// Files that the run has made.
    pub(crate) fn made(&self) -> MadeFiles {
        self.current().made.clone()
    }

    /// Deletes the files that the plan wants deleted; returns failures in words. Where each pass has a separate file, those that
    /// the run has made are deleted; else the target.
    pub(crate) fn clean_up(&self) -> Option<String> {
        if !self.lifecycle.delete {
            return None;
        }
        let current = self.current();
        let deleted = match self.lifecycle.between_passes {
            BetweenPasses::NewFile => current.made.list().iter().try_for_each(|made| {
                made.remove().map_err(|error| format!("{}: {error}", shown(&made.path())))
            }),
            _ => current
                .file()
                .and_then(|own| match own.metadata()?.is_file() {
                    true => Made::permitted(&self.path, own, "the plan deletes its target")?.remove(),
                    false => Ok(()),
                })
                .map_err(|error| format!("{}: {error}", self.path())),
        };
        deleted.err().map(|why| format!("{why}: it was not deleted"))
    }
}
