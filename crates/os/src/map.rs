//! Files in memory (`mmap`): copied from and to, with an error in place of a signal where the file has no such bytes.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A part of a file in memory, shared with whoever else has it.
#[derive(Debug)]
pub struct Mapping {
    memory: NonNull<u8>,
    bytes: usize,
    /// A page was missing, and another one took its place: nothing here is the file's for sure any more.
    broken: bool,
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
    /// The file cannot be mapped, or not in this way; there is no room for so many bytes.
    pub fn new(file: &File, bytes: usize, writes: bool) -> io::Result<Mapping> {
        catch_bus_errors()?;
        let protection = libc::PROT_READ | if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a null address asks for a new mapping, so no memory of anybody else is touched.
        let memory = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { memory, bytes, broken: false })
    }

    /// Tells the kernel how the whole mapping will be used.
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
        // SAFETY: the range is that of the mapping, which is shared with its file: what leaves it is read again from there.
        match unsafe { libc::madvise(self.memory.as_ptr().cast(), self.bytes, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Copies from the file, as far as it is mapped.
    ///
    /// # Errors
    /// `EIO` where the file has no such bytes, or they cannot be read.
    pub fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let (place, bytes) = self.part(at, memory.len());
        // SAFETY: `part` lies in the mapping, and the memory is ours alone and has at least so many bytes. Others may change the
        // file meanwhile, as with read(2): bytes are copied, and no reference into the mapping is made.
        self.guarded(|| unsafe { std::ptr::copy_nonoverlapping(place, memory.as_mut_ptr(), bytes) })?;
        Ok(bytes)
    }

    /// Copies to the file, as far as it is mapped.
    ///
    /// # Errors
    /// `EIO` where the file has no such bytes, or no space.
    pub fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let (place, bytes) = self.part(at, memory.len());
        // SAFETY: as in `read`, with the roles exchanged. The kernel lets nobody write who did not map for writing.
        self.guarded(|| unsafe { std::ptr::copy_nonoverlapping(memory.as_ptr(), place, bytes) })?;
        Ok(bytes)
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

    /// All that is mapped.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Where it is, and how long.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.memory.as_ptr(), self.bytes)
    }

    /// How many of some of its pages are in memory, whoever has brought them there (`mincore`).
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

    /// As much of a range as is mapped.
    fn part(&self, at: u64, length: usize) -> (*mut u8, usize) {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes);
        (self.memory.as_ptr().wrapping_add(at), length.min(self.bytes - at))
    }

    /// Copies, and finds out whether all pages were there.
    fn guarded(&mut self, copy: impl FnOnce()) -> io::Result<()> {
        let start = self.memory.as_ptr().addr();
        GUARDED.set((start, start + self.bytes));
        copy();
        GUARDED.set((0, 0));
        self.broken |= MISSED.replace(false);
        if self.broken { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this very length, and no reference into it exists.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

thread_local! {
    /// Addresses of the mapping that this thread copies from or to.
    static GUARDED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Whether one of its pages was missing.
    static MISSED: Cell<bool> = const { Cell::new(false) };
}

/// Size of a page, for the handler.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Handles `SIGBUS`, which the kernel sends where a mapped page cannot be had: the file is shorter by now, or its file system
/// is full.
fn catch_bus_errors() -> io::Result<()> {
    static CAUGHT: OnceLock<i32> = OnceLock::new();
    let errno = *CAUGHT.get_or_init(|| {
        // SAFETY: a question without arguments in memory.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
        // SAFETY: `sigaction` is made of numbers, for which zeros are values; the handler does only what may be done in one.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        // SAFETY: the kernel reads the action; the old one is not wanted.
        match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
        }
    });
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid description of the signal.
    let address = unsafe { (*info).si_addr() }.addr();
    let (start, end) = GUARDED.get();
    if (start..end).contains(&address) {
        let size = PAGE.load(Ordering::Relaxed);
        let page = std::ptr::without_provenance_mut(address - address % size);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to the mapping that this thread copies from or to, which is called broken from now on; the
        // copy that was interrupted goes on with zeros in its place.
        let mapped = unsafe { libc::mmap(page, size, protection, flags, -1, 0) };
        if mapped != libc::MAP_FAILED {
            MISSED.set(true);
            return;
        }
    }
    // Not ours: as if there were no handler. The instruction is tried again, and ends the process.
    // SAFETY: the default action of a signal may be set at any time.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn bytes_go_to_the_file_and_come_back() {
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
    fn advice_changes_no_byte() {
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
    fn a_file_that_became_shorter_is_an_error_and_no_signal() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut mapping = Mapping::new(&file, 1 << 20, true).unwrap();
        mapping.write(&[1; 4096], 0).unwrap();
        file.set_len(4096).unwrap();
        let mut back = vec![0; 65536];
        assert_eq!(mapping.read(&mut back, 65536).unwrap_err().raw_os_error(), Some(libc::EIO));
        // Another page took the place of what was missing: no later answer would be the file's for sure.
        assert!(mapping.read(&mut back[..4096], 0).is_err() && mapping.write(&[1; 8], 0).is_err());
        let mut again = Mapping::new(&file, 4096, true).unwrap();
        assert_eq!((again.read(&mut back, 0).unwrap(), back[0]), (4096, 1));
    }
}
