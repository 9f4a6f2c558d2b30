//! Regular files that a plan makes, allocates, opens again, makes anew or deletes.

use crate::error::PrepareError;
use iosonar_os::{allocate, monotonic_ns};
use iosonar_plan::{Access, BetweenPasses, FileCare};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How a target is opened.
pub(crate) fn options(access: Access, writes: bool) -> fs::OpenOptions {
    let mut flags = 0;
    if !access.buffered {
        flags |= libc::O_DIRECT;
    }
    if access.sync {
        flags |= libc::O_SYNC;
    }
    let mut options = File::options();
    options.read(true).write(writes).custom_flags(flags);
    options
}

/// The name of the file of a pass, from 0.
pub(crate) fn name_of_pass(path: &Path, care: &FileCare, pass: u32) -> PathBuf {
    match care.between_passes {
        BetweenPasses::NewFile => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{:08}", pass + 1));
            name.into()
        }
        _ => path.to_path_buf(),
    }
}

/// Allocates space before the first pass.
pub(crate) fn preallocate(file: &File, care: &FileCare, path: &Path) -> Result<(), PrepareError> {
    match care.preallocate.0 {
        0 => Ok(()),
        bytes => allocate(file, bytes).map_err(|error| PrepareError::Preallocate {
            path: path.display().to_string(),
            bytes,
            error,
        }),
    }
}

/// A target's file through its passes, shared by its issuing loops.
#[derive(Debug)]
pub(crate) struct TargetFile {
    path: PathBuf,
    care: FileCare,
    access: Access,
    writes: bool,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    pass: u32,
    file: File,
    open_ns: u64,
}

impl TargetFile {
    /// An open target before its first pass; `open_ns` is how long opening it took.
    pub(crate) fn new(path: &Path, care: FileCare, access: Access, writes: bool, file: File) -> TargetFile {
        let current = Mutex::new(Current { pass: 0, file, open_ns: 0 });
        TargetFile { path: path.to_path_buf(), care, access, writes, current }
    }

    /// Whether each pass has a file or a descriptor of its own.
    pub(crate) fn changes(&self) -> bool {
        self.care.between_passes != BetweenPasses::Keep
    }

    /// The file of a pass, and how long it took to open it. The first loop that asks opens it for all.
    pub(crate) fn of_pass(&self, pass: u32) -> io::Result<(File, u64)> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.pass < pass && self.changes() {
            let begin = monotonic_ns();
            current.file = self.open(pass)?;
            current.open_ns = monotonic_ns() - begin;
            current.pass = pass;
        }
        Ok((current.file.try_clone()?, current.open_ns))
    }

    fn open(&self, pass: u32) -> io::Result<File> {
        let path = name_of_pass(&self.path, &self.care, pass);
        if self.care.between_passes == BetweenPasses::Recreate {
            fs::remove_file(&path)?;
        }
        let makes = matches!(self.care.between_passes, BetweenPasses::Recreate | BetweenPasses::NewFile);
        options(self.access, self.writes || makes).create(makes && self.writes).open(&path)
    }

    /// Whether what was written is flushed at the end of each pass.
    pub(crate) fn syncs(&self) -> bool {
        self.care.sync_each_pass && self.writes
    }

    /// Deletes what the plan wants deleted; what could not be, in words.
    pub(crate) fn clean_up(&self, passes: u32) -> Option<String> {
        if !self.care.delete {
            return None;
        }
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let own = current.file.metadata().ok().filter(|m| m.is_file())?;
        let all = if self.care.between_passes == BetweenPasses::NewFile { passes.max(1) } else { 1 };
        for pass in 0..all {
            let path = name_of_pass(&self.path, &self.care, pass);
            let is_last = pass + 1 == all;
            let same = fs::metadata(&path).is_ok_and(|m| m.dev() == own.dev() && m.ino() == own.ino());
            if is_last && !same {
                return Some(format!("{} is another file by now, so it was not deleted", path.display()));
            }
            if let Err(error) = fs::remove_file(&path) {
                return Some(format!("{} could not be deleted: {error}", path.display()));
            }
        }
        None
    }
}
