//! What the kernel offers, in the plan's words: the only room with `unsafe` code.
//!
//! Each block carries its proof; every other crate forbids `unsafe`.

mod buffer;
mod clock;
mod thread;

pub use buffer::{BUFFER_ALIGN, Buffer};
pub use clock::{Clock, monotonic_ns, realtime_ns};
pub use thread::set_timer_slack_1ns;
