//! Asynchronous requests of the C library (`aio_read`, `aio_write`). Those of one open file go one after the other in glibc.

use crate::Setup;
use crate::queued::Queued;
use iosonar_os::posix_aio::PosixAio;

/// Requests of one target.
pub type Posixaio = Queued<PosixAio>;

impl Posixaio {
    /// A backend on an open target.
    pub fn open(setup: Setup<'_>) -> Posixaio {
        let queue = PosixAio::new(setup.file, setup.depth + setup.extra);
        Queued::over(queue, setup.clock, setup.depth + setup.extra, setup.short)
    }
}
