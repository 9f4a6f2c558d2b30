//! Backends over an asynchronous interface of the kernel: times around the requests of an [`os::flight`].
//!
//! [`os::flight`]: iosonar_os::flight

use crate::{Backend, Completion, Operation, Token, Wait};
use iosonar_os::Clock;
use iosonar_os::flight::{Direction, Done, InFlight, Queue, Request};
use iosonar_plan::{Durability, Extent, Nanos, Op, ShortPolicy};
use std::time::Duration;

/// Retry interval for submissions that the kernel had no room for.
const AGAIN: Duration = Duration::from_micros(100);

/// Requests in flight through one queue to the kernel, with their times.
pub struct Queued<Q: Queue> {
    flight: InFlight<Q, Token>,
    clock: Clock,
    completes: bool,
    /// The last reading of the clock.
    latest: Nanos,
    /// Earliest possible end of completions that are still to be seen.
    looked: Nanos,
}

impl<Q: Queue> Queued<Q> {
    pub(crate) fn over(queue: Q, clock: Clock, depth: u32, short: ShortPolicy) -> Queued<Q> {
        let completes = short == ShortPolicy::Complete;
        Queued { flight: InFlight::new(queue, depth), clock, completes, latest: Nanos(0), looked: Nanos(0) }
    }

    /// Appends completions, after waiting at most this long. Returns whether any call came back, even of an unfinished request.
    fn look(&mut self, wait: Option<Duration>, out: &mut Vec<Completion>) -> bool {
        if !self.flight.look(wait) {
            self.looked = self.latest;
            return false;
        }
        let completed = self.now();
        while let Some(done) = self.flight.pop() {
            // An operation cannot have ended before it was submitted.
            let since = self.looked.max(Nanos(done.submitted));
            let lag = if wait.is_some() { Nanos(0) } else { completed.saturating_sub(since) };
            out.push(completion(done, completed, lag));
        }
        self.looked = completed;
        true
    }

    /// Waits until an operation has ended, or until this time.
    fn wait(&mut self, until: Nanos, out: &mut Vec<Completion>) {
        let before = out.len();
        while out.len() == before {
            let left = Duration::from_nanos(until.saturating_sub(self.now()).0);
            if left.is_zero() {
                return;
            }
            let left = if self.flight.has_pending() { left.min(AGAIN) } else { left };
            self.look(Some(left), out);
            self.submit();
        }
    }
}

fn completion(done: Done<Token>, completed: Nanos, reap_lag: Nanos) -> Completion {
    Completion {
        token: done.tag,
        buffer: done.buffer,
        submitted: Nanos(done.submitted),
        completed,
        reap_lag,
        result: done.result,
        short: done.short,
        worker: 0,
    }
}

impl<Q: Queue> Backend for Queued<Q> {
    fn now(&mut self) -> Nanos {
        self.latest = Nanos(self.clock.now());
        self.latest
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        let Operation { token, op, durability, extent, buffer } = operation;
        debug_assert!(!op.is_transfer() || buffer.len() as u64 == extent.length);
        let direction = match op {
            Op::Read => Direction::Read,
            Op::Write => Direction::Write,
            Op::Flush => Direction::Flush,
            Op::Fsync => Direction::Fsync,
            Op::Discard => Direction::Discard,
            Op::WriteZeroes => Direction::WriteZeroes,
            _ => unreachable!("no source yields these"),
        };
        let Extent { offset, length } = extent;
        let completes = self.completes;
        let durable = durability.has(Durability::FUA);
        let preflush = durability.has(Durability::PREFLUSH);
        let tag = token;
        self.flight.push(Request { direction, offset, length, buffer, completes, durable, preflush, tag });
    }

    fn submit(&mut self) {
        let (clock, latest) = (&self.clock, &mut self.latest);
        self.flight.submit(|| {
            *latest = Nanos(clock.now());
            latest.0
        });
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        self.submit();
        let before = out.len();
        if self.look(None, out) {
            self.submit();
        }
        if let (Wait::Until(time), true) = (wait, out.len() == before) {
            self.wait(time, out);
        }
    }
}
