//! Assembly: carries out a plan on real or simulated targets and writes an archive.
//!
//! [`prepare`] finds out everything that can go wrong before the first I/O: targets, loads, sizes, the write
//! guard. [`Prepared::run`] does the run: one issuing thread for each target, one writer of records, one
//! sampler of counters. This room knows no arguments and prints nothing.

mod control;
mod data;
mod feed;
mod fellows;
mod gate;
mod means;
mod payload;
mod prepare;
mod progress;
mod run;
mod start;
mod worker;

pub use control::Control;
pub use data::{BadSector, HEADER, SectorHeader, fill};
pub use prepare::{NoticeSink, PrepareError, Prepared, TargetReady, prepare};
pub use progress::{Progress, Snapshot};
pub use run::RunError;
