//! Content of a simulated device: bytes, kept only where something was written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk.
const CHUNK: u64 = 4 << 10;
/// Memory for a chunk: itself, and its share of the table.
const CHUNK_MEMORY: u64 = CHUNK + 64;

/// Memory for the content of several devices.
#[derive(Debug, Clone)]
pub struct StoreRoom {
    most: u64,
    /// Chunks that may still be kept.
    left: Arc<AtomicU64>,
}

impl StoreRoom {
    /// A room of at most `bytes` bytes.
    pub fn new(bytes: u64) -> StoreRoom {
        StoreRoom { most: bytes, left: Arc::new(AtomicU64::new(bytes / CHUNK_MEMORY)) }
    }

    /// The most bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        self.most
    }

    /// Whether no more chunks can be kept.
    pub fn is_full(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    fn take(&self) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn give_back(&self, chunks: usize) {
        self.left.fetch_add(chunks as u64, Relaxed);
    }
}

/// The content of a device, shared by clones, for all that reach one device.
#[derive(Debug, Clone)]
pub struct Store {
    room: StoreRoom,
    chunks: Arc<Mutex<Chunks>>,
}

/// Chunks by their number; zeros elsewhere.
type Chunks = HashMap<u64, Box<[u8]>>;

impl Default for Store {
    fn default() -> Store {
        Store::new()
    }
}

impl Store {
    /// A store of zeros.
    pub fn new() -> Store {
        Store::within(StoreRoom::new(u64::MAX))
    }

    /// The same; written data takes memory of a room.
    pub fn within(room: StoreRoom) -> Store {
        Store { room, chunks: Arc::default() }
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        // Whole bytes were copied, or not: the content after a panic of a thread is as good as any.
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `memory` with the content from `offset` on.
    pub fn read(&self, offset: u64, memory: &mut [u8]) {
        let chunks = self.chunks();
        for (chunk, within, part) in parts(offset, memory.len() as u64) {
            let memory = &mut memory[part];
            match chunks.get(&chunk) {
                Some(bytes) => memory.copy_from_slice(&bytes[within..within + memory.len()]),
                None => memory.fill(0),
            }
        }
    }

    /// Puts `memory` at `offset`; `false`: there is no room for all of it.
    #[must_use]
    pub fn write(&self, offset: u64, memory: &[u8]) -> bool {
        let mut chunks = self.chunks();
        for (chunk, within, part) in parts(offset, memory.len() as u64) {
            let memory = &memory[part];
            if !chunks.contains_key(&chunk) && !self.room.take() {
                return false;
            }
            let bytes = chunks.entry(chunk).or_insert_with(|| vec![0; CHUNK as usize].into());
            bytes[within..within + memory.len()].copy_from_slice(memory);
        }
        true
    }

    /// Zeros a range, and keeps nothing of chunks that lie in it whole.
    pub fn zero(&self, offset: u64, length: u64) {
        let mut chunks = self.chunks();
        let end = offset + length;
        let (first, behind) = (offset.div_ceil(CHUNK), end / CHUNK);
        let before = chunks.len();
        if behind.saturating_sub(first) > before as u64 {
            chunks.retain(|chunk, _| !(first..behind).contains(chunk));
        } else {
            (first..behind).for_each(|chunk| _ = chunks.remove(&chunk));
        }
        self.room.give_back(before - chunks.len());
        let mut zero_part = |chunk: u64| {
            let (start, until) = (offset.max(chunk * CHUNK), end.min((chunk + 1) * CHUNK));
            if let Some(bytes) = chunks.get_mut(&chunk).filter(|_| start < until) {
                bytes[(start - chunk * CHUNK) as usize..(until - chunk * CHUNK) as usize].fill(0);
            }
        };
        zero_part(offset / CHUNK);
        zero_part(behind);
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> u64 {
        self.chunks().len() as u64 * CHUNK
    }
}

/// Cuts a range at chunks: the number of each, where in it the part starts, and which part of the range it is.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        let chunk = at / CHUNK;
        let until = end.min((chunk + 1) * CHUNK);
        let part = (at - offset) as usize..(until - offset) as usize;
        let within = (at % CHUNK) as usize;
        at = until;
        (!part.is_empty()).then_some((chunk, within, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(store: &Store, offset: u64, length: usize) -> Vec<u8> {
        let mut memory = vec![9; length];
        store.read(offset, &mut memory);
        memory
    }

    #[test]
    fn reads_back_writes_across_chunks() {
        let store = Store::new();
        let other = store.clone();
        let data: Vec<u8> = (0..200_000u32).map(|i| i as u8 | 1).collect();
        assert!(store.write(1000, &data));
        assert_eq!(bytes(&other, 1000, data.len()), data);
        assert_eq!(bytes(&other, 999, 2), [0, 1]);
        assert_eq!(bytes(&other, 1 << 50, 3), [0; 3]);
        assert_eq!(store.kept(), 50 * CHUNK);
    }

    #[test]
    fn zeroed_chunks_are_freed() {
        let store = Store::new();
        assert!(store.write(0, &[7; 4 * CHUNK as usize]));
        store.zero(CHUNK - 1, 2 * CHUNK + 2);
        assert_eq!(store.kept(), 2 * CHUNK);
        assert_eq!(bytes(&store, CHUNK - 2, 2), [7, 0]);
        assert_eq!(bytes(&store, 3 * CHUNK, 2), [0, 7]);
        store.zero(0, 1 << 40);
        assert_eq!(store.kept(), 0);
    }

    #[test]
    fn shared_limit_bounds_memory_of_all_stores() {
        let room = StoreRoom::new(3 * CHUNK_MEMORY);
        let stores = [Store::within(room.clone()), Store::within(room.clone())];
        assert!(stores[0].write(100, &[7; 2 * CHUNK as usize]));
        assert!(room.is_full() && !stores[1].write(0, &[7]));
        // Existing data can be written again, and zeroed data takes no room.
        assert!(stores[0].write(0, &[8; 3 * CHUNK as usize]));
        stores[0].zero(0, CHUNK);
        assert!(!room.is_full() && !stores[1].write(0, &[7; 2 * CHUNK as usize]));
        assert_eq!(bytes(&stores[1], CHUNK - 1, 2), [7, 0]);
    }
}
