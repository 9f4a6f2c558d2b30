//! Rules of a plan of several processes: they meet at the start of each phase, and nowhere else.

use crate::rules::{Result, named, require, time};
use crate::{
    Collect, Engine, Executor, Host, HostClocks, HostRules, InvalidPlan, Phase, Plan, Target, Workload,
};
use iosonar_text::shown;
use std::collections::HashMap;
use std::path::Path;

/// Checks the executors of the targets.
pub(crate) fn validate_executors(plan: &Plan) -> Result {
    require(plan.has_hosts() || plan.hosts == HostRules::default(), || {
        InvalidPlan::of("hosts", "no target has a host").remedy("remove it, or give targets an `executor`")
    })?;
    if !plan.has_processes() {
        return Ok(());
    }
    let is_rank = |target: &Target| matches!(target.executor, Executor::Rank(_));
    require(!plan.has_ranks() || plan.targets.iter().all(is_rank), || {
        InvalidPlan::of("executor", "some targets have a rank, and some have none")
            .remedy("give each target a rank, or leave all ranks out: they get targets by turns")
    })?;
    require(!plan.has_ranks() || plan.hosts.clock == HostClocks::Exchanges, || {
        InvalidPlan::of("hosts.clock", "ranks read their clocks by exchanges").remedy("remove it")
    })?;
    time("hosts.max_clock_error", plan.hosts.max_clock_error.unwrap_or_default())?;
    let keeps_here =
        |target: &&Target| plan.hosts.collect == Collect::Summary && target.executor.place().is_none();
    if let Some(here) = plan.targets.iter().find(keeps_here) {
        return Err(InvalidPlan::of(
            "hosts.collect",
            "records of targets on this machine are part of the result",
        )
        .remedy("use `records`, or give every target a host")
        .within(&format!("target {}", shown(&here.path))));
    }
    for target in &plan.targets {
        if let Some(host) = target.executor.host() {
            named(&format!("target {}", shown(&target.path)), validate_host(host))?;
        }
    }
    require(!matches!(plan.engine, Engine::Sim(_)), || {
        InvalidPlan::of("executor", "processes have no simulated time in common")
            .remedy("use another `engine`, or remove `executor`")
    })?;
    let is_stdin = |load: &crate::TraceReplay| load.file.as_os_str() == "-";
    let reads_stdin =
        plan.jobs().any(|(_, job)| matches!(&job.workload, Workload::Trace(load) if is_stdin(load)));
    require(!reads_stdin, || {
        InvalidPlan::of("executor", "a process of its own has no standard input to read a trace from")
            .remedy("name a file")
    })?;
    let mut by_path: HashMap<&Path, Vec<&Target>> = HashMap::new();
    for target in &plan.targets {
        let others = by_path.entry(&target.path).or_default();
        require(!others.iter().any(|other| share_a_file(other, target)), || {
            InvalidPlan::of("executor", "two processes cannot share a file or device")
                .remedy("remove `executor` from both targets, or give each a file of its own")
                .within(&format!("target {}", shown(&target.path)))
        })?;
        others.push(target);
    }
    plan.phases.iter().try_for_each(|phase| match phase.name.as_str() {
        "" => validate_phase(phase),
        name => named(&format!("phase {name}"), validate_phase(phase)),
    })
}

/// Whether two targets of one name are on one machine, but not executed by threads of one process. Ranks may share a file: each has its
/// part of it.
fn share_a_file(a: &Target, b: &Target) -> bool {
    if matches!(a.executor, Executor::Rank(_)) {
        return false;
    }
    let is_near = match (a.executor.host(), b.executor.host()) {
        (Some(a), Some(b)) => a.is_same_place(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let are_threads = a.executor == b.executor && a.executor != Executor::Process;
    is_near && !are_threads
}

fn validate_host(host: &Host) -> Result {
    require(!host.name.is_empty(), || InvalidPlan::of("executor.host.name", "it is empty"))?;
    let fields = [("executor.host.name", &host.name), ("executor.host.program", &host.program)];
    fields.into_iter().try_for_each(|(field, value)| {
        // The remote shell would take it for an option.
        require(!value.starts_with('-'), || InvalidPlan::of(field, "it starts with a dash").value(value))
    })
}

fn validate_phase(phase: &Phase) -> Result {
    let alone = |field: &str, holds: bool| {
        require(holds, || {
            InvalidPlan::of(field, "processes meet at the start of a phase only")
                .remedy("remove it, or remove `executor` from all targets")
        })
    };
    let coordination = &phase.coordination;
    alone("remount", phase.remount.is_none())?;
    alone("passes", phase.passes == 1)?;
    alone("coordination.free_passes", !coordination.free_passes)?;
    alone("coordination.runtime", coordination.runtime.is_none())?;
    alone("coordination.meet_every", coordination.meet_every.is_none())?;
    alone("coordination.in_turn", !coordination.in_turn)?;
    alone("coordination.lockstep", coordination.lockstep.is_empty())?;
    alone("coordination.start", coordination.start.is_empty())?;
    alone("coordination.stop", coordination.stop.is_empty())?;
    let with_steps = phase.jobs.iter().filter(|job| job.options.has_steps_before()).count();
    require(with_steps == 0 || with_steps == phase.jobs.len(), || {
        InvalidPlan::of(
            "options.before",
            "some jobs of the phase have file operations before their requests, and some have none",
        )
        .remedy("give all of them at least one, or remove `executor` from all targets")
    })
}
