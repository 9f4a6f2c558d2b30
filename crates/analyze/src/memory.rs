//! Memory use of analyses of this process: enough for speed, or as little as possible.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

static IS_SCARCE: AtomicBool = AtomicBool::new(false);

/// Limits all analyses of this process to little memory from now on: one reader, short queues, and requests keep their place
/// only if fewer others overtook them.
pub fn spare_memory() {
    IS_SCARCE.store(true, Relaxed);
}

/// Whether analyses of this process must use little memory.
pub fn is_memory_scarce() -> bool {
    IS_SCARCE.load(Relaxed)
}

/// Returns the usual number, or the one for scarce memory.
pub(crate) fn of<T>(usual: T, scarce: T) -> T {
    if is_memory_scarce() { scarce } else { usual }
}
