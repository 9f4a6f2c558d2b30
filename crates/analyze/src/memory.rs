//! How much memory analyses of this process take: as much as makes them fast, or as little as they can do with.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

static IS_SCARCE: AtomicBool = AtomicBool::new(false);

/// Lets all analyses of this process do with little memory from now on: one reader, short queues, and requests that keep their
/// place only where fewer others overtook them.
pub fn spare_memory() {
    IS_SCARCE.store(true, Relaxed);
}

/// Whether analyses of this process have to do with little memory.
pub fn is_memory_scarce() -> bool {
    IS_SCARCE.load(Relaxed)
}

/// The usual number, or the one where memory is scarce.
pub(crate) fn of<T>(usual: T, scarce: T) -> T {
    if is_memory_scarce() { scarce } else { usual }
}
