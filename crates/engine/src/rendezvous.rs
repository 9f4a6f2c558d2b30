//! Meeting of several processes that execute parts of one plan: they start each phase together, and continue only together.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The other processes, as one of them sees them. A process alone has [`Alone`].
///
/// A process that waits here also has to check the [`Control`](crate::Control) of its run: a stop must not wait for another
/// process's phase.
pub trait Rendezvous: Sync {
    /// Whether there are other processes, which begin a phase at the same time.
    fn has_others(&self) -> bool {
        true
    }

    /// Reports that all issuing loops of this process are ready for a phase. Returns when the phase starts in all processes, in
    /// nanoseconds of this machine's `CLOCK_MONOTONIC`; not before `earliest`.
    ///
    /// # Errors
    /// The phase starts in no process, with the reason.
    fn begin(&self, phase: u16, earliest: u64) -> Result<u64, String>;

    /// Reports that this process has ended its part of a phase; `is_whole`: all of it was done. Returns whether the next phase is
    /// to follow: where all processes did all of it.
    fn end(&self, phase: u16, is_whole: bool) -> bool;

    /// Reports that all issuing loops of this process have done their file operations before the requests of a phase, the last of
    /// them at `arrived`. Returns when the requests start in all processes; both are `CLOCK_MONOTONIC` of this machine.
    fn meet(&self, phase: u16, arrived: u64) -> u64 {
        let _ = phase;
        arrived
    }

    /// Whether the first job of a phase is done, in any process: read by issuing loops, so it must cost them nothing.
    fn first_done(&self, phase: u16) -> Arc<AtomicBool> {
        let _ = phase;
        Arc::default()
    }

    /// Reports that a job of this process is done, and the phase ends with the first one.
    fn tell_first_done(&self, phase: u16) {
        let _ = phase;
    }
}

/// No other process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Rendezvous for Alone {
    fn has_others(&self) -> bool {
        false
    }

    fn begin(&self, _: u16, earliest: u64) -> Result<u64, String> {
        Ok(earliest)
    }

    fn end(&self, _: u16, is_whole: bool) -> bool {
        is_whole
    }
}
