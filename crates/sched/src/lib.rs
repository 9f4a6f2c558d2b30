//! Decides which request is issued when.
//!
//! A [`Scheduler`] serves one target. It gets requests in the order of their source, and the time; it returns the next action
//! ([`Decision`]). There is no clock, no thread and no I/O in here, so that a simulated hour takes milliseconds and every policy
//! can be tested from a seed.

mod overlap;
mod pause;
mod pool;
mod scheduler;
mod segments;

pub use scheduler::{Blocked, Counters, Decision, Issue, Request, Scheduler, Slot};
