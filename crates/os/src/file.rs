//! Space of files, and writes that do not stay in a cache.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};
use std::fs::File;
use std::io::{self, IoSlice};

/// Allocates the first `bytes` bytes of a file without changing its length (`fallocate(2)`).
///
/// # Errors
/// The file system cannot, or is full.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

/// Writes at a place, as `pwrite(2)`; what was written is on stable storage when this returns (`RWF_DSYNC`).
///
/// # Errors
/// Those of pwritev2(2).
pub fn write_durably_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    Ok(pwritev2(file, &[IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC)?)
}

/// Bytes that this user may still write to the file system of an open file.
///
/// # Errors
/// Those of fstatvfs(3).
pub fn free_space(file: &File) -> io::Result<u64> {
    let found = rustix::fs::fstatvfs(file)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::{allocate, free_space};
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn free_space_is_that_of_the_file_system() {
        assert!(free_space(&tempfile::tempfile().unwrap()).unwrap() > 0);
        let full = File::open("/proc/self/stat").unwrap();
        assert_eq!(free_space(&full).unwrap(), 0);
    }

    #[test]
    fn space_is_there_and_the_length_stays() {
        let file = tempfile::tempfile().unwrap();
        match allocate(&file, 1 << 20) {
            Ok(()) => assert!(file.metadata().unwrap().blocks() * 512 >= 1 << 20),
            // Not every file system of a temporary directory can.
            Err(error) => assert_eq!(error.raw_os_error(), Some(95)),
        }
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}
