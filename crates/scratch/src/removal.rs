//! Removing scratch file systems: mounts and loop devices that the kernel shows below a directory, then its files.

use crate::ScratchError;
use crate::program::{LOSETUP, UMOUNT};
use iosonar_host::{LoopFile, Root, remount};
use iosonar_os::create;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that is locked while its directory is in use.
pub(crate) const LOCK: &str = "lock";

/// How file systems are unmounted that something uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmount {
    /// Again for some seconds, then it is an error.
    Wait,
    /// The kernel unmounts them when nothing uses them any more.
    Lazy,
}

/// Removes a directory of scratch file systems with all that is in it. What is already gone is no error.
///
/// # Errors
/// Of the first thing that cannot be removed. All others are removed nevertheless.
pub(crate) fn remove(dir: &Path, unmount: Unmount, root: &Root) -> Result<(), ScratchError> {
    // The files of what is still mounted stay: the next attempt finds them.
    release(dir, unmount, root)?;
    remove_files(dir).map_err(ScratchError::io("cannot remove", dir))
}

/// Unmounts and detaches what is below a path, or is that path.
pub(crate) fn release(below: &Path, unmount: Unmount, root: &Root) -> Result<(), ScratchError> {
    let mounts = mounts_below(below, root)?;
    let unmounted = mounts.iter().rev().map(|point| unmount_one(point, unmount, root)).collect::<Vec<_>>();
    let loops = loops(root)?.into_iter().filter(|it| it.file.starts_with(below) && !it.is_autoclear);
    let detached = loops.map(|it| detach(&it.device, root)).collect::<Vec<_>>();
    unmounted.into_iter().chain(detached).collect()
}

fn unmount_one(point: &Path, unmount: Unmount, root: &Root) -> Result<(), ScratchError> {
    let done = match unmount {
        Unmount::Wait => remount::unmount(point, root).map_err(ScratchError::from),
        Unmount::Lazy => UMOUNT.run(&["-l".as_ref(), point.as_os_str()]).map(drop),
    };
    // Another thread or process may have done it meanwhile.
    if done.is_err() && mounts_below(point, root)?.is_empty() { Ok(()) } else { done }
}

/// Detaches a loop device; if something uses it, with its last use.
pub(crate) fn detach(device: &Path, root: &Root) -> Result<(), ScratchError> {
    let done = LOSETUP.run(&["-d".as_ref(), device.as_os_str()]).map(drop);
    let is_gone = || Ok::<_, ScratchError>(loops(root)?.iter().all(|it| it.device != device));
    if done.is_err() && is_gone()? { Ok(()) } else { done }
}

/// Removes the files of a directory, which are images, mount points and the lock, and the directory. Nothing below a mount point
/// is removed.
fn remove_files(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => gone(fs::remove_dir(entry.path()))?,
            // The last one: it keeps others away until then.
            false if entry.file_name() == LOCK => {}
            false => gone(fs::remove_file(entry.path()))?,
        }
    }
    gone(fs::remove_file(dir.join(LOCK)))?;
    gone(fs::remove_dir(dir))
}

/// What does not exist needs no removal.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Takes the lock of a directory; none if another process has it, or has removed the directory meanwhile.
pub(crate) fn claim(dir: &Path) -> io::Result<Option<File>> {
    let lock = match create::shared_file(&dir.join(LOCK)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    match lock.try_lock() {
        Ok(()) => Ok((lock.metadata()?.nlink() > 0).then_some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn mounts_below(path: &Path, root: &Root) -> Result<Vec<PathBuf>, ScratchError> {
    Ok(mounts(root)?.into_iter().filter(|point| point.starts_with(path)).collect())
}

/// All mount points.
pub(crate) fn mounts(root: &Root) -> Result<Vec<PathBuf>, ScratchError> {
    iosonar_host::mount_points(root)
        .map_err(ScratchError::io("cannot read", Path::new("/proc/self/mountinfo")))
}

/// All loop devices; none where sysfs is not mounted.
pub(crate) fn loops(root: &Root) -> Result<Vec<LoopFile>, ScratchError> {
    match iosonar_host::loop_files(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(ScratchError::io("cannot read", Path::new("/sys/block"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_claimed_once_and_removed_without_what_is_in_its_mount_points() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("scratch");
        assert!(claim(&dir).unwrap().is_none());
        fs::create_dir_all(dir.join("point/full")).unwrap();
        fs::write(dir.join("point.img"), "").unwrap();
        let lock = claim(&dir).unwrap().unwrap();
        assert!(claim(&dir).unwrap().is_none());
        assert!(remove_files(&dir).is_err());
        assert!(dir.join(LOCK).exists() && dir.join("point/full").exists());
        fs::remove_dir(dir.join("point/full")).unwrap();
        remove_files(&dir).unwrap();
        remove_files(&dir).unwrap();
        assert!(!dir.exists());
        drop(lock);
    }
}
