//! One blocking thread for each operation in flight, as a server would do that forks per request.

use crate::{Backend, Completion, Operation, Wait};
use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_os::{Clock, set_timer_slack_1ns};
use iosonar_plan::{Nanos, Op};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Stack of a worker: it calls pread and pwrite, nothing deep.
const STACK: usize = 64 << 10;

/// Worker threads that call `pread` and `pwrite`.
#[derive(Debug)]
pub struct Threads {
    clock: Clock,
    /// None only while dropping: workers end when the jobs end.
    jobs: Option<Sender<Operation>>,
    done: Receiver<Completion>,
    workers: Vec<JoinHandle<()>>,
}

impl Threads {
    /// `depth` workers on an open target.
    pub fn new(file: File, clock: Clock, depth: u32) -> std::io::Result<Threads> {
        set_timer_slack_1ns();
        let file = Arc::new(file);
        let (jobs, inbox) = bounded::<Operation>(depth as usize);
        let (outbox, done) = bounded(depth as usize);
        let spawn = |index: u32| {
            let (file, clock, inbox, outbox) = (file.clone(), clock.clone(), inbox.clone(), outbox.clone());
            let work = move || {
                for operation in inbox {
                    // The engine may be gone after an abort; then nobody wants to know.
                    let _ = outbox.send(carry_out(&file, &clock, operation, index as u16));
                }
            };
            std::thread::Builder::new().name(format!("io-{index}")).stack_size(STACK).spawn(work)
        };
        let workers = (0..depth).map(spawn).collect::<std::io::Result<_>>()?;
        Ok(Threads { clock, jobs: Some(jobs), done, workers })
    }
}

fn carry_out(file: &File, clock: &Clock, mut operation: Operation, worker: u16) -> Completion {
    let submitted = Nanos(clock.now());
    let (result, short) = transfer(file, &mut operation);
    let completed = Nanos(clock.now());
    Completion {
        token: operation.token,
        buffer: operation.buffer,
        submitted,
        completed,
        reap_lag: Nanos(0),
        result,
        short,
        worker,
    }
}

/// Transfers the whole extent, going on after short transfers until one transfers nothing.
fn transfer(file: &File, operation: &mut Operation) -> (i64, bool) {
    let (offset, length) = (operation.extent.offset, operation.extent.length as usize);
    let (mut done, mut short) = (0, false);
    while done < length {
        let at = offset + done as u64;
        let step = match operation.op {
            Op::Read => file.read_at(&mut operation.buffer[done..], at),
            Op::Write => file.write_at(&operation.buffer[done..], at),
        };
        match step {
            Ok(0) => return (done as i64, true),
            Ok(n) => {
                done += n;
                short |= done < length;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return (-i64::from(e.raw_os_error().unwrap_or(5)), short),
        }
    }
    (done as i64, short)
}

impl Backend for Threads {
    fn now(&mut self) -> Nanos {
        Nanos(self.clock.now())
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        let jobs = self.jobs.as_ref().expect("jobs end only with the backend");
        jobs.send(operation).expect("workers outlive the jobs");
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        let before = out.len();
        out.extend(self.done.try_iter());
        let Wait::Until(time) = wait else { return };
        if out.len() == before {
            let left = time.saturating_sub(self.now());
            let deadline = Instant::now() + Duration::from_nanos(left.0);
            out.extend(self.done.recv_deadline(deadline));
            out.extend(self.done.try_iter());
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // A worker that panicked has lost its operation; the engine has said so already.
            let _ = worker.join();
        }
    }
}
