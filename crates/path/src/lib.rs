//! Where the time of each request went in the kernel: joins the requests of a run with the events of the block layer, by
//! device, place and time.
//!
//! A request of the run becomes one or several requests of the kernel: a file lies in fragments, and large requests are
//! queued in pieces. It is *queued* when its first piece is, *issued* when its first piece goes to the driver, and *done*
//! when the last one completes. The kernel's own merging and splitting is followed by [`iosonar_trace::kernel::Paired`].
//!
//! This crate opens no files and reads no clock.

mod disks;
mod joiner;
mod place;

pub use disks::OnDisks;
pub use joiner::{InKernel, Joiner, Own};
pub use place::{Part, Place};
