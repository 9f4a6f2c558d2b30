//! Which requests a target gets, and how their rate rises.

use iosonar_plan::{Job, LoadPace, Nanos, Pace, Plan, Rising, RisingShape, Stop, Target, Workload};
use iosonar_runner::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The highest rate of a ramp.
pub(super) const MOST_RATE: u64 = 1_000_000_000;

/// A run, and the rates at which its requests are issued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The run: one job on one target. Each ramp executes it, with the rate of the ramp as its pace.
    pub plan: Plan,
    /// The first rate in requests per second; `None` lets the search choose it.
    pub from: Option<u64>,
    /// The last rate of a single ramp.
    pub to: Option<u64>,
    /// By how much the rate of a single ramp grows in each second.
    pub growth: Option<u64>,
    /// Length of a ramp that measures.
    pub duration: Nanos,
    /// The highest rate that a search tries.
    pub most: u64,
    /// Directory of the results, which must not exist.
    pub out: PathBuf,
}

impl Question {
    /// A search on a job's target as `iosonar knee` does it.
    pub fn of(plan: Plan, out: impl Into<PathBuf>) -> Question {
        Question {
            plan,
            from: None,
            to: None,
            growth: None,
            duration: Nanos::from_secs(20),
            most: 1_000_000,
            out: out.into(),
        }
    }

    /// The target and the job.
    pub(super) fn parts(&self) -> Result<(&Target, &Job), Error> {
        match (self.plan.targets.as_slice(), self.plan.phases.as_slice()) {
            ([target], [phase]) if phase.jobs.len() == 1 => Ok((target, &phase.jobs[0])),
            _ => Err(Error::refused_because("the plan of a ramp has one job on one target")),
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::refused_because(why));
        let (_, job) = self.parts()?;
        if matches!(&job.workload, Workload::Trace(load) if load.file.as_os_str() == "-") {
            return refuse(
                "LOAD -: standard input can be read only once, and several ramps read it: name a file".into(),
            );
        }
        if self.duration < Nanos::SECOND {
            return refuse(format!("--duration {}: too short for a rate: give 1s or more", self.duration));
        }
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            return refuse(format!(
                "--to {to}: the demand has to rise from --from {from}: give a higher rate"
            ));
        }
        if self.to.is_none() && self.growth.is_none() && self.from.is_some_and(|from| from >= self.most) {
            return refuse(format!("--from: the search ends at --most {}: start below it", self.most));
        }
        Ok(())
    }

    /// The explicitly requested ramp, if any.
    pub(super) fn single_ramp(&self) -> Option<Rising> {
        let from = self.from.unwrap_or(1);
        let risen = |growth: u64| (growth as f64 * self.duration.as_secs_f64()) as u64;
        let to = self.to.or(self.growth.map(|growth| from.saturating_add(risen(growth)).min(MOST_RATE)))?;
        Some(Rising { from, to: to.max(from + 1), over: self.duration, shape: RisingShape::Linear })
    }

    /// The plan of a ramp.
    pub(super) fn plan_of(&self, rising: Rising) -> Result<Plan, Error> {
        let mut plan = self.plan.clone();
        for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            match &mut job.workload {
                Workload::Trace(load) => load.pace = LoadPace::Rising(rising),
                Workload::Generated(pattern) => {
                    pattern.pace = Pace::Rising(rising);
                    // A pattern's own limit, such as each place once, would end the ramp before its time.
                    pattern.stop = Stop { runtime: Some(rising.over), ..Stop::default() };
                }
            }
        }
        plan.validate().map_err(Error::refused)?;
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{ByteSize, Generator, Order, Phase};

    fn question() -> Question {
        let workload = Workload::Generated(Generator::new(Order::Random, ByteSize(4096)));
        let phase = Phase::of(vec![Job::new(0, 128, workload)]);
        Question::of(Plan::new(1, vec![Target::new("dev")], vec![phase]), "out")
    }

    #[test]
    fn single_ramp_uses_explicit_rates() {
        let ramp = |from, to, growth| {
            let found = Question { from, to, growth, ..question() }.single_ramp();
            found.map(|rising| (rising.from, rising.to))
        };
        assert_eq!(ramp(None, None, None), None);
        assert_eq!(ramp(Some(100), None, None), None);
        assert_eq!(ramp(Some(100), Some(500), None), Some((100, 500)));
        assert_eq!(ramp(None, Some(500), None), Some((1, 500)));
        assert_eq!(ramp(Some(10), None, Some(50)), Some((10, 1010)));
    }

    #[test]
    fn rates_that_do_not_rise_are_refused() {
        let why = |question: Question| question.check().unwrap_err().to_string();
        assert!(question().check().is_ok());
        assert!(why(Question { from: Some(9), to: Some(9), ..question() }).contains("--to 9"));
        assert!(why(Question { from: Some(2_000_000), ..question() }).contains("--most 1000000"));
        assert!(why(Question { duration: Nanos(1), ..question() }).contains("--duration 1ns"));
        let mut two = question();
        two.plan.targets.push(Target::new("other"));
        assert!(why(two).contains("one job on one target"));
    }

    #[test]
    fn ramp_sets_pace_and_end_of_its_job() {
        let rising = Rising { from: 1, to: 9, over: Nanos::SECOND, shape: RisingShape::Linear };
        let plan = question().plan_of(rising).unwrap();
        let Workload::Generated(pattern) = &plan.phases[0].jobs[0].workload else { panic!("{plan:?}") };
        let stop = Stop { runtime: Some(Nanos::SECOND), ..Stop::default() };
        assert_eq!((pattern.pace, pattern.stop), (Pace::Rising(rising), stop));
    }
}
