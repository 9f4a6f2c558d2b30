//! What the kernel offers, in the plan's words: the only room with `unsafe` code.
//!
//! Each block carries its proof; every other crate forbids `unsafe`.

pub mod blkid;
pub mod blockdev;
mod buffer;
mod clock;
pub mod loopdev;
pub mod statx;
mod terminal;
mod thread;
pub mod usage;

pub use buffer::{BUFFER_ALIGN, Buffer};
pub use clock::{Clock, monotonic_ns, realtime_ns};
pub use terminal::stderr_columns;
pub use thread::{is_ignored, set_timer_slack_1ns};
