//! Space of files, and changes beyond plain writes.

use crate::blockdev;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};
use std::fs::File;
use std::io::{self, IoSlice};
use std::path::Path;

/// Allocates the first `bytes` bytes of a file without changing its length (`fallocate(2)`).
///
/// # Errors
/// The file system cannot, or is full.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

/// Allocates the first `bytes` bytes of a file; a shorter file gets this length (`fallocate(2)`).
///
/// # Errors
/// The file system cannot, or is full.
pub fn extend(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

/// Makes a hole; the file keeps its length.
pub(crate) const PUNCH_HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// Zeros a range; a file that ends before it grows.
pub(crate) const ZERO_RANGE: FallocateFlags = FallocateFlags::ZERO_RANGE;

/// Informs the target that the data of a range is no longer needed: a discard of a block device (`BLKDISCARD`), a hole in a file
/// (`fallocate(2)`).
///
/// # Errors
/// The device or the file system cannot (`EOPNOTSUPP`), or the range is not made of whole blocks (`EINVAL`).
pub fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    match blockdev::is_block_device(file) {
        true => Ok(blockdev::discard(file, offset, length)?),
        false => Ok(fallocate(file, PUNCH_HOLE, offset, length)?),
    }
}

/// Zeros a range without transferring data (`fallocate(2)`); a file that ends before it grows.
///
/// # Errors
/// The file system cannot (`EOPNOTSUPP`), or the range is not made of whole blocks of a device (`EINVAL`).
pub fn write_zeroes(file: &File, offset: u64, length: u64) -> io::Result<()> {
    Ok(fallocate(file, ZERO_RANGE, offset, length)?)
}

/// Writes at a place, as `pwrite(2)`; the data is on stable storage when this returns (`RWF_DSYNC`).
///
/// # Errors
/// Those of pwritev2(2).
pub fn write_durably_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    Ok(pwritev2(file, &[IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC)?)
}

/// Opens a file for reading in order to inspect it: the call never blocks, also where the path has become a pipe or a device
/// meanwhile, and no terminal becomes that of this process.
///
/// # Errors
/// Those of open(2).
pub fn open_to_inspect(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// The same with direct I/O (`O_DIRECT`).
///
/// # Errors
/// Those of open(2); `EINVAL` where the file system has no direct I/O.
pub fn open_to_read_directly(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Bytes of a block of the file system of an open file.
///
/// # Errors
/// Those of fstatfs(2).
pub fn block_bytes(file: &File) -> io::Result<u64> {
    Ok(u64::try_from(rustix::fs::fstatfs(file)?.f_bsize).unwrap_or(4096).max(1))
}

/// Bytes that this user may still write to the file system of an open file.
///
/// # Errors
/// Those of fstatvfs(3).
pub fn free_space(file: &File) -> io::Result<u64> {
    Ok(crate::free_ranges::free_count(file)?.available)
}

/// Writes everything of the file system of an open file or directory to its device (`syncfs(2)`).
///
/// # Errors
/// Those of syncfs(2).
pub fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

#[cfg(test)]
mod tests {
    use super::{allocate, discard, extend, free_space};
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn reports_free_space_of_the_file_system() {
        assert!(free_space(&tempfile::tempfile().unwrap()).unwrap() > 0);
        let full = File::open("/proc/self/stat").unwrap();
        assert_eq!(free_space(&full).unwrap(), 0);
    }

    #[test]
    fn a_discarded_range_of_a_file_reads_as_zeros() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 3 << 12], 0).unwrap();
        match discard(&file, 1 << 12, 1 << 12) {
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
            Ok(()) => {
                let mut bytes = [1; 3 << 12];
                file.read_exact_at(&mut bytes, 0).unwrap();
                let is_hole = |at: usize| (1 << 12..2 << 12).contains(&at);
                assert!(bytes.iter().enumerate().all(|(at, byte)| (*byte == 0) == is_hole(at)));
            }
        }
    }

    #[test]
    fn allocates_space_without_changing_length() {
        let file = tempfile::tempfile().unwrap();
        match allocate(&file, 1 << 20) {
            Ok(()) => assert!(file.metadata().unwrap().blocks() * 512 >= 1 << 20),
            // Not every file system of a temporary directory can.
            Err(error) => assert_eq!(error.raw_os_error(), Some(95)),
        }
        assert_eq!(file.metadata().unwrap().len(), 0);
        if extend(&file, 1 << 19).is_ok() {
            assert_eq!(file.metadata().unwrap().len(), 1 << 19);
        }
    }
}
