//! Before the first request: causes that would spoil the result, and whether a run is worth its time.

use crate::{Error, Intent, MachineBefore, TargetUse, foreign_io, probe};
use iosonar_analyze::Detection;
use iosonar_archive::TargetInfo;
use iosonar_engine::Prepared;
use iosonar_host::environment::Environment;
use iosonar_judge::{OthersUse, PlannedRun, PlannedTarget, predict};
use iosonar_plan::{Claim, Nanos, Plan};
use iosonar_text::units;
use std::time::Duration;

/// A run of at least this time is refused if its figures will be fake, and is worth a look at what others do.
const LONG: Nanos = Nanos::from_secs(60);
/// How long that look takes.
const QUIET: Duration = Duration::from_secs(1);

/// Detections that a prepared run with a claim will have. Nothing is read or written.
pub fn predicted(prepared: &Prepared, environment: &Environment, claim: Claim) -> Vec<Detection> {
    let (info, intent) = (prepared.info("", ""), Intent::of(prepared));
    let known =
        intent.targets.iter().filter_map(|own| Some((info.targets.get(usize::from(own.number))?, own)));
    predict(&PlannedRun { plan: prepared.plan(), before: environment, targets: planned(known) }, claim)
}

/// The same of the targets on one machine of a plan that several processes execute.
fn predicted_there(plan: &Plan, machine: &MachineBefore) -> Vec<Detection> {
    let targets = planned(machine.targets.iter().map(|(info, own)| (info, own)));
    predict(&PlannedRun { plan, before: &machine.environment, targets }, plan.claim())
}

fn planned<'a>(targets: impl Iterator<Item = (&'a TargetInfo, &'a TargetUse)>) -> Vec<PlannedTarget<'a>> {
    targets
        .map(|(info, own)| PlannedTarget { info, is_read: own.is_read, is_written: own.is_written })
        .collect()
}

/// Refuses a long run whose figures will not be what they claim.
///
/// # Errors
/// It is one.
pub fn refuse(prepared: &Prepared, environment: impl FnOnce() -> Environment) -> Result<(), Error> {
    match expects_long(prepared) {
        None => Ok(()),
        long => {
            refuse_fake(prepared.plan(), long, &predicted(prepared, &environment(), prepared.plan().claim()))
        }
    }
}

/// How long a run will take, if that is long.
fn expects_long(prepared: &Prepared) -> Option<Nanos> {
    prepared.expected_span().filter(|span| *span >= LONG)
}

/// Warnings before a run: a line each. The results of reads that this needs are stored in the environment;
/// `is_stopped` ends that early.
pub fn look(
    prepared: &Prepared,
    environment: &mut Environment,
    is_stopped: &dyn Fn() -> bool,
) -> Vec<String> {
    let plan = prepared.plan();
    let is_long = expects_long(prepared).is_some();
    // Before the probe, whose reads would be counted as those of others.
    let others = if is_long && plan.engine.is_real() { use_by_others(environment) } else { Vec::new() };
    if plan.is_probed(is_long) {
        probe::probe(prepared, environment, is_stopped);
    }
    let found = cautions(&predicted(prepared, environment, plan.claim()), "");
    probe::lines(environment).chain(found).chain(others).collect()
}

/// The same before a run of several processes. I/O of others is watched on this machine only.
pub fn check_together(plan: &Plan, machines: &[MachineBefore]) -> Result<Vec<String>, Error> {
    // The processes work at the same time, so the run takes no less than the slowest of them.
    let long = machines.iter().filter_map(|machine| machine.span).max().filter(|span| *span >= LONG);
    let mut lines = Vec::new();
    for machine in machines {
        let found = predicted_there(plan, machine);
        refuse_fake(plan, long, &found)?;
        let prefix = machine.host.as_ref().map(|host| format!("host {host}: ")).unwrap_or_default();
        lines.extend(cautions(&found, &prefix));
        if long.is_some() && plan.engine.is_real() && machine.host.is_none() {
            lines.extend(use_by_others(&machine.environment));
        }
    }
    Ok(lines)
}

fn refuse_fake(plan: &Plan, long: Option<Nanos>, found: &[Detection]) -> Result<(), Error> {
    let proof = found.iter().find(|one| one.is_reported() && one.is_proof);
    let Some((span, proof)) = long.zip(proof).filter(|_| !plan.anyway) else { return Ok(()) };
    Err(Error::refused_because(format_args!(
        "this run would take {}, and its figures would be FAKE as a {} result: {}; to start it all the same, use --anyway",
        units::clock(span.0),
        plan.claim(),
        proof.line().trim_end_matches('.')
    )))
}

/// `machine` comes before the text of each.
fn cautions(found: &[Detection], machine: &str) -> Vec<String> {
    let line = |one: &Detection| format!("  {machine}caution: {}", one.line().trim_end_matches('.'));
    found.iter().filter(|one| one.is_reported()).map(line).collect()
}

fn use_by_others(environment: &Environment) -> Vec<String> {
    let others = foreign_io::watch(&environment.targets, QUIET);
    let disturbing = others.iter().filter(|other| other.disturbs());
    disturbing.map(|other: &OthersUse| format!("  caution: {}", foreign_io::sentence(other))).collect()
}
