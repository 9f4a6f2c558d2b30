//! Words of a file in memory: values stored there by a thread are kept by the kernel when the process is killed.

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
    /// Maps the first `words` words of a file of at least that length, and space for them. Where the file system needs more space
    /// anyway and is full, or cannot read a page, zeros take the place of that page: see [`is_broken`](Self::is_broken).
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

    /// Whether words were lost: zeros took their place, and later stores there are not in the file.
    pub fn is_broken(&self) -> bool {
        self.0.is_broken()
    }

    /// All words.
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
    fn words_beyond_end_of_file_are_zero_not_sigbus() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 16).unwrap();
        let words = SharedWords::new(&file, 1 << 13).unwrap();
        words.words()[0].store(1, Relaxed);
        assert!(!words.is_broken());
        file.set_len(4096).unwrap();
        words.words()[4096].store(7, Relaxed);
        assert!(words.is_broken());
        assert_eq!([0, 4096, 4097].map(|n: usize| words.words()[n].load(Relaxed)), [1, 7, 0]);
    }

    #[test]
    fn stored_words_reach_the_file() {
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
