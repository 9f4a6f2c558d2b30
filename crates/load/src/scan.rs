//! Reading a load once before the run: whether it can be replayed, and what it will ask for.

use crate::demand::Demand;
use crate::recorded::{LoadError, Notice, Ordered};
use iosonar_plan::{LoadSource, Nanos};
use std::io::BufRead;

/// What a load holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Requests inside the window.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Highest end in bytes inside the window, before wrapping.
    pub max_end: u64,
    /// Longest request inside the window, in bytes.
    pub max_length: u64,
    /// Earliest time inside the window.
    pub first: Nanos,
    /// Latest time inside the window.
    pub last: Nanos,
    /// Requests in the whole load.
    pub all_requests: u64,
    /// Latest time of the whole load.
    pub load_end: Nanos,
    /// Lines that were left out.
    pub bad_lines: u64,
    /// Backward steps that were shifted.
    pub back_shifts: u64,
    /// Requests by their time since the first of the window (if the load is sorted), at the load's own speed.
    pub demand: Demand,
}

/// Reads the whole load, beyond the end of its window too. `notice` is told of each line that would be
/// skipped and of each shift.
pub fn scan(
    input: impl BufRead,
    load: &LoadSource,
    mut notice: impl FnMut(Notice),
) -> Result<Facts, LoadError> {
    let mut input = Ordered::new(input, load);
    let mut facts = Facts { first: Nanos(u64::MAX), ..Facts::default() };
    let (mut bad_lines, mut back_shifts) = (0, 0);
    let mut counted = |n: Notice| {
        match &n {
            Notice::Skipped(_) => bad_lines += 1,
            Notice::Shifted(_) => back_shifts += 1,
        }
        notice(n);
    };
    while let Some(request) = input.next(&mut counted)? {
        facts.all_requests += 1;
        facts.load_end = facts.load_end.max(request.time);
        if load.window.contains(request.time) {
            facts.requests += 1;
            *if request.op.is_write() { &mut facts.writes } else { &mut facts.reads } += 1;
            facts.max_end = facts.max_end.max(request.extent.end());
            facts.max_length = facts.max_length.max(request.extent.length);
            facts.first = facts.first.min(request.time);
            facts.last = facts.last.max(request.time);
            facts.demand.add(request.time.saturating_sub(facts.first));
        }
    }
    facts.first = facts.first.min(facts.last);
    Ok(Facts { bad_lines, back_shifts, ..facts })
}
