//! Settings of the backends with real I/O.

use iosonar_os::{BufferPool, Clock};
use iosonar_plan::ShortPolicy;
use std::fs::File;

/// Settings of every backend with real I/O.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The open target.
    pub file: File,
    /// The run's clock.
    pub clock: Clock,
    /// The most operations in flight.
    pub depth: u32,
    /// Number of further operations that do not belong to the workload.
    pub extra: u32,
    /// Bytes of the target that operations may touch.
    pub reach: u64,
    /// Whether any operation writes.
    pub writes: bool,
    /// Handling of a short transfer.
    pub short: ShortPolicy,
    /// Whether each operation locks its bytes of the file; only engines of blocking calls do.
    pub locks: bool,
    /// Where the operations' buffers will come from. A backend may make it known to the kernel; buffers from elsewhere
    /// work, too.
    pub pool: Option<&'a BufferPool>,
}
