//! Sizes of a set in sliding windows, for all windows at once.
//!
//! An item that is used in second A and next in second N belongs to the windows [t − d, t) for t = A + 1 …
//! min(N, A + d). So each use but the last adds one interval of t for each window, and a difference array per window
//! gives every size. Entry s of an array stands for a change after second s, so that steps of several seconds keep
//! the exact sizes of the windows that end at their borders.

use super::lanes::{Lanes, MOST_STEPS};

/// Lane of the items whose first use is in a second.
const FIRST: usize = 0;
/// Lane of the intervals that begin after a second. Then a lane for each window: those that end there.
const BEGIN: usize = 1;
const ENDS: usize = 2;

/// Difference arrays of one kind of item.
#[derive(Debug, Clone)]
pub(super) struct Sliding {
    lanes: Lanes,
}

impl Sliding {
    pub(super) fn new(windows: &[u64]) -> Sliding {
        Sliding { lanes: Lanes::new(ENDS + windows.len(), MOST_STEPS) }
    }

    /// Extends the series to a second.
    pub(super) fn reach(&mut self, second: u32) {
        self.lanes.at(second.into());
    }

    /// Counts `weight` items that were used for the first time.
    pub(super) fn first(&mut self, second: u32, weight: u64) {
        self.lanes.at(second.into())[FIRST] += weight;
    }

    /// Counts `weight` items that were used in second `from` and next in the later second `to`.
    pub(super) fn reused(&mut self, windows: &[u64], from: u32, to: u32, weight: u64) {
        let (from, to) = (u64::from(from), u64::from(to));
        self.lanes.at(from)[BEGIN] += weight;
        let expired = windows.partition_point(|d| *d < to - from);
        for (i, d) in windows[..expired].iter().enumerate() {
            self.lanes.at(from + d)[ENDS + i] += weight;
        }
        self.lanes.at(to)[ENDS + expired..].iter_mut().for_each(|end| *end += weight);
    }

    /// Counts `weight` items that were used in second `from` for the last time.
    pub(super) fn last(&mut self, windows: &[u64], from: u32, weight: u64) {
        let from = u64::from(from);
        self.lanes.at(from)[BEGIN] += weight;
        for (i, d) in windows.iter().enumerate() {
            let end = from.checked_add(*d).and_then(|end| self.lanes.get(end));
            if let Some(row) = end {
                row[ENDS + i] += weight;
            }
        }
    }

    pub(super) fn merge(&mut self, other: Sliding) {
        self.lanes.merge(other.lanes);
    }

    /// Binary logarithm of the seconds between two reported windows.
    pub(super) fn shift(&self) -> u32 {
        self.lanes.shift()
    }

    /// Sizes at the end of each step up to the one that holds second `last`.
    pub(super) fn sizes(&self, window: usize, last: u64) -> Vec<u64> {
        let steps = self.steps(last);
        let mut now = 0u64;
        let ends = self.lanes.lane(ENDS + window, steps);
        let changes = self.lanes.lane(BEGIN, steps).into_iter().zip(ends);
        changes
            .map(|(begin, end)| {
                now = (now + begin).saturating_sub(end);
                now
            })
            .collect()
    }

    /// Sizes of the infinite window at the same times.
    pub(super) fn infinite(&self, last: u64) -> Vec<u64> {
        let mut now = 0u64;
        let firsts = self.lanes.lane(FIRST, self.steps(last));
        firsts
            .into_iter()
            .map(|first| {
                now += first;
                now
            })
            .collect()
    }

    fn steps(&self, last: u64) -> usize {
        (last >> self.lanes.shift()) as usize + 1
    }
}

/// Consecutive equal changes, written at once: the pages of a request mostly have one history.
#[derive(Debug, Default)]
pub(super) struct Batch {
    from: u32,
    reused: u64,
    new: u64,
}

impl Batch {
    /// Counts `items` whose last use was in second `from`.
    pub(super) fn reused(&mut self, set: &mut Sliding, by: &Change, from: u32, items: u32) {
        if from != self.from {
            self.flush_reused(set, by);
            self.from = from;
        }
        self.reused += u64::from(items);
    }

    /// Counts `items` that were not used before.
    pub(super) fn first(&mut self, items: u32) {
        self.new += u64::from(items);
    }

    fn flush_reused(&mut self, set: &mut Sliding, by: &Change) {
        let items = std::mem::take(&mut self.reused);
        if items > 0 {
            set.reused(by.windows, self.from, by.second.max(self.from), items << by.log_weight);
        }
    }

    /// Writes the pending changes.
    pub(super) fn flush(&mut self, set: &mut Sliding, by: &Change) {
        self.flush_reused(set, by);
        let items = std::mem::take(&mut self.new);
        if items > 0 {
            set.first(by.second, items << by.log_weight);
        }
    }
}

/// Parameters shared by all changes of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    /// Windows in seconds, ascending.
    pub(super) windows: &'a [u64],
    /// Second of the request.
    pub(super) second: u32,
    /// Binary logarithm of the number of items that each sampled item stands for.
    pub(super) log_weight: u32,
}
