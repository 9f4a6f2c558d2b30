//! The kernel's older asynchronous interface (`io_submit`), for comparison with old results.
//!
//! It is asynchronous only with direct I/O on targets that need no blocking work before. Otherwise `io_submit` itself executes the
//! requests of a batch, one after the other: then their delay grows with the requests before them, and all of them seem to end when
//! the last one does.

use crate::Setup;
use crate::queued::Queued;
use iosonar_os::aio::Aio as Queue;
use iosonar_os::blockdev::is_direct;

/// The context of one target.
pub type Aio = Queued<Queue>;

impl Aio {
    /// A context; and its restrictions, one sentence each.
    ///
    /// # Errors
    /// The kernel offers no context; the message has the reason.
    pub fn new(setup: Setup<'_>) -> std::io::Result<(Aio, Vec<String>)> {
        let blocks = "engine aio is asynchronous only with direct I/O: here io_submit carries requests out one after the \
                      other, and their times are not those of the target";
        let notices = if is_direct(&setup.file) { Vec::new() } else { vec![blocks.into()] };
        let queue = Queue::new(setup.file, setup.depth + setup.extra)?;
        Ok((Queued::over(queue, setup.clock, setup.depth + setup.extra, setup.short), notices))
    }
}
