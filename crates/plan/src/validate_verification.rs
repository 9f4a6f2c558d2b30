//! Rules of a plan's verification, probe and watched order.

use crate::rules::{Result, require, within};
use crate::{Engine, Executor, InvalidPlan, Plan, Probe};
use iosonar_text::shown;

/// The least memory for expected state.
const LEAST_MEMORY: u64 = 1 << 20;
/// The most memory for expected state.
const MOST_MEMORY: u64 = 1 << 44;

/// Refuses verifications that are impossible.
pub(crate) fn validate_verification(plan: &Plan) -> Result {
    let verify = &plan.verify;
    within("verify.memory", verify.memory.0, LEAST_MEMORY, MOST_MEMORY)?;
    if let Some(journal) = &verify.journal {
        let is_local = plan.targets.iter().all(|target| target.executor == Executor::default());
        require(plan.engine.is_real() && is_local, || {
            InvalidPlan::of("verify.journal", "it is for a process that writes to real targets itself")
                .value(shown(&journal))
                .remedy("use another engine and no `executor`, or remove `journal` (--journal)")
        })?;
    }
    if !verify.is_on() {
        return Ok(());
    }
    require(plan.engine != Engine::Null, || {
        InvalidPlan::of("verify.modes", "the engine without I/O reads and writes nothing")
            .value(format_args!("\"{}\"", verify.modes))
            .remedy("use another engine, or remove `verify`")
    })?;
    require(plan.targets.iter().all(|target| target.executor == Executor::default()), || {
        InvalidPlan::of("verify.modes", "what one process writes, another one cannot check")
            .value(format_args!("\"{}\"", verify.modes))
            .remedy("remove `executor` from the targets, or `verify`")
    })?;
    let has_own_data = plan.jobs().any(|(_, job)| job.options.data.is_some());
    require(!has_own_data, || {
        InvalidPlan::of("verify.modes", "`options.data` writes sectors without the header that this checks")
            .value(format_args!("\"{}\"", verify.modes))
            .remedy("remove `options.data`, or check it with `options.verify`")
    })
}

/// Checks that a requested probe is possible.
pub(crate) fn validate_probe(plan: &Plan) -> Result {
    let is_on = plan.probe == Probe::On;
    let of_probe =
        |rule: &str| InvalidPlan::of("probe", rule).value(format_args!("\"{}\"", plan.probe.name()));
    require(!is_on || plan.engine.is_real(), || {
        of_probe("an engine without I/O has nothing to read")
            .remedy("use another `engine`, or remove `probe`")
    })?;
    require(!is_on || !plan.has_processes(), || {
        of_probe("targets that several processes execute are not probed")
            .remedy("remove `executor` or `probe`; `iosonar doctor TARGET` probes a target on its machine")
    })
}

/// Requests that no kernel here sees have no order to watch.
pub(crate) fn validate_watch_order(plan: &Plan) -> Result {
    let of_order = |rule: &str| InvalidPlan::of("watch_order", rule).value(plan.watch_order);
    require(!plan.watch_order || plan.engine.is_real(), || {
        of_order("an engine without I/O gives the kernel nothing to put in order")
            .remedy("use another `engine`, or remove `watch_order`")
    })?;
    require(!plan.watch_order || !plan.has_processes(), || {
        of_order("requests of several processes are not watched").remedy("remove `executor` or `watch_order`")
    })
}

/// The kernel's events are recorded of one process, whose requests reach a device as they are.
pub(crate) fn validate_trace_path(plan: &Plan) -> Result {
    if !plan.trace_path.is_on() {
        return Ok(());
    }
    let of_path = |rule: &str| InvalidPlan::of("trace_path", rule).value(plan.trace_path);
    require(plan.engine.is_real(), || {
        of_path("an engine without I/O has no requests in the kernel")
            .remedy("use another `engine`, or remove `trace_path`")
    })?;
    require(!plan.has_processes(), || {
        of_path("requests of several processes are not traced").remedy("remove `executor` or `trace_path`")
    })?;
    require(!plan.access.buffered, || {
        of_path("the page cache changes the requests of a run before they reach the block layer")
            .remedy("use direct I/O, or remove `trace_path`")
    })?;
    require(!plan.watch_order, || {
        of_path("it does not go with `watch_order`: both read the kernel's events")
            .remedy("remove one of them")
    })
}
