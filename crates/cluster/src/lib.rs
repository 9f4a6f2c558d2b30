//! Distributed runs: several processes execute one plan together, on this machine and on others.
//!
//! A plan has an `executor` for each target. [`Assembled`] is the coordinator: it starts a process for each part of the
//! plan, starts each phase simultaneously in all of them, and merges their records into one archive. [`take_part`] is
//! the other side, in each of these processes. They exchange lines of JSON ([`protocol`]) over standard input and
//! output, so a process on another machine is reached through the system's remote shell, with that shell's
//! authentication and encryption. A process whose standard input ends stops its part: no process outlives its
//! coordinator.
//!
//! Reading order: `protocol` (messages), `member` (one process), `launch` (starting processes), `coordinator`
//! (synchronisation), `offset` (clocks of other machines), `outset` (facts before the first request), `merge` (one
//! archive of many), `session` (all of it, with reports to an observer).

mod coordinator;
mod launch;
mod member;
mod merge;
mod offset;
mod outset;
mod phase_progress;
pub mod protocol;
mod remote_shell;
mod session;

pub use coordinator::Assembled;
pub use launch::Launch;
pub use member::take_part;
pub use phase_progress::PhaseProgress;
