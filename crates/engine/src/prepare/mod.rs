//! Everything that can be found out before the first I/O, in stages: workloads are read ([`inputs`]), targets inspected ([`look`]),
//! jobs fitted to them ([`fit`]), memory compared ([`memory`]), and only then targets claimed ([`claim`]).

mod available;
mod claim;
mod fit;
mod inputs;
mod limits;
mod look;
mod memory;
mod prepared;
mod remounts;
mod streams;

pub use available::filter_room;
pub use inputs::NoticeSink;
pub use prepared::{Prepared, TargetReady};

pub(crate) use fit::FittedJob;
pub(crate) use inputs::open_requests;
pub(crate) use prepared::{Claimed, JobReady, range_of};

use crate::control::Control;
use crate::error::PrepareError;
use crate::paths::targets_by_path;
use claim::claim_all;
use fit::{check_apart, fit_phase};
use inputs::read_all;
use iosonar_backend::StoreRoom;
use iosonar_host::Root;
use iosonar_load::Known;
use iosonar_plan::Plan;
use limits::check_limits;
use look::{Inspected, look_at_all};
use memory::{Shares, fit_memory};
use remounts::check_remounts;
use std::sync::{Arc, OnceLock};
use streams::check_streams;

/// Prepares the part of a plan on some of its targets; other processes execute the rest. A signal in `control` ends it.
pub fn prepare_part(
    plan: Plan,
    targets: &[u16],
    root: &Root,
    notices: NoticeSink,
    control: &Arc<Control>,
) -> Result<Prepared, PrepareError> {
    let part = prepare_until_stopped(plan.part(targets), root, notices, control)?;
    Ok(Prepared { whole: Some(plan), ..part })
}

/// Checks everything and claims the targets. `notices` receives bad lines and shifts in loads.
pub fn prepare(plan: Plan, root: &Root, notices: NoticeSink) -> Result<Prepared, PrepareError> {
    prepare_until_stopped(plan, root, notices, &Arc::default())
}

fn prepare_until_stopped(
    plan: Plan,
    root: &Root,
    notices: NoticeSink,
    control: &Arc<Control>,
) -> Result<Prepared, PrepareError> {
    check_limits(&plan, root)?;
    let known = read_all(&plan, &notices, root, control).map_err(|error| match control.signal() {
        Some(_) => PrepareError::Stopped,
        None => error,
    })?;
    let mut looked = look_at_all(&plan, root)?;
    let phases = fit_all(&plan, known, &looked)?;
    if plan.engine.is_real() {
        check_apart(&plan, &looked, &phases)?;
        check_streams(&plan, &looked)?;
    }
    let Shares { max_waiting, content } = fit_memory(&plan, &phases, root)?;
    check_remounts(&plan, root)?;
    let claims = claim_all(&plan, &mut looked, &phases, root, control)?;
    let claimed = looked.into_iter().zip(claims);
    let claimed = claimed.map(|(looked, claim)| {
        let (hole_bytes, cached_bytes, extents) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Claimed { looked, claim, hole_bytes, cached_bytes, extents }
    });
    let targets = claimed.collect();
    let ready = |fitted| JobReady { fitted, told: Arc::default() };
    let phases = phases.into_iter().map(|jobs| jobs.into_iter().map(ready).collect()).collect();
    let content = StoreRoom::new(content);
    Ok(Prepared { plan, whole: None, max_waiting, content, targets, phases, notices })
}

/// Fits all jobs to their targets at the maximum size by then: data that a phase writes beyond the end of a file exists in the next
/// phase. Each phase is fitted again when it starts.
fn fit_all(
    plan: &Plan,
    known: Vec<Vec<Known>>,
    looked: &[Inspected],
) -> Result<Vec<Vec<FittedJob>>, PrepareError> {
    let mut sizes: Vec<u64> = looked.iter().map(|target| target.size).collect();
    let (mut phases, by_path) = (Vec::new(), targets_by_path(plan));
    for (phase, known) in plan.phases.iter().zip(known) {
        let fitted = fit_phase(plan, phase, known, &|target| (&looked[target], sizes[target]));
        let fitted = fitted.map_err(|why| match phase.name.as_str() {
            "" => why,
            name => PrepareError::InPhase { phase: name.into(), why: Box::new(why) },
        })?;
        for (fitted, size) in fitted.iter().filter_map(|fitted| Some((fitted, fitted.size_after()?))) {
            let path = plan.targets[usize::from(fitted.job.target)].path.as_path();
            let is_set = fitted.job.options.changes_file();
            for number in by_path.get(path).into_iter().flatten() {
                sizes[*number] = if is_set { size } else { size.max(sizes[*number]) };
            }
        }
        phases.push(fitted);
    }
    Ok(phases)
}
