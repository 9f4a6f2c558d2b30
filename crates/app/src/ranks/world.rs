//! Messages between ranks. Counts are merged along a binomial tree in the order of the ranks, so the result depends neither on their number
//! nor on which of them is faster.

use crate::args::Command;
use crate::exit::Failure;
use crate::output;
use anyhow::anyhow;
use iosonar_analyze::Partial;
use iosonar_inputs::{AnalysisOptions, Input};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::any::Any;
use std::ops::Range;
use std::time::Duration;

/// Tag of counts.
const COUNTS: i32 = 1;

/// Time in which the first rank ends all others with its message, if all of them failed for the same reason.
const PATIENCE: Duration = Duration::from_secs(1);

/// The environment of all ranks, until it is dropped.
struct World {
    _universe: Universe,
}

/// Initializes MPI; `None` if it is initialized already.
pub fn join() -> Option<Box<dyn Any>> {
    Some(Box::new(World { _universe: mpi::initialize()? }))
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
    use Command::{Analyze, Plot, Report, Show};
    match command {
        Analyze(_) | Plot(_) | Report(_) | Show(_) => Ok(()),
        _ if ranks() == 1 => Ok(()),
        _ => Err(Failure::refused(anyhow!(
            "several ranks execute analyze, plot, report and show only: start this command with 'iosonar', once"
        ))),
    }
}

/// Number of this rank.
pub fn rank() -> usize {
    SimpleCommunicator::world().rank() as usize
}

fn ranks() -> usize {
    SimpleCommunicator::world().size() as usize
}

/// Ends all ranks with the exit code of a failure. That of the first rank has been printed.
pub fn abort(failure: &Failure) {
    if ranks() == 1 {
        return;
    }
    if rank() > 0 {
        std::thread::sleep(PATIENCE);
        let text = failure.text();
        output::print_lines(format_args!("iosonar: rank {}: {}", rank(), output::error_lines(&text)));
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
    let Some(merged) = merge(counts)? else { return Ok(None) };
    let counts = inputs.into_iter().map(|input| input.counted(&merged)).collect::<Result<_, _>>();
    counts.map(Some).map_err(Failure::broke)
}

/// The parts of an archive that a rank counts: all of about the same number of records.
fn share_of(rank: usize, ranks: usize, parts: usize) -> Range<usize> {
    parts * rank / ranks..parts * (rank + 1) / ranks
}

/// Merges the counts of all ranks; `None` for all but the first.
fn merge(mut counts: Partial) -> Result<Option<Partial>, Failure> {
    let (world, rank) = (SimpleCommunicator::world(), rank());
    let mut step = 1;
    while step < ranks() {
        if rank % (2 * step) == step {
            let mut json = Vec::new();
            counts.write_json(&mut json).map_err(Failure::broke)?;
            world.process_at_rank((rank - step) as i32).send_with_tag(&json[..], COUNTS);
            return Ok(None);
        }
        if rank + step < ranks() {
            let (json, _) = world.process_at_rank((rank + step) as i32).receive_vec_with_tag::<u8>(COUNTS);
            counts.merge_json(&json).map_err(Failure::broke)?;
        }
        step *= 2;
    }
    Ok(Some(counts))
}
