//! The machines of a plan, as typed with `--on`.

use crate::args::hosts::{HostArgs, ReachArgs, Share};
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_cluster::{Placement, split};
use iosonar_plan::{Executor, Host, HostRules, Plan, Target};
use std::path::PathBuf;

/// The machines that are typed.
pub fn placement(args: &ReachArgs) -> Result<Placement, Failure> {
    Placement::parse(&args.on).map_err(|why| Failure::refused(anyhow!("--on {why}")))
}

/// The typed targets, and after them those that are typed with a machine.
pub fn targets(typed: &[PathBuf], placement: &Placement) -> Result<Vec<PathBuf>, Failure> {
    if typed.is_empty() && placement.has_open_hosts() {
        return Err(Failure::refused(anyhow!(
            "--on: a host has no target: write HOST:TARGET, or name the target of all hosts before --on"
        )));
    }
    Ok(typed.iter().cloned().chain(placement.targets()).collect())
}

/// Refuses an option about other machines where only this one works.
pub fn refuse_unused(args: &ReachArgs) -> Result<(), Failure> {
    match args.send_program {
        Some(_) => Err(Failure::refused(anyhow!(
            "--send-program has no effect on this machine: add --on, or remove it"
        ))),
        None => Ok(()),
    }
}

/// The typed machines of a question whose targets are named elsewhere, as `why_no_target` says; `None`: this machine.
pub fn machines(args: &ReachArgs, why_no_target: &str) -> Result<Vec<Option<Host>>, Failure> {
    let placement = placement(args)?;
    if !placement.targets().is_empty() {
        return Err(Failure::refused(anyhow!("--on: {why_no_target}: write --on HOST, without a target")));
    }
    Ok(placement.places().map(|(name, _)| name.map(|name| host(name, args))).collect())
}

/// The executors of streams: one for each typed machine.
pub fn executors(args: &ReachArgs) -> Result<Vec<Executor>, Failure> {
    let machines = machines(args, "the test files are those of FILE")?;
    if machines.is_empty() {
        refuse_unused(args)?;
    }
    Ok(machines.into_iter().map(|host| host.map_or(Executor::Thread, Executor::Host)).collect())
}

/// A machine, and how it is reached.
pub fn host(name: &str, args: &ReachArgs) -> Host {
    Host { program: args.remote_path.clone().unwrap_or_default(), sudo: args.sudo, ..Host::new(name) }
}

/// A plan on the typed machines, with the rules that are typed.
pub fn placed(plan: Plan, placement: &Placement, args: &HostArgs) -> Result<Plan, Failure> {
    let free = plan.targets.len().saturating_sub(placement.targets().len());
    let is_fixed = |target: &Target| target.executor != Executor::Thread;
    if placement.has_open_hosts() && plan.targets[..free].iter().all(is_fixed) {
        return Err(Failure::refused(anyhow!(
            "--on: each target of the plan has an `executor`, so no host gets one: remove them from the plan, or run it without --on"
        )));
    }
    let plan =
        if placement.is_empty() { plan } else { placement.place(plan, |name| host(name, &args.reach)) };
    let plan = match args.share {
        Some(Share::Split) => split(plan).map_err(|why| Failure::refused(anyhow!("--share split: {why}")))?,
        Some(Share::Each) | None => plan,
    };
    let hosts = HostRules {
        lost: args.on_lost_host.unwrap_or(plan.hosts.lost),
        max_clock_error: args.max_clock_error.or(plan.hosts.max_clock_error),
        clock: args.clock.unwrap_or(plan.hosts.clock),
        collect: args.collect.unwrap_or(plan.hosts.collect),
    };
    let rules = [
        ("--send-program", args.reach.send_program.is_some()),
        ("--share", args.share.is_some()),
        ("--on-lost-host", args.on_lost_host.is_some()),
        ("--max-clock-error", args.max_clock_error.is_some()),
        ("--clock", args.clock.is_some()),
        ("--collect", args.collect.is_some()),
    ];
    if plan.has_ranks() && args.on_lost_host.is_some() {
        return Err(Failure::refused(anyhow!(
            "--on-lost-host has no effect on ranks: MPI ends all of them if one is lost; remove it"
        )));
    }
    match rules.into_iter().find(|(_, is_typed)| *is_typed && !plan.has_hosts()) {
        Some((option, _)) => {
            Err(Failure::refused(anyhow!("{option} has no effect on one machine: add --on, or remove it")))
        }
        None => Ok(Plan { hosts, ..plan }),
    }
}
