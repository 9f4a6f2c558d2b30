//! Requests against their predecessor: turns and immediate repetitions.

use super::{ByOp, Demand, TurnCount};
use iosonar_plan::Op;

/// A request less than this after an equal one repeats it.
const IMMEDIATE_NS: u64 = 1_000_000;

/// The last requests of a device.
#[derive(Debug, Clone, Default)]
pub(super) struct Predecessor {
    last: Option<Demand>,
    /// First sector of the last read and of the last write.
    last_of: [Option<u64>; 2],
}

/// Relation of a request to its predecessors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Lower than the request before.
    pub(super) is_turn: bool,
    /// Lower than the request of the same operation before.
    is_turn_of_op: bool,
    is_repetition: bool,
}

impl Predecessor {
    /// The step to the next request.
    pub(super) fn step(&mut self, d: &Demand) -> Step {
        let last_of = &mut self.last_of[usize::from(d.op.is_write())];
        let step = Step {
            is_turn: self.last.is_some_and(|last| d.sector < last.sector),
            is_turn_of_op: last_of.is_some_and(|sector| d.sector < sector),
            is_repetition: self.last.is_some_and(|last| repeats(d, &last)),
        };
        (self.last, *last_of) = (Some(*d), Some(d.sector));
        step
    }
}

fn repeats(d: &Demand, last: &Demand) -> bool {
    let same = (d.sector, d.sectors, d.op) == (last.sector, last.sectors, last.op);
    same && d.time_ns.saturating_sub(last.time_ns) < IMMEDIATE_NS
}

/// Steps of a whole load.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Steps {
    turns: u64,
    turns_of: [u64; 2],
    pub(super) repetitions: u64,
}

impl Steps {
    pub(super) fn add(&mut self, op: Op, step: Step) {
        self.turns += u64::from(step.is_turn);
        self.turns_of[usize::from(op.is_write())] += u64::from(step.is_turn_of_op);
        self.repetitions += u64::from(step.is_repetition);
    }

    pub(super) fn merge(&mut self, other: &Steps) {
        self.turns += other.turns;
        (0..2).for_each(|op| self.turns_of[op] += other.turns_of[op]);
        self.repetitions += other.repetitions;
    }

    /// Turns, given the numbers of requests.
    pub(super) fn counts(&self, requests: ByOp<u64>) -> ByOp<TurnCount> {
        let of = |turns: u64, requests: u64| {
            let percent = if requests == 0 { 0.0 } else { 100.0 * turns as f64 / requests as f64 };
            TurnCount { requests, turns, percent }
        };
        ByOp {
            all: of(self.turns, requests.all),
            read: of(self.turns_of[0], requests.read),
            write: of(self.turns_of[1], requests.write),
        }
    }
}
