//! `SIGBUS` of mapped files: the handler, and the list of ranges that it may repair.

use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Addresses of a mapping, and the handler's notes about them. Entries stay in the list for ever and are used again, so that the
/// handler may walk it at any time.
#[derive(Debug)]
struct Entry {
    start: AtomicUsize,
    /// End of the range; 0 of an unused entry.
    end: AtomicUsize,
    /// Pages that were replaced by zeros lie between these; `lowest` is [`usize::MAX`] while there is no such page.
    lowest: AtomicUsize,
    highest: AtomicUsize,
    next: Option<&'static Entry>,
}

/// The first entry of the list.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

/// Unused entries.
static UNUSED: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

/// Size of a page, for the handler.
static PAGE: AtomicUsize = AtomicUsize::new(0);

fn entries() -> Option<&'static Entry> {
    // SAFETY: the pointer is null, or leads to an entry that lives for ever; `Acquire` sees all of what `Watch::new` wrote there.
    unsafe { ENTRIES.load(Acquire).as_ref() }
}

/// Turns bus errors in a range into errors of the accessing call, in place of the end of the process.
#[derive(Debug)]
pub(super) struct Watch(&'static Entry);

impl Watch {
    /// Watches addresses that were just mapped.
    pub(super) fn new(range: Range<usize>) -> Watch {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = unused.pop().unwrap_or_else(|| {
            let [start, end, highest] = [0; 3].map(AtomicUsize::new);
            let entry = Entry { start, end, lowest: AtomicUsize::new(usize::MAX), highest, next: entries() };
            let entry = Box::leak(Box::new(entry));
            // Only the holder of the lock changes the list.
            ENTRIES.store(ptr::from_mut(entry), Release);
            entry
        });
        // The end is 0 until here, so the handler sees an empty range or both numbers of one.
        entry.start.store(range.start, Release);
        entry.end.store(range.end, Release);
        Watch(entry)
    }

    /// Whether all pages were there in the copies of this thread until now.
    #[inline]
    pub(super) fn check(&self) -> io::Result<()> {
        // The copy is over before the handler's notes are read: neither may be moved beyond the other.
        compiler_fence(Ordering::SeqCst);
        match self.0.lowest.load(Relaxed) {
            usize::MAX => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }

    /// Range of addresses that includes all replaced pages.
    pub(super) fn missed(&self) -> Option<Range<usize>> {
        let lowest = self.0.lowest.load(Acquire);
        (lowest != usize::MAX).then(|| lowest..self.0.highest.load(Relaxed))
    }

    /// Forgets the replaced pages: they are the file's again.
    pub(super) fn clear(&self) {
        self.0.highest.store(0, Relaxed);
        self.0.lowest.store(usize::MAX, Release);
    }

    /// Ends the watch, before the range is unmapped: its addresses may be those of something else afterwards.
    pub(super) fn end(&self) {
        self.0.end.store(0, Release);
        self.clear();
        UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// Handles `SIGBUS` from now on.
pub(super) fn catch_bus_errors() -> io::Result<()> {
    static CAUGHT: OnceLock<i32> = OnceLock::new();
    let errno = *CAUGHT.get_or_init(|| {
        PAGE.store(rustix::param::page_size(), Relaxed);
        // SAFETY: `sigaction` is made of numbers, for which zeros are values; the handler does only what may be done in one.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        // SAFETY: the kernel reads the action; the old one is not wanted.
        match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
        }
    });
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// Only what a signal handler may do: atomics, and mmap(2).
extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid description of the signal.
    let address = unsafe { (*info).si_addr() }.addr();
    let mut next = entries();
    while let Some(entry) = next {
        if entry.contains(address) {
            if entry.replace_page(address) {
                return;
            }
            break;
        }
        next = entry.next;
    }
    // Not ours: as if there were no handler. The instruction is executed again, and ends the process.
    // SAFETY: the default action of a signal may be set at any time.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

impl Entry {
    /// Whether an address lies in the range. Another thread may replace the range meanwhile.
    fn contains(&self, address: usize) -> bool {
        let start = self.start.load(Acquire);
        let end = self.end.load(Acquire);
        (start..end).contains(&address) && self.start.load(Relaxed) == start
    }

    /// Puts a page of zeros where the page of an address cannot be had; whether that worked.
    fn replace_page(&self, address: usize) -> bool {
        let size = PAGE.load(Relaxed);
        let page = address - address % size;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to a mapping of this list, whose copies fail from now on; the interrupted copy continues with zeros.
        let mapped = unsafe { libc::mmap(ptr::without_provenance_mut(page), size, protection, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return false;
        }
        self.highest.fetch_max(page + size, Relaxed);
        self.lowest.fetch_min(page, Release);
        true
    }
}
