//! Blocking calls: one thread for each operation in flight, as a server would do that forks per request. With depth 1
//! the issuing thread makes the calls itself.

use crate::{Backend, Completion, Operation, Setup, Wait};
use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_os::flight::Progress;
use iosonar_os::{Clock, discard, set_timer_slack_1ns, write_durably_at, write_zeroes};
use iosonar_plan::{Durability, Extent, Nanos, Op, ShortPolicy};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Stack of a worker: it calls pread, pwrite and fdatasync, nothing deep.
const STACK: usize = 64 << 10;

/// Workers that are started beforehand: with so many, a request finds one ready. Starting one takes a new thread's time,
/// some 30 µs, which the first request that needs it has as delay; a thousand targets start four thousand.
const READY: usize = 4;

/// Calls `pread`, `pwrite`, `pwritev2`, `fdatasync`, `fallocate` and the ioctl `BLKDISCARD`.
#[derive(Debug)]
pub struct Threads(Kind);

#[derive(Debug)]
enum Kind {
    Alone(Alone),
    Crew(Crew),
}

/// The errno of a call that failed without one: EIO.
const EIO: i32 = 5;

impl Threads {
    /// On an open target. Workers are started when they are needed, a few of them now.
    ///
    /// # Errors
    /// Not even these few threads can be started.
    pub fn open(setup: Setup<'_>) -> std::io::Result<Threads> {
        set_timer_slack_1ns();
        let depth = setup.depth;
        let calls =
            Calls { file: setup.file, clock: setup.clock, completes: setup.short == ShortPolicy::Complete };
        Ok(Threads(match depth {
            0 | 1 => Kind::Alone(Alone { calls, done: Vec::with_capacity(1), just_read: None }),
            _ => Kind::Crew(Crew::new(calls, depth)?),
        }))
    }
}

/// Makes the calls of an operation.
#[derive(Debug)]
struct Calls {
    file: File,
    clock: Clock,
    completes: bool,
}

impl Calls {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now())
    }

    fn execute(&self, mut operation: Operation, worker: u16) -> Completion {
        let submitted = self.now();
        let (result, short) = self.transfer(&mut operation);
        ended(operation, (submitted, self.now()), (result, short), worker)
    }

    fn transfer(&self, operation: &mut Operation) -> (i64, bool) {
        let Extent { offset, length } = operation.extent;
        let changed = match operation.op {
            Op::Discard => Some(discard(&self.file, offset, length)),
            Op::WriteZeroes => Some(write_zeroes(&self.file, offset, length)),
            Op::Fsync => Some(self.file.sync_all()),
            _ => None,
        };
        if let Some(changed) = changed {
            return (changed.map_or_else(|e| errno(&e), |()| length as i64), false);
        }
        if operation.op == Op::Flush || operation.durability.has(Durability::PREFLUSH) {
            let flushed = self.file.sync_data();
            if operation.op == Op::Flush || flushed.is_err() {
                return (flushed.map_or_else(|e| errno(&e), |()| 0), false);
            }
        }
        let is_durable = operation.durability.has(Durability::FUA);
        let mut progress = Progress::new(operation.extent.length, self.completes);
        loop {
            let (done, remaining) = (progress.done() as usize, progress.remaining() as usize);
            let at = operation.extent.offset + progress.done();
            let memory = &mut operation.buffer[done..done + remaining];
            let call = match operation.op {
                Op::Read => self.file.read_at(memory, at),
                Op::Write if is_durable => write_durably_at(&self.file, memory, at),
                Op::Write => self.file.write_at(memory, at),
                _ => unreachable!("only reads and writes come here"),
            };
            if let Some(result) = progress.on_result(call.map_or_else(|e| errno(&e), |bytes| bytes as i64)) {
                return (result, progress.is_short());
            }
        }
    }
}

fn errno(error: &std::io::Error) -> i64 {
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

/// The issuing thread makes the calls itself: nothing is handed over, and nothing waits to be.
#[derive(Debug)]
struct Alone {
    calls: Calls,
    done: Vec<Completion>,
    /// The end of the last call, until somebody remaining for the time: it has just been read.
    just_read: Option<Nanos>,
}

impl Alone {
    fn now(&mut self) -> Nanos {
        self.just_read.take().unwrap_or_else(|| self.calls.now())
    }

    fn push(&mut self, operation: Operation) {
        let completion = self.calls.execute(operation, 0);
        self.just_read = Some(completion.completed);
        self.done.push(completion);
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        if let (Wait::Until(time), true) = (wait, self.done.is_empty()) {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.calls.now()).0));
        }
        out.append(&mut self.done);
    }
}

/// A worker for each operation in flight.
#[derive(Debug)]
struct Crew {
    calls: Arc<Calls>,
    depth: usize,
    /// None only while dropping: workers end when the jobs end.
    jobs: Option<Sender<Operation>>,
    done: Receiver<Completion>,
    /// What a new worker needs: where jobs come from, and where they go to.
    inbox: Receiver<Operation>,
    outbox: Sender<Completion>,
    workers: Vec<JoinHandle<()>>,
    /// Operations that were pushed and not reaped.
    in_flight: usize,
    /// Operations that no worker could be started for.
    refused: Vec<Completion>,
}

impl Crew {
    fn new(calls: Calls, depth: u32) -> std::io::Result<Crew> {
        let depth = depth as usize;
        let (jobs, inbox) = bounded(depth);
        let (outbox, done) = bounded(depth);
        let (calls, jobs, workers) = (Arc::new(calls), Some(jobs), Vec::with_capacity(depth));
        let mut crew =
            Crew { calls, depth, jobs, done, inbox, outbox, workers, in_flight: 0, refused: Vec::new() };
        (0..READY.min(depth)).try_for_each(|_| crew.start())?;
        Ok(crew)
    }

    fn start(&mut self) -> std::io::Result<()> {
        let (calls, inbox, outbox) = (self.calls.clone(), self.inbox.clone(), self.outbox.clone());
        let index = self.workers.len();
        let work = move || {
            for operation in inbox {
                // The engine may be gone after an abort; then nobody wants to know.
                let _ = outbox.send(calls.execute(operation, index as u16));
            }
        };
        self.workers
            .push(std::thread::Builder::new().name(format!("io-{index}")).stack_size(STACK).spawn(work)?);
        Ok(())
    }

    fn push(&mut self, operation: Operation) {
        self.in_flight += 1;
        let lacks = self.in_flight > self.workers.len() && self.workers.len() < self.depth;
        if lacks && let Err(error) = self.start() {
            let now = self.calls.now();
            return self.refused.push(ended(operation, (now, now), (errno(&error), false), 0));
        }
        let jobs = self.jobs.as_ref().expect("jobs end only with the backend");
        jobs.send(operation).expect("workers outlive the jobs");
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        let before = out.len();
        out.append(&mut self.refused);
        out.extend(self.done.try_iter());
        if let (Wait::Until(time), true) = (wait, out.len() == before) {
            let left = time.saturating_sub(self.calls.now());
            let deadline = Instant::now() + Duration::from_nanos(left.0);
            out.extend(self.done.recv_deadline(deadline));
            out.extend(self.done.try_iter());
        }
        self.in_flight -= out.len() - before;
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // A worker that panicked has lost its operation; the engine has said so already.
            let _ = worker.join();
        }
    }
}

impl Backend for Threads {
    fn now(&mut self) -> Nanos {
        match &mut self.0 {
            Kind::Alone(alone) => alone.now(),
            Kind::Crew(crew) => crew.calls.now(),
        }
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        match &mut self.0 {
            Kind::Alone(alone) => alone.push(operation),
            Kind::Crew(crew) => crew.push(operation),
        }
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        match &mut self.0 {
            Kind::Alone(alone) => alone.reap(wait, out),
            Kind::Crew(crew) => crew.reap(wait, out),
        }
    }
}
