//! Files in memory (`mmap`): copied from and to, with an error in place of a signal where a page cannot be had.
//!
//! Linux sends `SIGBUS` to a thread that touches a mapped page which cannot be read or allocated: the file became shorter, its disk
//! is full or broken. The handler here puts a page of zeros in its place and notes where. The copy ends, and the request fails; the
//! next one has the pages of the file again ([`Mapping::renew`]).

mod faults;

use faults::Watch;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A part of a file in memory, shared with all other users of the file.
#[derive(Debug)]
pub struct Mapping {
    memory: NonNull<u8>,
    bytes: usize,
    protection: libc::c_int,
    /// The usage advice given to the kernel, as far as it remembers that.
    usage: Option<libc::c_int>,
    /// Watch for pages that were replaced by zeros.
    watch: Watch,
}

/// How a part of a mapping is brought to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Msync {
    /// It is on stable storage when the call comes back (`MS_SYNC`).
    Sync,
    /// It is scheduled (`MS_ASYNC`). Linux does nothing then: such pages are written back anyway.
    Async,
}

/// How the pages of a mapping will be used (`madvise`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// `MADV_NORMAL`.
    Normal,
    /// `MADV_RANDOM`: no read-ahead.
    Random,
    /// `MADV_SEQUENTIAL`: more of it.
    Sequential,
    /// `MADV_DONTNEED`: the pages leave the mapping; the file keeps them.
    DontNeed,
    /// `MADV_WILLNEED`: the pages are read now.
    WillNeed,
}

// SAFETY: a mapping is owned alone, and nothing in it is tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of a file.
    ///
    /// # Errors
    /// The file cannot be mapped, or not in this way; there is no room for `bytes`.
    pub fn new(file: &File, bytes: usize, writes: bool) -> io::Result<Mapping> {
        faults::catch_bus_errors()?;
        let protection = libc::PROT_READ | if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a null address asks for a new mapping, so no other memory is touched.
        let memory = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory: NonNull<u8> = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let start = memory.as_ptr().addr();
        Ok(Mapping { memory, bytes, protection, usage: None, watch: Watch::new(start..start + bytes) })
    }

    /// Advises the kernel how the whole mapping will be used.
    ///
    /// # Errors
    /// Those of madvise(2).
    pub fn advise(&mut self, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::DontNeed => libc::MADV_DONTNEED,
            Advice::WillNeed => libc::MADV_WILLNEED,
        };
        if matches!(advice, libc::MADV_NORMAL | libc::MADV_RANDOM | libc::MADV_SEQUENTIAL) {
            self.usage = Some(advice);
        }
        let memory = self.memory.as_ptr().addr();
        self.advise_pages(&(memory..memory + self.bytes), advice)
    }

    fn advise_pages(&self, pages: &Range<usize>, advice: libc::c_int) -> io::Result<()> {
        let start = self.memory.as_ptr().with_addr(pages.start);
        // SAFETY: the range lies in the mapping, which is shared with its file: pages that leave it are read again from there.
        match unsafe { libc::madvise(start.cast(), pages.len(), advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Copies from the file, as far as it is mapped.
    ///
    /// # Errors
    /// `EIO` where the file has no such bytes, or they cannot be read; and after that until [`renew`](Self::renew).
    pub fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let (place, bytes) = self.part(at, memory.len());
        // SAFETY: `part` lies in the mapping, and the memory is ours alone and has at least `bytes` bytes. Others may change the
        // file meanwhile, as with read(2): bytes are copied, and no reference into the mapping is made.
        unsafe { std::ptr::copy_nonoverlapping(place, memory.as_mut_ptr(), bytes) };
        self.watch.check().map(|()| bytes)
    }

    /// Copies to the file, as far as it is mapped.
    ///
    /// # Errors
    /// `EIO` where the file has no such bytes, or no space; and after that until [`renew`](Self::renew).
    pub fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let (place, bytes) = self.part(at, memory.len());
        // SAFETY: as in `read`, with the roles exchanged. The kernel refuses writes unless mapped for writing.
        unsafe { std::ptr::copy_nonoverlapping(memory.as_ptr(), place, bytes) };
        self.watch.check().map(|()| bytes)
    }

    /// Brings the pages of a range to the file.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn sync(&mut self, at: u64, length: u64, how: Msync) -> io::Result<()> {
        /// Calls start at whole pages, also on machines with larger ones.
        const PAGE: u64 = 1 << 16;
        let start = at - at % PAGE;
        let (place, bytes) = self.part(start, usize::try_from(at - start + length).unwrap_or(usize::MAX));
        let flags = if how == Msync::Sync { libc::MS_SYNC } else { libc::MS_ASYNC };
        // SAFETY: the range lies in the mapping.
        match unsafe { libc::msync(place.cast(), bytes, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Number of mapped bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Address and length of the mapping.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.memory.as_ptr(), self.bytes)
    }

    /// Number of the given pages that are in memory, by any process (`mincore`).
    ///
    /// # Errors
    /// Those of mincore(2).
    pub(crate) fn resident_pages(&self, pages: Range<usize>) -> io::Result<u64> {
        let mut resident = vec![0u8; self.bytes.div_ceil(rustix::param::page_size())];
        // SAFETY: the range is that of the mapping, and the vector has a byte for each of its pages.
        let done = unsafe { libc::mincore(self.memory.as_ptr().cast(), self.bytes, resident.as_mut_ptr()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let asked = resident.get(pages).unwrap_or_default();
        Ok(asked.iter().filter(|page| **page & 1 == 1).count() as u64)
    }

    /// The mapped part of a range.
    fn part(&self, at: u64, length: usize) -> (*mut u8, usize) {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes);
        (self.memory.as_ptr().wrapping_add(at), length.min(self.bytes - at))
    }

    /// Maps the file again where zeros took the place of its pages, so that later copies have its bytes. `file` is the one of
    /// [`new`](Self::new).
    ///
    /// # Errors
    /// Those of mmap(2); copies fail from then on.
    pub fn renew(&mut self, file: &File) -> io::Result<()> {
        let Some(pages) = self.watch.missed() else { return Ok(()) };
        let start = self.memory.as_ptr().with_addr(pages.start);
        let offset = (pages.start - self.memory.as_ptr().addr()) as libc::off_t;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the pages belong to this mapping, into which no reference exists while it is borrowed mutably: `SharedWords` never
        // calls this.
        let mapped = unsafe {
            libc::mmap(start.cast(), pages.len(), self.protection, flags, file.as_raw_fd(), offset)
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        if let Some(usage) = self.usage {
            self.advise_pages(&pages, usage)?;
        }
        self.watch.clear();
        Ok(())
    }

    /// Whether some of its pages were replaced by zeros.
    pub(crate) fn is_broken(&self) -> bool {
        self.watch.missed().is_some()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.watch.end();
        // SAFETY: the mapping was made in `new` with this very length, and no reference into it exists.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn mapping_writes_and_reads_file_data() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10_000).unwrap();
        let mut mapping = Mapping::new(&file, 10_000, true).unwrap();
        assert_eq!(mapping.write(&[7; 4096], 8192).unwrap(), 1808);
        mapping.sync(8192, 4096, Msync::Sync).unwrap();
        mapping.sync(100, 8, Msync::Async).unwrap();
        let mut back = [0; 1808];
        file.read_exact_at(&mut back, 8192).unwrap();
        assert_eq!(back, [7; 1808]);
        file.write_all_at(&[9; 16], 0).unwrap();
        let mut back = [0; 16];
        assert_eq!((mapping.read(&mut back, 0).unwrap(), back), (16, [9; 16]));
        assert_eq!(mapping.read(&mut back, 10_000).unwrap(), 0);
    }

    #[test]
    fn advice_does_not_change_data() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[5; 100_000], 0).unwrap();
        let mut mapping = Mapping::new(&file, 100_000, true).unwrap();
        mapping.write(&[6; 10], 50_000).unwrap();
        for advice in [Advice::Normal, Advice::Random, Advice::Sequential, Advice::DontNeed, Advice::WillNeed]
        {
            mapping.advise(advice).unwrap();
            let mut back = [0; 20];
            mapping.read(&mut back, 49_990).unwrap();
            assert_eq!((&back[..10], &back[10..]), (&[5; 10][..], &[6; 10][..]), "{advice:?}");
        }
    }

    #[test]
    fn truncated_file_is_an_error_not_sigbus() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut mapping = Mapping::new(&file, 1 << 20, true).unwrap();
        mapping.write(&[1; 4096], 0).unwrap();
        file.set_len(4096).unwrap();
        let mut back = vec![0; 65536];
        assert_eq!(mapping.read(&mut back, 65536).unwrap_err().raw_os_error(), Some(libc::EIO));
        assert_eq!(mapping.write(&back, 8192).unwrap_err().raw_os_error(), Some(libc::EIO));
        // Zeros replaced missing pages, so no result is trusted until the file is mapped there again.
        assert!(mapping.read(&mut back[..4096], 0).is_err() && mapping.write(&[1; 8], 0).is_err());
        mapping.renew(&file).unwrap();
        assert_eq!((mapping.read(&mut back[..4096], 0).unwrap(), back[0]), (4096, 1));
        assert!(mapping.read(&mut back, 65536).is_err());
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[3; 65536], 65536).unwrap();
        mapping.renew(&file).unwrap();
        assert_eq!((mapping.read(&mut back, 65536).unwrap(), back[65535]), (65536, 3));
    }

    #[test]
    fn missing_page_fails_only_its_own_request() {
        // More than the kernel would keep apart (vm.max_map_count), if they were not joined again.
        let pages = 80_000;
        let file = tempfile::tempfile().unwrap();
        file.set_len(pages * 4096).unwrap();
        let mut mapping = Mapping::new(&file, pages as usize * 4096, true).unwrap();
        mapping.advise(Advice::Random).unwrap();
        file.set_len(4096).unwrap();
        for page in (1..pages).rev() {
            assert!(mapping.write(&[1; 8], page * 4096).is_err());
            mapping.renew(&file).unwrap();
        }
        assert_eq!(mapping.write(&[1; 8], 0).unwrap(), 8);
    }

    #[test]
    fn mappings_of_several_threads_are_independent() {
        std::thread::scope(|scope| {
            for number in 0..8u8 {
                scope.spawn(move || {
                    for _ in 0..50 {
                        let file = tempfile::tempfile().unwrap();
                        file.set_len(65536).unwrap();
                        let mut mapping = Mapping::new(&file, 65536, true).unwrap();
                        let is_short = number % 2 == 1;
                        file.set_len(if is_short { 4096 } else { 65536 }).unwrap();
                        assert_eq!(mapping.write(&[number; 8192], 0).is_err(), is_short);
                    }
                });
            }
        });
    }
}
