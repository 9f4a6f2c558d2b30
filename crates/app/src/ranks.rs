//! The ranks of an MPI run: each executes a part of a plan, or counts a share of the records, and rank 0 makes and prints the result.
//!
//! The program `iosonar-mpi` is this command with a [`World`] of ranks. Without one there is one rank, and nothing is shared out. Counts are
//! merged along a binomial tree in the order of the ranks, so the result depends neither on their number nor on which of them is faster.

use crate::args::Command;
use crate::args::hosts::Share;
use crate::exit::Failure;
use crate::output;
use anyhow::anyhow;
use iosonar_analyze::{Counted, Detail, Limits};
use iosonar_archive::RunInfo;
use iosonar_cluster::RunProgress;
use iosonar_cluster::ranks::{
    Kind, Messages, Spread, children, execute_on_ranks, merge_counts, on_ranks, parent,
};
use iosonar_inputs::{AnalysisOptions, Input};
use iosonar_plan::Plan;
use iosonar_runner::{Ended, Session};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Time in which the first rank ends all others with its message, if all of them failed for the same reason.
const PATIENCE: Duration = Duration::from_secs(1);

/// The ranks that execute the command line together, as this one sees them.
pub trait World: Messages + Send {
    /// Whether several threads may send, one at a time.
    fn lets_threads_send(&self) -> bool;

    /// Ends all ranks with this exit code.
    fn abort(&self, code: i32);
}

static WORLD: OnceLock<Box<dyn World>> = OnceLock::new();

/// All ranks know that the command has failed, and end by themselves.
static IS_AGREED: AtomicBool = AtomicBool::new(false);

/// Joins the other ranks, once.
pub(crate) fn join(world: Box<dyn World>) {
    let _ = WORLD.set(world);
}

fn world() -> Option<&'static dyn World> {
    WORLD.get().map(Box::as_ref)
}

fn rank() -> usize {
    world().map_or(0, |world| world.rank())
}

fn ranks() -> usize {
    world().map_or(1, |world| world.ranks())
}

/// Whether this process prints: of several ranks, the first one does.
pub fn prints() -> bool {
    rank() == 0
}

/// Ends all ranks with the exit code of a failure. That of the first rank has been printed. Returns if there is no other.
pub fn abort(failure: &Failure) {
    let Some(world) = world().filter(|world| world.ranks() > 1 && !IS_AGREED.load(Relaxed)) else { return };
    if rank() > 0 {
        std::thread::sleep(PATIENCE);
        let text = failure.text();
        output::print_of_rank(format_args!("iosonar: rank {}: {}", rank(), output::error_lines(&text)));
    }
    world.abort(failure.exit.code().into());
}

/// Refuses a command that several ranks would execute each for itself.
pub fn check(command: &Command) -> Result<(), Failure> {
    use Command::{Analyze, Plot, Report, Run, Show};
    match command {
        Run(_) | Analyze(_) | Plot(_) | Report(_) | Show(_) => Ok(()),
        _ if ranks() == 1 => Ok(()),
        _ => Err(Failure::refused(anyhow!(
            "several ranks execute run, analyze, plot, report and show only: start this command with 'iosonar', once"
        ))),
    }
}

/// Inputs whose records are counted by all ranks together; `None` for all ranks but the first, which have done their share. Several inputs,
/// those that are no finished run, and windows of a chosen width are for the first rank alone.
pub fn counted(inputs: Vec<Input>, options: &AnalysisOptions) -> Result<Option<Vec<Input>>, Failure> {
    let is_first = prints();
    let parts = match inputs.as_slice() {
        [only] if options.throughput_window_ns.is_none() => only.countable_parts(),
        _ => None,
    };
    let several = world().filter(|world| world.ranks() > 1);
    let (Some(parts), Some(world)) = (parts, several) else { return Ok(is_first.then_some(inputs)) };
    let share = share_of(world.rank(), world.ranks(), parts);
    let counts = inputs[0].count(&options.limits, share).map_err(Failure::refused)?;
    let counted = Counted {
        targets: inputs[0].run().0.targets.len().max(1),
        limits: Some(&options.limits),
        diagrams: Some(Detail::Full),
    };
    let mut merged = Some(counts);
    if let Some((rank, why)) = merge_counts(world, &mut merged, counted).pop() {
        return Err(Failure::broke(anyhow!("rank {rank}: {why}")));
    }
    let Some(merged) = merged.filter(|_| is_first) else { return Ok(None) };
    Ok(Some(inputs.into_iter().map(|input| input.counted(merged.clone())).collect()))
}

/// The parts of an archive that a rank counts: all of about the same number of records.
fn share_of(rank: usize, ranks: usize, parts: usize) -> Range<usize> {
    parts * rank / ranks..parts * (rank + 1) / ranks
}

/// A plan of this program, with a rank for each target if there are ranks.
pub fn placed(plan: Plan, share: Option<Share>) -> Result<Plan, Failure> {
    if world().is_some() {
        let spread = if share.is_some() { Spread::Copies } else { Spread::Turns };
        return on_ranks(plan, ranks(), spread).map_err(Failure::refused);
    }
    match plan.has_ranks() {
        true => Err(Failure::refused(anyhow!(
            "the plan names ranks: start it with 'mpirun -np N iosonar-mpi run PLAN'; docs/mpi.md says how"
        ))),
        false => Ok(plan),
    }
}

/// Executes a plan of ranks; `None` for all ranks but the first, which has the result.
pub fn execute(
    session: &Session,
    plan: &Plan,
    limits: Limits,
    name: impl FnOnce(&RunInfo) -> PathBuf,
    show: impl FnMut(&RunProgress<'_>) + Send,
) -> Result<Option<Ended>, Failure> {
    let Some(world) = world() else {
        return Err(Failure::refused(anyhow!("the plan names ranks, and this program has none")));
    };
    if !world.lets_threads_send() {
        return Err(Failure::refused(anyhow!(
            "this MPI library allows one thread to send, and a run has two: use one with MPI_THREAD_SERIALIZED"
        )));
    }
    let executed = execute_on_ranks(world, session, plan, limits, name, show);
    IS_AGREED.store(true, Relaxed);
    Ok(executed?)
}

/// Waits until the first rank has printed the result, and leaves the CPU to it.
pub fn wait_for_first() {
    // Otherwise this rank alone has failed, and ends the others.
    let Some(world) = world().filter(|_| IS_AGREED.load(Relaxed)) else { return };
    if let Some(parent) = parent(world.rank()) {
        world.wait(parent, Kind::End);
    }
    children(world.rank(), world.ranks()).for_each(|child| world.send(child, Kind::End, &[]));
}
