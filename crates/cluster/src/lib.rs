//! Several processes that execute one plan together, on this machine and on others.
//!
//! A plan says for each target who executes its jobs (`executor`). [`Assembled`] is the coordinator: it starts a process for each
//! part of the plan, lets all of them start each phase at one time, and merges their records into one archive. [`take_part`] is
//! the other side, in each of these processes. They exchange lines of JSON ([`protocol`]) over standard input and output, so a
//! process on another machine is reached through the system's remote shell, and its authentication and encryption are that
//! shell's. A process whose standard input ends stops its part: no process outlives its coordinator.
//!
//! To read it: `protocol` (what is said), `member` (one process), `launch` (starting them), `coordinator` (what they wait for),
//! `offset` (clocks of other machines), `outset` (what processes found before the first request), `merge` (one archive of many).

mod coordinator;
mod launch;
mod member;
mod merge;
mod offset;
mod outset;
pub mod protocol;

pub use coordinator::{Assembled, Executed, PhaseProgress, TogetherError};
pub use launch::Launch;
pub use member::take_part;
