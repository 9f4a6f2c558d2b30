//! How issuing loops wait for each other within a pass: turns, meetings, start and stop triggers, lockstep.
//!
//! A loop asks before each request, and reports each completion. Waiting is a condition variable, which costs a wake-up; runs whose
//! jobs do not wait for each other touch nothing here. Every wait ends at some time: plans with a cycle are refused, a loop that
//! ends or dies leaves, and a condition that can no longer come true ends the wait with its reason.

use iosonar_plan::{
    Amount, Begins, Coordination, Decimal, Ends, Generator, Lockstep, Nanos, Phase, Trigger, Workload,
};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of checking for a stop while waiting.
const POLL: Duration = Duration::from_millis(50);
/// The shortest wait for a time: one that has come already may need another loop to see it, too.
const SHORTEST: Duration = Duration::from_micros(20);

/// Permission of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Issue the next request. The time is that of the awaited event: on a simulated clock, no earlier.
    Go(Nanos),
    /// End the pass: its work is done.
    EndPass,
    /// End the job: its condition can never come true.
    Never(String),
    /// The run is stopped.
    Stopped,
}

/// State shared by all loops of a run.
#[derive(Debug)]
pub(crate) struct Coordinator {
    coordination: Coordination,
    /// Requests per pass of each job, where they are counted.
    counts: Vec<Option<u64>>,
    /// Whether clocks advance by themselves; otherwise each job has a separate one.
    is_timed: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    progress: Vec<PassProgress>,
    /// Ended passes of each job, where other jobs depend on them: those may lag if passes are free.
    ended: Vec<Vec<PassProgress>>,
    /// Tasks of each lockstep.
    tasks: Vec<Tasks>,
    meeting: Barrier,
    turn: Turn,
}

/// Progress of a job.
#[derive(Debug, Clone, Copy, Default)]
struct PassProgress {
    /// Number of the pass, from 1; 0 before the first.
    pass: u32,
    start: Nanos,
    ops: u64,
    bytes: u64,
    /// Time of its last completion.
    last: Nanos,
    /// Loops that have not ended the pass.
    active: u32,
    /// Loops that will begin another pass.
    jobs: u32,
}

impl State {
    /// Progress of a job in pass `pass`, from 1; `None` if it has not started it.
    fn progress(&self, job: u16, pass: u32) -> Option<PassProgress> {
        let progress = self.progress[usize::from(job)];
        if progress.pass == pass {
            return Some(progress);
        }
        let ended = self.ended[usize::from(job)].get(pass as usize - 1)?;
        (progress.pass > pass).then_some(PassProgress { active: 0, ..*ended })
    }

    /// Whether a job has ended pass `pass`, or will never begin it.
    fn has_ended(&self, job: u16, pass: u32) -> bool {
        let progress = self.progress[usize::from(job)];
        progress.pass > pass
            || (progress.pass == pass && progress.active == 0)
            || (progress.pass < pass && progress.jobs == 0)
    }

    /// Reason for a job to wait where jobs take turns; jobs that have ended the pass are skipped. The turn passes when the request
    /// has completed.
    fn take_turn(&mut self, asker: Asker) -> Wait {
        while self.turn.job != asker.job && self.has_ended(self.turn.job, asker.next.pass + 1) {
            self.turn.job = self.job_after(self.turn.job);
        }
        match self.turn.job == asker.job {
            true => Wait::No(self.turn.last),
            false => Wait::Until(Nanos(u64::MAX)),
        }
    }

    fn job_after(&self, job: u16) -> u16 {
        if usize::from(job) + 1 < self.progress.len() { job + 1 } else { 0 }
    }
}

/// The job whose request is next, where jobs take turns.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// As in [`PassProgress`].
    pass: u32,
    job: u16,
    /// Completion time of the request before it.
    last: Nanos,
}

/// Amount that a slave has started.
#[derive(Debug, Clone, Copy, Default)]
struct Tasks {
    ops: u64,
    bytes: u64,
    begun: u64,
    until: Nanos,
}

/// Loops that meet after a fixed number of requests.
#[derive(Debug, Default)]
struct Barrier {
    members: u32,
    arrived: u32,
    /// Members waiting elsewhere; the barrier excludes them.
    elsewhere: u32,
    round: u64,
    latest: Nanos,
    opened_at: Nanos,
}

/// The request that a loop wants to issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next {
    /// Number of the pass, from 0.
    pub(crate) pass: u32,
    /// Number of the request within this loop and pass.
    pub(crate) index: u64,
    /// Its length.
    pub(crate) bytes: u64,
}

/// The asking loop and its request.
#[derive(Debug, Clone, Copy)]
struct Asker {
    job: u16,
    next: Next,
}

/// Reason for a loop to wait.
enum Wait {
    /// No wait; the awaited event came at this time.
    No(Nanos),
    /// Until something changes, or this time comes.
    Until(Nanos),
    End,
    Never(String),
}

impl Coordinator {
    /// Coordinates the jobs of a phase that wait for each other.
    pub(crate) fn new(phase: &Phase, is_timed: bool) -> Coordinator {
        let loops: Vec<u32> = phase.jobs.iter().map(|job| job.workload.jobs()).collect();
        let count = |workload: &Workload| workload.generator().and_then(Generator::count);
        let progress = |loops: &u32| PassProgress { jobs: *loops, ..PassProgress::default() };
        let state = State {
            progress: loops.iter().map(progress).collect(),
            ended: vec![Vec::new(); loops.len()],
            tasks: vec![Tasks::default(); phase.coordination.lockstep.len()],
            meeting: Barrier { members: loops.iter().sum(), ..Barrier::default() },
            turn: Turn::default(),
        };
        Coordinator {
            coordination: phase.coordination.clone(),
            counts: phase.jobs.iter().map(|job| count(&job.workload)).collect(),
            is_timed,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Whether another job depends on the progress of this one.
    fn is_looked_at(&self, job: u16) -> bool {
        let stops = self.coordination.stop.iter().map(|t| (t.leader, t.follower));
        self.coordination.waits().chain(stops).any(|(leader, _)| leader == job)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A participant for a loop of `job`, from the start of the run on.
    pub(crate) fn participant(&self, job: u16) -> Participant<'_> {
        Participant { coordinator: self, job, is_member: true, last: Nanos(0) }
    }

    /// A loop starts pass `pass`, which starts at `start`.
    fn begin(&self, job: u16, pass: u32, start: Nanos) {
        let mut state = self.lock();
        let progress = state.progress[usize::from(job)];
        if progress.pass <= pass {
            if progress.pass > 0 && self.is_looked_at(job) {
                state.ended[usize::from(job)].push(progress);
            }
            let jobs = progress.jobs;
            state.progress[usize::from(job)] = PassProgress {
                pass: pass + 1,
                start,
                last: start,
                active: jobs,
                jobs,
                ..PassProgress::default()
            };
            for (tasks, lockstep) in state.tasks.iter_mut().zip(&self.coordination.lockstep) {
                if lockstep.slave == job {
                    *tasks = Tasks::default();
                }
            }
        }
        if state.turn.pass <= pass {
            state.turn = Turn { pass: pass + 1, ..Turn::default() };
        }
        self.changed.notify_all();
    }

    /// Counts a completed request of `bytes`.
    fn completed(&self, job: u16, bytes: u64, now: Nanos) {
        let mut state = self.lock();
        let progress = &mut state.progress[usize::from(job)];
        progress.ops += 1;
        progress.bytes += bytes;
        progress.last = progress.last.max(now);
        state.turn = Turn { job: state.job_after(job), last: now, ..state.turn };
        self.changed.notify_all();
    }

    /// A loop has ended its pass.
    fn end(&self, job: u16, now: Nanos) {
        let mut state = self.lock();
        let progress = &mut state.progress[usize::from(job)];
        progress.active = progress.active.saturating_sub(1);
        progress.last = progress.last.max(now);
        state.meeting.members -= 1;
        state.meeting.open_if_complete();
        self.changed.notify_all();
    }

    /// A loop starts no more passes.
    fn leave(&self, job: u16) {
        let mut state = self.lock();
        let progress = &mut state.progress[usize::from(job)];
        progress.jobs = progress.jobs.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Waits until a loop may issue its next request.
    fn await_turn(
        &self,
        asker: Asker,
        mut now: impl FnMut() -> Nanos,
        is_stopped: impl Fn(Nanos) -> bool,
    ) -> Permit {
        let mut state = self.lock();
        let mut latest = Nanos(0);
        if self.coordination.meet_every.is_some_and(|every| asker.next.index.is_multiple_of(every)) {
            match self.meet(state, now(), || is_stopped(now())) {
                Some((met, at)) => (state, latest) = (met, at),
                None => return Permit::Stopped,
            }
        }
        let mut is_elsewhere = false;
        let permit = loop {
            let time = now();
            if is_stopped(time) {
                break Permit::Stopped;
            }
            match self.look(&mut state, asker, time) {
                Wait::No(at) => break Permit::Go(latest.max(at)),
                Wait::End => break Permit::EndPass,
                Wait::Never(why) => break Permit::Never(why),
                Wait::Until(until) => {
                    if !is_elsewhere {
                        is_elsewhere = true;
                        state.meeting.elsewhere += 1;
                        state.meeting.open_if_complete();
                        self.changed.notify_all();
                    }
                    let most = Duration::from_nanos(until.saturating_sub(time).0).clamp(SHORTEST, POLL);
                    let waited = self.changed.wait_timeout(state, most);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        if is_elsewhere {
            state.meeting.elsewhere -= 1;
        }
        permit
    }

    /// Waits for all other members that do not wait elsewhere; returns the time at which the last one arrived.
    fn meet<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        now: Nanos,
        mut is_stopped: impl FnMut() -> bool,
    ) -> Option<(MutexGuard<'a, State>, Nanos)> {
        let round = state.meeting.round;
        state.meeting.arrived += 1;
        state.meeting.latest = state.meeting.latest.max(now);
        state.meeting.open_if_complete();
        self.changed.notify_all();
        while state.meeting.round == round {
            if is_stopped() {
                state.meeting.arrived -= 1;
                return None;
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let at = state.meeting.opened_at;
        Some((state, at))
    }

    /// Returns the reason for a loop to wait, if any.
    fn look(&self, state: &mut State, asker: Asker, now: Nanos) -> Wait {
        if self.coordination.in_turn {
            return state.take_turn(asker);
        }
        let mut latest = Nanos(0);
        for trigger in self.coordination.stop.iter().filter(|t| t.follower == asker.job) {
            if self.reached(state, trigger, asker.next.pass, now) == Some(true) {
                return Wait::End;
            }
        }
        for trigger in
            self.coordination.start.iter().filter(|t| t.follower == asker.job && asker.next.index == 0)
        {
            let leader = state.progress(trigger.leader, asker.next.pass + 1).unwrap_or_default();
            match self.reached(state, trigger, asker.next.pass, now) {
                Some(true) => latest = latest.max(leader.last),
                Some(false) => return Wait::Never(never(trigger)),
                None => return Wait::Until(self.wake(&leader, trigger.when, 1)),
            }
        }
        for (number, lockstep) in self.coordination.lockstep.iter().enumerate() {
            if lockstep.slave == asker.job {
                match self.step(state, number, lockstep, asker, now) {
                    Wait::No(at) => latest = latest.max(at),
                    other => return other,
                }
            }
        }
        Wait::No(latest)
    }

    /// Whether a leader has reached the trigger in a pass; `Some(false)` if it never will, because it has ended it.
    fn reached(&self, state: &State, trigger: &Trigger, pass: u32, now: Nanos) -> Option<bool> {
        let leader = state.progress(trigger.leader, pass + 1);
        if leader.is_some_and(|leader| self.times(&leader, trigger.leader, trigger.when, now) > 0) {
            return Some(true);
        }
        state.has_ended(trigger.leader, pass + 1).then_some(false)
    }

    /// Number of times that a job has completed `amount` in its pass.
    fn times(&self, progress: &PassProgress, job: u16, amount: Amount, now: Nanos) -> u64 {
        match amount {
            Amount::Ops(n) => progress.ops / n.max(1),
            Amount::Bytes(n) => progress.bytes / n.0.max(1),
            Amount::Percent(p) => {
                let count = self.counts[usize::from(job)].unwrap_or(u64::MAX);
                let hundred = u128::from(Decimal::whole(100).parts());
                let one = u128::from(p.parts()) * u128::from(count);
                u64::try_from(u128::from(progress.ops) * hundred / one.max(1)).unwrap_or(u64::MAX)
            }
            Amount::Time(t) => {
                let goes_on = self.is_timed && progress.active > 0;
                let end = if goes_on { now.max(progress.last) } else { progress.last };
                end.saturating_sub(progress.start).0 / t.0.max(1)
            }
        }
    }

    /// Time at which a job reaches `amount` for the `nth` time, if time alone brings it there.
    fn wake(&self, progress: &PassProgress, amount: Amount, nth: u64) -> Nanos {
        match amount {
            Amount::Time(t) if self.is_timed && progress.pass > 0 => {
                progress.start.saturating_add(Nanos(t.0.saturating_mul(nth)))
            }
            _ => Nanos(u64::MAX),
        }
    }

    /// Returns the reason for a slave to wait.
    fn step(&self, state: &mut State, number: usize, l: &Lockstep, asker: Asker, now: Nanos) -> Wait {
        let has_ended = state.has_ended(l.master, asker.next.pass + 1);
        let progress = state.progress(l.master, asker.next.pass + 1);
        let intervals = progress.map_or(0, |progress| self.times(&progress, l.master, l.every, now));
        let master = progress.unwrap_or_default();
        let allowed = intervals + u64::from(l.begins == Begins::Run);
        let at = if intervals > 0 { master.last } else { Nanos(0) };
        let tasks = &mut state.tasks[number];
        let may_go = match l.task {
            Amount::Ops(n) => tasks.ops < allowed.saturating_mul(n),
            Amount::Bytes(n) => tasks.bytes < allowed.saturating_mul(n.0),
            Amount::Time(t) => {
                if now >= tasks.until && tasks.begun < allowed {
                    tasks.begun += 1;
                    tasks.until = now.max(at).saturating_add(t);
                }
                now < tasks.until
            }
            Amount::Percent(_) => true,
        };
        if may_go || (has_ended && l.ends == Ends::Complete) {
            tasks.ops += 1;
            tasks.bytes += asker.next.bytes;
            // A request that goes only because the master has ended goes after that.
            let ended = if may_go { Nanos(0) } else { master.last };
            return Wait::No(at.max(ended));
        }
        if has_ended {
            return Wait::End;
        }
        Wait::Until(self.wake(&master, l.every, intervals + 1))
    }
}

/// Membership of a loop among those that wait for each other. Dropping it ends all waiting for the loop.
#[derive(Debug)]
pub(crate) struct Participant<'a> {
    coordinator: &'a Coordinator,
    job: u16,
    /// Whether it counts at meetings.
    is_member: bool,
    last: Nanos,
}

impl Participant<'_> {
    /// The loop starts pass `pass`, which starts at `start`.
    pub(crate) fn begin(&self, pass: u32, start: Nanos) {
        self.coordinator.begin(self.job, pass, start);
    }

    /// Waits until the loop may issue its next request. `now` returns the time, `is_stopped` whether the run is stopped.
    pub(crate) fn await_turn(
        &self,
        next: Next,
        now: impl FnMut() -> Nanos,
        is_stopped: impl Fn(Nanos) -> bool,
    ) -> Permit {
        self.coordinator.await_turn(Asker { job: self.job, next }, now, is_stopped)
    }

    /// Counts a completed request of `bytes`.
    pub(crate) fn completed(&self, bytes: u64, now: Nanos) {
        self.coordinator.completed(self.job, bytes, now);
    }

    /// The loop is about to begin another pass, which all others have ended: it counts at meetings from now on.
    pub(crate) fn rejoin(&mut self) {
        self.is_member = true;
        self.coordinator.lock().meeting.members += 1;
    }

    /// The loop has ended its pass.
    pub(crate) fn end(&mut self, now: Nanos) {
        if std::mem::take(&mut self.is_member) {
            self.last = now;
            self.coordinator.end(self.job, now);
        }
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.end(self.last);
        self.coordinator.leave(self.job);
    }
}

impl Barrier {
    fn open_if_complete(&mut self) {
        if self.arrived > 0 && self.arrived >= self.members.saturating_sub(self.elsewhere) {
            (self.arrived, self.round, self.opened_at) = (0, self.round + 1, self.latest);
        }
    }
}

fn never(trigger: &Trigger) -> String {
    let when = match trigger.when {
        Amount::Time(t) => format!("{t}"),
        Amount::Ops(n) => format!("{n} operations"),
        Amount::Percent(p) => format!("{p} %"),
        Amount::Bytes(n) => format!("{n}"),
    };
    format!("never triggered: target {} ended its pass before {when}", trigger.leader)
}
