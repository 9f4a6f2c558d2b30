//! The memory for the data of one target's requests: one region, taken before the start, cut into buffers on demand.
//!
//! A buddy allocator over pages of 4 KiB. A buffer takes the smallest block of 2^k pages that holds it and gives the
//! pages after it back at once, so nothing but the rest of its last page is wasted. With blocks of P pages, P the next
//! power of two of the longest request, a region of (depth + 1) · P pages never lacks one for `depth` + 1 buffers:
//! every buffer lies within one aligned block of P pages, so while `depth` are out, one block at least is whole.
//! [`BufferPool::needed`] is that size.

use crate::buffer::{BUFFER_ALIGN, Buffer, Region};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Buffers that came back last stay cut for the next taker of the same length: at most this many, so that putting
/// them together again never takes long.
const READY: u32 = 64;

/// Longest buffer that stays cut, in pages.
const READY_PAGES: u32 = 64;

/// Bytes of a pool that are present before the first request. Buffers are cut from its begin on: a pool that is larger is
/// seldom used as a whole, and making all of it present would take longer than many a run.
const POPULATED: usize = 64 << 20;

/// End of a list.
const NONE: u32 = u32::MAX;

/// A request is longer than the whole pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the request.
    pub length: usize,
    /// Bytes of the pool.
    pub pool: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a request of {} bytes does not fit into {} bytes of memory for data",
            self.length, self.pool
        )
    }
}

impl std::error::Error for TooLong {}

/// The memory for data of one target.
#[derive(Debug)]
pub struct BufferPool {
    region: Arc<Region>,
    pages: Pages,
    /// Set where buffers are used in turn instead of cut from pages as needed.
    in_turn: Option<InTurn>,
    /// Bytes after a page at which every buffer starts, less than a page.
    shift: usize,
}

impl BufferPool {
    /// A region of `bytes`, in whole pages; of huge pages if `hugepages` says so.
    ///
    /// # Errors
    /// Too little memory. With huge pages, too few of them reserved; the message says how.
    pub fn new(bytes: u64, hugepages: bool) -> std::io::Result<BufferPool> {
        let region = Region::map(region_length(bytes), hugepages).map_err(|error| {
            let kind =
                if hugepages { " of huge pages (reserve them with the sysctl vm.nr_hugepages)" } else { "" };
            std::io::Error::new(error.kind(), format!("no {bytes} bytes of memory for data{kind}: {error}"))
        })?;
        Ok(BufferPool::of(region))
    }

    /// A region of `bytes` in whole pages of shared memory: see [`Region::map_shared`].
    ///
    /// # Errors
    /// Too little memory.
    pub fn shared(bytes: u64) -> std::io::Result<BufferPool> {
        Ok(BufferPool::of(Region::map_shared(region_length(bytes))?))
    }

    fn of(region: Region) -> BufferPool {
        region.populate(POPULATED);
        let pages = Pages::new((region.bytes() / BUFFER_ALIGN) as u32);
        BufferPool { region: Arc::new(region), pages, in_turn: None, shift: 0 }
    }

    /// Uses every part of its memory in turn, cut into buffers for at most `longest` bytes: each buffer is used again only after
    /// all others. To be called before the first buffer is taken, after [`BufferPool::shifted`].
    ///
    /// A region that holds no such buffer stays as it is.
    pub fn in_turn(self, longest: u64) -> BufferPool {
        let longest = usize::try_from(longest).unwrap_or(usize::MAX).saturating_add(self.shift).max(1);
        let each = longest.div_ceil(BUFFER_ALIGN);
        let count = self.region.bytes() / BUFFER_ALIGN / each;
        if count == 0 {
            return self;
        }
        let free = (0..count as u32).collect();
        BufferPool { in_turn: Some(InTurn { free, each: each as u32 }), ..self }
    }

    /// Makes every buffer begin `shift` bytes after a page, whole pages not counted. A buffer takes that much more.
    pub fn shifted(self, shift: u64) -> BufferPool {
        BufferPool { shift: (shift % BUFFER_ALIGN as u64) as usize, ..self }
    }

    /// Bytes with which `depth` + 1 buffers of at most `longest` bytes never wait: one for each request in flight, and
    /// one that is made ahead.
    pub fn needed(depth: u32, longest: u64) -> u64 {
        let pages = longest.div_ceil(BUFFER_ALIGN as u64).max(1);
        let block = pages.checked_next_power_of_two().unwrap_or(u64::MAX);
        block.saturating_mul(BUFFER_ALIGN as u64).saturating_mul(u64::from(depth) + 1)
    }

    /// Bytes of the whole region.
    pub fn bytes(&self) -> u64 {
        self.region.bytes() as u64
    }

    /// Whether a request of `length` bytes can ever have a buffer. To be asked before [`take`](BufferPool::take).
    ///
    /// # Errors
    /// It is longer than the whole pool.
    pub fn check(&self, length: usize) -> Result<(), TooLong> {
        let most = match &self.in_turn {
            None => self.region.bytes(),
            Some(in_turn) => in_turn.each as usize * BUFFER_ALIGN,
        };
        let pool = most.saturating_sub(self.shift);
        if length <= pool { Ok(()) } else { Err(TooLong { length, pool }) }
    }

    /// A buffer of `length` bytes with any content; `None` until enough buffers come back. When all are back, every length that
    /// passes [`check`](BufferPool::check) gets one.
    ///
    /// # Panics
    /// If `length` does not pass the check: the caller would wait for ever.
    pub fn take(&mut self, length: usize) -> Option<Buffer> {
        if length == 0 {
            return Some(Buffer::empty());
        }
        assert!(self.check(length).is_ok(), "a request was longer than all the memory for data");
        let length = length + self.shift;
        let count = length.div_ceil(BUFFER_ALIGN) as u32;
        let at = match &mut self.in_turn {
            None => self.pages.take(count)?,
            Some(in_turn) => in_turn.free.pop_front()? * in_turn.each,
        };
        let (offset, capacity) = (at as usize * BUFFER_ALIGN, count as usize * BUFFER_ALIGN);
        // SAFETY: `pages` gave these pages out, which lie in the region, and does so again only after `give` had them
        // back, and with them the Buffer.
        let buffer = unsafe { Buffer::within(&self.region, offset, capacity, length) };
        Some(if self.shift > 0 { buffer.shifted(self.shift) } else { buffer })
    }

    /// Takes a buffer back. A buffer from elsewhere is freed.
    pub fn give(&mut self, buffer: Buffer) {
        if let Some(offset) = self.region.offset_of(&buffer) {
            let count = buffer.capacity().div_ceil(BUFFER_ALIGN);
            let at = (offset / BUFFER_ALIGN) as u32;
            match &mut self.in_turn {
                None => self.pages.give(at, count as u32),
                Some(in_turn) => in_turn.free.push_back(at / in_turn.each),
            }
        }
    }

    /// Whether all buffers are back.
    pub fn is_complete(&mut self) -> bool {
        self.pages.join_ready();
        self.pages.free == self.pages.total
    }

    /// The region, to register it with the kernel.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

/// The region as equal parts, in FIFO order.
#[derive(Debug)]
struct InTurn {
    /// Numbers of free parts.
    free: VecDeque<u32>,
    /// Pages of each part.
    each: u32,
}

/// As much as pages can be counted.
fn region_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).min((NONE as usize - 1) * BUFFER_ALIGN)
}

/// Free pages: lists of free blocks of 2^k pages, aligned to their size.
struct Pages {
    total: u32,
    free: u32,
    /// First free block of each order.
    heads: [u32; 32],
    /// Orders that have a free block, as bits.
    filled: u32,
    /// Neighbours of the block that starts at a page, in its list; valid only for blocks in a list.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// One more than the order of the free block that starts at a page; 0 if there is no such block.
    order: Vec<u8>,
    /// First of the blocks of each number of pages that stay cut.
    ready: [u32; READY_PAGES as usize + 1],
    ready_count: u32,
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("total", &self.total).field("free", &self.free).finish_non_exhaustive()
    }
}

impl Pages {
    fn new(total: u32) -> Pages {
        let mut pages = Pages {
            total,
            free: 0,
            heads: [NONE; 32],
            filled: 0,
            next: vec![0; total as usize],
            previous: vec![0; total as usize],
            order: vec![0; total as usize],
            ready: [NONE; READY_PAGES as usize + 1],
            ready_count: 0,
        };
        pages.release(0, total);
        pages
    }

    /// First page of `count` contiguous ones, `count` between 1 and `total`.
    fn take(&mut self, count: u32) -> Option<u32> {
        if count <= READY_PAGES && self.ready[count as usize] != NONE {
            let at = self.ready[count as usize];
            self.ready[count as usize] = self.next[at as usize];
            self.ready_count -= 1;
            return Some(at);
        }
        self.acquire(count).or_else(|| {
            self.join_ready();
            self.acquire(count).or_else(|| self.acquire_anything(count))
        })
    }

    /// Takes back pages from `take`.
    fn give(&mut self, at: u32, count: u32) {
        if count > READY_PAGES || self.ready_count == READY {
            return self.release(at, count);
        }
        self.next[at as usize] = self.ready[count as usize];
        self.ready[count as usize] = at;
        self.ready_count += 1;
    }

    fn join_ready(&mut self) {
        for count in 1..=READY_PAGES {
            let mut at = std::mem::replace(&mut self.ready[count as usize], NONE);
            while at != NONE {
                let next = self.next[at as usize];
                self.release(at, count);
                at = next;
            }
        }
        self.ready_count = 0;
    }

    fn acquire(&mut self, count: u32) -> Option<u32> {
        let order = count.checked_next_power_of_two()?.trailing_zeros();
        let mut found =
            order + self.filled.checked_shr(order).filter(|orders| *orders != 0)?.trailing_zeros();
        let at = self.heads[found as usize];
        self.unlink(at);
        while found > order {
            found -= 1;
            self.link(at + (1 << found), found);
        }
        self.release(at + count, (1 << order) - count);
        Some(at)
    }

    /// Acquires more than the largest block, out of a region without other users.
    fn acquire_anything(&mut self, count: u32) -> Option<u32> {
        if self.free < self.total {
            return None;
        }
        while self.filled != 0 {
            self.unlink(self.heads[self.filled.trailing_zeros() as usize]);
        }
        self.release(count, self.total - count);
        Some(0)
    }

    /// Makes `count` pages free, as the largest aligned blocks that they consist of.
    fn release(&mut self, mut at: u32, count: u32) {
        let end = at + count;
        while at < end {
            let order = at.trailing_zeros().min((end - at).ilog2());
            self.join(at, order);
            at += 1 << order;
        }
    }

    /// Makes one block free, together with its free neighbours.
    fn join(&mut self, mut at: u32, mut order: u32) {
        loop {
            let buddy = at ^ (1 << order);
            if self.order.get(buddy as usize).is_none_or(|o| u32::from(*o) != order + 1) {
                return self.link(at, order);
            }
            self.unlink(buddy);
            at = at.min(buddy);
            order += 1;
        }
    }

    fn link(&mut self, at: u32, order: u32) {
        let head = self.heads[order as usize];
        self.next[at as usize] = head;
        self.previous[at as usize] = NONE;
        if head != NONE {
            self.previous[head as usize] = at;
        }
        self.heads[order as usize] = at;
        self.order[at as usize] = order as u8 + 1;
        self.filled |= 1 << order;
        self.free += 1 << order;
    }

    fn unlink(&mut self, at: u32) {
        let order = u32::from(self.order[at as usize]) - 1;
        let (next, previous) = (self.next[at as usize], self.previous[at as usize]);
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        match previous {
            NONE => self.heads[order as usize] = next,
            previous => self.next[previous as usize] = next,
        }
        if self.heads[order as usize] == NONE {
            self.filled &= !(1 << order);
        }
        self.order[at as usize] = 0;
        self.free -= 1 << order;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: usize = BUFFER_ALIGN;

    fn span(buffer: &Buffer) -> std::ops::Range<usize> {
        let start = buffer.as_ptr().addr();
        start..start + buffer.capacity()
    }

    #[test]
    fn shifted_and_shared_buffers_return_to_the_pool() {
        let mut pool = BufferPool::shared(4 * 4096).unwrap().shifted(4096 + 100);
        for length in [1, 4000, 8192, 4 * 4096 - 100] {
            let mut buffer = pool.take(length).unwrap();
            assert_eq!((buffer.pointer().addr() % 4096, buffer.len()), (100, length));
            buffer.fill(7);
            pool.give(buffer);
        }
        assert!(pool.check(4 * 4096).is_err());
    }

    #[test]
    fn buffers_are_used_in_rotation() {
        let mut pool = BufferPool::new(16 * 4096, false).unwrap().in_turn(5000);
        let mut address = || {
            let buffer = pool.take(4097).unwrap();
            let address = buffer.as_ptr().addr();
            pool.give(buffer);
            address
        };
        let first: Vec<usize> = (0..8).map(|_| address()).collect();
        let again: Vec<usize> = (0..8).map(|_| address()).collect();
        assert_eq!(first, again);
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] == 2 * 4096), "{first:?}");
        let out: Vec<Buffer> = (0..8).map(|_| pool.take(1).unwrap()).collect();
        assert!(pool.take(1).is_none());
        out.into_iter().for_each(|buffer| pool.give(buffer));
        assert!(pool.take(2 * 4096).is_some() && pool.check(2 * 4096 + 1).is_err());
    }

    proptest! {
        /// For any sequence of takes and gives: buffers lie in the region, are aligned, never overlap; and when all are back, the
        /// whole region is one again.
        #[test]
        fn buffers_never_overlap_or_leak(
            pages in 1usize..300,
            steps in proptest::collection::vec((any::<bool>(), 1usize..(70 * PAGE), any::<proptest::sample::Index>()), 1..400),
        ) {
            let mut pool = BufferPool::new((pages * PAGE) as u64, false).unwrap();
            let region = pool.region().address()..pool.region().address() + pages * PAGE;
            let mut out: Vec<Buffer> = Vec::new();
            for (takes, length, which) in steps {
                if takes && pool.check(length).is_ok() {
                    let Some(mut buffer) = pool.take(length) else { continue };
                    let new = span(&buffer);
                    prop_assert!(new.start >= region.start && new.end <= region.end && buffer.len() == length);
                    prop_assert_eq!(new.start % PAGE, 0);
                    prop_assert!(out.iter().all(|b| span(b).end <= new.start || span(b).start >= new.end));
                    buffer.fill(out.len() as u8);
                    out.push(buffer);
                } else if !out.is_empty() {
                    pool.give(out.swap_remove(which.index(out.len())));
                }
            }
            out.drain(..).for_each(|buffer| pool.give(buffer));
            let whole = pool.take(pages * PAGE).unwrap();
            prop_assert_eq!(span(&whole), region);
            prop_assert!(pool.take(1).is_none());
        }

        /// A pool of the needed size always has a buffer at once.
        #[test]
        fn pool_of_computed_size_never_runs_out(
            depth in 0u32..40,
            longest in 1usize..(40 * PAGE),
            steps in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>()), 1..300),
        ) {
            let mut pool = BufferPool::new(BufferPool::needed(depth, longest as u64), false).unwrap();
            let mut out = Vec::new();
            for (length, which) in steps {
                if out.len() > depth as usize {
                    pool.give(out.swap_remove(which.index(out.len())));
                }
                out.push(pool.take(length.index(longest) + 1).expect("never fails"));
            }
        }
    }

    #[test]
    fn distinguishes_oversized_from_waiting_requests() {
        let mut pool = BufferPool::new(3 * PAGE as u64, false).unwrap();
        assert_eq!(pool.check(3 * PAGE + 1), Err(TooLong { length: 3 * PAGE + 1, pool: 3 * PAGE }));
        let whole = pool.take(3 * PAGE).expect("no power of two, but free");
        assert!(pool.take(1).is_none());
        pool.give(whole);
        assert!(pool.take(1).is_some());
        assert!(pool.take(0).unwrap().is_empty());
    }

    #[test]
    fn buffers_outlive_pool_and_foreign_ones_are_only_freed() {
        let mut pool = BufferPool::new(PAGE as u64, false).unwrap();
        pool.give(Buffer::zeroed(100));
        pool.give(Buffer::empty());
        let mut buffer = pool.take(PAGE).unwrap();
        assert!(pool.take(1).is_none());
        drop(pool);
        buffer.fill(7);
        assert!(buffer.iter().all(|b| *b == 7));
    }

    #[test]
    fn huge_page_pool_is_rounded_up_or_fails_clearly() {
        match BufferPool::new(1, true) {
            Ok(pool) => assert_eq!(pool.bytes(), 2 << 20),
            Err(error) => assert!(error.to_string().contains("vm.nr_hugepages"), "{error}"),
        }
    }
}
