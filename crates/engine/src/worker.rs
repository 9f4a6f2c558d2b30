//! The issuing loop: asks the scheduler, executes its decisions, records the results.
//!
//! One thread runs it for one target, or for one job of several on a target. Each turn looks for completions, reads the clock once,
//! and then executes whatever the scheduler finds due, up to a batch; the backend submits a batch at once. Between due times it
//! sleeps, and spins at the end of a sleep; both see completions. Before it sleeps or waits it makes the data of the next write,
//! slice by slice, with a look for completions after each slice; in the same way it checks the data of long reads.

mod verifying;

use crate::control::Control;
use crate::coordinator::{Next, Permit};
use crate::feed::{Answer, Feed};
use crate::file_session::{FileContext, reason};
use crate::files::{Step, TargetFile};
use crate::pass_barrier::Member;
use crate::passes::{PassRules, WorkerContext};
use crate::payload::{DataRequest, Payloads, SLICE};
use crate::progress::Gauge;
use crate::verify::Checker;
use iosonar_archive::{Checks, Marks, Outcome, PassTimes, Record, Stalls};
use iosonar_backend::{Backend, Completion, Operation, Token, Wait};
use iosonar_evidence::WrittenRange;
use iosonar_load::{IssuedHash, LoadError, SourceRequest};
use iosonar_os::Buffer;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_plan::{Extent, FileStep, Nanos, Op, Overlap, OverlapPolicy, Placement, ThinkTime};
use iosonar_record::{Recorder, WriterGone};
use iosonar_sched::{Counters, Decision, Issue, Request, Scheduler, Slot};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How often a waiting loop checks for a stop, and passes on records.
const POLL: Nanos = Nanos(50_000_000);

/// Interval of asking a source that had no request yet.
const ASK_AGAIN: Nanos = Nanos(500_000);

/// Minimum idle time before a due request in which data is checked.
const LEAST_IDLE: Nanos = Nanos(5_000);

/// Most passes of a run that only time ends: their times are kept, and memory does not follow the length of a run.
const MOST_PASSES: u32 = 1 << 20;

/// Most requests that are submitted to the kernel at once: the first of them waits until the last is ready. Each takes two
/// decisions, one that offers it and one that issues it.
const BATCH: u32 = 32;

/// Settings of a worker, from the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) target: u16,
    /// Number of the phase in the plan.
    pub(crate) phase: u16,
    /// Number of the loop among several of the job.
    pub(crate) job: Option<u16>,
    pub(crate) depth: u32,
    pub(crate) overlap: Overlap,
    pub(crate) placement: Placement,
    /// How long before a due time to stop sleeping.
    pub(crate) spin: Nanos,
    /// Pauses between its requests.
    pub(crate) think_time: Option<ThinkTime>,
    pub(crate) max_errors: Option<u64>,
    /// Whether any of its requests may be a write.
    pub(crate) writes: bool,
    /// Requests of a pass, where a scan has counted them.
    pub(crate) expected: Option<u64>,
    pub(crate) rules: PassRules,
}

impl Settings {
    /// The scheduler of a pass.
    fn scheduler(&self, delays: Option<Arc<[Nanos]>>) -> Scheduler<Origin> {
        Scheduler::new(self.depth, self.overlap).with_think_time(self.think_time).with_delays(delays)
    }
}

/// Data that a request carries from its source to its record.
#[derive(Debug, Clone, Copy, Default)]
struct Origin {
    load_time: Nanos,
    requested: Extent,
    marks: Marks,
}

/// Result of issuing a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Issued {
    /// The request is at the backend.
    Gone,
    /// It waits for memory.
    NeedsMemory,
    /// It needs more of its data.
    NeedsData,
}

/// Why a worker stopped before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("request {sequence} of {length} bytes is larger than the target of {size} bytes")]
    TooLarge { sequence: u64, length: u64, size: u64 },
    #[error(
        "request {sequence} of {length} bytes does not fit into the target's share of memory for data: raise --buffer-memory (memory.buffers in a plan)"
    )]
    NoMemory { sequence: u64, length: u64 },
    #[error("no thread could be started to read the load ({0}): raise the limit on processes (ulimit -u)")]
    Thread(std::io::Error),
    #[error("its file could not be opened for pass {pass}: {error}")]
    File { pass: u32, error: std::io::Error },
    #[error("the file operation {step} failed: {error}{}", reason(*step, error))]
    FileStep { step: FileStep, error: std::io::Error },
    #[error("what was written could not be flushed at the end of a pass: {0}")]
    Flush(std::io::Error),
    #[error("its load changed while it was replayed: {offered} requests came of {expected}")]
    Changed { offered: u64, expected: u64 },
    #[error("its worker panicked, which is a bug: please report it with the command")]
    Panicked,
    #[error(transparent)]
    Writer(#[from] WriterGone),
}

/// The end of a worker.
pub(crate) struct WorkerEnd {
    pub(crate) counters: WorkerCounters,
    pub(crate) result: Result<(), WorkerError>,
    /// The backend, if it stays open until the last sample was taken; see [`WorkerContext::stays_open`].
    pub(crate) open: Option<Box<dyn Backend>>,
}

impl WorkerEnd {
    /// The end of a worker that has done nothing.
    pub(crate) fn without_work(result: Result<(), WorkerError>) -> WorkerEnd {
        WorkerEnd { counters: WorkerCounters::default(), result, open: None }
    }
}

/// Counters of a worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkerCounters {
    pub(crate) scheduler: Counters,
    pub(crate) max_requested_end: u64,
    pub(crate) lines: u64,
    pub(crate) issued: IssuedHash,
    /// Range from the lowest to the highest byte that requests change.
    pub(crate) written: Option<WrittenRange>,
    pub(crate) recorder_stalls: Stalls,
    pub(crate) buffer_stalls: Stalls,
    /// When it ended, on the run's clock.
    pub(crate) ended_at: Nanos,
    /// Start and end of each pass.
    pub(crate) passes: Vec<PassTimes>,
    pub(crate) checks: Checks,
    /// It was stopped before all requests were issued.
    pub(crate) stopped: bool,
    /// Why it ended early without a stop.
    pub(crate) ended_early: Option<String>,
}

/// One issuing loop.
pub(crate) struct Worker<'a> {
    settings: Settings,
    backend: Box<dyn Backend>,
    payloads: Payloads,
    context: WorkerContext<'a>,
    recorder: Recorder,
    control: &'a Control,
    gauge: &'a Gauge,
    /// When the phase began, on the run's clock.
    origin: Nanos,
    /// Duration of opening the file of this pass, and CPU time of the thread at its start.
    open_ns: u64,
    cpu_ns: u64,
    pass: u32,
    is_last_pass: bool,
    /// Start of the pass on the run's clock, and the end of its work so far.
    start: Nanos,
    last_end: Nanos,
    scheduler: Scheduler<Origin>,
    done: Vec<Completion>,
    /// A request that has its slot and waits for memory, and since when.
    stalled: Option<(Slot, Nanos)>,
    /// A request that has its slot, and memory whose data is not whole yet.
    unmade: Option<Slot>,
    /// Bytes of data made since the last submission.
    made: u64,
    /// Slots whose requests had to wait for memory.
    without_buffer: Vec<bool>,
    /// Requests of the pass that its source has offered.
    offered: u64,
    /// Steps of the pass that are recorded.
    steps: u64,
    counters: WorkerCounters,
    error: Option<WorkerError>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        settings: Settings,
        backend: Box<dyn Backend>,
        payloads: Payloads,
        context: WorkerContext<'a>,
        recorder: Recorder,
        control: &'a Control,
        gauge: &'a Gauge,
    ) -> Worker<'a> {
        let (depth, scheduler) = (settings.depth as usize, settings.scheduler(context.delays.clone()));
        Worker {
            settings,
            backend,
            payloads,
            context,
            recorder,
            control,
            gauge,
            origin: Nanos(0),
            open_ns: 0,
            cpu_ns: 0,
            pass: 0,
            is_last_pass: true,
            start: Nanos(0),
            last_end: Nanos(0),
            scheduler,
            done: Vec::with_capacity(depth),
            stalled: None,
            unmade: None,
            made: 0,
            without_buffer: vec![false; depth],
            offered: 0,
            steps: 0,
            counters: WorkerCounters::default(),
            error: None,
        }
    }

    /// Executes `passes` passes of a phase that starts at `origin`; `open` returns the requests of each, ready to go.
    pub(crate) fn run(
        mut self,
        origin: Nanos,
        passes: u32,
        member: &Member<'_>,
        mut open: impl FnMut(u32) -> Result<Feed, WorkerError>,
    ) -> WorkerEnd {
        self.origin = origin;
        self.settings.rules = self.settings.rules.from(origin);
        let added = self.settings.rules.runtime.map(|_| MOST_PASSES);
        for pass in 0..added.unwrap_or(passes) {
            let mut feed = match open(pass) {
                Ok(feed) => feed,
                Err(error) => {
                    self.fail(error);
                    break;
                }
            };
            self.is_last_pass = pass + 1 == passes && added.is_none();
            if let Err(error) = self.begin(pass, member) {
                self.fail(error);
                self.end_pass(true);
                break;
            }
            let is_over = pass > 0 && (self.settings.rules.is_over(self.start) || self.is_first_done());
            while !is_over && self.turn(&mut feed) {}
            self.check_all();
            self.read_again_to_the_end();
            self.end_pass(is_over);
            self.count(feed.lines());
            if is_over || self.error.is_some() || self.counters.stopped || self.counters.ended_early.is_some()
            {
                break;
            }
        }
        self.context.participant = None;
        self.tell_done();
        let now = self.backend.now();
        self.counters.ended_at = now;
        self.counters.checks = self.context.checker.as_mut().map(Checker::take_checks).unwrap_or_default();
        self.gauge.end(now);
        let finished = self.recorder.finish().map(|stalls| self.counters.recorder_stalls = stalls);
        let result = self.error.map_or(finished.map_err(WorkerError::from), Err);
        WorkerEnd { counters: self.counters, result, open: self.context.stays_open.then_some(self.backend) }
    }

    /// The first pass starts when its phase does, not when this thread woke up: that would hide its delay. A later one
    /// starts when all targets are there, and everything is made before it.
    fn begin(&mut self, pass: u32, member: &Member<'_>) -> Result<(), WorkerError> {
        let rules = self.settings.rules;
        self.pass = pass;
        self.gauge.set_pass(pass);
        (self.offered, self.steps) = (0, 0);
        self.payloads.begin(pass);
        if let Some(checker) = &mut self.context.checker {
            checker.begin_pass(pass);
        }
        if pass > 0 {
            self.scheduler = self.settings.scheduler(self.context.delays.clone());
            let ended = self.backend.now();
            let ended = member.await_others(ended);
            // Rejoins only after all have ended the pass: a loop still at a meeting would wait for this one.
            if let Some(participant) = &mut self.context.participant {
                participant.rejoin();
            }
            self.rest_until(ended.saturating_add(rules.delay));
            // A pass that comes too late makes no file.
            if !rules.is_over(self.backend.now()) {
                self.reopen(pass)?;
                self.execute_steps(self.context.before)?;
                self.payloads.purge_cpu_cache();
            }
            let ready = self.backend.now();
            self.start = if rules.has_steps_between { member.await_others(ready) } else { ended };
        } else {
            self.start = self.origin;
            if rules.has_steps {
                self.execute_steps(self.context.before)?;
                self.payloads.purge_cpu_cache();
                self.start = member.await_others(self.backend.now());
                // Other processes may let it start later.
                self.rest_until(self.start);
            }
            if rules.start_delay > Nanos(0) {
                let begin = self.start.saturating_add(rules.start_delay);
                self.rest_until(begin);
                self.start = begin.saturating_add(self.context.lateness.most());
                self.rest_until(self.start);
            }
        }
        self.backend.skip_to(self.start);
        if let Some(participant) = &self.context.participant {
            participant.begin(pass, self.start);
        }
        self.cpu_ns = thread_cpu_ns();
        Ok(())
    }

    /// Whether the phase is over, because a job of it is done.
    fn is_first_done(&self) -> bool {
        self.settings.rules.ends_with_first && self.context.first_done.load(Relaxed)
    }

    /// Ends the phase for all, where the plan says so, if all loops of this job have done their work.
    fn tell_done(&self) {
        let is_done = self.error.is_none() && !self.counters.stopped && self.counters.ended_early.is_none();
        if self.settings.rules.ends_with_first
            && is_done
            && self.context.job_status.count_done() == self.context.loops
        {
            self.context.first_done.store(true, Relaxed);
            self.context.others.tell_first_done(self.settings.phase);
        }
    }

    /// Continues with the file of this pass, where passes have separate files.
    fn reopen(&mut self, pass: u32) -> Result<(), WorkerError> {
        let Some(file) = self.context.file.clone().filter(|file| file.changes()) else { return Ok(()) };
        let cannot = |error| WorkerError::File { pass: pass + 1, error };
        let opened = file.of_pass(pass, self.context.access, &mut || self.backend.now()).map_err(cannot)?;
        self.backend = (self.context.remake)(Some(opened.file), self.payloads.pool()).map_err(cannot)?;
        if file.makes_files() {
            self.context.checker.iter_mut().for_each(Checker::forget);
        }
        self.open_ns = opened.open_time.0;
        opened.steps.into_iter().for_each(|step| self.record_step(step, None));
        Ok(())
    }

    /// Executes file operations, in order, up to one that fails. Each is a record.
    fn execute_steps(&mut self, steps: &[FileStep]) -> Result<(), WorkerError> {
        let Some(target) = self.context.file.clone() else { return Ok(()) };
        for &step in steps {
            self.execute_step(step, &target).map_err(|error| WorkerError::FileStep { step, error })?;
        }
        Ok(())
    }

    fn execute_step(&mut self, step: FileStep, target: &TargetFile) -> std::io::Result<()> {
        let (mut told, control) = (Vec::with_capacity(2), self.control);
        let mut tell = |step, error: Option<&std::io::Error>| {
            told.push((step, error.map(|error| error.raw_os_error().unwrap_or(libc::EIO))));
        };
        let session = &mut self.context.session;
        let done = match step {
            FileStep::Close => {
                let mut idle = (self.context.remake)(None, None)?;
                let mut clock = (self.context.remake)(None, None)?;
                let backend = &mut self.backend;
                let release = || {
                    let released = backend.release();
                    std::mem::swap(backend, &mut idle);
                    drop(idle);
                    released
                };
                session.close(&mut || clock.now(), release, &mut tell)
            }
            _ => {
                let mut around = FileContext {
                    access: self.context.access,
                    writes: self.settings.writes,
                    backend: self.backend.as_mut(),
                    is_stopped: &|now| control.is_stopped(now),
                };
                session.execute(step, target, &mut around, &mut tell)
            }
        };
        for (step, error) in told {
            if step.op == Op::Open {
                self.open_ns = step.end.saturating_sub(step.start).0;
            }
            self.record_step(step, error);
        }
        done?;
        if step.changes_file() {
            self.context.checker.iter_mut().for_each(Checker::forget);
        }
        if matches!(step, FileStep::Open | FileStep::Create) {
            let file = self.context.session.file(target)?;
            self.backend = (self.context.remake)(Some(file), self.payloads.pool())?;
        }
        Ok(())
    }

    /// Idles until a time, or until the run is stopped.
    fn rest_until(&mut self, time: Nanos) {
        self.backend.skip_to(time);
        loop {
            let now = self.backend.now();
            if now >= time || self.control.is_stopped(now) || self.settings.rules.is_over(now) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_nanos(time.saturating_sub(now).min(POLL).0));
        }
    }

    /// Flushes written data, if the plan wants it, and keeps the times of the pass.
    fn end_pass(&mut self, is_empty: bool) {
        if let Some(file) = self
            .context
            .file
            .as_ref()
            .filter(|file| file.syncs(self.pass) && self.settings.writes && !is_empty)
        {
            let start = self.backend.now();
            let flushed = self.backend.flush_buffers().and_then(|()| file.flush());
            self.last_end = self.backend.now();
            let step = Step::new(Op::Fsync, start, self.last_end);
            let errno = flushed.as_ref().err().map(|error| error.raw_os_error().unwrap_or(libc::EIO));
            self.record_step(step, errno);
            if let Err(error) = flushed {
                self.fail(WorkerError::Flush(error));
            }
        }
        // Checking the last request, and waiting for others after it, is no time of the pass.
        let end = self.last_end.max(self.start);
        let is_whole = !is_empty && self.error.is_none() && !self.counters.stopped;
        if is_whole && let Err(error) = self.execute_steps(self.context.after) {
            self.fail(error);
        }
        if let Some(participant) = &mut self.context.participant {
            participant.end(end);
        }
        if is_empty {
            return;
        }
        self.counters.passes.push(PassTimes {
            target: self.settings.target,
            job: self.settings.job.unwrap_or(0),
            phase: self.settings.phase,
            pass: self.pass,
            start: self.start,
            end,
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_ns),
            open_ns: self.open_ns,
        });
    }

    fn count(&mut self, lines: u64) {
        let (sum, new) = (&mut self.counters.scheduler, self.scheduler.counters());
        sum.max_in_flight = sum.max_in_flight.max(new.max_in_flight);
        sum.max_waiting = sum.max_waiting.max(new.max_waiting);
        sum.full_count += new.full_count;
        sum.full_total.0 += new.full_total.0;
        self.counters.lines = self.counters.lines.max(lines);
    }

    /// One turn of the loop; `false` when the pass is over.
    fn turn(&mut self, feed: &mut Feed) -> bool {
        self.reap(Wait::No);
        let now = self.backend.now();
        self.read_again(now);
        if self.control.is_stopped(now) {
            let is_held = self.stalled.is_some() || self.unmade.is_some() || self.checked_slot().is_some();
            self.counters.stopped |= self.scheduler.has_more() || is_held || !self.is_last_pass;
            self.stop(now);
        } else if let Some(why) = self.context.job_status.over() {
            self.end_early(why, now);
        } else if self.is_first_done() {
            self.stop(now);
        }
        let goes_on = self.act(feed, now);
        self.submit();
        if let Err(gone) = self.recorder.tick(now) {
            self.fail(gone.into());
        }
        goes_on
    }

    fn submit(&mut self) {
        self.backend.submit();
        self.made = 0;
    }

    /// Executes the decisions due at this moment, up to a batch; `false` when the pass is over.
    fn act(&mut self, feed: &mut Feed, now: Nanos) -> bool {
        for _ in 0..2 * BATCH {
            match self.next(now) {
                Decision::Offer => {
                    if !self.offer(feed, now) {
                        return true;
                    }
                }
                Decision::Issue(slot) => match self.issue(slot, now) {
                    Issued::Gone => {}
                    Issued::NeedsMemory => {
                        self.wait(Nanos(u64::MAX));
                        return true;
                    }
                    Issued::NeedsData => return true,
                },
                Decision::Drop(request, by) => self.record_unsent(&request, Outcome::Dropped, Some(by), now),
                Decision::Cancel(request) => self.cancel(&request, now),
                Decision::Sleep(until) => {
                    self.sleep(until);
                    return true;
                }
                Decision::Wait => {
                    if !self.make_next(feed, now) {
                        self.wait(Nanos(u64::MAX));
                    }
                    return true;
                }
                Decision::Finished => return false,
            }
        }
        true
    }

    /// A request that waits for memory or data goes before all others: it has its slot already.
    fn next(&mut self, now: Nanos) -> Decision<Origin> {
        match self.held().or_else(|| self.checked_slot()) {
            Some(slot) => Decision::Issue(slot),
            None => self.scheduler.next(now),
        }
    }

    fn held(&self) -> Option<Slot> {
        self.stalled.map(|(slot, _)| slot).or(self.unmade)
    }

    /// Sleeps until shortly before `until`, then spins.
    fn sleep(&mut self, until: Nanos) {
        // Requests already due must not wait for the next due time.
        self.submit();
        let mut now = self.backend.now();
        if until <= now {
            return;
        }
        if let Some(head) = self.scheduler.head() {
            let content = self.content(head);
            if self.make_ahead(content) {
                return;
            }
            now = self.backend.now();
        }
        if until.saturating_sub(now) > LEAST_IDLE && self.check_while_idle(until.saturating_sub(LEAST_IDLE)) {
            return;
        }
        let spin = self.settings.spin;
        if !self.backend.is_timed() || until.saturating_sub(now) > spin {
            self.wait(until.saturating_sub(spin));
        } else {
            self.spin(until);
        }
    }

    /// Makes the data of the request that goes after the next completion; `true` if one came meanwhile.
    fn make_next(&mut self, feed: &mut Feed, now: Nanos) -> bool {
        if !self.settings.writes || !self.payloads.has_room_ahead() {
            return false;
        }
        let next = match self.scheduler.head() {
            Some(head) => Some(self.content(head)),
            None => feed.upcoming(now.saturating_sub(self.start)).and_then(|item| self.content_of(&item)),
        };
        next.is_some_and(|content| self.make_ahead(content))
    }

    /// Makes data while nothing else is to be done; `true` if a completion or a stop ends that.
    fn make_ahead(&mut self, content: DataRequest) -> bool {
        if !self.payloads.is_to_be_made(&content) {
            return false;
        }
        self.submit();
        while !self.payloads.prepare(content) {
            if self.reap(Wait::No) {
                return true;
            }
            let now = self.backend.now();
            if self.control.is_stopped(now) {
                return true;
            }
        }
        false
    }

    /// The content of a request that has not been offered yet, if it can go.
    fn content_of(&self, item: &SourceRequest) -> Option<DataRequest> {
        let extent = self.settings.placement.place(item.extent)?.extent;
        let fits = !item.op.is_transfer() || self.payloads.can_hold(extent.length);
        let due = item.due.unwrap_or_default();
        fits.then_some(DataRequest { sequence: item.sequence, op: item.op, extent, due })
    }

    /// Spins until `until`, for `POLL` at most, so that a stop is noticed.
    fn spin(&mut self, until: Nanos) {
        let until = until.min(Nanos(self.backend.now().0 + POLL.0));
        while !self.reap(Wait::No) && self.backend.now() < until {
            std::hint::spin_loop();
        }
    }

    /// Waits for a completion, but not beyond `until`, and not long enough to miss a stop.
    fn wait(&mut self, until: Nanos) {
        if self.check_while_idle(until) {
            return;
        }
        let now = self.backend.now();
        self.gauge.set(now, self.scheduler.in_flight(), self.scheduler.waiting());
        let stop = self.control.stop_time();
        let latest = if self.backend.is_timed() {
            Nanos(now.0 + POLL.0)
        } else if stop > now {
            // A real clock advances while a stop is noticed a little late; a simulated one must not pass its stop.
            stop
        } else {
            // It is past its stop: only requests in flight are still awaited.
            until
        };
        // A simulated clock must not pass a place that is to be read again.
        let due = self.context.checker.as_ref().and_then(Checker::next_due).unwrap_or(Nanos(u64::MAX));
        self.reap(Wait::Until(until.min(latest).min(due)));
    }

    /// Stops all issuing, also of a request that only waits for memory or data.
    fn stop(&mut self, now: Nanos) {
        self.scheduler.stop(now);
        let held = self.held();
        self.unmade = None;
        if let Some((_, since)) = self.stalled.take() {
            self.counters.buffer_stalls.add(now.saturating_sub(since));
        }
        if let Some(slot) = held {
            let Issue { request, due, .. } = *self.scheduler.issued(slot);
            self.scheduler.complete(slot, now);
            self.record_unsent(&request, Outcome::Cancelled, None, due);
            self.context.checker.iter_mut().for_each(|checker| checker.let_go(slot));
        }
        self.cancel_checked(now);
    }

    /// Ends the issuing with an error; requests in flight are still awaited. The first reason counts.
    fn fail(&mut self, error: WorkerError) {
        self.error.get_or_insert(error);
        let now = self.backend.now();
        self.stop(now);
    }

    /// Ends this target's part, which is a normal result; other targets continue.
    fn end_early(&mut self, why: String, now: Nanos) {
        self.context.job_status.end(&why);
        self.counters.ended_early.get_or_insert(why);
        self.stop(now);
    }

    /// Offers the scheduler the next request of the source; `false` if it has no request yet.
    fn offer(&mut self, feed: &mut Feed, now: Nanos) -> bool {
        let now = self.scheduler.earliest(now);
        let rules = &self.settings.rules;
        if rules.may_end_early && (rules.is_over(now) || self.context.job_status.is_pass_over(self.pass)) {
            self.scheduler.exhausted();
            return true;
        }
        match feed.next(now.saturating_sub(self.start), |item| self.offer_item(item)) {
            Ok(Answer::Seen) => {}
            Ok(Answer::End) => self.end_of_source(),
            Ok(Answer::NotYet) => {
                self.wait(Nanos(now.0 + ASK_AGAIN.0));
                return false;
            }
            Err(error) => {
                self.scheduler.exhausted();
                self.fail(error.into());
            }
        }
        true
    }

    fn offer_item(&mut self, item: &SourceRequest) {
        if self.is_beyond_the_run(item) {
            // Another pass would make no progress: this one lasts until the run is over.
            self.rest_until(self.settings.rules.runtime.unwrap_or_default());
            return self.scheduler.exhausted();
        }
        if !self.await_turn(item) {
            return;
        }
        self.offered += 1;
        self.counters.max_requested_end = self.counters.max_requested_end.max(item.extent.end());
        let placed = match self.settings.placement.place(item.extent) {
            Some(placed) if !item.op.is_transfer() || self.payloads.can_hold(placed.extent.length) => placed,
            placed => {
                let (sequence, length) = (item.sequence, item.extent.length);
                let size = self.settings.placement.size();
                self.scheduler.exhausted();
                return self.fail(match placed {
                    Some(_) => WorkerError::NoMemory { sequence, length },
                    None => WorkerError::TooLarge { sequence, length, size },
                });
            }
        };
        let marks = Marks::default()
            .with(Marks::WRAPPED, placed.wrapped)
            .with(Marks::AT_BORDER, placed.at_border)
            .with(Marks::ROUNDED, placed.rounded)
            .with(Marks::RAMP, item.ramp)
            .with_durability(item.durability);
        let due = item.due.map(|due| Nanos(due.0.saturating_add(self.start.0)));
        let facts = Origin { load_time: item.load_time, requested: item.extent, marks };
        let (sequence, op, extent) = (item.sequence, item.op, placed.extent);
        self.scheduler.offer(Request { sequence, op, extent, due, facts });
    }

    /// Whether a request is due only when the whole run is over by time.
    fn is_beyond_the_run(&self, item: &SourceRequest) -> bool {
        let due = item.due.map(|due| due.saturating_add(self.start));
        due.is_some_and(|due| self.settings.rules.is_over(due))
    }

    /// Waits until other targets let the next request go; `false` if it does not go.
    fn await_turn(&mut self, item: &SourceRequest) -> bool {
        let Some(participant) = &self.context.participant else { return true };
        let (pass, start) = (self.pass, self.start);
        let next = Next { pass, index: self.offered, bytes: item.extent.length };
        let (control, rules, backend) = (self.control, &self.settings.rules, &mut self.backend);
        let job_status = &self.context.job_status;
        let is_stopped = |now: Nanos| {
            let is_late = rules.time_limit.is_some_and(|limit| now.saturating_sub(start) >= limit);
            control.is_stopped(now) || rules.is_over(now) || is_late || job_status.is_pass_over(pass)
        };
        match participant.await_turn(next, || backend.now(), is_stopped) {
            Permit::Go(at) => {
                self.backend.skip_to(at);
                return true;
            }
            Permit::EndPass => self.scheduler.exhausted(),
            Permit::Stopped => {
                self.scheduler.exhausted();
                self.counters.stopped |= self.control.is_stopped(self.backend.now());
            }
            Permit::Never(why) => {
                self.scheduler.exhausted();
                let now = self.backend.now();
                self.end_early(why, now);
            }
        }
        false
    }

    fn end_of_source(&mut self) {
        self.scheduler.exhausted();
        if let Some(expected) = self.settings.expected.filter(|expected| *expected != self.offered) {
            self.fail(WorkerError::Changed { offered: self.offered, expected });
        }
    }

    fn content(&self, request: &Request<Origin>) -> DataRequest {
        let due = request.due.map_or(Nanos(0), |due| due.saturating_sub(self.start));
        DataRequest { sequence: request.sequence, op: request.op, extent: request.extent, due }
    }

    /// Submits a slot's request to the backend, once it has memory and data.
    fn issue(&mut self, slot: Slot, now: Nanos) -> Issued {
        if self.payloads.are_empty() {
            self.push(slot, Buffer::empty(), now);
            return Issued::Gone;
        }
        if let Some(issued) = self.check_first(slot, now) {
            return issued;
        }
        let request = &self.scheduler.issued(slot).request;
        let content = self.content(request);
        if self.payloads.is_to_be_made(&content) && !self.make_now(content) {
            self.unmade = Some(slot);
            return Issued::NeedsData;
        }
        self.unmade = None;
        let Some(buffer) = self.take_memory(content) else {
            self.stalled.get_or_insert((slot, now));
            return Issued::NeedsMemory;
        };
        let stalled = self.stalled.take();
        if let Some((_, since)) = stalled {
            self.counters.buffer_stalls.add(now.saturating_sub(since));
        }
        self.without_buffer[slot.0 as usize] = stalled.is_some();
        self.push(slot, buffer, now);
        Issued::Gone
    }

    /// Memory for a request with its data; `None` until the next completion frees some.
    fn take_memory(&mut self, content: DataRequest) -> Option<Buffer> {
        loop {
            let taken = self.payloads.take(content);
            if taken.is_some() || !self.check_for_memory() {
                return taken;
            }
        }
    }

    /// Makes a slice of the data of a request that is due; `false` if more has to be made after a look at completions.
    ///
    /// Data takes time, which must not delay the requests before this one: they are submitted after each slice, and not before each
    /// request, because that would end batches of small ones.
    fn make_now(&mut self, content: DataRequest) -> bool {
        if self.made >= SLICE as u64 || content.extent.length > SLICE as u64 {
            self.submit();
        }
        self.made += content.extent.length.min(SLICE as u64);
        self.payloads.prepare(content)
    }

    #[inline]
    fn push(&mut self, slot: Slot, mut buffer: Buffer, now: Nanos) {
        let Issue { request, due, .. } = *self.scheduler.issued(slot);
        let (sequence, op, extent) = (request.sequence, request.op, request.extent);
        let durability = request.facts.marks.durability();
        self.gauge.set_late(now.saturating_sub(due));
        if self.context.journal.is_some() {
            self.note_in_journal(slot, &request, due, now);
        }
        let stream = u64::from(self.settings.phase) << 32 | u64::from(self.pass);
        self.counters.issued.add(stream, sequence, op, durability, extent);
        if op.changes_data() && extent.length > 0 {
            let range = WrittenRange { start: extent.offset, end: extent.end() };
            self.counters.written = Some(self.counters.written.map_or(range, |written| written.with(range)));
        }
        if let Some(checker) = &mut self.context.checker {
            checker.begin(slot, sequence, op, extent, &mut buffer);
            self.take_free();
        }
        self.backend.push(Operation { token: Token(slot.0), op, durability, extent, buffer });
    }

    /// Notes in the journal that a request is about to be issued.
    fn note_in_journal(&mut self, slot: Slot, request: &Request<Origin>, due: Nanos, now: Nanos) {
        let record = Record { due, marks: request.facts.marks, ..self.blank(request) };
        let Some(journal) = &mut self.context.journal else { return };
        if let Err(gone) = journal.begin(slot, &record, now, &mut self.recorder) {
            self.fail(gone.into());
        }
    }

    /// The mark of a request that waited for a conflict.
    fn waited(&self) -> Marks {
        if self.settings.overlap.policy == OverlapPolicy::Order { Marks::ORDERED } else { Marks::PUSHED }
    }

    /// Reaps completions; returns whether there were any.
    fn reap(&mut self, wait: Wait) -> bool {
        let mut done = std::mem::take(&mut self.done);
        self.backend.reap(wait, &mut done);
        let any = !done.is_empty();
        for completion in done.drain(..) {
            if let Some(completion) = self.take_own(completion) {
                self.complete(completion);
            }
        }
        self.done = done;
        any
    }

    fn complete(&mut self, completion: Completion) {
        let slot = Slot(completion.token.0);
        let (result, now) = (completion.result, completion.completed);
        let record = self.sent(slot, &completion);
        if let Some(journal) = &mut self.context.journal {
            journal.end(slot, record.outcome, now);
        }
        if self.settings.rules.is_watched {
            self.look_at(&record);
        }
        self.last_end = self.last_end.max(now);
        if let Some(buffer) = self.is_over(slot, &record, completion.buffer) {
            self.payloads.give(buffer);
            self.end_request(slot, &record, result, now);
        }
    }

    /// Ends a request and frees its slot.
    fn end_request(&mut self, slot: Slot, record: &Record, result: i64, now: Nanos) {
        self.scheduler.complete(slot, now);
        self.keep(record, now);
        if let Some(journal) = &mut self.context.journal {
            journal.recorded(slot, &self.recorder);
        }
        if record.outcome == Outcome::Failed {
            self.count_failed(result, now);
        }
    }

    /// Inspects a completed request as the plan wants: whether the file has ended, and the progress for other loops.
    fn look_at(&mut self, record: &Record) {
        let transferred = u64::try_from(record.result).unwrap_or(0);
        if self.settings.rules.ends_with_file && record.op == Op::Read && record.result == 0 {
            self.scheduler.exhausted();
        }
        let completed = record.completed.unwrap_or_default();
        if self.last_end == Nanos(0) && self.settings.rules.begins_at_once {
            self.context.lateness.note(record.submitted.unwrap_or_default().saturating_sub(self.start));
        }
        if let Some(participant) = &self.context.participant {
            participant.completed(transferred, completed);
        }
    }

    /// Counts a failed request. A target that is gone ends its part; otherwise the plan's limits decide.
    #[cold]
    fn count_failed(&mut self, result: i64, now: Nanos) {
        let failed = self.context.job_status.count_failed();
        let errno = i32::try_from(-result).unwrap_or_default();
        if matches!(errno, libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM) {
            let error = std::io::Error::from_raw_os_error(errno);
            self.end_early(format!("the target is gone: {error}"), now);
        } else if let Some(most) = self.settings.max_errors.filter(|most| failed > *most) {
            self.end_early(format!("more than {most} requests failed (--max-errors)"), now);
        } else if let Some(most) = self.settings.rules.max_errors
            && self.context.job_status.count_failed_in(self.pass) >= most
        {
            self.context.job_status.end_pass(self.pass);
        }
    }

    fn sent(&self, slot: Slot, completion: &Completion) -> Record {
        let Issue { request, due, blocked, held } = self.scheduler.issued(slot);
        let whole = completion.result == request.extent.length as i64;
        let marks = request
            .facts
            .marks
            .with(self.waited(), blocked.is_some())
            .with(Marks::HELD, *held)
            .with(Marks::NO_BUFFER, self.without_buffer[slot.0 as usize])
            .with(Marks::SHORT, completion.short);
        Record {
            worker: self.settings.job.unwrap_or(completion.worker),
            outcome: if whole { Outcome::Completed } else { Outcome::Failed },
            marks,
            due: *due,
            released: blocked.map(|b| b.released),
            blocked_by: blocked.map(|b| b.by),
            submitted: Some(completion.submitted),
            completed: Some(completion.completed),
            reap_lag: completion.reap_lag,
            result: completion.result,
            ..self.blank(request)
        }
    }

    fn record_unsent(
        &mut self,
        request: &Request<Origin>,
        outcome: Outcome,
        blocked_by: Option<u64>,
        now: Nanos,
    ) {
        let due = request.due.unwrap_or(now);
        let marks = request.facts.marks;
        let record = Record { outcome, marks, due, blocked_by, ..self.blank(request) };
        self.keep(&record, now);
    }

    /// Records a request that a stop prevented. One that was not due yet belongs to the part after the stop: no figure may count
    /// it.
    fn cancel(&mut self, request: &Request<Origin>, now: Nanos) {
        if request.due.is_none_or(|due| due <= now) {
            self.record_unsent(request, Outcome::Cancelled, None, now);
        }
    }

    fn blank(&self, request: &Request<Origin>) -> Record {
        Record {
            sequence: request.sequence,
            target: self.settings.target,
            phase: self.settings.phase,
            pass: self.pass,
            op: request.op,
            load_time: request.facts.load_time,
            requested: request.facts.requested,
            executed: request.extent,
            ..Record::default()
        }
    }

    /// Records a step of the pass, which does not count as a request.
    fn record_step(&mut self, step: Step, errno: Option<i32>) {
        let Step { op, start, end, length, result } = step;
        let number = u64::from(self.settings.job.unwrap_or(0)) << 8 | self.steps;
        self.steps += 1;
        let record = Record {
            sequence: Record::STEPS + number,
            target: self.settings.target,
            phase: self.settings.phase,
            pass: self.pass,
            op,
            outcome: if errno.is_some() { Outcome::Failed } else { Outcome::Completed },
            load_time: start.saturating_sub(self.start),
            due: start,
            submitted: Some(start),
            completed: Some(end),
            executed: Extent { offset: 0, length },
            result: errno.map_or(result, |errno| -i64::from(errno)),
            ..Record::default()
        };
        let pushed = self.recorder.push(&record, end);
        let noted = match &mut self.context.journal {
            Some(journal) => pushed.and_then(|()| journal.step(&record, &mut self.recorder)),
            None => pushed,
        };
        if let Err(gone) = noted {
            self.fail(gone.into());
        }
    }

    fn keep(&mut self, record: &Record, now: Nanos) {
        self.gauge.count(record);
        if let Err(gone) = self.recorder.push(record, now) {
            self.fail(gone.into());
        }
    }
}
