//! What the jobs on one target know of each other: how many requests failed, and whether the target's part is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The issuing loops of one target.
#[derive(Debug, Default)]
pub(crate) struct Fellows {
    failed: AtomicU64,
    is_over: AtomicBool,
    why: Mutex<Option<String>>,
}

impl Fellows {
    /// Counts a failed request; gives how many of the target's have failed.
    pub(crate) fn count_failed(&self) -> u64 {
        self.failed.fetch_add(1, Relaxed) + 1
    }

    /// Ends the target's part; the first reason counts.
    pub(crate) fn end(&self, why: &str) {
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| why.into());
        self.is_over.store(true, Relaxed);
    }

    /// Why the target's part is over, if it is. Costs a look at a flag where it is not.
    pub(crate) fn over(&self) -> Option<String> {
        if !self.is_over.load(Relaxed) {
            return None;
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
