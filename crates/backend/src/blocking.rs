//! Blocking calls that the issuing thread makes itself, one after the other.
//!
//! To add a method: implement [`Calls`] in a separate file, give it an engine in the plan, name it in `real.rs`, and add it to the
//! list of the conformance suite.

use crate::locked::Locked;
use crate::{Backend, Completion, Operation, Wait};
use iosonar_os::flight::Progress;
use iosonar_os::{Clock, discard, write_zeroes};
use iosonar_plan::{Durability, Extent, Nanos, Op, ShortPolicy};
use std::fs::File;
use std::io;
use std::time::Duration;

/// The errno of a call that failed without one: EIO.
const EIO: i32 = 5;

/// Mapping from operations to calls.
pub trait Calls: Send {
    /// Reads once; returns the bytes.
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes once; returns the bytes.
    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize>;

    /// Writes once, with the data on stable storage afterwards (FUA).
    fn write_durably(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let bytes = self.write(memory, at)?;
        self.flush(Op::Flush)?;
        Ok(bytes)
    }

    /// Brings earlier writes to stable storage: with metadata for an fsync.
    fn flush(&mut self, op: Op) -> io::Result<()>;

    /// The file, for operations that are the same for all methods.
    fn file(&self) -> &File;

    /// Writes data that this process still buffers to the kernel.
    fn flush_buffers(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Releases all pages and positions of the file, which something else is about to change.
    fn let_go(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Releases a stream or a mapping over the file; no call follows. `None` if there is neither.
    fn release(&mut self) -> Option<io::Result<()>> {
        None
    }
}

/// Flushes a file.
pub(crate) fn flush(file: &File, op: Op) -> io::Result<()> {
    if op == Op::Fsync { file.sync_all() } else { file.sync_data() }
}

/// Executes one operation.
pub(crate) fn execute<C: Calls>(
    calls: &mut C,
    clock: &Clock,
    completes: bool,
    mut operation: Operation,
    worker: u16,
) -> Completion {
    let submitted = Nanos(clock.now());
    let result = transfer(calls, completes, &mut operation);
    ended(operation, (submitted, Nanos(clock.now())), result, worker)
}

fn transfer<C: Calls>(calls: &mut C, completes: bool, operation: &mut Operation) -> (i64, bool) {
    let Extent { offset, length } = operation.extent;
    if !operation.op.is_transfer() {
        return (without_data(calls, operation.op, offset, length), false);
    }
    if operation.durability.has(Durability::PREFLUSH)
        && let Err(error) = calls.flush(Op::Flush)
    {
        return (errno(&error), false);
    }
    let is_durable = operation.durability.has(Durability::FUA);
    let mut progress = Progress::new(length, completes);
    loop {
        let (done, remaining) = (progress.done() as usize, progress.remaining() as usize);
        let at = offset + progress.done();
        let memory = &mut operation.buffer[done..done + remaining];
        let call = match operation.op {
            Op::Read => calls.read(memory, at),
            _ if is_durable => calls.write_durably(memory, at),
            _ => calls.write(memory, at),
        };
        if let Some(result) = progress.on_result(call.map_or_else(|e| errno(&e), |bytes| bytes as i64)) {
            return (result, progress.is_short());
        }
    }
}

fn without_data<C: Calls>(calls: &mut C, op: Op, offset: u64, length: u64) -> i64 {
    let (done, bytes) = match op {
        Op::Discard => (calls.let_go().and_then(|()| discard(calls.file(), offset, length)), length),
        Op::WriteZeroes => (calls.let_go().and_then(|()| write_zeroes(calls.file(), offset, length)), length),
        Op::Flush | Op::Fsync => (calls.flush(op), 0),
        _ => unreachable!("no source yields {op}"),
    };
    done.map_or_else(|error| errno(&error), |()| bytes as i64)
}

fn errno(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(EIO))
}

fn ended(operation: Operation, times: (Nanos, Nanos), result: (i64, bool), worker: u16) -> Completion {
    Completion {
        token: operation.token,
        buffer: operation.buffer,
        submitted: times.0,
        completed: times.1,
        reap_lag: Nanos(0),
        result: result.0,
        short: result.1,
        worker,
    }
}

/// The issuing thread makes the calls: they are submitted at once, and never queued.
#[derive(Debug)]
pub struct Blocking<C> {
    calls: C,
    clock: Clock,
    completes: bool,
    done: Vec<Completion>,
    /// Cached end of the last call, for the next query of the time.
    just_read: Option<Nanos>,
}

impl<C: Calls> Blocking<C> {
    pub(crate) fn over(calls: C, clock: Clock, depth: u32, short: ShortPolicy) -> Blocking<C> {
        let (completes, done) = (short == ShortPolicy::Complete, Vec::with_capacity(depth as usize));
        Blocking { calls, clock, completes, done, just_read: None }
    }

    /// The same backend, with a lock on the bytes of each request.
    pub fn locking(self) -> Blocking<Locked<C>> {
        let Blocking { calls, clock, completes, done, just_read } = self;
        Blocking { calls: Locked(calls), clock, completes, done, just_read }
    }
}

impl<C: Calls> Backend for Blocking<C> {
    fn now(&mut self) -> Nanos {
        self.just_read.take().unwrap_or_else(|| Nanos(self.clock.now()))
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        let completion = execute(&mut self.calls, &self.clock, self.completes, operation, 0);
        self.just_read = Some(completion.completed);
        self.done.push(completion);
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        if let (Wait::Until(time), true) = (wait, self.done.is_empty()) {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(Nanos(self.clock.now())).0));
        }
        out.append(&mut self.done);
    }

    fn flush_buffers(&mut self) -> io::Result<()> {
        self.calls.flush_buffers()
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        self.calls.release()
    }
}
