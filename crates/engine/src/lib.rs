//! Assembly: executes a plan on real or simulated targets and writes an archive.
//!
//! [`prepare`] finds out everything that can go wrong before the first I/O: targets, loads, sizes, the write
//! guard. [`Prepared::run`] does the run: one issuing thread for each target or job, one writer of records, one
//! sampler of counters. This room knows no arguments and prints nothing.
//!
//! To read it: `prepare` (all that is known before the start), `setup` (backends, memory and pacing on this machine), `run` (phases, time zero, the
//! end), `stage`, `loops` and `start` (a phase and its threads), then `worker`, the loop that all else is for, with its `feed`,
//! `payload`, `pass_barrier` and `job_status`. `shared` is the state of a run that all its threads see.

mod control;
mod coordinator;
mod cpu_cache;
mod engines;
mod error;
mod feed;
mod file_session;
mod files;
mod injected;
mod job_loop;
mod job_status;
mod journal;
mod loops;
mod pass_barrier;
mod passes;
mod paths;
mod payload;
mod pools;
mod prepare;
mod progress;
mod rendezvous;
mod run;
mod sampling;
mod setup;
mod shared;
mod stage;
mod start;
mod verify;
mod worker;

pub use control::Control;
pub use error::{PrepareError, RunError};
pub use files::MadeFiles;
pub use prepare::{NoticeSink, Prepared, TargetReady, filter_room, prepare, prepare_part};
pub use progress::{Histogram, LoopProgress, Progress, Snapshot, Times};
pub use rendezvous::{Alone, Rendezvous};
pub use verify::{
    CrashOptions, PostVerify, PostVerifyError, PostVerifyOptions, ScanMoment, ScanProgress, post_verify,
};
