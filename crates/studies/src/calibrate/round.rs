//! One round: a plan that runs as any other, and the figures from its records.

use iosonar_archive::remove_archive;
use iosonar_archive::{Archive, Outcome, PassTimes, Record, RunInfo, RunState};
use iosonar_engine::{Alone, Control};
use iosonar_host::Root;
use iosonar_plan::{
    Access, ByteSize, Decimal, Engine, Generator, Job, Nanos, Order, Overlap, OverlapPolicy, Pace, Pacing,
    Phase, Plan, Process, Stop, Target, Workload,
};
use iosonar_runner::{Error, Ready, new_run_id};
use std::path::Path;

/// Bytes of a request.
pub(super) const BLOCK: ByteSize = ByteSize(4096);
/// Requests per second in the timer's rounds.
const TIMED: u64 = 2_000;

/// Rounds without a completed request, before that is reported as an error.
const TRIES: u32 = 5;

/// Speed of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Speed {
    pub requests: u64,
    /// Clock time of each request.
    pub ns: f64,
    /// CPU time of the issuing thread, for each request.
    pub cpu_ns: f64,
}

/// Lateness of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lateness {
    pub requests: u64,
    /// How long the issuing thread spun before a due time.
    pub spin: Nanos,
    pub p50_ns: u64,
    pub p99_ns: u64,
}

/// Runs rounds.
pub(super) struct Runner<'a> {
    /// Holds their results temporarily.
    pub dir: &'a Path,
    /// The file that is read.
    pub file: &'a Path,
    /// Length of a round.
    pub length: Nanos,
    /// Stored with each result as what was typed.
    pub command: &'a str,
}

impl Runner<'_> {
    /// Measures a closed loop of random reads.
    ///
    /// # Errors
    /// The reason why the engine cannot be measured here.
    pub fn speed(&self, engine: Engine, depth: u32) -> Result<Speed, Error> {
        for _ in 0..TRIES {
            let mut completed = 0;
            let count = &mut |record: &Record| completed += u64::from(record.outcome == Outcome::Completed);
            let info = self.run(self.plan(engine, depth, Pace::Closed), count)?;
            if let Some(why) = info.setup.fallback {
                return Err(Error::broke_because(why));
            }
            if completed > 0 {
                return speed(&info.passes, completed);
            }
        }
        let length = self.length;
        Err(Error::broke_because(format_args!(
            "no request completed in {TRIES} rounds of {length}: give a longer --duration"
        )))
    }

    /// Measures requests at fixed times with the null engine.
    ///
    /// # Errors
    /// They cannot be issued here.
    pub fn lateness(&self, spin: Option<Nanos>) -> Result<Lateness, Error> {
        let pace = Pace::Rate { iops: Decimal::whole(TIMED), process: Process::Constant };
        let plan = self.plan(Engine::Null, 1, pace);
        let mut late = Vec::new();
        let look = &mut |record: &Record| {
            late.extend(record.submitted.map(|submitted| submitted.saturating_sub(record.due).0));
        };
        let info = self.run(Plan { pacing: Pacing { spin, ..Pacing::default() }, ..plan }, look)?;
        lateness(late, info.setup.spin).ok_or_else(|| Error::broke_because("no request was issued"))
    }

    fn plan(&self, engine: Engine, depth: u32, pace: Pace) -> Plan {
        let generator = Generator {
            pace,
            stop: Stop { runtime: Some(self.length), ..Stop::default() },
            ..Generator::new(Order::Random, BLOCK)
        };
        let target = Target { size: Some(ByteSize(super::run::FILE)), ..Target::new(self.file) };
        let size = target.size.filter(|_| !engine.is_real());
        let job = Job::new(0, depth, Workload::Generated(generator));
        Plan {
            engine,
            // Not every file system in memory has direct I/O, and some engines never use it.
            access: Access { buffered: true, ..Access::default() },
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            ..Plan::new(new_run_id(), vec![Target { size, ..target }], vec![Phase::of(vec![job])])
        }
    }

    /// Executes a plan, passes each of its records to `see`, and removes its result.
    fn run(&self, plan: Plan, see: &mut dyn FnMut(&Record)) -> Result<RunInfo, Error> {
        plan.validate().map_err(Error::refused)?;
        let (root, dir) = (Root::default(), self.dir.join("run"));
        // Without a look ahead: it takes longer than a round, and a round is judged by nothing but its records.
        let ready = Ready::new(plan, &root, |_, _| {}).map_err(Error::refused)?;
        let environment = ready.environment(&root);
        let begun = ready.begin(environment, &dir, self.command).map_err(Error::refused)?;
        let ended = begun.execute(&Control::default(), &Alone, |_| {}).map_err(Error::broke)?;
        let archive = Archive::open(&dir).map_err(Error::broke)?;
        archive.for_each_record(see).map_err(Error::broke)?;
        remove_archive(&dir).map_err(Error::broke)?;
        match ended.info.state {
            RunState::Finished => Ok(ended.info),
            state => Err(Error::broke_because(format_args!("the round ended early: {state:?}"))),
        }
    }
}

fn speed(passes: &[PassTimes], requests: u64) -> Result<Speed, Error> {
    let pass = passes.first().ok_or_else(|| Error::broke_because("the round has no times"))?;
    let each = |ns: u64| ns as f64 / requests as f64;
    Ok(Speed { requests, ns: each(pass.end.saturating_sub(pass.start).0), cpu_ns: each(pass.cpu_ns) })
}

fn lateness(mut late: Vec<u64>, spin: Nanos) -> Option<Lateness> {
    late.sort_unstable();
    // Nearest-rank percentile.
    let at = |percent: usize| late.get((late.len() * percent).div_ceil(100).max(1) - 1).copied();
    Some(Lateness { requests: late.len() as u64, spin, p50_ns: at(50)?, p99_ns: at(99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_round_are_per_request() {
        let pass = PassTimes {
            target: 0,
            job: 0,
            phase: 0,
            pass: 0,
            start: Nanos(1_000),
            end: Nanos(11_000),
            cpu_ns: 5_000,
            open_ns: 0,
        };
        assert_eq!(speed(&[pass], 100).unwrap(), Speed { requests: 100, ns: 100.0, cpu_ns: 50.0 });
        assert!(speed(&[], 1).is_err());
    }

    #[test]
    fn percentiles_are_observed_values() {
        let seen = lateness((1..=100).rev().collect(), Nanos(7)).unwrap();
        assert_eq!(seen, Lateness { requests: 100, spin: Nanos(7), p50_ns: 50, p99_ns: 99 });
        assert_eq!(lateness(vec![5], Nanos(0)).map(|seen| (seen.p50_ns, seen.p99_ns)), Some((5, 5)));
        assert_eq!(lateness(Vec::new(), Nanos(0)), None);
    }
}
