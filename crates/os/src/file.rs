//! Space of files.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;

/// Allocates the first `bytes` bytes of a file without changing its length (`fallocate(2)`).
///
/// # Errors
/// The file system cannot, or is full.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::allocate;
    use std::os::unix::fs::MetadataExt;

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
