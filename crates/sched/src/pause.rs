//! Think time: when a pause between requests starts and ends.

use iosonar_plan::{Nanos, Op, ThinkTime};
use std::sync::Arc;

/// The pauses of an issuing loop.
#[derive(Debug, Clone)]
pub(crate) struct Pause {
    time: Nanos,
    blocks: u64,
    /// Requests that may go before the next pause.
    left: u64,
    last_completed: Nanos,
    has_completed: bool,
    /// The pause before each request, by its number, instead of equal ones.
    delays: Option<Arc<[Nanos]>>,
}

impl Pause {
    pub(crate) fn new(think_time: ThinkTime) -> Pause {
        let ThinkTime { time, blocks, .. } = think_time;
        Pause { time, blocks, left: blocks, last_completed: Nanos(0), has_completed: false, delays: None }
    }

    /// A pause before each request, by its number; no pause before the first one that goes.
    pub(crate) fn before(delays: Arc<[Nanos]>) -> Pause {
        let none = ThinkTime { time: Nanos(0), spin: Nanos(0), blocks: u64::MAX };
        Pause { delays: Some(delays), ..Pause::new(none) }
    }

    /// Whether a request of this kind counts, and waits for the end of a pause.
    pub(crate) fn counts(op: Op) -> bool {
        !op.is_flush()
    }

    /// End of the pause before the next request, if there is one; while requests are in flight, the earliest possible end.
    pub(crate) fn end(&self, sequence: Option<u64>, in_flight: u32, now: Nanos) -> Option<Nanos> {
        let start = if in_flight > 0 { now } else { self.last_completed };
        if let Some(delays) = &self.delays {
            let delay = delays.get(usize::try_from(sequence?).ok()?).filter(|delay| **delay > Nanos(0))?;
            // Nothing precedes the first request.
            return (in_flight > 0 || self.has_completed).then(|| start.saturating_add(*delay));
        }
        (self.left == 0).then(|| start.saturating_add(self.time))
    }

    pub(crate) fn note_issued(&mut self, op: Op) {
        if Pause::counts(op) {
            self.left = if self.left == 0 { self.blocks } else { self.left } - 1;
        }
    }

    pub(crate) fn note_completed(&mut self, now: Nanos) {
        self.last_completed = self.last_completed.max(now);
        self.has_completed = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Decision, Request, Scheduler, Slot};
    use iosonar_plan::{Extent, Nanos, Op, Overlap, OverlapPolicy, ThinkTime};
    use proptest::prelude::*;
    use std::collections::BinaryHeap;

    /// When each request went, and when it completed, on a device that takes `service[n]` for request n.
    fn simulate(depth: u32, think_time: ThinkTime, flush_after: u64, service: &[u64]) -> Vec<(Op, u64, u64)> {
        let overlap = Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() };
        run(Scheduler::new(depth, overlap).with_think_time(Some(think_time)), flush_after, service)
    }

    fn run(mut scheduler: Scheduler<()>, flush_after: u64, service: &[u64]) -> Vec<(Op, u64, u64)> {
        let (mut now, mut offered, mut gone) = (0, 0, Vec::new());
        let mut in_flight: BinaryHeap<std::cmp::Reverse<(u64, u32)>> = BinaryHeap::new();
        loop {
            match scheduler.next(Nanos(now)) {
                Decision::Offer if offered == service.len() => scheduler.exhausted(),
                Decision::Offer => {
                    assert!(scheduler.earliest(Nanos(now)) >= Nanos(now));
                    let sequence = offered as u64;
                    let is_flush = flush_after > 0 && sequence % (flush_after + 1) == flush_after;
                    let op = if is_flush { Op::Fsync } else { Op::Write };
                    let extent = Extent::from_sectors(sequence * 8, 8).unwrap();
                    scheduler.offer(Request { sequence, op, extent, due: None, facts: () });
                    offered += 1;
                }
                Decision::Issue(slot) => {
                    let request = scheduler.issued(slot).request;
                    let end = now + service[request.sequence as usize];
                    gone.push((request.op, now, end));
                    in_flight.push(std::cmp::Reverse((end, slot.0)));
                }
                Decision::Sleep(until) => {
                    assert!(in_flight.is_empty() && until > Nanos(now));
                    now = until.0;
                }
                Decision::Wait => {
                    let std::cmp::Reverse((end, slot)) = in_flight.pop().expect("something is in flight");
                    now = end;
                    scheduler.complete(Slot(slot), Nanos(now));
                }
                Decision::Finished => return gone,
                other => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        /// The times of all requests are those that the definition of a pause gives, computed without a scheduler.
        #[test]
        fn pauses_after_every_n_requests(
            depth in 1u32..6,
            time in 1u64..1000,
            blocks in 1u64..6,
            service in proptest::collection::vec(1u64..500, 1..60),
        ) {
            let think_time = ThinkTime { time: Nanos(time), spin: Nanos(0), blocks };
            let gone = simulate(depth, think_time, 0, &service);
            prop_assert_eq!(gone.len(), service.len());
            for (number, group) in gone.chunks(blocks as usize).enumerate().skip(1) {
                let before = &gone[..number * blocks as usize];
                let last = before.iter().map(|(_, _, end)| *end).max().unwrap();
                prop_assert_eq!(group[0].1, last + time);
                // Within a group requests go as soon as there is room.
                prop_assert!(depth == 1 || group.len() == 1 || group[1].1 == group[0].1);
            }
        }
    }

    /// The pauses of a list lie before its requests; that of the first has nothing to follow.
    #[test]
    fn list_delays_precede_their_requests() {
        let overlap = Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() };
        let delays = [70, 0, 500, 30].map(Nanos);
        let scheduler = Scheduler::new(1, overlap).with_delays(Some(delays.into()));
        let starts: Vec<u64> = run(scheduler, 0, &[10; 4]).iter().map(|(_, start, _)| *start).collect();
        assert_eq!(starts, [0, 10, 520, 560]);
    }

    /// A burst: eight writes, a flush of them, and a pause after the flush.
    #[test]
    fn flush_precedes_the_pause() {
        let think_time = ThinkTime { time: Nanos(1_000), spin: Nanos(0), blocks: 8 };
        let gone = simulate(1, think_time, 8, &[10; 27]);
        for (number, (op, start, _)) in gone.iter().enumerate() {
            let (burst, place) = (number as u64 / 9, number as u64 % 9);
            assert_eq!(*op == Op::Fsync, place == 8);
            assert_eq!(*start, burst * (90 + 1_000) + place * 10);
        }
    }
}
