//! What the kernel's block layer tells: events on the way of a request, from several sources, and how requests are made
//! of them.

pub mod blkparse;
pub mod blktrace;
mod event;
mod flushes;
pub mod ftrace;
mod merge;
mod order;
mod pairing;
mod partition;
mod retry;
pub mod ring;
pub mod segment;

pub use event::{Action, Counts, Device, Event, Events, Origin, Rwbs};
pub use merge::{Merged, SharedNames};
pub use order::IssueOrder;
pub use pairing::{At, Paired, Timing};
pub use partition::OnPartitions;
pub use retry::RETRIED;
