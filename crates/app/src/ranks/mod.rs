//! The ranks of an MPI run: each executes a part of a plan, or counts a share of the records, and rank 0 makes and prints the result.
//!
//! The program `iosonar-mpi` is this command with the feature `mpi`. In `iosonar` there is one rank, and nothing is shared out.

#[cfg(feature = "mpi")]
mod world;

use crate::args::Command;
use crate::args::hosts::Share;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_analyze::Limits;
use iosonar_archive::RunInfo;
use iosonar_cluster::RunProgress;
use iosonar_inputs::{AnalysisOptions, Input};
use iosonar_plan::Plan;
use iosonar_runner::{Ended, Session};
use std::path::PathBuf;

/// Whether this program is `iosonar-mpi`.
///
/// It is a constant so that `iosonar` is not linked with MPI even where both are built with the feature: the library costs some MiB.
#[cfg(feature = "mpi")]
const IS_MPI: bool = matches!(option_env!("CARGO_BIN_NAME"), Some(name) if ends_with_mpi(name.as_bytes()));

#[cfg(feature = "mpi")]
const fn ends_with_mpi(name: &[u8]) -> bool {
    matches!(name, [.., b'-', b'm', b'p', b'i'])
}

/// Keeps MPI initialized.
pub struct Ranks {
    #[cfg(feature = "mpi")]
    _world: Option<Box<dyn std::any::Any>>,
}

/// Joins the other ranks. They are released when the result is dropped.
pub fn join() -> Ranks {
    Ranks {
        #[cfg(feature = "mpi")]
        _world: if IS_MPI { world::join() } else { None },
    }
}

/// Whether this process prints: of several ranks, the first one does.
pub fn prints() -> bool {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        return world::rank() == 0;
    }
    true
}

/// Ends all ranks because this one has failed. Returns if there is no other.
pub fn abort(_failure: &Failure) {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        world::abort(_failure);
    }
}

/// Inputs whose records are counted by all ranks together; `None` for all ranks but the first, which have done their share. Several inputs,
/// those that are no finished run, and windows of a chosen width are for the first rank alone.
pub fn counted(inputs: Vec<Input>, _options: &AnalysisOptions) -> Result<Option<Vec<Input>>, Failure> {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        return world::counted(inputs, _options);
    }
    Ok(Some(inputs))
}

/// Refuses a command that several ranks would execute each for itself.
pub fn check(_command: &Command) -> Result<(), Failure> {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        return world::check(_command);
    }
    Ok(())
}

/// A plan of this program, with a rank for each target if there are ranks.
pub fn placed(plan: Plan, _share: Option<Share>) -> Result<Plan, Failure> {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        return world::placed(plan, _share);
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
    _session: &Session,
    _plan: &Plan,
    _limits: Limits,
    _name: impl FnOnce(&RunInfo) -> PathBuf,
    _show: impl FnMut(&RunProgress<'_>) + Send,
) -> Result<Option<Ended>, Failure> {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        return world::execute(_session, _plan, _limits, _name, _show);
    }
    Err(Failure::refused(anyhow!("the plan names ranks, and this program has none")))
}

/// Waits until the first rank has printed the result, and leaves the CPU to it.
pub fn wait_for_first() {
    #[cfg(feature = "mpi")]
    if IS_MPI {
        world::wait_for_first();
    }
}
