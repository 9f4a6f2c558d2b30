//! Codecs between bytes and timed requests.
//!
//! A codec reads from and writes to what it is given; it knows no paths and no clock. So far there is one:
//! blkreplay's load and replay files ([`blkreplay`]), plain or gzip ([`decompress`]).

pub mod blkreplay;
mod input;
mod quick;

pub use input::{InputError, decompress};

use iosonar_plan::{Extent, Nanos, Op};

/// A request with a time, as a trace tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedRequest {
    /// Line of the trace, from 1.
    pub line: u64,
    /// The trace's own time.
    pub time: Nanos,
    /// Read or write.
    pub op: Op,
    /// Where.
    pub extent: Extent,
    /// In a result: whether it had been pushed back.
    pub pushed: bool,
    /// In a result: submitted − due.
    pub delay: Nanos,
    /// In a result: completed − submitted.
    pub latency: Nanos,
}
