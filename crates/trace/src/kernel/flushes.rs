//! Device flushes that the kernel issues on behalf of requests.
//!
//! A request that flushes (`FWS` without data, a write with a preflush, a write with FUA on a device without FUA)
//! passes through a state machine of the kernel (`block/blk-flush.c`). The kernel issues separate flushes (`FF`, in
//! blktrace `FN`), each for all requests that wait for one by then. The request itself ends last, by a completion
//! without length: `WS 0 + 0` for a flush, `WS SECTOR + 0` for a write. Kernel events of bio-based devices contain no
//! such flushes.

use super::event::Device;
use std::collections::{HashMap, VecDeque};

/// A completion without length can follow the end of a write's data, or of a device flush, within this time.
pub(super) const OWN_END_NS: u64 = 30_000_000_000;
/// Maximum number of requests held for it.
pub(super) const OWN_END_REQUESTS: usize = 1 << 16;
/// Maximum number of flushes in flight remembered per device: one for each of its queues.
const MOST_ISSUED: usize = 1 << 12;

/// Flushes of all devices.
#[derive(Debug, Default)]
pub(super) struct Flushes(HashMap<Device, OfDevice>);

#[derive(Debug, Default)]
struct OfDevice {
    /// For each flush in flight, the number of the first request queued after its issue.
    issued: VecDeque<u64>,
    has_own_ends: bool,
}

impl Flushes {
    /// Notes that the kernel issues a flush to a device; it does not serve requests from number `next` on.
    pub(super) fn issue(&mut self, device: Device, next: u64) {
        let issued = &mut self.0.entry(device).or_default().issued;
        if issued.len() == MOST_ISSUED {
            issued.pop_front();
        }
        issued.push_back(next);
    }

    /// Ends a device flush; returns the number of the first request that it did not serve, `None` if the trace lacks
    /// its issue.
    pub(super) fn complete(&mut self, device: Device) -> Option<u64> {
        self.0.get_mut(&device)?.issued.pop_front()
    }

    /// Whether flushes of the device are in flight, so that which of them ended is ambiguous.
    pub(super) fn is_busy(&self, device: Device) -> bool {
        self.0.get(&device).is_some_and(|of| !of.issued.is_empty())
    }

    /// Notes that the trace has separate completions of the requested flushes.
    pub(super) fn note_own_end(&mut self, device: Device) {
        self.0.entry(device).or_default().has_own_ends = true;
    }

    /// Whether the trace has such completions.
    pub(super) fn has_own_ends(&self, device: Device) -> bool {
        self.0.get(&device).is_some_and(|of| of.has_own_ends)
    }
}
