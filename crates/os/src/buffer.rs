//! Memory for direct I/O: aligned, owned, reusable.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of every buffer: what any logical block size in use needs.
pub const BUFFER_ALIGN: usize = 4096;

/// Bytes in memory aligned to [`BUFFER_ALIGN`]. Its length is what was last asked for with
/// [`Buffer::set_len`]; its memory only grows.
#[derive(Debug)]
pub struct Buffer {
    memory: NonNull<u8>,
    capacity: usize,
    len: usize,
}

// SAFETY: a Buffer owns its memory alone, as Vec<u8> does; nothing in it is tied to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Without memory.
    pub const fn empty() -> Buffer {
        Buffer { memory: NonNull::dangling(), capacity: 0, len: 0 }
    }

    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Buffer {
        let mut buffer = Buffer::empty();
        buffer.set_len(len);
        buffer
    }

    /// Makes the buffer `len` bytes long. Memory is taken anew, and zeroed, only where it has to grow.
    pub fn set_len(&mut self, len: usize) {
        if len > self.capacity {
            self.release();
            let layout = Buffer::layout(len);
            // SAFETY: the layout's size is not 0, because len is above the capacity, which is at least 0.
            let memory = unsafe { alloc_zeroed(layout) };
            self.memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
            self.capacity = len;
        }
        self.len = len;
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BUFFER_ALIGN)
            .expect("no request is near the size of the address space")
    }

    fn release(&mut self) {
        if self.capacity > 0 {
            // SAFETY: the memory was taken in set_len with this very layout, and is given back only here, after
            // which the capacity is 0.
            unsafe { dealloc(self.memory.as_ptr(), Buffer::layout(self.capacity)) };
            self.capacity = 0;
            self.len = 0;
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `capacity` bytes from `memory` are ours and were initialised by alloc_zeroed, len never exceeds
        // capacity, and a dangling pointer with length 0 is a valid empty slice.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in deref, and &mut self says that nobody else looks.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
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
}
