//! The issuing loop of one target.

use crate::control::Control;
use crate::data::{SectorHeader, fill};
use crate::gate::Member;
use crate::progress::Gauge;
use iosonar_archive::{Marks, Outcome, Record, Stalls};
use iosonar_backend::{Backend, Completion, Operation, Token, Wait};
use iosonar_load::{LoadError, Next, ReadAhead, Source};
use iosonar_os::Buffer;
use iosonar_plan::{Extent, Fill, Nanos, Op, Overlap, OverlapPolicy, Placement, RunId, SECTOR};
use iosonar_record::{Recorder, WriterGone};
use iosonar_sched::{Counters, Decision, Issue, Request, Scheduler, Slot};
use std::time::Duration;

/// How often a waiting loop looks whether it should stop, and hands on records.
const POLL: Nanos = Nanos(50_000_000);

/// How soon a source that had nothing yet is asked again.
const ASK_AGAIN: Nanos = Nanos(500_000);

/// How long a pass waits for the first request of its source before it starts without.
const PRIME: Duration = Duration::from_millis(50);

/// What of the plan a worker needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) run_id: RunId,
    pub(crate) target: u16,
    pub(crate) depth: u32,
    pub(crate) overlap: Overlap,
    pub(crate) fill: Fill,
    pub(crate) placement: Placement,
    pub(crate) max_length: usize,
    /// Requests of a pass, where a scan has counted them.
    pub(crate) expected: Option<u64>,
}

/// Where a pass gets its requests from.
pub(crate) enum Feed {
    /// At once, in the issuing loop: patterns, and everything on a simulated clock, which must not go on alone.
    Direct(Box<dyn Source>),
    /// From a thread that reads ahead.
    Ahead(ReadAhead),
}

impl Feed {
    fn next(&mut self, now: Nanos) -> Result<Next, LoadError> {
        match self {
            Feed::Direct(source) => Ok(source.next(now)?.map_or(Next::End, Next::Item)),
            Feed::Ahead(ahead) => ahead.poll(),
        }
    }

    fn lines(&self) -> u64 {
        match self {
            Feed::Direct(source) => source.lines(),
            Feed::Ahead(ahead) => ahead.lines(),
        }
    }

    /// Waits for the first request, so that reading and sorting count as preparation, not as delay.
    /// `is_stopped` ends the waiting; so does a producer that takes its time, if it may.
    pub(crate) fn prime(&mut self, may_be_late: bool, is_stopped: impl Fn() -> bool) {
        let Feed::Ahead(ahead) = self else { return };
        while !ahead.prime(PRIME) && !may_be_late && !is_stopped() {}
    }
}

/// What goes with a request from its source to its record.
#[derive(Debug, Clone, Copy, Default)]
struct Origin {
    load_time: Nanos,
    requested: Extent,
    marks: Marks,
}

/// Why a worker stopped before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("request {sequence} of {length} bytes is larger than the target of {size} bytes")]
    TooLarge { sequence: u64, length: u64, size: u64 },
    #[error("no thread could be started to read the load ({0}): raise the limit on processes (ulimit -u)")]
    Thread(std::io::Error),
    #[error("its load changed while it was replayed: {offered} requests came of {expected}")]
    Changed { offered: u64, expected: u64 },
    #[error("its worker panicked, which is a bug: please report it with the command")]
    Panicked,
    #[error(transparent)]
    Writer(#[from] WriterGone),
}

/// What a worker counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    pub(crate) max_requested_end: u64,
    pub(crate) lines: u64,
    pub(crate) recorder_stalls: Stalls,
    /// It was stopped before it had dealt with all requests.
    pub(crate) stopped: bool,
}

/// One target's issuing loop: asks the scheduler, does what it says, records what happened.
pub(crate) struct Worker<'a> {
    settings: Settings,
    backend: Box<dyn Backend>,
    recorder: Recorder,
    control: &'a Control,
    gauge: &'a Gauge,
    pass: u32,
    /// Start of the pass on the run's clock.
    start: Nanos,
    scheduler: Scheduler<Origin>,
    /// Requests in flight, by slot.
    flying: Vec<Option<Issue<Origin>>>,
    done: Vec<Completion>,
    buffers: Vec<Buffer>,
    /// Data of the next write, made while there was time.
    ahead: Option<(u64, Buffer)>,
    /// Requests of the pass that its source has given.
    offered: u64,
    tally: Tally,
    error: Option<WorkerError>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        settings: Settings,
        backend: Box<dyn Backend>,
        recorder: Recorder,
        control: &'a Control,
        gauge: &'a Gauge,
    ) -> Worker<'a> {
        let depth = settings.depth as usize;
        let length = if backend.needs_buffers() { settings.max_length } else { 0 };
        let mut buffers: Vec<Buffer> = (0..=depth).map(|_| Buffer::empty()).collect();
        buffers.iter_mut().for_each(|b| b.set_len(length));
        Worker {
            settings,
            backend,
            recorder,
            control,
            gauge,
            pass: 0,
            start: Nanos(0),
            scheduler: Scheduler::new(settings.depth, settings.overlap),
            flying: vec![None; depth],
            done: Vec::with_capacity(depth),
            buffers,
            ahead: None,
            offered: 0,
            tally: Tally::default(),
            error: None,
        }
    }

    /// Carries out `passes` passes; `feed` gives the requests of each, ready to go.
    pub(crate) fn run(
        mut self,
        passes: u32,
        member: &Member<'_>,
        mut feed: impl FnMut(u32) -> Result<Feed, WorkerError>,
    ) -> (Tally, Result<(), WorkerError>) {
        for pass in 0..passes {
            let mut feed = match feed(pass) {
                Ok(feed) => feed,
                Err(error) => {
                    self.fail(error);
                    break;
                }
            };
            self.begin(pass, member);
            self.one_pass(&mut feed);
            self.count(feed.lines());
            if self.error.is_some() || self.tally.stopped {
                break;
            }
        }
        let now = self.backend.now();
        self.gauge.end(now);
        let flushed = self.recorder.flush(now);
        self.tally.recorder_stalls = self.recorder.stalls();
        (self.tally, self.error.map_or(flushed.map_err(WorkerError::from), Err))
    }

    /// The first pass starts at time zero, not when this thread woke up: that would hide its delay. A later one
    /// starts when all targets are there, and everything is made before it.
    fn begin(&mut self, pass: u32, member: &Member<'_>) {
        self.pass = pass;
        self.offered = 0;
        // Sequence numbers begin anew: what was made ahead for the last pass must not meet its namesake.
        self.buffers.extend(self.ahead.take().map(|(_, buffer)| buffer));
        if pass > 0 {
            self.scheduler = Scheduler::new(self.settings.depth, self.settings.overlap);
            self.start = member.pass(self.backend.now());
        }
        self.backend.skip_to(self.start);
    }

    fn count(&mut self, lines: u64) {
        let (sum, new) = (&mut self.tally.counters, self.scheduler.counters());
        sum.max_in_flight = sum.max_in_flight.max(new.max_in_flight);
        sum.max_waiting = sum.max_waiting.max(new.max_waiting);
        sum.full_count += new.full_count;
        sum.full_total.0 += new.full_total.0;
        self.tally.lines = self.tally.lines.max(lines);
    }

    fn one_pass(&mut self, feed: &mut Feed) {
        loop {
            self.reap(Wait::No);
            let now = self.backend.now();
            if self.control.is_stopped(now) {
                self.tally.stopped = true;
                self.scheduler.stop();
            }
            match self.scheduler.next(now) {
                Decision::Offer => self.offer(feed, now),
                Decision::Issue(issue) => self.issue(issue, now),
                Decision::Drop(request, by) => self.record_unsent(&request, Outcome::Dropped, Some(by), now),
                Decision::Cancel(request) => self.record_unsent(&request, Outcome::Cancelled, None, now),
                Decision::Sleep(until) => {
                    self.prepare_ahead();
                    self.wait(until, now);
                }
                Decision::Wait => self.wait(Nanos(u64::MAX), now),
                Decision::Finished => return,
            }
        }
    }

    fn wait(&mut self, until: Nanos, now: Nanos) {
        self.gauge.set(now, self.scheduler.in_flight(), self.scheduler.waiting());
        if let Err(gone) = self.recorder.tick(now) {
            self.fail(gone.into());
        }
        // A real clock goes on while a stop is noticed a little late; a simulated one must not pass its stop.
        let latest = match self.control.stop_time() {
            _ if self.backend.is_timed() => Nanos(now.0 + POLL.0),
            stop if stop > now => stop,
            _ => until,
        };
        self.reap(Wait::Until(until.min(latest)));
    }

    /// Ends the issuing; what is in flight is still awaited. The first reason counts.
    fn fail(&mut self, error: WorkerError) {
        self.error.get_or_insert(error);
        self.scheduler.stop();
    }

    fn offer(&mut self, feed: &mut Feed, now: Nanos) {
        let item = match feed.next(now.saturating_sub(self.start)) {
            Ok(Next::Item(item)) => item,
            Ok(Next::NotYet) => return self.wait(Nanos(now.0 + ASK_AGAIN.0), now),
            Ok(Next::End) => return self.end_of_source(),
            Err(error) => {
                self.scheduler.exhausted();
                return self.fail(error.into());
            }
        };
        self.offered += 1;
        self.tally.max_requested_end = self.tally.max_requested_end.max(item.extent.end());
        let Some(placed) = self.settings.placement.place(item.extent) else {
            let (length, size) = (item.extent.length, self.settings.placement.size());
            self.scheduler.exhausted();
            return self.fail(WorkerError::TooLarge { sequence: item.sequence, length, size });
        };
        let marks = Marks::default()
            .with(Marks::WRAPPED, placed.wrapped)
            .with(Marks::AT_BORDER, placed.at_border)
            .with(Marks::ROUNDED, placed.rounded);
        let due = item.due.map(|due| Nanos(due.0.saturating_add(self.start.0)));
        let facts = Origin { load_time: item.load_time, requested: item.extent, marks };
        self.scheduler.offer(Request {
            sequence: item.sequence,
            op: item.op,
            extent: placed.extent,
            due,
            facts,
        });
    }

    fn end_of_source(&mut self) {
        self.scheduler.exhausted();
        if let Some(expected) = self.settings.expected.filter(|expected| *expected != self.offered) {
            self.fail(WorkerError::Changed { offered: self.offered, expected });
        }
    }

    fn issue(&mut self, issue: Issue<Origin>, now: Nanos) {
        let request = &issue.request;
        let buffer = match self.ahead.take() {
            Some((sequence, buffer)) if sequence == request.sequence => buffer,
            other => {
                self.buffers.extend(other.map(|(_, buffer)| buffer));
                self.make_buffer(request)
            }
        };
        self.gauge.set(now, self.scheduler.in_flight(), self.scheduler.waiting());
        self.gauge.set_late(now.saturating_sub(issue.due));
        let operation =
            Operation { token: Token(issue.slot.0), op: request.op, extent: request.extent, buffer };
        self.flying[issue.slot.0 as usize] = Some(issue);
        self.backend.push(operation);
    }

    /// Makes the data of the next write while there is time, so that it costs no delay.
    fn prepare_ahead(&mut self) {
        let Some(head) = self.scheduler.head().copied() else { return };
        let may = self.backend.needs_buffers() && self.ahead.is_none() && !self.buffers.is_empty();
        if head.op == Op::Write && may {
            self.ahead = Some((head.sequence, self.make_buffer(&head)));
        }
    }

    fn make_buffer(&mut self, request: &Request<Origin>) -> Buffer {
        if !self.backend.needs_buffers() {
            return Buffer::empty();
        }
        let mut buffer = self.buffers.pop().expect("there is one more buffer than slots");
        buffer.set_len(request.extent.length as usize);
        if request.op == Op::Write {
            let first = SectorHeader {
                run_id: self.settings.run_id,
                target: self.settings.target.into(),
                pass: self.pass,
                sector: request.extent.offset / SECTOR,
                sequence: request.sequence,
                // Nothing of the clock: equal runs write equal bytes.
                due_ns: request.due.map_or(0, |due| due.saturating_sub(self.start).0),
            };
            fill(&mut buffer, first, self.settings.fill);
        }
        buffer
    }

    fn reap(&mut self, wait: Wait) {
        let mut done = std::mem::take(&mut self.done);
        self.backend.reap(wait, &mut done);
        for completion in done.drain(..) {
            self.complete(completion);
        }
        self.done = done;
    }

    fn complete(&mut self, completion: Completion) {
        let slot = completion.token.0;
        let issue = self.flying[slot as usize].take().expect("a backend completes only what is in flight");
        self.scheduler.complete(Slot(slot), completion.completed);
        let record = self.sent(&issue, &completion);
        self.keep(record, completion.completed);
        if self.backend.needs_buffers() {
            self.buffers.push(completion.buffer);
        }
    }

    fn sent(&self, issue: &Issue<Origin>, completion: &Completion) -> Record {
        let request = &issue.request;
        let whole = completion.result == request.extent.length as i64;
        let waited =
            if self.settings.overlap.policy == OverlapPolicy::Order { Marks::ORDERED } else { Marks::PUSHED };
        Record {
            worker: completion.worker,
            outcome: if whole { Outcome::Completed } else { Outcome::Failed },
            marks: request
                .facts
                .marks
                .with(waited, issue.blocked.is_some())
                .with(Marks::SHORT, completion.short),
            due: issue.due,
            released: issue.blocked.map(|b| b.released),
            blocked_by: issue.blocked.map(|b| b.by),
            submitted: Some(completion.submitted),
            completed: Some(completion.completed),
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
        self.keep(record, now);
    }

    fn blank(&self, request: &Request<Origin>) -> Record {
        Record {
            sequence: request.sequence,
            target: self.settings.target,
            pass: self.pass,
            op: request.op,
            load_time: request.facts.load_time,
            requested: request.facts.requested,
            executed: request.extent,
            ..Record::default()
        }
    }

    fn keep(&mut self, record: Record, now: Nanos) {
        if let Err(gone) = self.recorder.push(record, now) {
            self.fail(gone.into());
        }
    }
}
