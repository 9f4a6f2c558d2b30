//! The only room with unsafe code: what the kernel offers, in the plan's words
