//! Words of a file in memory: what one thread stores there, the kernel keeps when the process is killed.

use crate::map::Mapping;
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

/// 64-bit words of a file in memory, shared by threads.
#[derive(Debug)]
pub struct SharedWords(Mapping);

// SAFETY: all access is through atomics; the mapping itself is changed only when it is dropped.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `words` words of a file that has as many, and space for them. Where they have to be got from the disk all the
    /// same and cannot, zeros take their place.
    ///
    /// # Errors
    /// The file is shorter, or cannot be mapped for writing.
    pub fn new(file: &File, words: usize) -> io::Result<SharedWords> {
        let bytes = words * size_of::<AtomicU64>();
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Mapping::new(file, bytes, true).map(SharedWords)
    }

    /// All of them.
    pub fn words(&self) -> &[AtomicU64] {
        let (memory, bytes) = self.0.memory();
        // SAFETY: a mapping starts at a page, so words are aligned; it is as long as `bytes` and lives as long as `self`. Any bits are a
        // number, and others that map the file change words only as this process sees atomics change.
        unsafe { std::slice::from_raw_parts(memory.cast(), bytes / size_of::<AtomicU64>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::{Relaxed, Release};

    #[test]
    fn what_is_stored_is_in_the_file() {
        let file = tempfile::tempfile().unwrap();
        assert!(SharedWords::new(&file, 4).is_err());
        file.set_len(4096).unwrap();
        let words = SharedWords::new(&file, 512).unwrap();
        assert_eq!(words.words().len(), 512);
        words.words()[511].store(0x0102_0304_0506_0708, Release);
        let mut bytes = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 511 * 8).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 0x0102_0304_0506_0708);
        std::thread::scope(|scope| {
            scope.spawn(|| words.words()[0].fetch_add(1, Relaxed));
        });
        assert_eq!(words.words()[0].load(Relaxed), 1);
    }
}
