//! Devices to record, and how.

use iosonar_capture::{Interface, Watch};
use iosonar_plan::{ByteSize, Nanos};
use iosonar_runner::Error;
use std::path::PathBuf;

/// Which devices to record, and how.
#[derive(Debug, Clone)]
pub struct Question {
    /// Block devices, each a whole disk.
    pub devices: Vec<PathBuf>,
    /// Directory of the archive, which must not exist.
    pub out: PathBuf,
    /// How long; `None`: until the session is stopped.
    pub duration: Option<Nanos>,
    /// Which kernel event counts as the request: queued or issued.
    pub watch: Watch,
    /// The kernel's interface.
    pub interface: Interface,
    /// Duration of a segment of events.
    pub segment: Nanos,
    /// Maximum size of the events, of which the oldest are removed; `None`: unlimited.
    pub max_size: Option<ByteSize>,
    /// Bytes of the kernel's ring buffers, of all CPUs together.
    pub buffer: ByteSize,
}

/// Least size that a recording is limited to.
const LEAST_SIZE: u64 = 1 << 20;

impl Question {
    /// Refuses what cannot be recorded on any device.
    ///
    /// # Errors
    /// The limit of the size is too small, or several events are to be watched, which is for runs.
    pub fn check(&self) -> Result<(), Error> {
        if self.max_size.is_some_and(|size| size.0 < LEAST_SIZE) {
            return Err(Error::refused_because(
                "--max-size: give 1MiB at least, or nothing would be left of a recording",
            ));
        }
        if matches!(self.watch, Watch::Order | Watch::Path) {
            return Err(Error::refused_because("a recording has queued or issued requests, not both"));
        }
        Ok(())
    }

    /// Queued requests of some devices, through tracepoints, until the session is stopped.
    pub fn new(devices: Vec<PathBuf>, out: PathBuf) -> Question {
        Question {
            devices,
            out,
            duration: None,
            watch: Watch::Queue,
            interface: Interface::Tracepoints,
            segment: Nanos::from_secs(600),
            max_size: None,
            buffer: ByteSize(32 << 20),
        }
    }
}
