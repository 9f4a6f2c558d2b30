//! `iosonar knee`: a target rate that rises until a target cannot follow.

mod ramp;
mod report;

use crate::commands::replay::check_is_load;
use crate::exit::{Exit, Failure};
use crate::knee_args::{DemandArgs, KneeArgs};
use crate::new_load;
use crate::output::{print_message, unused_dated};
use anyhow::anyhow;
use iosonar_analyze::knee::{Doubt, KneeVerdict};
use iosonar_os::create::new_dirs;
use iosonar_os::made::Undo;
use iosonar_plan::{Nanos, Rising, RisingShape};
use ramp::Ramp;
use std::cell::RefCell;
use std::path::PathBuf;

/// Where the search starts, in requests per second.
const BEGIN: u64 = 10;
/// Final rate of a search ramp, as a multiple of its first.
const DECADE: u64 = 10;
/// Duration of such a ramp.
const COARSE: Nanos = Nanos::from_secs(4);
/// Maximum number of slow ramps, each around the rate found by the one before.
const FINE: u32 = 3;

/// Looks for the highest rate that a target sustains.
pub fn knee(args: &KneeArgs) -> Result<Exit, Failure> {
    check(args)?;
    let out = args.result.out.clone().unwrap_or_else(|| unused_dated("knee"));
    new_load::check_absent("--out", &out)?;
    let folder = Folder { path: out.clone(), made: RefCell::default() };
    let ramps = Search { args, out: &folder, run_id: None, ramps: Vec::new() }.execute()?;
    report::report(args, &out, &ramps)
}

fn check(args: &KneeArgs) -> Result<(), Failure> {
    let demand = &args.demand;
    let refuse = |why: String| Err(Failure::refused(anyhow!("{why}")));
    if args.load.as_ref().is_some_and(|load| load.as_os_str() == "-") {
        return refuse(
            "LOAD -: standard input can be read only once, and several ramps read it: name a file".into(),
        );
    }
    args.load.iter().try_for_each(|load| check_is_load(load))?;
    if demand.duration < Nanos::SECOND {
        return refuse(format!("--duration {}: too short for a rate: give 1s or more", demand.duration));
    }
    if let (Some(from), Some(to)) = (demand.from, demand.to)
        && from >= to
    {
        return refuse(format!("--to {to}: the demand has to rise from --from {from}: give a higher rate"));
    }
    if demand.to.is_none() && demand.growth.is_none() && demand.from.is_some_and(|from| from >= demand.most) {
        return refuse(format!("--from: the search ends at --most {}: start below it", demand.most));
    }
    Ok(())
}

/// The explicitly requested ramp, if any.
fn told(demand: &DemandArgs) -> Option<Rising> {
    let from = demand.from.unwrap_or(1);
    let risen = |growth: u64| (growth as f64 * demand.duration.as_secs_f64()) as u64;
    let to =
        demand.to.or(demand.growth.map(|growth| from.saturating_add(risen(growth)).min(1_000_000_000)))?;
    Some(Rising { from, to: to.max(from + 1), over: demand.duration, shape: RisingShape::Linear })
}

/// The directory of the results. It is created when the first ramp starts, and removed if empty.
struct Folder {
    path: PathBuf,
    /// Created directories: only empty ones can be removed.
    made: RefCell<Undo>,
}

impl Folder {
    fn create(&self) {
        // The archive, which cannot be created in it then, reports the error.
        new_dirs(&self.path)
            .unwrap_or_default()
            .into_iter()
            .for_each(|made| self.made.borrow_mut().push(made));
    }
}

/// A search by ramps, each chosen by the verdict on the one before.
struct Search<'a> {
    args: &'a KneeArgs,
    out: &'a Folder,
    /// The run number in written blocks, the same for all ramps.
    run_id: Option<u64>,
    ramps: Vec<Ramp>,
}

impl Search<'_> {
    fn execute(mut self) -> Result<Vec<Ramp>, Failure> {
        if let Some(rising) = told(&self.args.demand) {
            self.ramp("ramp", rising)?;
            return Ok(self.ramps);
        }
        if let Some(rate) = self.coarse()? {
            self.fine(rate)?;
        }
        Ok(self.ramps)
    }

    /// Executes a ramp; returns its verdict, or `None` if it was ended from outside.
    fn ramp(&mut self, name: &str, rising: Rising) -> Result<Option<KneeVerdict>, Failure> {
        let shape = if rising.shape == RisingShape::Linear { "evenly" } else { "exponentially" };
        print_message(format_args!(
            "iosonar: {name}: {} to {} requests/s, {shape} in {}",
            rising.from, rising.to, rising.over
        ));
        let ramp = ramp::execute(self.args, self.out, name, rising, &mut self.run_id)?;
        let verdict = ramp.is_whole().then(|| ramp.verdict.clone());
        self.ramps.push(ramp);
        Ok(verdict)
    }

    /// Finds the knee roughly: by ramps to ten times the rate of the one before, until one shows it.
    fn coarse(&mut self) -> Result<Option<f64>, Failure> {
        let demand = &self.args.demand;
        let mut from = demand.from.unwrap_or(BEGIN);
        for number in 1.. {
            let to = from.saturating_mul(DECADE).min(demand.most);
            let rising = Rising { from, to, over: COARSE, shape: RisingShape::Exponential };
            match self.ramp(&format!("coarse-{number}"), rising)? {
                None => return Ok(None),
                Some(KneeVerdict::Found(knee)) => return Ok(Some(knee.sustained_per_second)),
                Some(_) if to >= demand.most => return Ok(None),
                // Ten times the rate shows nothing if the target hardly responds.
                Some(KneeVerdict::Unclear { why: Doubt::TooFew, .. })
                    if self.ramps.last().is_some_and(Ramp::is_far_behind) =>
                {
                    return Ok(None);
                }
                Some(_) => from = to,
            }
        }
        Ok(None)
    }

    /// Ramps slowly from half of a rate to half above it.
    fn fine(&mut self, mut rate: f64) -> Result<(), Failure> {
        for number in 1..=FINE {
            let from = (rate * 0.5).max(1.0) as u64;
            let to = ((rate * 1.5).ceil() as u64).clamp(from + 1, 1_000_000_000);
            let rising = Rising {
                from: from.min(to - 1),
                to,
                over: self.args.demand.duration,
                shape: RisingShape::Linear,
            };
            match self.ramp(&format!("fine-{number}"), rising)? {
                Some(KneeVerdict::Found(knee)) if knee.from_the_start => rate = knee.sustained_per_second,
                Some(KneeVerdict::NotReached { at_least_per_second }) => {
                    rate = at_least_per_second.max(1.0) * 1.5
                }
                Some(KneeVerdict::Unclear { why: Doubt::EndedThere, .. }) => rate *= 1.3,
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}
