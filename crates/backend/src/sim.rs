//! A model of a device on a clock of its own: seeded latencies, channels, stalls, errors, short transfers.
//!
//! Nothing here waits: [`Backend::reap`] moves the clock on to the next event. A simulated hour takes as long
//! as its events take to compute.

use crate::{Backend, Completion, Operation, Wait};
use iosonar_plan::{Nanos, Op, SECTOR, SimModel};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The errno of a simulated failure: EIO.
const EIO: i64 = 5;

/// The last time of the clock: records keep 2^64 - 1 for "absent".
const END_OF_TIME: Nanos = Nanos(u64::MAX - 1);

/// A simulated device.
#[derive(Debug)]
pub struct Sim {
    model: SimModel,
    now: Nanos,
    random: Xoshiro256PlusPlus,
    flying: BinaryHeap<Reverse<Flying>>,
    /// When each channel is free again.
    channels: BinaryHeap<Reverse<Nanos>>,
    pushed: u64,
}

#[derive(Debug)]
struct Flying {
    order: u64,
    completion: Completion,
}

impl Flying {
    fn key(&self) -> (Nanos, u64) {
        (self.completion.completed, self.order)
    }
}

impl PartialEq for Flying {
    fn eq(&self, other: &Flying) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Flying {}
impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Flying) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flying {
    fn cmp(&self, other: &Flying) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Sim {
    /// A device with at most `depth` operations in flight; equal seeds behave alike.
    pub fn new(model: SimModel, depth: u32, seed: u64) -> Sim {
        Sim {
            model,
            now: Nanos(0),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            flying: BinaryHeap::with_capacity(depth as usize),
            // Never used are those above the depth.
            channels: (0..model.channels.min(depth)).map(|_| Reverse(Nanos(0))).collect(),
            pushed: 0,
        }
    }

    fn one_in(&mut self, every: u32) -> bool {
        every > 0 && self.random.next_u64().is_multiple_of(u64::from(every))
    }

    /// Service time: the least, and an exponentially distributed addition.
    fn service(&mut self) -> Nanos {
        let unit = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let addition = -(1.0 - unit).ln() * self.model.jitter.0 as f64;
        Nanos(self.model.service.0.saturating_add(addition as u64))
    }

    /// When an operation that comes now ends: it waits for a channel, is served, and waits out a stall.
    fn completion_time(&mut self) -> Nanos {
        let channel = self.channels.pop();
        let start = channel.map_or(self.now, |Reverse(free)| free.max(self.now));
        let served = Nanos(start.0.saturating_add(self.service().0));
        let end = self.after_stall(served).min(END_OF_TIME).max(self.now);
        if channel.is_some() {
            self.channels.push(Reverse(end));
        }
        end
    }

    fn after_stall(&self, time: Nanos) -> Nanos {
        let Some(stall) = self.model.stall else { return time };
        // The first stall starts after one whole period.
        let since = time.0 % stall.period.0;
        let stalled = time.0 >= stall.period.0 && since < stall.length.0;
        if stalled { Nanos((time.0 - since).saturating_add(stall.length.0)) } else { time }
    }

    fn result(&mut self, op: Op, length: u64) -> (i64, bool) {
        if self.one_in(self.model.error_every) {
            return (-EIO, false);
        }
        // What transfers nothing cannot stay short.
        let short = op.is_transfer() && self.one_in(self.model.short_every);
        let bytes = if short { length / 2 / SECTOR * SECTOR } else { length };
        (bytes as i64, short)
    }

    fn move_on(&mut self, until: Nanos) {
        let next = self.flying.peek().map_or(until, |Reverse(f)| f.completion.completed.min(until));
        self.now = self.now.max(next);
    }
}

impl Backend for Sim {
    fn now(&mut self) -> Nanos {
        self.now
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn skip_to(&mut self, time: Nanos) {
        self.now = self.now.max(time);
    }

    fn needs_buffers(&self) -> bool {
        false
    }

    fn push(&mut self, operation: Operation) {
        let (result, short) = self.result(operation.op, operation.extent.length);
        let completion = Completion {
            token: operation.token,
            buffer: operation.buffer,
            submitted: self.now,
            completed: self.completion_time(),
            reap_lag: Nanos(0),
            result,
            short,
            worker: 0,
        };
        self.flying.push(Reverse(Flying { order: self.pushed, completion }));
        self.pushed += 1;
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        if let Wait::Until(until) = wait {
            self.move_on(until);
        }
        while self.flying.peek().is_some_and(|Reverse(f)| f.completion.completed <= self.now) {
            out.extend(self.flying.pop().map(|Reverse(f)| f.completion));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;
    use iosonar_os::Buffer;
    use iosonar_plan::{Durability, Extent, SimStall};

    fn run(model: SimModel, count: u32, depth: u32) -> Vec<Completion> {
        let mut sim = Sim::new(model, depth, 1);
        let mut done = Vec::new();
        for i in 0..count {
            while i as usize - done.len() >= depth as usize {
                sim.reap(Wait::Until(Nanos(u64::MAX)), &mut done);
            }
            let extent = Extent { offset: 0, length: 4096 };
            let (op, durability) = (Op::Read, Durability::NONE);
            sim.push(Operation { token: Token(i), op, durability, extent, buffer: Buffer::empty() });
        }
        while done.len() < count as usize {
            sim.reap(Wait::Until(Nanos(u64::MAX)), &mut done);
        }
        done
    }

    #[test]
    fn service_time_is_kept_and_channels_queue() {
        let model = SimModel { service: Nanos(100), channels: 2, ..SimModel::default() };
        let ends: Vec<u64> = run(model, 4, 4).iter().map(|c| c.completed.0).collect();
        assert_eq!(ends, [100, 100, 200, 200]);
    }

    #[test]
    fn channels_above_the_depth_change_nothing() {
        let ends = |channels| -> Vec<u64> {
            let model = SimModel { jitter: Nanos(1000), channels, ..SimModel::default() };
            run(model, 50, 4).iter().map(|c| c.completed.0).collect()
        };
        assert_eq!(ends(4), ends(u32::MAX));
        assert_eq!(ends(4), ends(0));
    }

    #[test]
    fn the_longest_times_never_lead_back() {
        let longest = Nanos(1 << 62);
        let stall = Some(SimStall { period: longest, length: Nanos(longest.0 - 1) });
        for (service, jitter, stall) in
            [(longest, longest, None), (longest, longest, stall), (Nanos(u64::MAX), Nanos(u64::MAX), stall)]
        {
            let model = SimModel { service, jitter, stall, channels: 1, ..SimModel::default() };
            let done = run(model, 40, 4);
            assert!(done.iter().all(|c| c.submitted <= c.completed && c.completed <= END_OF_TIME));
        }
    }

    #[test]
    fn nothing_completes_inside_a_stall() {
        let stall = SimStall { period: Nanos(10_000), length: Nanos(3_000) };
        let model =
            SimModel { service: Nanos(70), jitter: Nanos(50), stall: Some(stall), ..SimModel::default() };
        let done = run(model, 5_000, 8);
        assert!(done.iter().all(|c| c.completed.0 < 10_000 || c.completed.0 % 10_000 >= 3_000));
        assert!(done.iter().any(|c| c.completed.0 - c.submitted.0 >= 2_900));
    }

    #[test]
    fn errors_and_short_transfers_come_at_their_rate() {
        let model = SimModel { error_every: 10, short_every: 20, ..SimModel::default() };
        let done = run(model, 10_000, 8);
        let errors = done.iter().filter(|c| c.result == -EIO).count();
        let short = done.iter().filter(|c| c.short && c.result == 2048).count();
        // Six standard deviations around 1000 and 450.
        assert!((820..1180).contains(&errors) && (325..575).contains(&short), "{errors} {short}");
    }
}
