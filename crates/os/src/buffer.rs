//! Memory for direct I/O: page-aligned, owned, mapped outside the heap.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of every buffer: sufficient for any logical block size in use.
pub const BUFFER_ALIGN: usize = 4096;

/// Size of the huge pages that `MAP_HUGETLB` takes where nothing else was set up.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Separate anonymous memory. It gives no access by itself; its user lends parts of it as [`Buffer`]s, each byte once at a time.
#[derive(Debug)]
pub struct Region {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a Region is an address and a length, and neither changes; the memory is reached through Buffers alone.
unsafe impl Send for Region {}
// SAFETY: as above, a shared Region offers nothing but the two numbers.
unsafe impl Sync for Region {}

impl Region {
    /// At least `bytes` zero bytes, in whole pages; huge ones if `hugepages` says so. Nothing is touched before it is
    /// used.
    ///
    /// # Errors
    /// `ENOMEM` where there is not enough memory, or too few huge pages are reserved (`vm.nr_hugepages`).
    pub fn map(bytes: usize, hugepages: bool) -> io::Result<Region> {
        Region::map_as(bytes, hugepages, libc::MAP_PRIVATE)
    }

    /// The same as a shared mapping, like a shared memory segment without other users: its pages are the kernel's own file pages.
    /// It is gone with the process, however that ends.
    ///
    /// # Errors
    /// `ENOMEM` where there is not enough memory.
    pub fn map_shared(bytes: usize) -> io::Result<Region> {
        Region::map_as(bytes, false, libc::MAP_SHARED)
    }

    fn map_as(bytes: usize, hugepages: bool, sharing: libc::c_int) -> io::Result<Region> {
        let (page, huge) = if hugepages { (HUGE_PAGE, libc::MAP_HUGETLB) } else { (BUFFER_ALIGN, 0) };
        let none = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(page).ok_or_else(none)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, sharing | libc::MAP_ANONYMOUS | huge);
        // SAFETY: a null address asks for a new mapping, so no other memory is touched. (The C library's call, so that the
        // sanitizers see it.)
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Region { memory: NonNull::new(memory.cast()).ok_or_else(none)?, bytes })
    }

    /// Length of the region in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the first `bytes` present, so that no request pays for the page faults of its buffer. A kernel that cannot (before
    /// Linux 5.14), or has no memory now, leaves it as it is.
    pub(crate) fn populate(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the range lies inside this mapping, and its content stays as it is.
        unsafe { libc::madvise(self.memory.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) };
    }

    pub(crate) fn address(&self) -> usize {
        self.memory.as_ptr().addr()
    }

    /// Offset of a buffer in this region; `None` if it lies elsewhere.
    pub(crate) fn offset_of(&self, buffer: &Buffer) -> Option<usize> {
        let home = buffer.home.as_deref()?;
        std::ptr::eq(home, self).then(|| buffer.memory.as_ptr().addr() - self.address())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` with this very length; every Buffer in it keeps the Region alive, so no reference
        // into it exists any more.
        let unmapped = unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped == 0, "a mapping of ours can be unmapped");
    }
}

/// Bytes in memory aligned to [`BUFFER_ALIGN`], owned alone, as a `Vec<u8>` owns its own. It keeps the memory that it
/// lies in alive.
#[derive(Debug)]
pub struct Buffer {
    memory: NonNull<u8>,
    capacity: usize,
    len: usize,
    /// `None` only where the capacity is 0.
    home: Option<Arc<Region>>,
}

// SAFETY: a Buffer owns its memory alone, as Vec<u8> does; nothing in it is tied to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// A buffer without memory.
    pub const fn empty() -> Buffer {
        Buffer { memory: NonNull::dangling(), capacity: 0, len: 0, home: None }
    }

    /// A buffer of `len` zero bytes in a separate mapping.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn zeroed(len: usize) -> Buffer {
        let mut buffer = Buffer::empty();
        buffer.set_len(len);
        buffer
    }

    /// The first `len` bytes of the `capacity` bytes of `home` from `offset` on.
    ///
    /// # Safety
    /// These `capacity` bytes lie in `home`, begin at a page, and belong to no other Buffer as long as this one lives.
    pub(crate) unsafe fn within(home: &Arc<Region>, offset: usize, capacity: usize, len: usize) -> Buffer {
        debug_assert!(
            offset.is_multiple_of(BUFFER_ALIGN) && offset + capacity <= home.bytes && len <= capacity
        );
        // SAFETY: the caller guarantees that the offset lies in the mapping.
        let memory = unsafe { home.memory.add(offset) };
        Buffer { memory, capacity, len, home: Some(home.clone()) }
    }

    /// Moves the start `shift` bytes up; the buffer gets that much shorter.
    ///
    /// # Panics
    /// If it is no longer than that.
    pub(crate) fn shifted(mut self, shift: usize) -> Buffer {
        assert!(shift < self.len && self.home.is_some(), "there is something behind the shift");
        // SAFETY: the new begin lies within the bytes that this Buffer owns.
        self.memory = unsafe { self.memory.add(shift) };
        self.capacity -= shift;
        self.len -= shift;
        self
    }

    /// Makes the buffer `len` bytes long. New memory is mapped, and zeroed, only where it has to grow: its earlier memory is then
    /// lost to its pool.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn set_len(&mut self, len: usize) {
        if len > self.capacity {
            let home = Arc::new(Region::map(len, false).expect("there is memory for the buffer"));
            let capacity = home.bytes;
            // SAFETY: the mapping is new, and this Buffer is its only user.
            *self = unsafe { Buffer::within(&home, 0, capacity, len) };
        }
        self.len = len;
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Start address, for the kernel. Writing there requires that the buffer has no other user meanwhile.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.memory.as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `capacity` bytes from `memory` are ours and were initialised by the kernel, which maps zeros; len
        // never exceeds capacity, and a dangling pointer with length 0 is a valid empty slice.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in deref, and &mut self excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_reusable() {
        let mut buffer = Buffer::zeroed(512);
        assert_eq!(buffer.as_ptr().addr() % BUFFER_ALIGN, 0);
        assert!(buffer.iter().all(|b| *b == 0));
        buffer.fill(7);
        let before = buffer.as_ptr();
        buffer.set_len(100);
        assert_eq!((buffer.len(), buffer.as_ptr()), (100, before));
        buffer.set_len(1 << 20);
        assert_eq!((buffer.len(), buffer[1 << 19]), (1 << 20, 0));
        assert!(Buffer::empty().is_empty());
    }

    #[test]
    fn exceeding_memory_is_an_error() {
        for bytes in [usize::MAX, 1 << 60] {
            assert_eq!(Region::map(bytes, false).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
        }
    }
}
