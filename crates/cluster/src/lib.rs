//! Distributed runs: several processes execute one plan together, on this machine and on others.
//!
//! A plan has an `executor` for each target. [`Assembled`] is the coordinator: it starts a process for each part of the
//! plan, starts each phase simultaneously in all of them, and merges their records into one archive. [`take_part`] is
//! the other side, in each of these processes. They exchange lines of JSON ([`protocol`]) over standard input and
//! output, so a process on another machine is reached through the system's remote shell, with that shell's
//! authentication and encryption. A process whose standard input ends stops its part: no process outlives its
//! coordinator.
//!
//! A machine without the program gets it, and the loads of its targets, over the same connection. A lost connection is noticed on both sides
//! by silence.
//!
//! Ranks of MPI execute a plan together without a coordinator: see [`ranks`].
//!
//! Reading order: `protocol` (messages), `member` (one process), `sent_program` (the program on other machines), `launch` (starting
//! processes), `coordinator` (synchronisation) and `part` (a process as it sees it), `clock` (clocks of other machines), `inputs` and
//! `input_cache` (loads on their way and there), `outset` (facts before the first request), `results` and `merge` (one archive of many),
//! `session` (all of it, with reports to an observer), `questions` and `answering` (verbs that machines execute for themselves).

mod answering;
mod clock;
mod collect;
mod coordinator;
mod counts;
mod input_cache;
mod inputs;
mod launch;
mod member;
mod merge;
mod outset;
mod part;
mod placement;
pub mod protocol;
mod questions;
pub mod ranks;
mod remote_shell;
mod results;
mod run_progress;
mod sent_program;
mod session;
mod split;

pub use answering::NoAnswer;
pub use collect::{Collected, collect};
pub use coordinator::Assembled;
pub use launch::Launch;
pub use member::{Coordinator, take_part};
pub use placement::{Placement, PlacementError};
pub use protocol::Answered;
pub use questions::{HostAnswer, Question, Questions, ask};
pub use run_progress::{PartProgress, PhaseProgress, RunProgress};
pub use split::split;
