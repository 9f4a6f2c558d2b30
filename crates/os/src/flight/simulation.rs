//! A simulated kernel for the bookkeeping of requests in flight: out of order, late, short, with errors, without room.
//!
//! Reads come from places with known bytes and writes carry distinct bytes, so that a buffer that is lost, mixed up or used too
//! early shows in the data.

use super::{Call, Cqe, Direction, Done, InFlight, Queue, Request};
use crate::{Buffer, BufferPool};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Longest request, and the exclusive place of a write.
const CELL: usize = 3000;
/// Bytes that are only read, at the beginning of the disk.
const READ_ONLY: usize = 8 * CELL;
const CELLS: usize = 24;

/// Injected faults, each one in this many; 0 means never.
#[derive(Debug, Clone, Copy)]
struct Faults {
    short: u64,
    error: u64,
    interrupted: u64,
    /// Submitting finds no room, or takes only a part.
    reluctant: u64,
    room: usize,
    eager: bool,
}

struct Kernel {
    faults: Faults,
    random: Xoshiro256PlusPlus,
    disk: Vec<u8>,
    staged: VecDeque<(u32, Call)>,
    taken: BTreeMap<u32, Call>,
    clock: Arc<AtomicU64>,
    /// When the first call into each buffer was taken, by its address.
    begun: BTreeMap<usize, u64>,
    given_back: Arc<AtomicU64>,
}

// SAFETY: the pointers in calls are used under the rules of `Queue`, by whichever thread owns the kernel.
unsafe impl Send for Kernel {}

impl Kernel {
    fn new(faults: Faults, seed: u64) -> Kernel {
        let known = (0..READ_ONLY).map(known_byte);
        Kernel {
            faults,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            disk: known.chain(std::iter::repeat_n(0, CELLS * CELL)).collect(),
            staged: VecDeque::new(),
            taken: BTreeMap::new(),
            clock: Arc::new(AtomicU64::new(0)),
            begun: BTreeMap::new(),
            given_back: Arc::new(AtomicU64::new(0)),
        }
    }

    fn one_in(&mut self, every: u64) -> bool {
        every > 0 && self.random.next_u64().is_multiple_of(every)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn take(&mut self, count: usize) -> u32 {
        for (slot, call) in self.staged.drain(..count) {
            assert!(self.taken.insert(slot, call).is_none(), "slot {slot} has two calls under way");
            self.begun.entry(call.memory.addr()).or_insert(self.clock.load(Relaxed));
        }
        count as u32
    }

    fn execute(&mut self, call: Call) -> i64 {
        let Faults { short, error, interrupted, .. } = self.faults;
        if self.one_in(interrupted) {
            return [-4, -11][self.below(2)];
        }
        if self.one_in(error) {
            return -5;
        }
        if call.direction.is_flush() {
            return 0;
        }
        let from = call.offset as usize;
        let length = (call.length as usize).min(self.disk.len().saturating_sub(from));
        if call.direction.is_dataless_change() {
            self.disk[from..from + length].fill(0);
            return 0;
        }
        let length = if self.one_in(short) { self.below(length + 1) } else { length };
        // SAFETY: the memory belongs to this kernel until the slot arrives, and the range is at most the call's.
        let memory = unsafe { std::slice::from_raw_parts_mut(call.memory, length) };
        match call.direction {
            Direction::Read => memory.copy_from_slice(&self.disk[from..from + length]),
            Direction::Write => self.disk[from..from + length].copy_from_slice(memory),
            _ => unreachable!("it was executed before"),
        }
        length as i64
    }
}

fn known_byte(position: usize) -> u8 {
    (position * 31 % 251) as u8
}

// SAFETY: a call's memory is used in `execute` alone, after which its slot arrives, once.
unsafe impl Queue for Kernel {
    fn is_eager(&self) -> bool {
        self.faults.eager
    }

    unsafe fn stage(&mut self, slot: u32, call: Call) -> bool {
        if self.staged.len() == self.faults.room {
            return false;
        }
        self.staged.push_back((slot, call));
        true
    }

    fn submit(&mut self) -> io::Result<u32> {
        let all = self.staged.len();
        if self.faults.eager || !self.one_in(self.faults.reluctant) {
            return Ok(self.take(all));
        }
        let errors = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM];
        match self.below(6) {
            4 => Ok(0),
            5 => {
                let part = self.below(all + 1);
                Ok(self.take(part))
            }
            error => Err(io::Error::from_raw_os_error(errors[error])),
        }
    }

    fn look(&mut self, _: Option<Duration>, arrived: &mut Vec<Cqe>) -> io::Result<()> {
        for _ in 0..self.below(self.taken.len() + 1) {
            let which = self.below(self.taken.len());
            let slot = *self.taken.keys().nth(which).unwrap();
            let call = self.taken.remove(&slot).unwrap();
            arrived.push(Cqe { slot, result: self.execute(call) });
            self.given_back.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

/// The model's data about a request in flight.
#[derive(Debug, Clone, Copy)]
struct Expected {
    direction: Direction,
    offset: usize,
    length: usize,
    completes: bool,
    cell: Option<usize>,
}

struct Model {
    flight: InFlight<Kernel, u64>,
    pool: BufferPool,
    clock: Arc<AtomicU64>,
    depth: usize,
    random: Xoshiro256PlusPlus,
    under_way: BTreeMap<u64, Expected>,
    free_cells: Vec<usize>,
    pushed: u64,
}

impl Model {
    fn new(faults: Faults, depth: u32, seed: u64) -> Model {
        let kernel = Kernel::new(faults, seed);
        let clock = kernel.clock.clone();
        Model {
            flight: InFlight::new(kernel, depth),
            pool: BufferPool::new(BufferPool::needed(depth, CELL as u64), false).unwrap(),
            clock,
            depth: depth as usize,
            random: Xoshiro256PlusPlus::seed_from_u64(!seed),
            under_way: BTreeMap::new(),
            free_cells: (0..CELLS).collect(),
            pushed: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn push(&mut self) {
        if self.under_way.len() == self.depth {
            return;
        }
        let (tag, length) = (self.pushed, 1 + self.below(CELL));
        let cell = if self.below(2) == 0 { self.free_cells.pop() } else { None };
        let offset = match cell {
            Some(cell) => READ_ONLY + cell * CELL,
            None => self.below(READ_ONLY - CELL),
        };
        let direction = match cell {
            Some(_) => [Direction::Write, Direction::Write, Direction::Discard, Direction::WriteZeroes]
                [self.below(4)],
            None if self.below(5) == 0 => [Direction::Flush, Direction::Fsync][self.below(2)],
            None => Direction::Read,
        };
        let preflush = cell.is_some() && self.below(3) == 0;
        let completes = self.below(2) == 0;
        let mut buffer = self.pool.take(length).expect("the pool has the size that is needed");
        buffer.fill(tag as u8 | 1);
        self.under_way.insert(tag, Expected { direction, offset, length, completes, cell });
        let (offset, length, durable) = (offset as u64, length as u64, preflush);
        let request = Request { direction, offset, length, buffer, completes, durable, preflush, tag };
        self.flight.push(request);
        self.pushed += 1;
    }

    fn submit(&mut self) {
        let clock = &self.clock;
        self.flight.submit(|| clock.fetch_add(1, Relaxed) + 1);
    }

    fn reap(&mut self) {
        self.flight.look(None);
        while let Some(done) = self.flight.pop() {
            self.check(done);
        }
    }

    fn check(&mut self, done: Done<u64>) {
        let want = self.under_way.remove(&done.tag).expect("each request ends once");
        let kernel = &mut self.flight.queue;
        assert_eq!(done.buffer.len(), want.length);
        let taken = kernel.begun.remove(&done.buffer.as_ptr().addr());
        assert_eq!(taken, Some(done.submitted), "the time is that before its first call was taken");
        if want.direction.is_flush() {
            assert!([0, -5].contains(&done.result) && !done.short);
        } else if want.direction.is_dataless_change() && done.result >= 0 {
            assert!(done.result as usize == want.length && !done.short);
            let disk = &kernel.disk[want.offset..want.offset + want.length];
            assert!(disk.iter().all(|byte| *byte == 0), "all of the range is changed");
        } else if done.result >= 0 {
            let bytes = done.result as usize;
            assert!(bytes == want.length || done.short);
            assert!(bytes <= want.length && (want.completes || !done.short || bytes < want.length));
            let disk = &kernel.disk[want.offset..want.offset + bytes];
            assert_eq!(disk, &done.buffer[..bytes], "the data is where it belongs");
            let own = done.tag as u8 | 1;
            let known = |(at, byte): (usize, &u8)| match want.direction {
                Direction::Read => *byte == known_byte(want.offset + at),
                Direction::Write => *byte == own,
                _ => unreachable!("it transfers nothing"),
            };
            assert!(done.buffer[..bytes].iter().enumerate().all(known));
        } else {
            assert_eq!(done.result, -5);
        }
        self.free_cells.extend(want.cell);
        self.pool.give(done.buffer);
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.below(5) {
                0..=2 => self.push(),
                3 => self.submit(),
                _ => self.reap(),
            }
        }
    }

    fn land(&mut self) {
        for _ in 0..100_000 {
            if self.under_way.is_empty() {
                return;
            }
            self.submit();
            self.reap();
        }
        panic!("{} requests never ended", self.under_way.len());
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    let one_in = || prop_oneof![Just(0u64), 2u64..20];
    (one_in(), one_in(), one_in(), one_in(), 1usize..40, any::<bool>()).prop_map(
        |(short, error, interrupted, reluctant, room, eager)| Faults {
            short,
            error,
            interrupted,
            reluctant,
            room,
            eager,
        },
    )
}

proptest! {
    /// Under any behaviour of the kernel, each request ends exactly once, with its own buffer, data and time.
    #[test]
    fn every_request_completes_once_under_any_kernel_behaviour(
        faults in faults(), depth in 1u32..40, seed in any::<u64>(), steps in 0usize..400,
    ) {
        let mut model = Model::new(faults, depth, seed);
        model.run(steps);
        model.land();
        prop_assert!(!model.flight.has_pending() && model.flight.flying == 0);
        prop_assert_eq!(model.flight.free.len(), depth as usize);
        let bytes = model.pool.bytes() as usize;
        prop_assert!(model.pool.take(bytes).is_some(), "every buffer came back");
    }

    /// Whenever a flight is dropped, the kernel has given everything back before the buffers go.
    #[test]
    fn no_request_is_in_flight_after_drop(
        faults in faults(), depth in 1u32..40, seed in any::<u64>(), steps in 0usize..200,
    ) {
        let mut model = Model::new(faults, depth, seed);
        model.run(steps);
        let kernel = &model.flight.queue;
        let (open, before) = (kernel.taken.len() as u64, kernel.given_back.load(Relaxed));
        let given_back = kernel.given_back.clone();
        drop(model);
        prop_assert_eq!(given_back.load(Relaxed) - before, open);
    }
}

#[test]
#[should_panic(expected = "no more requests are pushed than the depth allows")]
fn exceeding_the_depth_panics() {
    let faults = Faults { short: 0, error: 0, interrupted: 0, reluctant: 0, room: 1, eager: false };
    let mut flight = InFlight::new(Kernel::new(faults, 1), 1);
    for tag in 0..2 {
        let buffer = Buffer::zeroed(1);
        let direction = Direction::Read;
        let (durable, preflush) = (false, false);
        let request =
            Request { direction, offset: 0, length: 1, buffer, completes: true, durable, preflush, tag };
        flight.push(request);
    }
}
