//! The barrier between passes: all targets start the next one together.

use iosonar_plan::Nanos;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Start of a pass whose last member arrived at a time: not before other processes have arrived, too.
pub(crate) type Opening<'a> = &'a (dyn Fn(Nanos) -> Nanos + Sync);

/// Lets its members through only together. A member that ends early leaves, so that others do not wait for it.
pub(crate) struct PassBarrier<'a> {
    state: Mutex<State>,
    changed: Condvar,
    opening: Opening<'a>,
}

#[derive(Debug)]
struct State {
    members: usize,
    arrived: usize,
    opened: u64,
    /// Latest time at which a member arrived; in a simulation each has a separate clock.
    latest: Nanos,
    /// Start of the last pass that was let through.
    start: Nanos,
}

impl<'a> PassBarrier<'a> {
    pub(crate) fn new(members: usize, opening: Opening<'a>) -> PassBarrier<'a> {
        let state = State { members, arrived: 0, opened: 0, latest: Nanos(0), start: Nanos(0) };
        PassBarrier { state: Mutex::new(state), changed: Condvar::new(), opening }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, now: Nanos) -> Nanos {
        let mut state = self.lock();
        state.latest = state.latest.max(now);
        state.arrived += 1;
        let round = state.opened;
        self.open_if_complete(&mut state);
        while state.opened == round {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.start
    }

    /// Adds a member, which leaves when the handle is dropped, also by a panic.
    pub(crate) fn member(&self) -> Member<'_> {
        Member(self)
    }

    fn leave(&self) {
        let mut state = self.lock();
        state.members -= 1;
        self.open_if_complete(&mut state);
    }

    fn open_if_complete(&self, state: &mut State) {
        if state.arrived > 0 && state.arrived >= state.members {
            state.arrived = 0;
            state.opened += 1;
            state.start = (self.opening)(state.latest);
            self.changed.notify_all();
        }
    }
}

/// A member of a [`PassBarrier`].
pub(crate) struct Member<'a>(&'a PassBarrier<'a>);

impl Member<'_> {
    /// Waits for the other members; returns the time at which all of them start.
    pub(crate) fn await_others(&self, now: Nanos) -> Nanos {
        self.0.pass(now)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_start_together_and_skip_dropped_ones() {
        let gate = PassBarrier::new(3, &|latest| latest);
        let starts = std::thread::scope(|scope| {
            let member = |arrival: u64| {
                let gate = &gate;
                scope.spawn(move || {
                    let member = gate.member();
                    (member.await_others(Nanos(arrival)), member.await_others(Nanos(arrival * 2)))
                })
            };
            let (a, b) = (member(5), member(9));
            let dying = gate.member();
            dying.await_others(Nanos(7));
            drop(dying);
            [a.join().unwrap(), b.join().unwrap()]
        });
        assert_eq!(starts, [(Nanos(9), Nanos(18)); 2]);
    }
}
