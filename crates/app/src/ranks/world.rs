//! Messages between ranks, by means of MPI.
//!
//! Counts are merged along a binomial tree in the order of the ranks, so the result depends neither on their number nor on which of them is
//! faster.

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
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use std::any::Any;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Time in which the first rank ends all others with its message, if all of them failed for the same reason.
const PATIENCE: Duration = Duration::from_secs(1);

/// The environment of all ranks, until it is dropped.
struct World {
    _universe: Universe,
}

/// Number of this rank, number of ranks, and whether several threads may send, one at a time.
static PLACE: OnceLock<(usize, usize, bool)> = OnceLock::new();

/// All ranks know that the command has failed, and end by themselves.
static IS_AGREED: AtomicBool = AtomicBool::new(false);

/// Initializes MPI; `None` if it is initialized already.
pub fn join() -> Option<Box<dyn Any>> {
    // Several threads send, one at a time: see `MpiMessages`.
    let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
    let world = SimpleCommunicator::world();
    let _ = PLACE.set((world.rank() as usize, world.size() as usize, threading >= Threading::Serialized));
    Some(Box::new(World { _universe: universe }))
}

impl Drop for World {
    fn drop(&mut self) {
        // The others would wait for this rank.
        if std::thread::panicking() {
            SimpleCommunicator::world().abort(1);
        }
    }
}

/// See [`super::check`].
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

/// Number of this rank.
pub fn rank() -> usize {
    PLACE.get().map_or(0, |place| place.0)
}

fn ranks() -> usize {
    PLACE.get().map_or(1, |place| place.1)
}

/// Ends all ranks with the exit code of a failure. That of the first rank has been printed.
pub fn abort(failure: &Failure) {
    if ranks() == 1 || IS_AGREED.load(Relaxed) {
        return;
    }
    if rank() > 0 {
        std::thread::sleep(PATIENCE);
        let text = failure.text();
        output::print_of_rank(format_args!("iosonar: rank {}: {}", rank(), output::error_lines(&text)));
    }
    SimpleCommunicator::world().abort(failure.exit.code().into());
}

/// See [`super::counted`].
pub fn counted(inputs: Vec<Input>, options: &AnalysisOptions) -> Result<Option<Vec<Input>>, Failure> {
    let is_first = rank() == 0;
    let parts = match inputs.as_slice() {
        [only] if options.throughput_window_ns.is_none() => only.countable_parts(),
        _ => None,
    };
    let (Some(parts), true) = (parts, ranks() > 1) else { return Ok(is_first.then_some(inputs)) };
    let share = share_of(rank(), ranks(), parts);
    let counts = inputs[0].count(&options.limits, share).map_err(Failure::refused)?;
    let counted = Counted {
        targets: inputs[0].run().0.targets.len().max(1),
        limits: Some(&options.limits),
        diagrams: Some(Detail::Full),
    };
    let mut merged = Some(counts);
    if let Some((rank, why)) = merge_counts(&MpiMessages::default(), &mut merged, counted).pop() {
        return Err(Failure::broke(anyhow!("rank {rank}: {why}")));
    }
    let Some(merged) = merged.filter(|_| is_first) else { return Ok(None) };
    Ok(Some(inputs.into_iter().map(|input| input.counted(merged.clone())).collect()))
}

/// The parts of an archive that a rank counts: all of about the same number of records.
fn share_of(rank: usize, ranks: usize, parts: usize) -> Range<usize> {
    parts * rank / ranks..parts * (rank + 1) / ranks
}

/// See [`super::placed`].
pub fn placed(plan: Plan, share: Option<Share>) -> Result<Plan, Failure> {
    let spread = if share.is_some() { Spread::Copies } else { Spread::Turns };
    on_ranks(plan, ranks(), spread).map_err(Failure::refused)
}

/// See [`super::execute`].
pub fn execute(
    session: &Session,
    plan: &Plan,
    limits: Limits,
    name: impl FnOnce(&RunInfo) -> PathBuf,
    show: impl FnMut(&RunProgress<'_>) + Send,
) -> Result<Option<Ended>, Failure> {
    if !PLACE.get().is_some_and(|place| place.2) {
        return Err(Failure::refused(anyhow!(
            "this MPI library allows one thread to send, and a run has two: use one with MPI_THREAD_SERIALIZED"
        )));
    }
    let executed = execute_on_ranks(&MpiMessages::default(), session, plan, limits, name, show);
    IS_AGREED.store(true, Relaxed);
    Ok(executed?)
}

/// See [`super::wait_for_first`].
pub fn wait_for_first() {
    if !IS_AGREED.load(Relaxed) {
        // This rank alone has failed, and ends the others.
        return;
    }
    let messages = MpiMessages::default();
    if let Some(parent) = parent(rank()) {
        messages.wait(parent, Kind::End);
    }
    children(rank(), ranks()).for_each(|child| messages.send(child, Kind::End, &[]));
}

/// Messages of this process. Only one thread at a time calls MPI.
#[derive(Default)]
struct MpiMessages(Mutex<()>);

impl MpiMessages {
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messages for MpiMessages {
    fn rank(&self) -> usize {
        rank()
    }

    fn ranks(&self) -> usize {
        ranks()
    }

    fn send(&self, to: usize, kind: Kind, bytes: &[u8]) {
        let _turn = self.turn();
        SimpleCommunicator::world().process_at_rank(to as i32).send_with_tag(bytes, kind as i32);
    }

    fn take(&self, from: usize, kind: Kind) -> Option<Vec<u8>> {
        let _turn = self.turn();
        let world = SimpleCommunicator::world();
        let from = world.process_at_rank(from as i32);
        Some(from.immediate_matched_probe_with_tag(kind as i32)?.matched_receive_vec().0)
    }
}
