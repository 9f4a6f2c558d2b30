//! The start of a run: everybody is ready, then time zero is known, then everybody waits for it.

use crate::control::Control;
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::Nanos;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where issuing loops wait for time zero.
#[derive(Debug, Default)]
pub(crate) struct Start {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    /// Whether the run begins; none: nobody knows yet.
    begins: Option<bool>,
}

impl Start {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many issuing loops are ready.
    pub(crate) fn await_ready(&self, loops: usize) {
        let mut state = self.lock();
        while state.ready < loops {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets everybody go, or go home.
    pub(crate) fn decide(&self, begins: bool) {
        self.lock().begins = Some(begins);
        self.changed.notify_all();
    }

    /// Says that this loop is ready, and waits for time zero; `false` if there is no run after all.
    pub(crate) fn wait(&self, clock: &Clock, is_timed: bool, control: &Control) -> bool {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        let begins = loop {
            match state.begins {
                Some(begins) => break begins,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        if begins && is_timed {
            sleep_until_zero(clock, control);
        }
        begins
    }
}

fn sleep_until_zero(clock: &Clock, control: &Control) {
    let slice = Duration::from_millis(20);
    while !control.is_stopped(Nanos(0)) {
        let left = Duration::from_nanos(clock.origin().saturating_sub(monotonic_ns()));
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
    fn all_go_or_none() {
        for begins in [true, false] {
            let (start, control) = (Start::default(), Control::default());
            let clock = Clock::system(monotonic_ns());
            let went = std::thread::scope(|scope| {
                let loops: Vec<_> =
                    (0..3).map(|_| scope.spawn(|| start.wait(&clock, true, &control))).collect();
                start.await_ready(3);
                start.decide(begins);
                loops.into_iter().map(|l| l.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(went, [begins; 3]);
        }
    }
}
