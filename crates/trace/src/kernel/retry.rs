//! Requests that the kernel issued twice.
//!
//! io_uring first issues a request with `REQ_NOWAIT`. Where it would have to wait (no free tag, or the request is larger than
//! the queue takes at once), it ends with EAGAIN within the same call, and a worker thread, `iou-wrk-PID`, issues it again.
//! A trace shows both. The first try moved no data, and the program never sees it.
//!
//! Since Linux 6.1 a request of several bios is not issued without waiting at all. Before, a part of one could end with
//! EAGAIN; then the whole request ends with it, and comes again as a whole.

use super::pairing::{Key, Place};
use crate::request::Process;
use std::collections::{BTreeSet, VecDeque};

/// What [`crate::Requests::besides`] calls the tries that count for nothing.
pub const RETRIED: &str =
    "requests were first tried without waiting, ended with EAGAIN, and were issued again: each counts once";

/// "Try again", the same number on every architecture that Linux supports but Alpha.
pub(super) const EAGAIN: i32 = 11;

/// A second try that comes later is a request of its own. A worker issues what waits before it first: on a slow device with a
/// deep queue that takes seconds.
const LONGEST_NS: u64 = 10_000_000_000;

/// Where ends are not looked for, a request is held for so long, in case that it ends with EAGAIN.
pub(super) const HELD_NS: u64 = 100_000_000;
/// And while no more than so many requests are held.
pub(super) const HELD: usize = 1 << 16;

/// What the kernel calls the workers of a thread's ring, before that thread's number.
const WORKER: &str = "iou-wrk-";

/// Whether `second` can issue again what `first` had issued: the same thread, or a worker for it. A thread whose name the
/// trace does not have can be a worker.
pub(super) fn is_retry(first: &Process, second: &Process) -> bool {
    let worker_for = || second.name().strip_prefix(WORKER).and_then(|pid| pid.parse::<u32>().ok());
    first.pid == second.pid || second.name[0] == 0 || worker_for() == Some(first.pid)
}

/// Requests that ended with EAGAIN and may be issued again.
#[derive(Debug, Default)]
pub(super) struct Refused {
    by_place: BTreeSet<Key>,
    /// In the order of their ends. Those that were issued again are still in it.
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

    /// The numbers of those that begin here, the oldest first.
    pub(super) fn at(&self, place: Place) -> impl Iterator<Item = u64> + '_ {
        self.by_place.range((place, 0)..).take_while(move |key| key.0 == place).map(|key| key.1)
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.by_place.remove(&key);
        while self.by_time.front().is_some_and(|(_, oldest)| !self.by_place.contains(oldest)) {
            self.by_time.pop_front();
        }
    }

    /// The next one that is not waited for any more.
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
