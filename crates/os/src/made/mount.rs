//! Mounts that this process has made.

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::io;
use std::path::{Path, PathBuf};

/// A mount that this process has made, known by the kernel's number for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeMount {
    point: PathBuf,
    id: u64,
}

/// The number of the mount that a path leads into.
///
/// # Errors
/// Those of statx(2); `Unsupported` before Linux 5.8.
fn mount_id(path: &Path) -> io::Result<u64> {
    // Newer kernels never use this number twice.
    let wanted = StatxFlags::from_bits_retain(StatxFlags::MNT_ID.bits() | UNIQUE);
    let answer = statx(CWD, path, AtFlags::empty(), wanted)?;
    let has = |mask: u32| answer.stx_mask & mask != 0;
    match has(StatxFlags::MNT_ID.bits()) || has(UNIQUE) {
        true => Ok(answer.stx_mnt_id),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8).
const UNIQUE: u32 = 0x4000;

impl MadeMount {
    /// The mount that the caller has just made on `point`.
    ///
    /// # Errors
    /// Its number cannot be read.
    pub fn mounted(point: &Path) -> io::Result<MadeMount> {
        Ok(MadeMount { point: point.to_path_buf(), id: mount_id(point)? })
    }

    /// The mount on `point`, which the caller has proved to be the program's own. `proof` describes how.
    ///
    /// # Errors
    /// Its number cannot be read.
    pub fn proved(point: &Path, proof: &'static str) -> io::Result<MadeMount> {
        debug_assert!(!proof.is_empty());
        MadeMount::mounted(point)
    }

    /// The kernel's number for it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The mount point.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Unmounts it. `Lazy`: at once from the directory tree, and from the machine with its last use. An already unmounted one is no
    /// error.
    ///
    /// # Errors
    /// `ResourceBusy`: something uses it. Something else is mounted over it: both stay.
    pub fn unmount(&self, how: Unmount) -> io::Result<()> {
        match mount_id(&self.point) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(id) if id != self.id => return Ok(()),
            Ok(_) => {}
        }
        let flags = match how {
            Unmount::Now => UnmountFlags::NOFOLLOW,
            Unmount::Lazy => UnmountFlags::NOFOLLOW | UnmountFlags::DETACH,
        };
        match unmount(&self.point, flags) {
            // Another thread may have unmounted it meanwhile.
            Err(Errno::INVAL | Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}

/// When a file system in use is unmounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmount {
    /// Now, or fail.
    Now,
    /// With the last use.
    Lazy,
}
