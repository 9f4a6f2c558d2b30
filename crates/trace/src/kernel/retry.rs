//! Requests that the kernel issued twice.
//!
//! io_uring first issues a request with `REQ_NOWAIT`. Where it would have to wait (no free tag, or the request is larger than
//! the queue takes at once), it ends with EAGAIN within the same call, and a worker thread, `iou-wrk-PID`, issues it again.
//! A trace shows both. The first try moved no data, and the program never sees it.
//!
//! Since Linux 6.1 a request of several bios is not issued without waiting at all. Before, a part of one could end with
//! EAGAIN; then the whole request ends with it, and comes again as a whole.

use super::pairing::{EventKey, Key};
use crate::request::Process;
use std::collections::{BTreeSet, VecDeque};

/// Label in [`crate::Requests::extra_counts`] for dropped tries.
pub const RETRIED: &str =
    "requests were first tried without waiting, ended with EAGAIN, and were issued again: each counts once";

/// "Try again", the same number on every architecture that Linux supports but Alpha.
pub(super) const EAGAIN: i32 = 11;

/// A later second try is a separate request. A worker first issues its backlog: on a slow device with a deep queue that
/// takes seconds.
const LONGEST_NS: u64 = 10_000_000_000;

/// If completions are not matched, a request is held this long, in case it ends with EAGAIN.
pub(super) const HELD_NS: u64 = 100_000_000;
/// Maximum number of requests held.
pub(super) const HELD: usize = 1 << 16;

/// Kernel's name for the workers of a thread's ring, followed by that thread's number.
const WORKER: &str = "iou-wrk-";

/// Whether `second` can issue again a request of `first`: the same thread, or a worker for it. A thread without a name
/// in the trace can be a worker.
pub(super) fn is_retry(first: &Process, second: &Process) -> bool {
    let worker_for = || second.name().strip_prefix(WORKER).and_then(|pid| pid.parse::<u32>().ok());
    first.pid == second.pid || second.name[0] == 0 || worker_for() == Some(first.pid)
}

/// Requests that ended with EAGAIN and may be issued again.
#[derive(Debug, Default)]
pub(super) struct Refused {
    by_place: BTreeSet<Key>,
    /// In the order of their ends. Those issued again are still in it.
    by_time: VecDeque<(u64, Key)>,
}

impl Refused {
    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    pub(super) fn add(&mut self, key: Key, now: u64) {
        self.by_place.insert(key);
        self.by_time.push_back((now, key));
    }

    /// Numbers of those that start here, oldest first.
    pub(super) fn at(&self, place: EventKey) -> impl Iterator<Item = u64> + '_ {
        self.by_place.range((place, 0)..).take_while(move |key| key.0 == place).map(|key| key.1)
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.by_place.remove(&key);
        while self.by_time.front().is_some_and(|(_, oldest)| !self.by_place.contains(oldest)) {
            self.by_time.pop_front();
        }
    }

    /// Returns the next one whose time is over.
    pub(super) fn expired(&mut self, now: u64) -> Option<Key> {
        while let Some((ended, key)) = self.by_time.front().copied() {
            if now.saturating_sub(ended) <= LONGEST_NS {
                return None;
            }
            self.by_time.pop_front();
            if self.by_place.remove(&key) {
                return Some(key);
            }
        }
        None
    }
}
