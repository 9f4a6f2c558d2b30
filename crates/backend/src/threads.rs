//! Blocking calls: one thread for each operation in flight, as a server would do that forks per request. Where the machine
//! allows fewer threads, the others wait for one. With depth 1 the issuing thread makes the calls itself.

use crate::blocking::{Blocking, Calls, execute, flush};
use crate::{Backend, Completion, Operation, Setup, Wait};
use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_os::{Clock, set_timer_slack_1ns, write_durably_at};
use iosonar_plan::{Nanos, Op, ShortPolicy};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Stack of a worker: it calls pread, pwrite and fdatasync, nothing deep.
const STACK: usize = 64 << 10;

/// Workers that are started beforehand: with this many, a request finds one ready. Starting one takes a new thread's time, some 30
/// µs, which the first request that needs it has as delay; a thousand targets start four thousand.
const READY: usize = 4;

/// Calls `pread`, `pwrite`, `pwritev2`, `fdatasync`, `fallocate` and the ioctl `BLKDISCARD`.
#[derive(Debug)]
pub struct Threads(Kind);

#[derive(Debug)]
enum Kind {
    Alone(Blocking<Positional>),
    WorkerPool(WorkerPool),
}

impl Threads {
    /// A backend on an open target. Workers are started when they are needed, a few of them now.
    ///
    /// # Errors
    /// Not even these few threads can be started.
    pub fn open(setup: Setup<'_>) -> std::io::Result<Threads> {
        set_timer_slack_1ns();
        if setup.depth <= 1 {
            return Ok(Threads(Kind::Alone(alone(setup))));
        }
        let calls = Positional(Arc::new(setup.file));
        let completes = setup.short == ShortPolicy::Complete;
        Ok(Threads(Kind::WorkerPool(WorkerPool::new(
            calls,
            setup.clock,
            completes,
            setup.depth + setup.extra,
        )?)))
    }
}

/// Calls by the issuing thread alone.
pub(crate) fn alone(setup: Setup<'_>) -> Blocking<Positional> {
    Blocking::over(Positional(Arc::new(setup.file)), setup.clock, setup.depth, setup.short)
}

/// A file for positional calls.
#[derive(Debug, Clone)]
pub struct Positional(Arc<File>);

impl Calls for Positional {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(memory, at)
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        self.0.write_at(memory, at)
    }

    fn write_durably(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        write_durably_at(&self.0, memory, at)
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        flush(&self.0, op)
    }

    fn file(&self) -> &File {
        &self.0
    }
}

/// A worker for each operation in flight, or the maximum that the machine allows.
#[derive(Debug)]
struct WorkerPool {
    calls: Positional,
    clock: Clock,
    completes: bool,
    /// Maximum number of workers. Once the machine has refused another one it is their present number: operations wait for a free
    /// worker then.
    most: usize,
    /// `None` only while dropping: workers end when the jobs end.
    jobs: Option<Sender<Operation>>,
    done: Receiver<Completion>,
    /// Ends of the queues for a new worker: source of jobs, and destination of completions.
    inbox: Receiver<Operation>,
    outbox: Sender<Completion>,
    workers: Vec<JoinHandle<()>>,
    /// Operations that were pushed and not reaped.
    in_flight: usize,
}

impl WorkerPool {
    fn new(calls: Positional, clock: Clock, completes: bool, depth: u32) -> io::Result<WorkerPool> {
        let depth = depth as usize;
        let (jobs, inbox) = bounded(depth);
        let (outbox, done) = bounded(depth);
        let (jobs, workers) = (Some(jobs), Vec::with_capacity(depth));
        let mut crew = WorkerPool {
            calls,
            clock,
            completes,
            most: depth,
            jobs,
            done,
            inbox,
            outbox,
            workers,
            in_flight: 0,
        };
        (0..READY.min(depth)).try_for_each(|_| crew.start())?;
        Ok(crew)
    }

    fn start(&mut self) -> io::Result<()> {
        let (clock, completes) = (self.clock.clone(), self.completes);
        let (mut calls, inbox, outbox) = (self.calls.clone(), self.inbox.clone(), self.outbox.clone());
        let index = self.workers.len();
        let work = move || {
            for operation in inbox {
                // The engine may be gone after an abort; then completions have no receiver.
                let _ = outbox.send(execute(&mut calls, &clock, completes, operation, index as u16));
            }
        };
        self.workers
            .push(std::thread::Builder::new().name(format!("io-{index}")).stack_size(STACK).spawn(work)?);
        Ok(())
    }

    fn push(&mut self, operation: Operation) {
        self.in_flight += 1;
        let lacks = self.in_flight > self.workers.len() && self.workers.len() < self.most;
        if lacks && self.start().is_err() {
            self.most = self.workers.len();
        }
        let jobs = self.jobs.as_ref().expect("jobs end only with the backend");
        jobs.send(operation).expect("workers outlive the jobs");
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        let before = out.len();
        out.extend(self.done.try_iter());
        if let (Wait::Until(time), true) = (wait, out.len() == before) {
            let left = time.saturating_sub(Nanos(self.clock.now()));
            let deadline = Instant::now() + Duration::from_nanos(left.0);
            out.extend(self.done.recv_deadline(deadline));
            out.extend(self.done.try_iter());
        }
        self.in_flight -= out.len() - before;
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // A worker that panicked has lost its operation; the engine has reported it already.
            let _ = worker.join();
        }
    }
}

impl Backend for Threads {
    fn now(&mut self) -> Nanos {
        match &mut self.0 {
            Kind::Alone(alone) => alone.now(),
            Kind::WorkerPool(crew) => Nanos(crew.clock.now()),
        }
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        match &mut self.0 {
            Kind::Alone(alone) => alone.push(operation),
            Kind::WorkerPool(crew) => crew.push(operation),
        }
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        match &mut self.0 {
            Kind::Alone(alone) => alone.reap(wait, out),
            Kind::WorkerPool(crew) => crew.reap(wait, out),
        }
    }
}
