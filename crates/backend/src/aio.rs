//! The kernel's older asynchronous interface (`io_submit`), for comparison with old results.
//!
//! It is asynchronous only with direct I/O on targets that need no blocking work before. Otherwise `io_submit` itself
//! carries the requests of a batch out, one after the other: then their delay grows with what stands before them, and
//! all of them seem to end when the last one does.

use crate::queued::Queued;
use crate::{Backend, Completion, Operation, Setup, Wait};
use iosonar_os::aio::Aio as Queue;
use iosonar_os::blockdev::is_direct;
use iosonar_plan::Nanos;

/// The context of one target.
pub struct Aio(Queued<Queue>);

impl Aio {
    /// A context; and what limits it, one sentence each.
    ///
    /// # Errors
    /// The kernel offers none; the message says why.
    pub fn new(setup: Setup<'_>) -> std::io::Result<(Aio, Vec<String>)> {
        let blocks = "engine aio is asynchronous only with direct I/O: here io_submit carries requests out one after the \
                      other, and their times are not those of the target";
        let notices = if is_direct(&setup.file) { Vec::new() } else { vec![blocks.into()] };
        let queue = Queue::new(setup.file, setup.depth)?;
        Ok((Aio(Queued::new(queue, setup.clock, setup.depth, setup.short)), notices))
    }
}

impl Backend for Aio {
    fn now(&mut self) -> Nanos {
        self.0.now()
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        self.0.push(operation);
    }

    fn submit(&mut self) {
        self.0.submit();
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        self.0.reap(wait, out);
    }
}
