//! The start of a phase: all loops get ready, then the start time is fixed, then all wait for it.

use crate::control::Control;
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::Nanos;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where issuing loops wait for the start of their phase.
#[derive(Debug, Default)]
pub(crate) struct Start {
    state: Mutex<State>,
    /// Wakes the one that waits for all loops. They do not wake each other: thousands would do nothing else.
    arrived: Condvar,
    /// Wakes the loops.
    decided: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    /// Start of the phase on the run's clock, `Some(None)` if it does not start; `None` while undecided.
    begins: Option<Option<Nanos>>,
}

impl Start {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `loops` issuing loops are ready.
    pub(crate) fn await_ready(&self, loops: usize) {
        let mut state = self.lock();
        while state.ready < loops {
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Releases all loops at a time, or cancels the phase.
    pub(crate) fn decide(&self, begins: Option<Nanos>) {
        self.lock().begins = Some(begins);
        self.decided.notify_all();
    }

    /// Ticket of one loop; dropping it counts the loop as ready, also by a panic, so that others do not wait for a dead one.
    pub(crate) fn ticket(&self) -> StartTicket<'_> {
        StartTicket(self)
    }

    fn arrive(&self) {
        self.lock().ready += 1;
        self.arrived.notify_one();
    }

    fn begins(&self) -> Option<Nanos> {
        let mut state = self.lock();
        loop {
            match state.begins {
                Some(begins) => return begins,
                None => state = self.decided.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A loop before the start.
#[derive(Debug)]
pub(crate) struct StartTicket<'a>(&'a Start);

impl StartTicket<'_> {
    /// Reports that this loop is ready, and waits for the start of the phase; `None` if it does not start after all.
    pub(crate) fn wait(self, clock: &Clock, is_timed: bool, control: &Control) -> Option<Nanos> {
        let start = self.0;
        drop(self);
        let begins = start.begins()?;
        if is_timed {
            sleep_until(begins, clock, control);
        }
        Some(begins)
    }
}

impl Drop for StartTicket<'_> {
    fn drop(&mut self) {
        self.0.arrive();
    }
}

fn sleep_until(time: Nanos, clock: &Clock, control: &Control) {
    let slice = Duration::from_millis(20);
    let time = clock.origin().saturating_add(time.0);
    while !control.is_stopped(Nanos(0)) {
        let left = Duration::from_nanos(time.saturating_sub(monotonic_ns()));
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(slice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workers_start_or_none() {
        for begins in [Some(Nanos(0)), None] {
            let (start, control) = (Start::default(), Control::default());
            let clock = Clock::system(monotonic_ns());
            let went = std::thread::scope(|scope| {
                let loops: Vec<_> =
                    (0..3).map(|_| scope.spawn(|| start.ticket().wait(&clock, true, &control))).collect();
                // One more loop never gets there.
                drop(start.ticket());
                start.await_ready(4);
                start.decide(begins);
                loops.into_iter().map(|l| l.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(went, [begins; 3]);
        }
    }
}
