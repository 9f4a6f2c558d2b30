//! The scheduler of one target: due times, depth, and the overlap policy.

use crate::overlap::Tracker;
use crate::pause::Pause;
use iosonar_plan::{Extent, Nanos, Op, Overlap, OverlapPolicy, ThinkTime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A request as the scheduler knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<T> {
    /// Number in the order of the source.
    pub sequence: u64,
    /// Read or write.
    pub op: Op,
    /// The range really used: conflicts are judged on it.
    pub extent: Extent,
    /// Due time; `None` in a closed loop.
    pub due: Option<Nanos>,
    /// Data of the caller, unused by the scheduler.
    pub facts: T,
}

/// Slot of a request from [`Decision::Issue`] to [`Scheduler::complete`]; below the depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// The wait that a conflict caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// Sequence number of the last request that it waited for.
    pub by: u64,
    /// Completion time of that request.
    pub released: Nanos,
}

/// A request that goes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue<T> {
    /// The request.
    pub request: Request<T>,
    /// Its due time.
    pub due: Nanos,
    /// If it had to wait for a conflict.
    pub blocked: Option<Blocked>,
    /// It was due while nothing could go: as many requests were in flight as the depth allows, or one before it
    /// waited and held up all after it (`order`, or a full push-back list).
    pub held: bool,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<T> {
    /// Offer the next request of the source, or report that it is exhausted.
    Offer,
    /// Submit the request of this slot now; [`Scheduler::issued`] returns it.
    Issue(Slot),
    /// Record this request as dropped because of the one in flight with this sequence number.
    Drop(Request<T>, u64),
    /// Record this request as cancelled: the scheduler was stopped before it went.
    Cancel(Request<T>),
    /// Sleep until this time, unless a request completes.
    Sleep(Nanos),
    /// Wait until a request completes.
    Wait,
    /// Every request has ended and nothing is in flight.
    Finished,
}

/// Counters of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Most requests in flight at the same time.
    pub max_in_flight: u32,
    /// Most requests that waited for a conflict at the same time.
    pub max_waiting: u32,
    /// Times that a due request had to wait because the push-back list was full, or too much overlapped.
    pub full_count: u64,
    /// Total duration of these waits.
    pub full_total: Nanos,
}

/// One entry for each active request: waiting or in flight.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    issue: Issue<T>,
    /// It is on the push-back list, released or not.
    waiting: bool,
}

/// Decides which request of one target is issued when.
#[derive(Debug)]
pub struct Scheduler<T> {
    policy: OverlapPolicy,
    depth: usize,
    max_waiting: usize,
    tracker: Tracker,
    entries: Vec<Entry<T>>,
    free_entries: Vec<u32>,
    free_slots: Vec<u32>,
    /// Entry of each slot in flight.
    slots: Vec<u32>,
    /// Pushed-back requests that are free to go, the earliest first.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Pushed-back requests that have not gone, ready or not.
    waiting: usize,
    /// Entry of the next request of the source, if it has been offered and has not gone. It is written in place: copying what was
    /// just written costs more than all the rest of a decision.
    head: Option<u32>,
    /// Sequence number of the request that the head waits for, under `order`.
    head_blocked_by: Option<u64>,
    head_released: Nanos,
    /// Start of the head's wait for room on the push-back list.
    full_since: Option<Nanos>,
    /// The last time at which nothing could go, even if due.
    held_until: Nanos,
    /// Pauses between requests, if there are any.
    pause: Option<Pause>,
    exhausted: bool,
    stopping: bool,
    /// The first entry that stopping has not examined.
    cancel_at: usize,
    counters: Counters,
}

impl<T: Copy + Default> Scheduler<T> {
    /// A scheduler with at most `depth` requests in flight.
    pub fn new(depth: u32, overlap: Overlap) -> Scheduler<T> {
        let depth = depth.max(1) as usize;
        let max_waiting =
            if overlap.policy == OverlapPolicy::PushBack { overlap.max_waiting as usize } else { 0 };
        // In flight, on the list, and the head.
        let capacity = depth + max_waiting + 1;
        Scheduler {
            policy: overlap.policy,
            depth,
            max_waiting,
            tracker: Tracker::new(overlap.strong, capacity),
            // Memory is touched only as far as it is used.
            entries: Vec::with_capacity(capacity),
            free_entries: Vec::with_capacity(capacity),
            free_slots: (0..depth as u32).rev().collect(),
            slots: vec![0; depth],
            ready: BinaryHeap::with_capacity(max_waiting),
            waiting: 0,
            head: None,
            head_blocked_by: None,
            head_released: Nanos(0),
            full_since: None,
            held_until: Nanos(0),
            pause: None,
            exhausted: false,
            stopping: false,
            cancel_at: 0,
            counters: Counters::default(),
        }
    }

    /// Adds pauses between requests.
    #[must_use]
    pub fn with_think_time(self, think_time: Option<ThinkTime>) -> Scheduler<T> {
        Scheduler { pause: think_time.map(Pause::new), ..self }
    }

    /// Adds a pause before each request, by its number, where a list names them.
    #[must_use]
    pub fn with_delays(self, delays: Option<Arc<[Nanos]>>) -> Scheduler<T> {
        match delays {
            Some(delays) => Scheduler { pause: Some(Pause::before(delays)), ..self },
            None => self,
        }
    }

    /// Earliest time at which a request that is offered at `now` can be issued: after a pause that has started.
    #[inline]
    pub fn earliest(&self, now: Nanos) -> Nanos {
        match &self.pause {
            None => now,
            Some(pause) => pause.end(None, self.in_flight(), now).unwrap_or(now).max(now),
        }
    }

    /// Offers the next request of the source, after [`Decision::Offer`].
    #[inline]
    pub fn offer(&mut self, request: Request<T>) {
        debug_assert!(self.head.is_none(), "one request at a time");
        self.head = Some(match self.free_entries.pop() {
            Some(id) => {
                let issue = &mut self.entries[id as usize].issue;
                issue.request = request;
                issue.blocked = None;
                id
            }
            None => {
                let issue = Issue { request, due: Nanos(0), blocked: None, held: false };
                self.entries.push(Entry { issue, waiting: false });
                self.entries.len() as u32 - 1
            }
        });
    }

    /// Reports that the source has no more requests, after [`Decision::Offer`].
    pub fn exhausted(&mut self) {
        self.exhausted = true;
    }

    /// The next request of the source, if it has been offered and has not gone.
    pub fn head(&self) -> Option<&Request<T>> {
        self.head.map(|id| &self.entries[id as usize].issue.request)
    }

    /// Stops issuing. Requests that have not gone are returned as [`Decision::Cancel`]; those in flight are awaited.
    pub fn stop(&mut self, now: Nanos) {
        self.end_wait_for_room(now);
        self.stopping = true;
    }

    /// Whether any request has yet to be issued.
    pub fn has_more(&self) -> bool {
        !self.exhausted || self.head.is_some() || self.waiting > 0
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u32 {
        (self.depth - self.free_slots.len()) as u32
    }

    /// Requests that wait for a conflict.
    pub fn waiting(&self) -> u32 {
        self.waiting as u32
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The next action. Call again after it, after a completion, and at the named time.
    pub fn next(&mut self, now: Nanos) -> Decision<T> {
        if self.stopping {
            return self.next_cancelled();
        }
        loop {
            if self.free_slots.is_empty() {
                return Decision::Wait;
            }
            if !self.ready.is_empty() {
                return self.issue_ready(now);
            }
            let Some(head) = self.head else { return self.next_without_head() };
            if let Some(due) = self.entries[head as usize].issue.request.due.filter(|due| *due > now) {
                return Decision::Sleep(due);
            }
            if self.pause.is_some()
                && let Some(decision) = self.hold(head, now)
            {
                return decision;
            }
            if let Some(decision) = self.admit(head, now) {
                return decision;
            }
        }
    }

    /// Holds the head until a pause before it is over.
    fn hold(&mut self, head: u32, now: Nanos) -> Option<Decision<T>> {
        let (pause, in_flight) = (self.pause.as_ref()?, self.in_flight());
        let Request { sequence, op, .. } = self.entries[head as usize].issue.request;
        if !Pause::counts(op) {
            return None;
        }
        let end = pause.end(Some(sequence), in_flight, now)?;
        match (in_flight, end > now) {
            (0, true) => Some(Decision::Sleep(end)),
            (0, false) => None,
            (_, _) => Some(Decision::Wait),
        }
    }

    fn issue_ready(&mut self, now: Nanos) -> Decision<T> {
        let Reverse((_, id)) = self.ready.pop().expect("the caller saw one");
        self.waiting -= 1;
        self.entries[id as usize].waiting = false;
        self.issue(id, now)
    }

    fn next_without_head(&self) -> Decision<T> {
        match (self.exhausted, self.in_flight()) {
            (false, _) => Decision::Offer,
            // Nothing waits when nothing is in flight: every waiting request waits for one in flight.
            (true, 0) => Decision::Finished,
            (true, _) => Decision::Wait,
        }
    }

    /// Decides on the head, which is due while a slot is free; `None` if it went to the push-back list.
    fn admit(&mut self, head: u32, now: Nanos) -> Option<Decision<T>> {
        if self.policy == OverlapPolicy::Allow {
            self.head = None;
            return Some(self.issue(head, now));
        }
        if self.tracker.is_full() && self.in_flight() > 0 {
            return Some(self.wait_for_room(now));
        }
        let conflict = match self.policy {
            OverlapPolicy::PushBack => return self.admit_or_push_back(head, now),
            _ => self.conflict(head),
        };
        match (self.policy, conflict) {
            // In a closed loop a request goes when there is room, and there is no room beside a conflicting one.
            (OverlapPolicy::Drop, Some(_)) if self.entries[head as usize].issue.request.due.is_none() => {
                Some(Decision::Wait)
            }
            (OverlapPolicy::Drop, Some(by)) => {
                self.head = None;
                self.free_entries.push(head);
                Some(Decision::Drop(self.entries[head as usize].issue.request, by))
            }
            (_, Some(by)) => {
                self.head_blocked_by = Some(by);
                self.counters.max_waiting = self.counters.max_waiting.max(1);
                Some(Decision::Wait)
            }
            (_, None) => {
                self.end_wait_for_room(now);
                self.head = None;
                self.track(head);
                let by = self.head_blocked_by.take();
                let issue = &mut self.entries[head as usize].issue;
                issue.blocked = by.map(|by| Blocked { by, released: self.head_released });
                Some(self.issue(head, now))
            }
        }
    }

    /// Without a place on the list it stays the head, and those after it wait too: memory is bounded.
    fn admit_or_push_back(&mut self, head: u32, now: Nanos) -> Option<Decision<T>> {
        if self.waiting == self.max_waiting && self.conflict(head).is_some() {
            return Some(self.wait_for_room(now));
        }
        self.end_wait_for_room(now);
        self.head = None;
        if !self.track(head) {
            return Some(self.issue(head, now));
        }
        self.entries[head as usize].waiting = true;
        self.waiting += 1;
        self.counters.max_waiting = self.counters.max_waiting.max(self.waiting as u32);
        None
    }

    fn wait_for_room(&mut self, now: Nanos) -> Decision<T> {
        self.full_since.get_or_insert(now);
        Decision::Wait
    }

    fn end_wait_for_room(&mut self, now: Nanos) {
        if let Some(since) = self.full_since.take() {
            self.counters.full_count += 1;
            self.counters.full_total.0 += now.saturating_sub(since).0;
            self.held_until = now;
        }
    }

    /// An active request that an entry conflicts with, by its sequence number.
    fn conflict(&self, id: u32) -> Option<u64> {
        let Request { op, extent, .. } = &self.entries[id as usize].issue.request;
        let other = self.tracker.conflict(*op, *extent)?;
        Some(self.entries[other as usize].issue.request.sequence)
    }

    /// Adds an entry to the tracker; returns whether it has to wait.
    fn track(&mut self, id: u32) -> bool {
        let Request { op, extent, .. } = self.entries[id as usize].issue.request;
        self.tracker.insert(id, op, extent)
    }

    fn issue(&mut self, id: u32, now: Nanos) -> Decision<T> {
        let slot = self.free_slots.pop().expect("the caller saw a free slot");
        self.slots[slot as usize] = id;
        self.counters.max_in_flight = self.counters.max_in_flight.max(self.in_flight());
        let issue = &mut self.entries[id as usize].issue;
        issue.due = issue.request.due.unwrap_or(now);
        issue.held = issue.due < self.held_until;
        if let Some(pause) = &mut self.pause {
            pause.note_issued(issue.request.op);
        }
        Decision::Issue(Slot(slot))
    }

    /// The request of a slot, from [`Decision::Issue`] to [`Scheduler::complete`].
    pub fn issued(&self, slot: Slot) -> &Issue<T> {
        &self.entries[self.slots[slot.0 as usize] as usize].issue
    }

    /// Notes that the request in `slot` completed.
    pub fn complete(&mut self, slot: Slot, now: Nanos) {
        let id = self.slots[slot.0 as usize];
        let sequence = self.entries[id as usize].issue.request.sequence;
        if self.policy != OverlapPolicy::Allow && !self.stopping {
            let Scheduler { tracker, entries, ready, .. } = self;
            tracker.remove(id, |released| {
                let issue = &mut entries[released as usize].issue;
                issue.blocked = Some(Blocked { by: sequence, released: now });
                ready.push(Reverse((issue.request.sequence, released)));
            });
        }
        if self.head_blocked_by == Some(sequence) {
            self.head_released = now;
            self.held_until = now;
        }
        if self.free_slots.is_empty() {
            self.held_until = now;
        }
        if let Some(pause) = &mut self.pause {
            pause.note_completed(now);
        }
        self.free_entries.push(id);
        self.free_slots.push(slot.0);
    }

    /// While stopping: the requests that have not gone, one by one, then the end of those in flight.
    fn next_cancelled(&mut self) -> Decision<T> {
        if let Some(head) = self.head.take() {
            return Decision::Cancel(self.entries[head as usize].issue.request);
        }
        while let Some(entry) = self.entries.get_mut(self.cancel_at) {
            self.cancel_at += 1;
            if std::mem::take(&mut entry.waiting) {
                self.waiting -= 1;
                return Decision::Cancel(entry.issue.request);
            }
        }
        if self.in_flight() > 0 { Decision::Wait } else { Decision::Finished }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Strong;
    use proptest::prelude::*;

    fn write(sequence: u64, sector: u64, sectors: u64) -> Request<()> {
        let extent = Extent::from_sectors(sector, sectors).unwrap();
        Request { sequence, op: Op::Write, extent, due: Some(Nanos(0)), facts: () }
    }

    fn scheduler(policy: OverlapPolicy, depth: u32) -> Scheduler<()> {
        Scheduler::new(depth, Overlap { policy, max_waiting: 4, ..Overlap::default() })
    }

    /// An issued request, and its slot.
    struct Gone {
        slot: Slot,
        issue: Issue<()>,
    }

    fn issued(s: &mut Scheduler<()>, now: u64) -> Gone {
        match s.next(Nanos(now)) {
            Decision::Issue(slot) => Gone { slot, issue: *s.issued(slot) },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn never_issues_before_due_time() {
        let mut s = scheduler(OverlapPolicy::PushBack, 2);
        assert_eq!(s.next(Nanos(0)), Decision::Offer);
        s.offer(Request { due: Some(Nanos(10)), ..write(0, 0, 8) });
        assert_eq!(s.next(Nanos(9)), Decision::Sleep(Nanos(10)));
        assert_eq!(issued(&mut s, 10).issue.due, Nanos(10));
    }

    #[test]
    fn deferred_request_holds_no_slot_and_keeps_order() {
        let mut s = scheduler(OverlapPolicy::PushBack, 2);
        s.offer(write(0, 0, 8));
        let first = issued(&mut s, 0);
        s.offer(write(1, 4, 8));
        assert_eq!(s.next(Nanos(0)), Decision::Offer, "1 waits for 0");
        s.offer(write(2, 8, 8));
        assert_eq!(s.next(Nanos(0)), Decision::Offer, "2 conflicts only with 1, which waits");
        s.offer(write(3, 100, 8));
        let other = issued(&mut s, 0);
        assert_eq!(other.issue.request.sequence, 3, "3 conflicts with nothing");
        s.complete(first.slot, Nanos(5));
        let second = issued(&mut s, 6);
        assert_eq!(
            (second.issue.request.sequence, second.issue.blocked),
            (1, Some(Blocked { by: 0, released: Nanos(5) }))
        );
        s.complete(other.slot, Nanos(7));
        assert_eq!(s.next(Nanos(7)), Decision::Offer);
        s.exhausted();
        assert_eq!(s.next(Nanos(7)), Decision::Wait);
        s.complete(second.slot, Nanos(8));
        let third = issued(&mut s, 8);
        assert_eq!(
            (third.issue.request.sequence, third.issue.blocked),
            (2, Some(Blocked { by: 1, released: Nanos(8) }))
        );
        s.complete(third.slot, Nanos(9));
        assert_eq!(s.next(Nanos(9)), Decision::Finished);
        assert_eq!((s.counters().max_in_flight, s.counters().max_waiting), (2, 2));
    }

    #[test]
    fn drop_names_conflicting_request_and_order_blocks_all() {
        let mut s = scheduler(OverlapPolicy::Drop, 4);
        s.offer(write(0, 0, 8));
        issued(&mut s, 0);
        s.offer(write(1, 4, 8));
        assert_eq!(s.next(Nanos(0)), Decision::Drop(write(1, 4, 8), 0));

        let mut s = scheduler(OverlapPolicy::Order, 4);
        s.offer(write(0, 0, 8));
        let first = issued(&mut s, 0);
        s.offer(write(1, 4, 8));
        assert_eq!(s.next(Nanos(0)), Decision::Wait);
        s.complete(first.slot, Nanos(3));
        assert_eq!(issued(&mut s, 4).issue.blocked, Some(Blocked { by: 0, released: Nanos(3) }));
    }

    #[test]
    fn counts_time_with_full_waiting_list() {
        let mut s = scheduler(OverlapPolicy::PushBack, 8);
        s.offer(write(0, 0, 8));
        let first = issued(&mut s, 0);
        for sequence in 1..=4 {
            s.offer(write(sequence, 0, 8));
            assert_eq!(s.next(Nanos(0)), Decision::Offer);
        }
        s.offer(write(5, 0, 8));
        assert_eq!(s.next(Nanos(10)), Decision::Wait);
        s.complete(first.slot, Nanos(30));
        assert_eq!(issued(&mut s, 30).issue.request.sequence, 1);
        assert_eq!(s.next(Nanos(30)), Decision::Offer, "a place is free again");
        assert_eq!((s.counters().full_count, s.counters().full_total), (1, Nanos(20)));
    }

    #[test]
    fn marks_requests_due_while_blocked_as_held() {
        let mut s = scheduler(OverlapPolicy::PushBack, 1);
        s.offer(write(0, 0, 8));
        let first = issued(&mut s, 0);
        assert!(!first.issue.held);
        assert_eq!(s.next(Nanos(1)), Decision::Wait);
        s.complete(first.slot, Nanos(10));
        s.offer(Request { due: Some(Nanos(9)), ..write(1, 50, 8) });
        let second = issued(&mut s, 10);
        assert!(second.issue.held, "all slots were in use when it was due");
        s.complete(second.slot, Nanos(20));
        s.offer(Request { due: Some(Nanos(20)), ..write(2, 90, 8) });
        assert!(!issued(&mut s, 30).issue.held, "it was only late");
    }

    #[test]
    fn closed_loop_waits_for_conflicts_instead_of_dropping() {
        let mut s = scheduler(OverlapPolicy::Drop, 4);
        s.offer(Request { due: None, ..write(0, 0, 8) });
        let first = issued(&mut s, 0);
        s.offer(Request { due: None, ..write(1, 4, 8) });
        assert_eq!(s.next(Nanos(1)), Decision::Wait);
        s.complete(first.slot, Nanos(2));
        assert_eq!(issued(&mut s, 2).issue.request.sequence, 1);
    }

    #[test]
    fn many_overlaps_are_held_back_in_bounded_memory() {
        // Reads inside each other: n of them take n² cells.
        let inside = |n: u64| Request { op: Op::Read, ..write(n, n, 10_000 - 2 * n) };
        let mut s = Scheduler::new(4_000, Overlap { policy: OverlapPolicy::Order, ..Overlap::default() });
        let mut slots = Vec::new();
        for n in 0.. {
            s.offer(inside(n));
            match s.next(Nanos(n)) {
                Decision::Issue(slot) => slots.push(slot),
                decision => {
                    assert_eq!(decision, Decision::Wait);
                    break;
                }
            }
        }
        assert!((2_000..2_200).contains(&slots.len()), "{}: some 4 million cells", slots.len());
        let now = Nanos(slots.len() as u64 + 50);
        s.complete(slots[0], now);
        assert!(matches!(s.next(now), Decision::Issue(_)), "some are free again");
        assert_eq!((s.counters().full_count, s.counters().full_total), (1, Nanos(50)));
    }

    #[test]
    fn stopping_cancels_unissued_requests() {
        let mut s = scheduler(OverlapPolicy::PushBack, 2);
        s.offer(write(0, 0, 8));
        let first = issued(&mut s, 0);
        s.offer(write(1, 0, 8));
        assert_eq!(s.next(Nanos(0)), Decision::Offer);
        s.offer(Request { due: Some(Nanos(99)), ..write(2, 50, 8) });
        s.stop(Nanos(1));
        assert_eq!(s.next(Nanos(1)), Decision::Cancel(Request { due: Some(Nanos(99)), ..write(2, 50, 8) }));
        assert_eq!(s.next(Nanos(1)), Decision::Cancel(write(1, 0, 8)));
        assert_eq!(s.next(Nanos(1)), Decision::Wait);
        s.complete(first.slot, Nanos(2));
        assert_eq!(s.next(Nanos(2)), Decision::Finished);
    }

    proptest! {
        /// Every request goes exactly once, none early, never more than the depth, no conflict in flight, and
        /// conflicting ones in order.
        #[test]
        fn every_policy_keeps_its_invariants(
            policy in 0usize..4, strong in 0u8..3, depth in 1u32..6, seed: u64,
            load in proptest::collection::vec((any::<bool>(), 0u64..40, 1u64..12, 0u64..5), 1..80),
        ) {
            let policy = [OverlapPolicy::Allow, OverlapPolicy::Drop, OverlapPolicy::PushBack, OverlapPolicy::Order][policy];
            let strong = Strong::try_from(strong).unwrap();
            let mut s = Scheduler::new(depth, Overlap { policy, strong, max_waiting: 5 });
            let mut due = 0;
            let mut load = load.into_iter().enumerate().map(|(i, (w, sector, sectors, gap))| {
                due += gap;
                Request { op: if w { Op::Write } else { Op::Read }, due: Some(Nanos(due)), ..write(i as u64, sector, sectors) }
            }).collect::<Vec<_>>().into_iter();
            let total = load.len();
            let (mut now, mut random) = (Nanos(0), seed | 1);
            let mut flying: Vec<(Slot, Request<()>, Nanos)> = Vec::new();
            let mut gone: Vec<Request<()>> = Vec::new();
            let mut dropped = 0;
            let conflicts = |a: &Request<()>, b: &Request<()>| strong.conflict(a.op, b.op) && a.extent.overlaps(b.extent);
            loop {
                match s.next(now) {
                    Decision::Offer => match load.next() {
                        Some(request) => s.offer(request),
                        None => s.exhausted(),
                    },
                    Decision::Issue(slot) => {
                        let issue = *s.issued(slot);
                        prop_assert!(issue.due <= now);
                        if policy != OverlapPolicy::Allow {
                            prop_assert!(!flying.iter().any(|(_, f, _)| conflicts(f, &issue.request)));
                            prop_assert!(!gone.iter().any(|g| g.sequence > issue.request.sequence && conflicts(g, &issue.request)));
                        }
                        if policy == OverlapPolicy::Order {
                            prop_assert!(gone.iter().all(|g| g.sequence < issue.request.sequence));
                        }
                        gone.push(issue.request);
                        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                        flying.push((slot, issue.request, Nanos(now.0 + 1 + (random >> 60))));
                        prop_assert!(flying.len() <= depth as usize && s.in_flight() as usize == flying.len());
                    }
                    Decision::Drop(request, by) => {
                        prop_assert!(flying.iter().any(|(_, f, _)| f.sequence == by && conflicts(f, &request)));
                        dropped += 1;
                    }
                    Decision::Cancel(_) => prop_assert!(false, "nobody stopped"),
                    decision @ (Decision::Sleep(_) | Decision::Wait) => {
                        let next = flying.iter().map(|f| f.2).min();
                        let sleep = if let Decision::Sleep(t) = decision { Some(t) } else { None };
                        now = next.into_iter().chain(sleep).min().expect("somebody will wake us");
                        while let Some(i) = flying.iter().position(|f| f.2 <= now) {
                            s.complete(flying.swap_remove(i).0, now);
                        }
                    }
                    Decision::Finished => break,
                }
            }
            prop_assert!(flying.is_empty() && s.waiting() == 0);
            prop_assert_eq!(gone.len() + dropped, total);
            prop_assert!(dropped == 0 || policy == OverlapPolicy::Drop);
        }
    }
}
