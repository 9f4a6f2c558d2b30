//! Traces of the kernel's block layer: events of requests, from several sources, and how these become requests.

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
