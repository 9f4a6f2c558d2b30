//! Locks on open files, and closing them with a result.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};

/// Other holders that a lock permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// Other readers.
    Read,
    /// No other holder.
    Write,
}

impl LockKind {
    fn number(self) -> i32 {
        if self == LockKind::Read { libc::F_RDLCK } else { libc::F_WRLCK }
    }
}

/// Tries to lock a whole file (`fcntl` with `F_OFD_SETLK`): `false` if another holder has a conflicting lock. The lock belongs to
/// the open file and its duplicates, so that two openings in one process exclude each other, too; a lock of the process (`F_SETLK`)
/// would be lost with the first of its descriptors that is closed.
///
/// # Errors
/// The file system has no locks, or the file is not open for the access that `kind` needs.
pub fn try_lock(file: &File, kind: LockKind) -> io::Result<bool> {
    match set_lock(file, kind.number()) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Locks a range of a file, and waits until no other holder has a conflicting lock (`F_OFD_SETLKW`).
///
/// # Errors
/// The file system has no locks, the file is not open for the access that `kind` needs, or the range ends beyond the largest
/// offset.
pub fn lock_range(file: &File, kind: LockKind, offset: u64, length: u64) -> io::Result<()> {
    call(file, libc::F_OFD_SETLKW, range(kind.number(), offset, length)?)
}

/// Releases the lock of a range.
///
/// # Errors
/// The file system has no locks, or the range ends beyond the largest offset.
pub fn unlock_range(file: &File, offset: u64, length: u64) -> io::Result<()> {
    call(file, libc::F_OFD_SETLK, range(libc::F_UNLCK, offset, length)?)
}

/// Releases the lock of a file.
///
/// # Errors
/// The file system has no locks.
pub fn unlock(file: &File) -> io::Result<()> {
    set_lock(file, libc::F_UNLCK)
}

fn set_lock(file: &File, kind: i32) -> io::Result<()> {
    // A range of no bytes reaches to the end, however far that is.
    call(file, libc::F_OFD_SETLK, range(kind, 0, 0)?)
}

fn range(kind: i32, offset: u64, length: u64) -> io::Result<libc::flock> {
    let too_far = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
    // SAFETY: `flock` is made of numbers, for which zeros are values. `l_pid` has to be 0 for these locks.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = offset.try_into().map_err(too_far)?;
    lock.l_len = length.try_into().map_err(too_far)?;
    Ok(lock)
}

fn call(file: &File, command: i32, lock: libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the kernel only reads `lock`.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const lock) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes a file. Dropping it would close it, too, and lose the result: network file systems report writes that failed only here.
///
/// # Errors
/// The kernel's error; the file is closed in any case.
pub fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was the file's own, and has no other owner now.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_lock_waits_only_for_overlapping_ranges() {
        let path = std::env::temp_dir().join(format!("iosonar-range-{}", std::process::id()));
        let open =
            || File::options().create(true).truncate(false).read(true).write(true).open(&path).unwrap();
        let (one, other) = (open(), open());
        lock_range(&one, LockKind::Write, 0, 4096).unwrap();
        lock_range(&other, LockKind::Write, 4096, 4096).unwrap();
        unlock_range(&other, 4096, 4096).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| lock_range(&other, LockKind::Read, 4095, 10));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            unlock_range(&one, 0, 4096).unwrap();
            waiting.join().unwrap().unwrap();
        });
        assert!(lock_range(&one, LockKind::Read, u64::MAX, 1).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn locks_of_two_open_files_exclude_each_other() {
        let path = std::env::temp_dir().join(format!("iosonar-lock-{}", std::process::id()));
        let open =
            || File::options().create(true).truncate(false).read(true).write(true).open(&path).unwrap();
        let (one, other) = (open(), open());
        assert!(try_lock(&one, LockKind::Read).unwrap() && try_lock(&other, LockKind::Read).unwrap());
        assert!(!try_lock(&one, LockKind::Write).unwrap());
        unlock(&other).unwrap();
        assert!(try_lock(&one, LockKind::Write).unwrap() && !try_lock(&other, LockKind::Read).unwrap());
        // A third descriptor that is closed takes no lock away.
        close(open()).unwrap();
        assert!(!try_lock(&other, LockKind::Write).unwrap());
        close(one).unwrap();
        assert!(try_lock(&other, LockKind::Write).unwrap());
        std::fs::remove_file(&path).unwrap();
    }
}
