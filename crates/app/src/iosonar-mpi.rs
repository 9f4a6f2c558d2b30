//! The `iosonar-mpi` command: `iosonar` on the ranks of an MPI run.

use iosonar_cli::{Kind, Messages, World};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn main() -> ExitCode {
    // Several threads send, one at a time: see `Ranks`.
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
        // It is initialized already: this process has no rank.
        return iosonar_cli::main();
    };
    let _environment = Environment { _universe: universe };
    let world = SimpleCommunicator::world();
    iosonar_cli::main_of_rank(Box::new(Ranks {
        turn: Mutex::new(()),
        rank: world.rank() as usize,
        ranks: world.size() as usize,
        lets_threads_send: threading >= Threading::Serialized,
    }))
}

/// The environment of all ranks, until it is dropped.
struct Environment {
    _universe: Universe,
}

impl Drop for Environment {
    fn drop(&mut self) {
        // The others would wait for this rank.
        if std::thread::panicking() {
            SimpleCommunicator::world().abort(1);
        }
    }
}

/// The ranks of this run. Only one thread at a time calls MPI.
struct Ranks {
    turn: Mutex<()>,
    rank: usize,
    ranks: usize,
    lets_threads_send: bool,
}

impl Ranks {
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World for Ranks {
    fn lets_threads_send(&self) -> bool {
        self.lets_threads_send
    }

    fn abort(&self, code: i32) {
        SimpleCommunicator::world().abort(code);
    }
}

impl Messages for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
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
