//! io_uring: requests and completions through rings shared with the kernel, by the issuing thread alone.
//!
//! Pushing costs no system call; [`submit`](crate::Backend::submit) submits a batch with one. The file and the memory for data are
//! registered beforehand. Completions are seen by looking into memory; the kernel is entered only where it requests that.

use crate::Setup;
use crate::queued::Queued;
use iosonar_os::blockdev::{has_poll_queues, is_direct};
use iosonar_os::ring::{self, Mode, Ring, RingOptions, Unavailable};
use iosonar_plan::UringOptions;
use std::fs::File;

/// The ring of one target.
pub type Uring = Queued<Ring>;

impl Uring {
    /// Whether io_uring can be used here, and how completions come about.
    ///
    /// # Errors
    /// The obstacle and the remedy, in one sentence.
    pub fn probe() -> Result<Mode, Unavailable> {
        ring::probe()
    }

    /// A ring as set in the plan; and refused features, one sentence each.
    ///
    /// # Errors
    /// io_uring cannot be used, in one sentence.
    pub fn new(setup: Setup<'_>, options: UringOptions) -> Result<(Uring, Vec<String>), Unavailable> {
        let obstacle = if options.hipri { obstacle_to_polling(&setup.file) } else { None };
        let hipri = options.hipri && obstacle.is_none();
        let options = RingOptions { hipri, sqpoll: options.sqpoll, ..RingOptions::default() };
        let (uring, notices) = Uring::with(setup, options)?;
        Ok((uring, obstacle.into_iter().chain(notices).collect()))
    }

    /// A ring exactly with these `options`.
    ///
    /// # Errors
    /// io_uring cannot be used, or not with these options.
    pub fn with(setup: Setup<'_>, options: RingOptions) -> Result<(Uring, Vec<String>), Unavailable> {
        let region = setup.pool.map(|pool| pool.region());
        let (ring, notices) = Ring::new(setup.file, setup.depth + setup.extra, region, options)?;
        Ok((Queued::over(ring, setup.clock, setup.depth + setup.extra, setup.short), notices))
    }
}

/// Reason why completions of this file cannot be polled for.
fn obstacle_to_polling(file: &File) -> Option<String> {
    if !is_direct(file) {
        return Some("hipri has no effect: only direct I/O can be polled for".into());
    }
    match has_poll_queues(file) {
        Some(false) => Some(
            "hipri has no effect: the target's device has no poll queues (queue/io_poll is 0 in sysfs; for NVMe load the \
             module with nvme.poll_queues=N)"
                .into(),
        ),
        _ => None,
    }
}
