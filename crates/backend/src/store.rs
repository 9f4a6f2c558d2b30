//! What a simulated device holds: bytes, kept only where something was written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are kept together.
const CHUNK: u64 = 64 << 10;

/// The content of a device. Clones are handles of the same content, for all that reach one device.
#[derive(Debug, Clone, Default)]
pub struct Store(Arc<Mutex<Chunks>>);

/// By their number; zeros where none is.
type Chunks = HashMap<u64, Box<[u8]>>;

impl Store {
    /// Zeros everywhere.
    pub fn new() -> Store {
        Store::default()
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        // Whole bytes were copied, or not: what a thread left that panicked is as good as any content.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `memory` with what lies from `offset` on.
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

    /// Puts `memory` at `offset`.
    pub fn write(&self, offset: u64, memory: &[u8]) {
        let mut chunks = self.chunks();
        for (chunk, within, part) in parts(offset, memory.len() as u64) {
            let memory = &memory[part];
            let bytes = chunks.entry(chunk).or_insert_with(|| vec![0; CHUNK as usize].into());
            bytes[within..within + memory.len()].copy_from_slice(memory);
        }
    }

    /// Zeros a range, and keeps nothing of chunks that lie in it whole.
    pub fn zero(&self, offset: u64, length: u64) {
        let mut chunks = self.chunks();
        let is_whole = |chunk: u64| chunk * CHUNK >= offset && (chunk + 1) * CHUNK <= offset + length;
        if length / CHUNK > chunks.len() as u64 {
            chunks.retain(|chunk, _| !is_whole(*chunk));
        }
        for (chunk, within, part) in parts(offset, length) {
            if is_whole(chunk) {
                chunks.remove(&chunk);
            } else if let Some(bytes) = chunks.get_mut(&chunk) {
                bytes[within..within + part.len()].fill(0);
            }
        }
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
    fn what_was_written_comes_back_across_chunks() {
        let store = Store::new();
        let other = store.clone();
        let data: Vec<u8> = (0..200_000u32).map(|i| i as u8 | 1).collect();
        store.write(1000, &data);
        assert_eq!(bytes(&other, 1000, data.len()), data);
        assert_eq!(bytes(&other, 999, 2), [0, 1]);
        assert_eq!(bytes(&other, 1 << 50, 3), [0; 3]);
        assert_eq!(store.kept(), 4 * CHUNK);
    }

    #[test]
    fn zeroed_chunks_are_not_kept() {
        let store = Store::new();
        store.write(0, &[7; 4 * CHUNK as usize]);
        store.zero(CHUNK - 1, 2 * CHUNK + 2);
        assert_eq!(store.kept(), 2 * CHUNK);
        assert_eq!(bytes(&store, CHUNK - 2, 2), [7, 0]);
        assert_eq!(bytes(&store, 3 * CHUNK, 2), [0, 7]);
        store.zero(0, 1 << 40);
        assert_eq!(store.kept(), 0);
    }
}
