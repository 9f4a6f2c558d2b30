//! Memory for data that no issuing loop uses: that of one phase serves the next, because new memory costs page faults.

use iosonar_os::BufferPool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pools of ordinary memory, each with all of its buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pools(Arc<Mutex<Vec<BufferPool>>>);

impl Pools {
    fn lock(&self) -> MutexGuard<'_, Vec<BufferPool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a pool of `bytes`, or a larger one if `or_larger`; `None` if there is no such pool.
    pub(crate) fn take(&self, bytes: u64, or_larger: bool) -> Option<BufferPool> {
        let mut pools = self.lock();
        let fits = |pool: &BufferPool| pool.bytes() == bytes || or_larger && pool.bytes() > bytes;
        let place = pools.iter().position(fits)?;
        Some(pools.swap_remove(place))
    }

    /// Keeps a pool for later use. A pool that lacks a buffer is freed when that comes back.
    pub(crate) fn put_back(&self, mut pool: BufferPool) {
        if pool.is_complete() {
            self.lock().push(pool);
        }
    }

    /// Frees the pools that no loop took.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_reused_once_their_buffers_return() {
        let (pools, bytes) = (Pools::default(), 1 << 16);
        assert!(pools.take(bytes, true).is_none());
        let mut pool = BufferPool::new(bytes, false).unwrap();
        let buffer = pool.take(4096).unwrap();
        pool.give(buffer);
        pools.put_back(pool);
        assert!(pools.take(bytes / 2, false).is_none() && pools.take(2 * bytes, true).is_none());
        let mut pool = pools.take(bytes / 2, true).expect("a larger one will do");
        let _kept = pool.take(4096);
        pools.put_back(pool);
        assert!(pools.take(bytes, true).is_none(), "one of its buffers is elsewhere");
    }
}
