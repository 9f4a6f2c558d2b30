//! Services of the kernel, in the plan's words: the only room with `unsafe` code.
//!
//! Each block carries its proof; every other crate forbids `unsafe`.

pub mod aio;
mod bell;
pub mod blkid;
pub mod blktrace;
pub mod blockdev;
pub mod bounded;
mod buffer;
mod clock;
pub mod create;
mod descriptor;
pub mod extents;
mod file;
pub mod flight;
pub mod free_ranges;
mod holes;
mod huge;
pub mod loopdev;
mod machine;
pub mod made;
pub mod map;
pub mod page_cache;
mod pool;
pub mod posix_aio;
pub mod ring;
mod shared_words;
pub mod spsc;
pub mod statx;
pub mod stdio;
pub mod temporary;
mod terminal;
mod thread;
pub mod usage;

pub use bell::Doorbell;
pub use buffer::{BUFFER_ALIGN, Buffer, Region};
pub use clock::{Clock, SystemClock, monotonic_ns, realtime_ns, system_clock};
pub use descriptor::{LockKind, close, lock_range, try_lock, unlock, unlock_range};
pub use file::{
    allocate, block_bytes, discard, extend, free_space, open_to_inspect, open_to_read_directly,
    sync_file_system, write_durably_at, write_zeroes,
};
pub use holes::empty_bytes;
pub use huge::vec_for_huge_pages;
pub use machine::machine_type;
pub use pool::{BufferPool, TooLong};
pub use shared_words::SharedWords;
pub use terminal::{Terminal, stderr_columns, terminal_columns};
pub use thread::{
    file_size_limit, is_ignored, lock_memory, open_file_limit, pin_to, raise_file_limit, set_nice,
    set_realtime, set_timer_slack_1ns,
};
