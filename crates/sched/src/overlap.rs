//! Conflicts between requests, exactly to the byte, for requests of any size.
//!
//! Every active request (in flight, or waiting on the push-back list) uses the segments of its range either for itself alone or
//! shared; which of the two is all that the conflict table decides. A new request depends on the last users of its segments, as
//! instructions depend on registers in a dataflow machine: earlier users need no separate edge, because the last ones already wait
//! for them. So a chain of n writes to one sector costs n edges, not n².
//!
//! **Memory.** Sharers have no such order among themselves, so each segment lists all of its sharers, and a cut copies the list. A
//! request costs one cell of 8 bytes for each segment that it covers: as many as there are distinct borders of active requests
//! inside its range, plus one. Requests for the same range cost one cell each, n that overlap k others each at most n(2k + 1); but
//! n that all overlap each other with distinct borders cost n²: 8 MB for 1 000, 34 GB for 65 536. So there is a limit: while as
//! many cells are in use, the tracker is [full](Tracker::is_full), and the scheduler lets new requests wait, as when its list is
//! full. The time that a request takes here is bounded by the same cells.

use crate::pool::{Lists, NONE};
use crate::segments::Segments;
use iosonar_plan::{Extent, Op, Strong};

/// How a request uses its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Alone.
    Exclusive,
    /// Together with other sharers.
    Shared,
    /// It conflicts with nothing.
    Free,
}

fn usage(strong: Strong, op: Op) -> Use {
    match (strong.conflict(op, op), strong.conflict(op, Op::Write)) {
        (true, _) => Use::Exclusive,
        (false, true) => Use::Shared,
        (false, false) => Use::Free,
    }
}

#[derive(Debug, Clone, Copy)]
struct Active {
    extent: Extent,
    usage: Use,
    /// Edges from requests that have to complete first.
    pending: u32,
    /// Requests that wait for this one: a list, one entry for each edge.
    dependents: u32,
}

/// Tracks the ranges of active requests. A request is named by a number below the capacity.
#[derive(Debug)]
pub(crate) struct Tracker {
    strong: Strong,
    segments: Segments,
    lists: Lists,
    active: Vec<Active>,
    capacity: usize,
}

/// Number of cells that is always allowed, 32 MiB.
const CELLS: usize = 4 << 20;
/// Cells for each request that may be active: one that overlaps few others needs no more.
const CELLS_EACH: usize = 16;

impl Tracker {
    /// Whether the cells are used up, so that no more requests should become active.
    pub(crate) fn is_full(&self) -> bool {
        self.lists.in_use() >= CELLS.max(CELLS_EACH * self.capacity)
    }

    /// A tracker for at most `capacity` active requests.
    pub(crate) fn new(strong: Strong, capacity: usize) -> Tracker {
        Tracker {
            strong,
            // Each active request brings two borders.
            segments: Segments::with_capacity(2 * capacity + 1),
            lists: Lists::with_capacity(4 * capacity),
            // Memory is touched only as far as it is used.
            active: Vec::with_capacity(capacity),
            capacity,
        }
    }

    /// An active request that conflicts with `op` on `extent`, if there is one.
    pub(crate) fn conflict(&self, op: Op, extent: Extent) -> Option<u32> {
        let usage = usage(self.strong, op);
        if usage == Use::Free {
            return None;
        }
        self.segments.find(extent, &mut |segment| {
            let sharer = self.lists.iter(segment.shared).next().filter(|_| usage == Use::Exclusive);
            sharer.or((segment.exclusive != NONE).then_some(segment.exclusive))
        })
    }

    /// Makes request `id` active; returns whether it has to wait for another.
    pub(crate) fn insert(&mut self, id: u32, op: Op, extent: Extent) -> bool {
        let usage = usage(self.strong, op);
        let new = Active { extent, usage, pending: 0, dependents: NONE };
        if id as usize >= self.active.len() {
            self.active.resize(id as usize + 1, new);
        }
        self.active[id as usize] = new;
        if usage == Use::Free {
            return false;
        }
        let Tracker { segments, lists, active, .. } = self;
        segments.update(extent, lists, &mut |lists, segment| {
            let mut depend = |lists: &mut Lists, on: u32| {
                active[on as usize].dependents = lists.push(active[on as usize].dependents, id);
                active[id as usize].pending += 1;
            };
            if usage == Use::Exclusive && segment.shared != NONE {
                let mut sharers = std::mem::replace(&mut segment.shared, NONE);
                while let Some(sharer) = lists.pop(&mut sharers) {
                    depend(lists, sharer);
                }
            } else if segment.exclusive != NONE {
                depend(lists, segment.exclusive);
            }
            match usage {
                Use::Exclusive => segment.exclusive = id,
                _ => segment.shared = lists.push(segment.shared, id),
            }
        });
        self.active[id as usize].pending > 0
    }

    /// Ends request `id`, which does not wait any more; calls `released` with each request that becomes free to go.
    pub(crate) fn remove(&mut self, id: u32, mut released: impl FnMut(u32)) {
        let Active { extent, usage, dependents, pending } = self.active[id as usize];
        debug_assert_eq!(pending, 0, "a request completes only after those that it waited for");
        if usage != Use::Free {
            let Tracker { segments, lists, .. } = self;
            segments.update(extent, lists, &mut |lists, segment| {
                if segment.exclusive == id {
                    segment.exclusive = NONE;
                }
                segment.shared = lists.remove(segment.shared, id);
            });
        }
        let mut dependents = dependents;
        while let Some(dependent) = self.lists.pop(&mut dependents) {
            let active = &mut self.active[dependent as usize];
            active.pending -= 1;
            if active.pending == 0 {
                released(dependent);
            }
        }
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(offset: u64, length: u64) -> Extent {
        Extent { offset, length }
    }

    #[test]
    fn overlap_rules_match_tables_of_the_manual() {
        use Op::{Read, Write};
        for (strong, rr, rw, ww) in [
            (Strong::WriteWrite, false, false, true),
            (Strong::AnyWrite, false, true, true),
            (Strong::Every, true, true, true),
        ] {
            for (old, new, want) in
                [(Read, Read, rr), (Read, Write, rw), (Write, Read, rw), (Write, Write, ww)]
            {
                let mut tracker = Tracker::new(strong, 2);
                tracker.insert(0, old, extent(0, 8));
                assert_eq!(tracker.conflict(new, extent(7, 8)).is_some(), want, "{strong:?} {old} {new}");
                assert_eq!(tracker.conflict(new, extent(8, 8)), None);
                assert_eq!(tracker.insert(1, new, extent(7, 8)), want, "{strong:?} {old} {new}");
            }
        }
    }

    #[test]
    fn overlapping_readers_take_one_cell_per_segment() {
        let count = 100u32;
        let cells = |extent_of: fn(u64) -> Extent| {
            let mut tracker = Tracker::new(Strong::AnyWrite, count as usize);
            (0..count).for_each(|id| assert!(!tracker.insert(id, Op::Read, extent_of(id.into()))));
            tracker.lists.cells()
        };
        let n = count as usize;
        assert_eq!(cells(|_| extent(0, 8)), n, "the same range");
        assert!(cells(|i| extent(i, 4)) <= 2 * n * 4, "three neighbours to each side");
        assert_eq!(cells(|i| extent(i, 2 * (100 - i))), n * n, "one inside the other");
    }

    /// The obvious, slow way: a request waits while an earlier one that conflicts is active.
    #[derive(Default)]
    struct Naive(Vec<(u32, Op, Extent)>);

    impl Naive {
        fn waits(&self, strong: Strong, id: u32) -> bool {
            let at = self.0.iter().position(|a| a.0 == id).unwrap();
            let (_, op, extent) = self.0[at];
            self.0[..at].iter().any(|(_, o, e)| strong.conflict(*o, op) && e.overlaps(extent))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn tracker_agrees_with_naive_search(
            strong in 0u8..3,
            steps in proptest::collection::vec((any::<bool>(), 0u64..64, 1u64..24, any::<prop::sample::Index>()), 1..120),
        ) {
            let strong = Strong::try_from(strong).unwrap();
            let mut tracker = Tracker::new(strong, steps.len());
            let mut naive = Naive::default();
            let mut ready: Vec<u32> = Vec::new();
            for (id, (write, offset, length, pick)) in steps.into_iter().enumerate() {
                let changes = [Op::Write, Op::Discard, Op::WriteZeroes];
                let (id, op) = (id as u32, if write { changes[id % 3] } else { Op::Read });
                let conflict = naive.0.iter().any(|(_, o, e)| strong.conflict(*o, op) && e.overlaps(extent(offset, length)));
                prop_assert_eq!(tracker.conflict(op, extent(offset, length)).is_some(), conflict);
                naive.0.push((id, op, extent(offset, length)));
                prop_assert_eq!(tracker.insert(id, op, extent(offset, length)), conflict);
                if !conflict {
                    ready.push(id);
                }
                if ready.len() > 3 || id % 3 == 0 && !ready.is_empty() {
                    let done = ready.swap_remove(pick.index(ready.len()));
                    naive.0.retain(|a| a.0 != done);
                    tracker.remove(done, |id| ready.push(id));
                }
                for (id, ..) in &naive.0 {
                    prop_assert_eq!(!ready.contains(id), naive.waits(strong, *id));
                }
            }
            while let Some(done) = ready.pop() {
                naive.0.retain(|a| a.0 != done);
                tracker.remove(done, |id| ready.push(id));
            }
            prop_assert!(naive.0.is_empty() && tracker.is_empty());
        }
    }
}
