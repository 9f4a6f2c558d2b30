//! Reading a load once before the run: whether it can be replayed, and the facts about its requests.

use crate::demand::Demand;
use crate::filter::Room;
use crate::recorded::{LoadError, Notice, Ordered, ParseCounters, PartCount, kept, unsorted};
use crate::sort::check_room;
use crate::text::Text;
use iosonar_plan::{Alignments, Backward, Nanos, Op, SECTOR, TraceReplay};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Facts about the content of a load, after its filters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Requests inside the window.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Flushes inside the window, issued or not.
    pub flushes: u64,
    /// Discards inside the window, issued or not.
    pub discards: u64,
    /// Write zeroes inside the window, issued or not.
    pub write_zeroes: u64,
    /// Writes with FUA or a preflush inside the window, issued so or not.
    pub durable_writes: u64,
    /// Highest end in bytes inside the window, before wrapping.
    pub max_end: u64,
    /// Longest request inside the window, in bytes.
    pub max_length: u64,
    /// Longest read or write inside the window, in bytes: the minimum memory for data.
    pub max_transfer: u64,
    /// How the requests inside the window are aligned.
    pub alignments: Alignments,
    /// Bytes of all reads and writes inside the window.
    pub transfer_bytes: u64,
    /// Earliest time inside the window.
    pub first: Nanos,
    /// Latest time inside the window.
    pub last: Nanos,
    /// Requests beyond the window, too.
    pub all_requests: u64,
    /// Latest time of the whole load.
    pub load_end: Nanos,
    /// Lines that were skipped.
    pub bad_lines: u64,
    /// Backward steps that were shifted.
    pub back_shifts: u64,
    /// Bytes of memory that its filters hold while it is read.
    pub held_bytes: u64,
    /// Requests by their time since the first of the window (if the load is sorted), at the load's own speed.
    pub demand: Demand,
}

/// Reads the whole load through its filters, beyond the end of its window too. `notice` gets each line that would be skipped and
/// each shift; filters that need more memory than there is in `room` are refused.
pub fn scan(
    text: Text,
    load: &TraceReplay,
    room: &Room,
    notice: impl Fn(Notice) + Send + Sync + 'static,
) -> Result<Facts, LoadError> {
    let told = Arc::new(ParseCounters::default());
    let counts = told.clone();
    let tell = move |n: Notice| {
        counts.count(&n);
        notice(n);
    };
    let mut input = Ordered::new(text, load, room, Arc::new(tell))?;
    let mut facts = Facts { first: Nanos(u64::MAX), ..Facts::default() };
    let mut part = PartCount::of(load);
    let mut in_window = 0u64;
    while let Some(request) = input.next()? {
        facts.all_requests += 1;
        facts.load_end = facts.load_end.max(request.time);
        if load.window.contains(request.time) {
            in_window += 1;
            facts.first = facts.first.min(request.time);
            let kept = kept(load, request);
            if let Some(kept) = kept {
                // The range is that of the whole load, so that it lies on the target alike for all that share it.
                facts.max_end = facts.max_end.max(kept.extent.end());
                facts.alignments.add(kept.extent);
                facts.max_length = facts.max_length.max(kept.extent.length);
                if kept.op.is_transfer() {
                    facts.max_transfer = facts.max_transfer.max(kept.extent.length);
                }
                // A load that is sorted later is shared in another order: times and bytes of a part are an estimate then.
                if !part.is_own() {
                    continue;
                }
            }
            facts.durable_writes += u64::from(!request.durability.is_none());
            match request.op {
                Op::Read => facts.reads += 1,
                Op::Write => facts.writes += 1,
                Op::Discard => facts.discards += 1,
                Op::WriteZeroes => facts.write_zeroes += 1,
                _ => facts.flushes += 1,
            }
            let Some(request) = kept else { continue };
            facts.requests += 1;
            if request.op.is_transfer() {
                facts.transfer_bytes = facts.transfer_bytes.saturating_add(request.extent.length);
            }
            facts.last = facts.last.max(request.time);
            facts.demand.add(request.time.saturating_sub(facts.first));
        }
    }
    if load.backward == Backward::Sort {
        check_room(in_window).map_err(unsorted)?;
    }
    facts.first = facts.first.min(facts.last);
    // Operations without data need no memory for it; a buffer has at least a sector.
    facts.max_transfer = facts.max_transfer.max(if facts.requests > 0 { SECTOR } else { 0 });
    let (bad_lines, back_shifts) = (told.bad_lines.load(Relaxed), told.back_shifts.load(Relaxed));
    Ok(Facts { bad_lines, back_shifts, held_bytes: room.held_bytes(), ..facts })
}
