//! No I/O: every operation completes at once. What is left is what the generator itself costs.

use crate::{Backend, Completion, Operation, Wait};
use iosonar_os::Clock;
use iosonar_plan::Nanos;
use std::time::Duration;

/// Completes everything at once, on the real clock.
#[derive(Debug)]
pub struct Null {
    clock: Clock,
    done: Vec<Completion>,
}

impl Null {
    /// For at most `depth` operations between two reaps.
    pub fn new(clock: Clock, depth: u32) -> Null {
        Null { clock, done: Vec::with_capacity(depth as usize) }
    }
}

impl Backend for Null {
    fn now(&mut self) -> Nanos {
        Nanos(self.clock.now())
    }

    fn needs_buffers(&self) -> bool {
        false
    }

    fn push(&mut self, operation: Operation) {
        let now = self.now();
        self.done.push(Completion {
            token: operation.token,
            buffer: operation.buffer,
            submitted: now,
            completed: now,
            reap_lag: Nanos(0),
            result: operation.extent.length as i64,
            short: false,
            worker: 0,
        });
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        if let (Wait::Until(time), true) = (wait, self.done.is_empty()) {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.now()).0));
        }
        out.append(&mut self.done);
    }
}
