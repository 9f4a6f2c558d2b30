//! The only room with unsafe code: what the kernel offers, in the plan's words

pub mod blockdev;
pub mod loopdev;
pub mod statx;
pub mod usage;
