//! Executes operations. A backend sees operations, buffers and tokens; it has never heard of loads, passes
//! or statistics.
//!
//! To add one: implement [`Backend`], and add it to the list in `tests/conformance.rs`, which has the rules of every backend.

mod aio;
mod blocking;
mod faulty;
mod locked;
mod mmap;
mod null;
mod posixaio;
mod queued;
mod real;
mod setup;
mod sim;
mod stdio;
mod store;
mod sync;
mod threads;
mod uring;
mod vectored;

pub use aio::Aio;
pub use faulty::{
    Entry, Faulty, FaultyDevice, FaultyTarget, Header, Hit, Injector, Ledger, OtherRun, Survived, Unflushed,
};
pub use iosonar_os::ring::{Mode, RingOptions, Unavailable};
pub use mmap::Mmap;
pub use null::Null;
pub use posixaio::Posixaio;
pub use queued::Queued;
pub use real::real;
pub use setup::Setup;
pub use sim::Sim;
pub use stdio::Stdio;
pub use store::{Store, StoreRoom};
pub use sync::ReadWrite;
pub use threads::Threads;
pub use uring::Uring;
pub use vectored::{Pvsync, Vsync};

use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, Nanos, Op};

/// Token of an operation from [`Backend::push`] to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u32);

/// One operation. The buffer is owned, so that it has no other user while the kernel uses it; it comes back with the completion.
#[derive(Debug)]
pub struct Operation {
    /// Its token.
    pub token: Token,
    /// Read, write, flush, discard or write zeroes.
    pub op: Op,
    /// Durability that a write requests beyond its data.
    pub durability: Durability,
    /// Its range; empty for a flush.
    pub extent: Extent,
    /// As long as the extent; empty for an operation that transfers no data, and for a backend that
    /// [needs none](Backend::needs_buffers).
    pub buffer: Buffer,
}

/// The end of an operation.
#[derive(Debug)]
pub struct Completion {
    /// The operation's token.
    pub token: Token,
    /// The operation's buffer; after a read it holds the data.
    pub buffer: Buffer,
    /// Read just before the call that submitted the operation to the kernel.
    pub submitted: Nanos,
    /// When the completion was first seen.
    pub completed: Nanos,
    /// How much earlier than `completed` the operation may have ended at most, because the issuing thread was busy
    /// elsewhere: the time since it last looked, or since it came back from waiting. 0 where it was waiting, or
    /// where the operation's own thread took the time.
    pub reap_lag: Nanos,
    /// Bytes transferred, discarded or zeroed, or the negative errno.
    pub result: i64,
    /// Some call transferred less than requested.
    pub short: bool,
    /// Number of the worker that executed it.
    pub worker: u16,
}

/// Maximum wait of [`Backend::reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until a completion, or until this time on the backend's clock.
    Until(Nanos),
}

/// Executes the operations of one target.
pub trait Backend: Send {
    /// The time on this backend's clock, from the run's time zero; never goes back.
    fn now(&mut self) -> Nanos;

    /// Whether the clock advances by itself. A simulated one moves only while its backend is waited for.
    fn is_timed(&self) -> bool {
        true
    }

    /// Advances this backend's clock to `time`, if it is a simulated one; a real clock is unaffected.
    fn skip_to(&mut self, time: Nanos) {
        let _ = time;
    }

    /// Whether operations need buffers.
    fn needs_buffers(&self) -> bool;

    /// Adds an operation. At most the depth that the backend was made for may be in flight. It may be submitted to the kernel only
    /// with the next [`submit`](Backend::submit) or [`reap`](Backend::reap).
    fn push(&mut self, operation: Operation);

    /// Submits all pushed operations to the kernel.
    fn submit(&mut self) {}

    /// Submits pushed operations, and appends completions to `out`, each operation exactly once.
    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>);

    /// Writes data that the program still buffers to the kernel; no operation is in flight.
    ///
    /// # Errors
    /// The kernel's error.
    fn flush_buffers(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Releases a stream or a mapping over the target; no operation is in flight, and none follows. `None`: there is nothing that
    /// users would time.
    fn release(&mut self) -> Option<std::io::Result<()>> {
        None
    }
}
