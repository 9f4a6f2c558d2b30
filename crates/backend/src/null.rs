//! No I/O: every operation completes at once, so only the cost of the generator itself remains.

use crate::{Backend, Completion, Operation, Token, Wait};
use iosonar_os::{Buffer, Clock};
use iosonar_plan::Nanos;
use std::time::Duration;

/// Completes every operation as soon as it is submitted, on the real clock.
#[derive(Debug)]
pub struct Null {
    clock: Clock,
    /// Tokens and lengths of pushed operations; the submitted ones first.
    operations: Vec<(Token, u64)>,
    /// Submission times of those.
    submitted: Vec<Nanos>,
}

impl Null {
    /// A backend of at most `depth` operations between two reaps.
    pub fn new(clock: Clock, depth: u32) -> Null {
        let depth = depth as usize;
        let (operations, submitted) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        Null { clock, operations, submitted }
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
        self.operations.push((operation.token, operation.extent.length));
    }

    fn submit(&mut self) {
        if self.submitted.len() < self.operations.len() {
            let now = self.now();
            self.submitted.resize(self.operations.len(), now);
        }
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        self.submit();
        if self.operations.is_empty() {
            if let Wait::Until(time) = wait {
                std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.now()).0));
            }
            return;
        }
        let completed = self.now();
        let operations = self.operations.drain(..).zip(self.submitted.drain(..));
        out.extend(operations.map(|((token, length), submitted)| Completion {
            token,
            buffer: Buffer::empty(),
            submitted,
            completed,
            reap_lag: completed.saturating_sub(submitted),
            result: length as i64,
            short: false,
            worker: 0,
        }));
    }
}
