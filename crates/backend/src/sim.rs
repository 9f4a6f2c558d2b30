//! A model of a device on a simulated clock: seeded latencies, channels, stalls, errors, short transfers.
//!
//! Nothing here waits: [`Backend::reap`] moves the clock on to the next event. A simulated hour takes as long
//! as its events take to compute.
//!
//! A device [with content](Sim::with_content) keeps written data. Each operation takes effect when it completes, in the order of
//! completions. A write that fails changes nothing or a prefix, and a short transfer transfers a prefix. A write for which the
//! content has no room fails with ENOSPC.

use crate::{Backend, Completion, Operation, Store, Wait};
use iosonar_plan::{Extent, Nanos, Op, SECTOR, SimModel};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The errno of a simulated failure: EIO.
const EIO: i64 = 5;

/// The errno of a write for which the content has no room.
const ENOSPC: i64 = 28;

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
    content: Option<Content>,
}

#[derive(Debug)]
struct Content {
    store: Store,
    /// Separate from the generator of times: these are the same with and without content.
    random: Xoshiro256PlusPlus,
}

impl Content {
    /// Bytes that a failed write of `length` has changed: 0 in half of the cases, else any number of sectors.
    fn failed_part(&mut self, length: u64) -> u64 {
        let has_changed = self.random.next_u64().is_multiple_of(2);
        let sectors = self.random.next_u64() % (length / SECTOR + 1);
        if has_changed { sectors * SECTOR } else { 0 }
    }
}

#[derive(Debug)]
struct Flying {
    order: u64,
    completion: Completion,
    op: Op,
    /// Range that it transfers or changes; less than its extent where it fails or stays short.
    effect: Extent,
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
            // Channels above the depth are never used.
            channels: (0..model.channels.min(depth)).map(|_| Reverse(Nanos(0))).collect(),
            pushed: 0,
            content: None,
        }
    }

    /// A device with content, shared by all loops that reach the same device.
    pub fn with_content(model: SimModel, depth: u32, seed: u64, store: Store) -> Sim {
        let content = Content { store, random: Xoshiro256PlusPlus::seed_from_u64(!seed) };
        Sim { content: Some(content), ..Sim::new(model, depth, seed) }
    }

    fn one_in(&mut self, every: u32) -> bool {
        every > 0 && self.random.next_u64().is_multiple_of(u64::from(every))
    }

    /// Service time: the least, and an exponentially distributed addition.
    fn service(&mut self) -> Nanos {
        let unit = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let addition = -(1.0 - unit).ln() * self.model.jitter.0 as f64;
        let service = self.model.service.0.saturating_add(addition as u64);
        match self.model.change.filter(|change| self.now >= change.at) {
            Some(change) => {
                Nanos((u128::from(service) * u128::from(change.percent) / 100).try_into().unwrap_or(u64::MAX))
            }
            None => Nanos(service),
        }
    }

    /// End of an operation that arrives now: it waits for a channel, is served, and waits out a stall.
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
        // An operation without data cannot stay short.
        let short = op.is_transfer() && self.one_in(self.model.short_every);
        let bytes = if short { length / 2 / SECTOR * SECTOR } else { length };
        (bytes as i64, short)
    }

    /// The part of an operation that takes effect.
    fn effect(&mut self, op: Op, extent: Extent, result: i64) -> Extent {
        let length = match (u64::try_from(result), &mut self.content) {
            (Ok(done), _) => done.min(extent.length),
            (Err(_), Some(content)) if op.changes_data() => content.failed_part(extent.length),
            _ => 0,
        };
        Extent { length, ..extent }
    }

    fn take_effect(&mut self, flying: &mut Flying) {
        let Some(Content { store, .. }) = &self.content else { return };
        let Extent { offset, length } = flying.effect;
        match flying.op {
            Op::Read => store.read(offset, &mut flying.completion.buffer[..length as usize]),
            Op::Write => {
                let is_whole = store.write(offset, &flying.completion.buffer[..length as usize]);
                if !is_whole && flying.completion.result >= 0 {
                    flying.completion.result = -ENOSPC;
                }
            }
            op if op.is_dataless_change() => store.zero(offset, length),
            _ => {}
        }
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
        self.content.is_some()
    }

    fn push(&mut self, operation: Operation) {
        let (op, extent) = (operation.op, operation.extent);
        debug_assert!(
            self.content.is_none() || !op.is_transfer() || operation.buffer.len() as u64 == extent.length
        );
        let (result, short) = self.result(op, extent.length);
        let effect = self.effect(op, extent, result);
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
        self.flying.push(Reverse(Flying { order: self.pushed, completion, op, effect }));
        self.pushed += 1;
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        if let Wait::Until(until) = wait {
            self.move_on(until);
        }
        while self.flying.peek().is_some_and(|Reverse(f)| f.completion.completed <= self.now) {
            let Some(Reverse(mut flying)) = self.flying.pop() else { return };
            self.take_effect(&mut flying);
            out.push(flying.completion);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;
    use iosonar_os::Buffer;
    use iosonar_plan::{Durability, Extent, SimChange, SimStall};

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
    fn service_time_is_exact_and_channels_queue() {
        let model = SimModel { service: Nanos(100), channels: 2, ..SimModel::default() };
        let ends: Vec<u64> = run(model, 4, 4).iter().map(|c| c.completed.0).collect();
        assert_eq!(ends, [100, 100, 200, 200]);
    }

    #[test]
    fn channels_above_the_depth_have_no_effect() {
        let ends = |channels| -> Vec<u64> {
            let model = SimModel { jitter: Nanos(1000), channels, ..SimModel::default() };
            run(model, 50, 4).iter().map(|c| c.completed.0).collect()
        };
        assert_eq!(ends(4), ends(u32::MAX));
        assert_eq!(ends(4), ends(0));
    }

    #[test]
    fn maximum_times_never_run_backward() {
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
    fn latency_change_takes_effect_at_its_time() {
        let change = SimChange { at: Nanos(100_000), percent: 250 };
        let model = SimModel { service: Nanos(100), change: Some(change), ..SimModel::default() };
        let done = run(model, 2_000, 1);
        let took = |c: &Completion| c.completed.0 - c.submitted.0;
        assert!(done.iter().all(|c| took(c) == if c.submitted.0 < 100_000 { 100 } else { 250 }));
        assert!(done.last().unwrap().submitted.0 > 100_000);
    }

    #[test]
    fn no_request_completes_during_a_stall() {
        let stall = SimStall { period: Nanos(10_000), length: Nanos(3_000) };
        let model =
            SimModel { service: Nanos(70), jitter: Nanos(50), stall: Some(stall), ..SimModel::default() };
        let done = run(model, 5_000, 8);
        assert!(done.iter().all(|c| c.completed.0 < 10_000 || c.completed.0 % 10_000 >= 3_000));
        assert!(done.iter().any(|c| c.completed.0 - c.submitted.0 >= 2_900));
    }

    /// Pushes an operation on the first eight sectors.
    fn push(sim: &mut Sim, token: u32, op: Op, byte: u8) {
        let mut buffer = Buffer::zeroed(if op.is_transfer() { 4096 } else { 0 });
        buffer.fill(byte);
        let (extent, durability) = (Extent { offset: 512, length: 4096 }, Durability::NONE);
        sim.push(Operation { token: Token(token), op, durability, extent, buffer });
    }

    fn all(sim: &mut Sim, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            sim.reap(Wait::Until(Nanos(u64::MAX)), &mut done);
        }
        done
    }

    #[test]
    fn writes_take_effect_in_completion_order() {
        let model = SimModel { jitter: Nanos(50_000), ..SimModel::default() };
        for seed in 0..50 {
            let mut sim = Sim::with_content(model, 4, seed, Store::new());
            assert!(sim.needs_buffers());
            push(&mut sim, 1, Op::Write, 1);
            push(&mut sim, 2, Op::Write, 2);
            push(&mut sim, 3, Op::WriteZeroes, 0);
            push(&mut sim, 4, Op::Read, 9);
            let mut held = 0;
            for done in all(&mut sim, 4) {
                match done.token.0 {
                    4 => assert!(done.buffer.iter().all(|b| *b == held)),
                    3 => held = 0,
                    token => held = token as u8,
                }
            }
        }
    }

    #[test]
    fn stored_content_does_not_affect_times() {
        let model = SimModel { jitter: Nanos(50_000), error_every: 3, short_every: 3, ..SimModel::default() };
        let mut sims = [Sim::new(model, 4, 1), Sim::with_content(model, 4, 1, Store::new())];
        let of = |sim: &mut Sim| -> Vec<(u64, i64)> {
            let run = (0..100).flat_map(|i| {
                push(sim, i, Op::Write, 1);
                all(sim, 1)
            });
            run.map(|c| (c.completed.0, c.result)).collect()
        };
        assert_eq!(of(&mut sims[0]), of(&mut sims[1]));
    }

    #[test]
    fn failed_and_short_operations_affect_only_a_prefix() {
        let store = Store::new();
        let failing = SimModel { error_every: 1, ..SimModel::default() };
        let mut sim = Sim::with_content(failing, 1, 1, store.clone());
        let mut seen = [0; 9];
        for _ in 0..500 {
            store.zero(0, 8192);
            push(&mut sim, 1, Op::Write, 7);
            assert_eq!(all(&mut sim, 1)[0].result, -EIO);
            let mut held = [0; 4608];
            store.read(512, &mut held);
            let sectors = held.iter().take_while(|b| **b == 7).count() / 512;
            assert!(held[sectors * 512..].iter().all(|b| *b == 0));
            seen[sectors] += 1;
        }
        assert!(seen[0] > 200 && seen.iter().all(|count| *count > 0), "{seen:?}");
        let short = SimModel { short_every: 1, ..SimModel::default() };
        let mut sim = Sim::with_content(short, 1, 1, store.clone());
        assert!(store.write(0, &[5; 8192]));
        push(&mut sim, 1, Op::Read, 9);
        let read = all(&mut sim, 1).remove(0);
        assert_eq!((read.result, read.buffer[2047], read.buffer[2048]), (2048, 5, 9));
    }

    #[test]
    fn errors_and_short_transfers_occur_at_their_rate() {
        let model = SimModel { error_every: 10, short_every: 20, ..SimModel::default() };
        let done = run(model, 10_000, 8);
        let errors = done.iter().filter(|c| c.result == -EIO).count();
        let short = done.iter().filter(|c| c.short && c.result == 2048).count();
        // Six standard deviations around 1000 and 450.
        assert!((820..1180).contains(&errors) && (325..575).contains(&short), "{errors} {short}");
    }
}
