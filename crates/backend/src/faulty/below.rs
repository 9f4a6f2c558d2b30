//! A backend below a wrapper, with further operations of the wrapper that are awaited.

use crate::{Backend, Completion, Operation, Token, Wait};
use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, Nanos, Op};

/// Later than any completion.
pub(super) const FAR: Nanos = Nanos(u64::MAX >> 1);

/// Buffers that are kept for the next use.
const SPARE: usize = 8;

pub(super) struct Below {
    pub(super) backend: Box<dyn Backend>,
    /// Completions of the caller's operations that were seen while the wrapper waited for one of its operations.
    pub(super) ready: Vec<Completion>,
    spare: Vec<Buffer>,
    /// Token of the wrapper's operations.
    own: Token,
}

impl Below {
    pub(super) fn new(backend: Box<dyn Backend>, own: Token) -> Below {
        Below { backend, ready: Vec::new(), spare: Vec::new(), own }
    }

    pub(super) fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    /// A buffer for the wrapper, with any content.
    pub(super) fn take_buffer(&mut self, length: usize) -> Buffer {
        let mut buffer = self.spare.pop().unwrap_or(Buffer::empty());
        buffer.set_len(length);
        buffer
    }

    pub(super) fn give_buffer(&mut self, buffer: Buffer) {
        if self.spare.len() < SPARE {
            self.spare.push(buffer);
        }
    }

    pub(super) fn copy_of(&mut self, data: &[u8]) -> Buffer {
        let mut copy = self.take_buffer(data.len());
        copy.copy_from_slice(data);
        copy
    }

    /// Executes an operation of the wrapper itself, and waits for it; returns the buffer and the result.
    pub(super) fn execute(
        &mut self,
        op: Op,
        durability: Durability,
        extent: Extent,
        buffer: Buffer,
    ) -> (Buffer, i64) {
        self.backend.push(Operation { token: self.own, op, durability, extent, buffer });
        loop {
            let first = self.ready.len();
            self.backend.reap(Wait::Until(FAR), &mut self.ready);
            if let Some(own) = (first..self.ready.len()).find(|at| self.ready[*at].token == self.own) {
                let Completion { buffer, result, .. } = self.ready.remove(own);
                return (buffer, result);
            }
        }
    }

    /// Content of a place; zeros after the end of a file. `None` if it cannot be read.
    pub(super) fn read_now(&mut self, extent: Extent) -> Option<Buffer> {
        let buffer = self.take_buffer(extent.length as usize);
        let (mut buffer, result) = self.execute(Op::Read, Durability::NONE, extent, buffer);
        match usize::try_from(result) {
            Ok(done) => {
                buffer[done..].fill(0);
                Some(buffer)
            }
            Err(_) => {
                self.give_buffer(buffer);
                None
            }
        }
    }

    /// Reaps completions, without waiting if there are any already.
    pub(super) fn reap(&mut self, wait: Wait) {
        let wait = if self.ready.is_empty() { wait } else { Wait::No };
        self.backend.reap(wait, &mut self.ready);
    }
}
