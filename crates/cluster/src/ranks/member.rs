//! A rank while the plan is executed: phases start and end on all ranks together, and what concerns all at once goes along the tree.

use super::clock::RankClock;
use super::tree::{Kind, Messages, agree, bytes_of, children, parent, value_of};
use crate::protocol::HostProgress;
use iosonar_engine::{Control, Rendezvous};
use iosonar_os::monotonic_ns;
use iosonar_plan::Plan;
use iosonar_runner::Scene;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which notices are passed on.
const POLL: Duration = Duration::from_millis(20);
/// Interval of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Time for all ranks to know a start, on each level of the tree and for each rank, in nanoseconds.
const LEAD_OF_LEVEL: u64 = 5_000_000;
const LEAD_OF_RANK: u64 = 100_000;

/// The vote of a rank on a step, or of all of them together.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Vote {
    /// Time of the root at which the step can be; the latest of all counts.
    at: u64,
    /// Whether everything was done.
    is_whole: bool,
    /// Why it does not continue; of all, the first.
    stopped: Option<String>,
    /// The signal that stops it; of all, the first.
    signal: Option<i32>,
}

impl Vote {
    fn merge(self, other: Vote) -> Vote {
        Vote {
            at: self.at.max(other.at),
            is_whole: self.is_whole && other.is_whole,
            stopped: self.stopped.or(other.stopped),
            signal: self.signal.or(other.signal),
        }
    }
}

/// A step that all ranks do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin(u16),
    Meet(u16),
    End(u16),
    Over,
}

impl Step {
    /// Steps come in this order.
    fn order(self) -> (u16, u8) {
        match self {
            Step::Begin(phase) => (phase, 0),
            Step::Meet(phase) => (phase, 1),
            Step::End(phase) => (phase, 2),
            Step::Over => (u16::MAX, 3),
        }
    }
}

/// An event that concerns all ranks at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Notice {
    /// The first job of a phase is done.
    FirstDone(u16),
    /// A signal came.
    Stop(i32),
}

/// This rank among the others.
pub(crate) struct RankMember<'a> {
    messages: &'a dyn Messages,
    plan: &'a Plan,
    clock: &'a RankClock,
    control: &'a Control,
    /// The next step. It is held while all ranks do one.
    next: Mutex<Step>,
    /// The phase that has begun last.
    phase: AtomicU16,
    /// Start of the first phase, on the clock of the root; 0 before.
    origin: AtomicU64,
    /// This rank did not do all of its part.
    is_cause: AtomicBool,
    first_done: Mutex<HashMap<u16, Arc<AtomicBool>>>,
    /// Notices of this rank that are not passed on yet.
    told: Mutex<Vec<Notice>>,
    /// Notices that are passed on.
    passed: Mutex<Vec<Notice>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> RankMember<'a> {
    pub(crate) fn new(
        messages: &'a dyn Messages,
        plan: &'a Plan,
        clock: &'a RankClock,
        control: &'a Control,
    ) -> RankMember<'a> {
        RankMember {
            messages,
            plan,
            clock,
            control,
            next: Mutex::new(Step::Begin(0)),
            phase: AtomicU16::new(0),
            origin: AtomicU64::new(0),
            is_cause: AtomicBool::new(false),
            first_done: Mutex::default(),
            told: Mutex::default(),
            passed: Mutex::default(),
        }
    }

    /// Start of the first phase, on the clock of the root; 0 if it did not start.
    pub(crate) fn origin(&self) -> u64 {
        self.origin.load(Relaxed)
    }

    /// Whether this rank did not do all of its part.
    pub(crate) fn is_cause(&self) -> bool {
        self.is_cause.load(Relaxed)
    }

    /// Takes part in the steps that the others still do, and stops them: this rank has ended.
    pub(crate) fn finish(&self, why: &str) {
        let mut next = locked(&self.next);
        while *next != Step::Over {
            self.is_cause.fetch_or(self.control.signal().is_none(), Relaxed);
            let stopped = Some(format!("rank {}: {why}", self.messages.rank()));
            self.vote(&mut next, Vote { stopped, ..Vote::default() });
        }
    }

    /// Does the steps before `step`, in which this rank has nothing to do; `None` if they were the last ones.
    fn skip_to(&self, step: Step) -> Option<MutexGuard<'_, Step>> {
        let mut next = locked(&self.next);
        while *next != step {
            if *next == Step::Over || next.order() > step.order() {
                return None;
            }
            self.vote(&mut next, Vote { is_whole: true, ..Vote::default() });
        }
        Some(next)
    }

    /// Does the next step together with all others.
    fn vote(&self, next: &mut Step, own: Vote) -> Vote {
        let signal = self.control.signal().map(|signal| signal.0);
        let all = agree(self.messages, Vote { signal, ..own }, Vote::merge);
        // Perhaps only another rank received it.
        if let (Some(signal), None) = (all.signal, self.control.signal()) {
            self.control.stop(signal);
        }
        *next = match *next {
            Step::Begin(_) if all.stopped.is_some() => Step::Over,
            Step::Begin(phase) if self.meets(phase) => Step::Meet(phase),
            Step::Begin(phase) | Step::Meet(phase) => Step::End(phase),
            Step::End(phase) if all.is_whole && usize::from(phase) + 1 < self.plan.phases.len() => {
                Step::Begin(phase + 1)
            }
            Step::End(_) | Step::Over => Step::Over,
        };
        all
    }

    /// Whether the requests of a phase start together after file operations.
    fn meets(&self, phase: u16) -> bool {
        let jobs = self.plan.phases.get(usize::from(phase)).map(|phase| &phase.jobs[..]).unwrap_or_default();
        jobs.iter().any(|job| job.options.has_steps_before())
    }

    /// A time of the root at which all ranks can start together: not before `earliest` of this clock.
    fn soonest(&self, earliest: u64) -> u64 {
        let ranks = self.messages.ranks() as u64;
        let levels = u64::from(ranks.next_power_of_two().ilog2());
        let lead = LEAD_OF_LEVEL * levels + LEAD_OF_RANK * ranks;
        self.clock.here(earliest.max(monotonic_ns() + lead))
    }

    /// Passes notices and progress on until the run is over. `started` is called with the start of the first phase, and on the root `show` with
    /// the phase and the progress of all ranks together.
    pub(crate) fn accompany(
        &self,
        scene: &Scene<'_>,
        started: &dyn Fn(u64),
        show: &dyn Fn(u16, HostProgress),
    ) {
        let mut known: HashMap<usize, HostProgress> = HashMap::new();
        let (mut reported, mut has_stopped, mut has_started) = (Instant::now(), false, false);
        while !scene.is_over() {
            std::thread::sleep(POLL);
            if !has_started && self.origin() > 0 {
                has_started = true;
                started(self.origin());
            }
            if let Some(signal) = self.control.signal().filter(|_| !has_stopped) {
                has_stopped = true;
                self.tell(Notice::Stop(signal.0));
            }
            self.pass_on();
            self.hear_progress(&mut known);
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                let own = HostProgress::of(&scene.progress.snapshot(true));
                let all = known.values().copied().fold(own, HostProgress::with);
                match parent(self.messages.rank()) {
                    // It is short, so that sending it never waits for the parent.
                    Some(parent) => self.messages.send(parent, Kind::Progress, &bytes_of(&all)),
                    None => show(self.phase.load(Relaxed), all),
                }
            }
        }
    }

    fn tell(&self, notice: Notice) {
        locked(&self.told).push(notice);
    }

    fn neighbours(&self) -> impl Iterator<Item = usize> {
        let rank = self.messages.rank();
        parent(rank).into_iter().chain(children(rank, self.messages.ranks()))
    }

    /// Follows the notices of other ranks, and passes these and its own on.
    fn pass_on(&self) {
        let own = std::mem::take(&mut *locked(&self.told)).into_iter().map(|notice| (None, notice));
        let heard = self.neighbours().flat_map(|from| {
            let next =
                move || Some((Some(from), value_of::<Notice>(&self.messages.take(from, Kind::Notice)?)));
            std::iter::from_fn(next)
        });
        for (from, notice) in own.chain(heard).collect::<Vec<_>>() {
            // Several ranks may say the same at once.
            let mut passed = locked(&self.passed);
            if passed.contains(&notice) {
                continue;
            }
            passed.push(notice);
            match notice {
                Notice::FirstDone(phase) => self.first_done(phase).store(true, Relaxed),
                Notice::Stop(signal) => self.control.stop(signal),
            }
            let others = self.neighbours().filter(|to| Some(*to) != from);
            others.for_each(|to| self.messages.send(to, Kind::Notice, &bytes_of(&notice)));
        }
    }

    fn hear_progress(&self, known: &mut HashMap<usize, HostProgress>) {
        for child in children(self.messages.rank(), self.messages.ranks()) {
            while let Some(bytes) = self.messages.take(child, Kind::Progress) {
                known.insert(child, value_of(&bytes));
            }
        }
    }

    /// Receives what arrived after the run: no message remains. All ranks have ended before.
    pub(crate) fn drain(&self) {
        for from in self.neighbours() {
            for kind in [Kind::Notice, Kind::Progress] {
                while self.messages.take(from, kind).is_some() {}
            }
        }
    }
}

impl Rendezvous for RankMember<'_> {
    fn begin(&self, phase: u16, earliest: u64) -> Result<u64, String> {
        let Some(mut next) = self.skip_to(Step::Begin(phase)) else { return Err("the run is over".into()) };
        let is_stopped = phase == 0 && self.control.signal().is_some();
        let stopped = is_stopped.then(|| "the run was stopped before it started".into());
        let all = self
            .vote(&mut next, Vote { at: self.soonest(earliest), is_whole: true, stopped, ..Vote::default() });
        if let Some(why) = all.stopped {
            return Err(why);
        }
        self.phase.store(phase, Relaxed);
        if phase == 0 {
            self.origin.store(all.at, Relaxed);
        }
        Ok(self.clock.there(all.at))
    }

    fn end(&self, phase: u16, is_whole: bool) -> bool {
        let Some(mut next) = self.skip_to(Step::End(phase)) else { return false };
        self.is_cause.fetch_or(!is_whole, Relaxed);
        self.vote(&mut next, Vote { is_whole, ..Vote::default() }).is_whole
    }

    fn meet(&self, phase: u16, arrived: u64) -> u64 {
        let Some(mut next) = self.skip_to(Step::Meet(phase)) else { return arrived };
        let all = self.vote(&mut next, Vote { at: self.soonest(arrived), ..Vote::default() });
        self.clock.there(all.at)
    }

    fn first_done(&self, phase: u16) -> Arc<AtomicBool> {
        locked(&self.first_done).entry(phase).or_default().clone()
    }

    fn tell_first_done(&self, phase: u16) {
        self.tell(Notice::FirstDone(phase));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::on_ranks;
    use super::*;
    use iosonar_plan::{ByteSize, Generator, Job, Order, Phase, Target, Workload};

    fn plan(phases: usize) -> Plan {
        let job = || Job::new(0, 1, Workload::Generated(Generator::new(Order::Sequential, ByteSize(4096))));
        Plan::new(1, vec![Target::new("x")], (0..phases).map(|_| Phase::of(vec![job()])).collect())
    }

    /// Results of all ranks in a run of this number of phases.
    fn each<T: Send>(
        ranks: usize,
        phases: usize,
        run: impl Fn(usize, &RankMember<'_>) -> T + Sync,
    ) -> Vec<T> {
        let plan = plan(phases);
        on_ranks(ranks, |messages| {
            let (clock, control) = (RankClock::new(messages), Control::default());
            run(messages.rank(), &RankMember::new(messages, &plan, &clock, &control))
        })
    }

    #[test]
    fn phases_start_at_one_time_and_end_where_a_rank_did_not_do_all() {
        let seen = each(6, 3, |rank, member| {
            let first = member.begin(0, 0).unwrap();
            let goes_on = member.end(0, true);
            let second = member.begin(1, 0).unwrap();
            (first, goes_on, second, member.end(1, rank != 4), member.is_cause(), member.origin())
        });
        let (first, _, second, ..) = seen[0];
        assert!(second > first, "{seen:?}");
        for (rank, one) in seen.iter().enumerate() {
            assert_eq!(*one, (first, true, second, false, rank == 4, first), "rank {rank}");
        }
    }

    #[test]
    fn a_rank_that_cannot_go_on_ends_the_others_with_its_reason() {
        let seen = each(5, 2, |rank, member| {
            member.begin(0, 0).unwrap();
            assert!(member.end(0, true));
            match rank {
                3 => {
                    member.finish("no memory");
                    Err("left".into())
                }
                _ => member.begin(1, 0),
            }
        });
        assert_eq!(seen[3], Err("left".to_string()));
        assert!(
            seen.iter().enumerate().all(|(rank, one)| rank == 3 || *one == Err("rank 3: no memory".into())),
            "{seen:?}"
        );
    }

    #[test]
    fn a_run_that_is_stopped_before_its_start_starts_on_no_rank() {
        let seen = each(3, 1, |rank, member| {
            if rank == 2 {
                member.control.stop(15);
            }
            let begun = member.begin(0, 0);
            member.finish("it is over already");
            (begun, member.origin())
        });
        let why = Err("the run was stopped before it started".to_string());
        assert!(seen.iter().all(|one| *one == (why.clone(), 0)), "{seen:?}");
    }

    #[test]
    fn notices_reach_every_rank_once() {
        let seen = each(7, 1, |rank, member| {
            let done = member.first_done(0);
            if rank == 5 {
                member.tell_first_done(0);
            }
            if rank == 0 {
                member.tell(Notice::Stop(2));
            }
            while !done.load(Relaxed) || member.control.signal().is_none() {
                member.pass_on();
            }
            agree(member.messages, (), |(), ()| ());
            member.drain();
            done.load(Relaxed)
        });
        assert!(seen.iter().all(|done| *done));
    }
}
