//! State shared by the loops of one job: how many requests failed, and whether the job is over.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The issuing loops of one job.
#[derive(Debug, Default)]
pub(crate) struct JobStatus {
    /// Loops that have done all their work.
    done: AtomicU32,
    failed: AtomicU64,
    is_over: AtomicBool,
    why: Mutex<Option<String>>,
    /// A pass, and the number of requests that failed in it.
    pass_failed: Mutex<(u32, u64)>,
    /// 1 + the last pass that is over for all loops.
    passes_over: AtomicU32,
}

impl JobStatus {
    /// Counts a loop that has done all its work; returns the number of these.
    pub(crate) fn count_done(&self) -> u32 {
        self.done.fetch_add(1, Relaxed) + 1
    }

    /// Counts a failed request; returns the number of the job's failed requests.
    pub(crate) fn count_failed(&self) -> u64 {
        self.failed.fetch_add(1, Relaxed) + 1
    }

    /// Counts a failed request of a pass; returns the number of the job's failed requests in it.
    pub(crate) fn count_failed_in(&self, pass: u32) -> u64 {
        let mut failed = self.pass_failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.0 != pass {
            *failed = (pass, 0);
        }
        failed.1 += 1;
        failed.1
    }

    /// Ends a pass for all its loops.
    pub(crate) fn end_pass(&self, pass: u32) {
        self.passes_over.fetch_max(pass + 1, Relaxed);
    }

    /// Whether a pass is over for all its loops.
    pub(crate) fn is_pass_over(&self, pass: u32) -> bool {
        self.passes_over.load(Relaxed) > pass
    }

    /// Ends the job; the first reason counts.
    pub(crate) fn end(&self, why: &str) {
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| why.into());
        self.is_over.store(true, Relaxed);
    }

    /// Reason why the job is over, if it is. Costs a look at a flag where it is not.
    pub(crate) fn over(&self) -> Option<String> {
        if !self.is_over.load(Relaxed) {
            return None;
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
