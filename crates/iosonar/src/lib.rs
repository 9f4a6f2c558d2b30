//! Measures storage I/O: executes plans, keeps a record of each request, analyses and compares results.
//!
//! A [`Plan`] lists targets, phases and the workload of each job. A [`Session`] executes it on real targets, or on a
//! simulated device, and stores an archive: a directory with a [`Record`] of each request and the facts about the machine. The
//! [`Summary`] has the figures, the cautions and the judgement of an archive; [`RunAnalysis`] has the findings, too.
//!
//! ```
//! use iosonar::{Plan, Session, Silent};
//! use std::sync::Arc;
//!
//! let plan = Plan::from_toml(
//!     r#"
//!     version = 2
//!     run_id = 1
//!     seed = 1
//!     depth = 4
//!     engine = { kind = "sim", service = "100us" }
//!     [[target]]
//!     path = "device"
//!     size = "1GiB"
//!     workload = { kind = "generated", order = "random", block_size = "4KiB", read_percent = 100, pace = { kind = "closed" }, stop = { requests = 1000 } }
//!     "#,
//! )?;
//! let folder = tempfile::tempdir()?;
//! let result = folder.path().join("result");
//! let concluded = Session::new(Arc::new(Silent)).run(plan, &result)?;
//! assert_eq!(concluded.figures.summary.counts.all.completed, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Examples
//! Each is a program in `examples/`, started by `cargo run -p iosonar --example NAME`; the tests of this crate run them.
//!
//! | name | what it does |
//! |---|---|
//! | `run` | executes a plan on a simulated device, and prints the figures |
//! | `replay` | replays a load on a file, with progress and notices |
//! | `workload` | issues a workload that an iterator of requests makes |
//! | `analyze` | reads a result: summary, findings, and its records one by one |
//! | `record` | records the block I/O of a device (as root) |
//! | `compare` | compares a result with a baseline |
//!
//! # Safety of targets
//! A session writes to nothing that is mounted or in use, and to another block device only if the plan has `destroy = true`. A regular file
//! needs no such word: it is overwritten. The command drops `destroy` from a plan that is stored in a result; a program that reads such a
//! plan has to do that itself. A run on real targets adds a line to the user's ledger (`docs/safety.md`).
//!
//! # What is stable
//! Nothing was released yet. From version 1 on, these change only with the first number of the version: the names exported by this file,
//! with their public methods whose types it exports, the TOML form of [`Plan`] (`docs/plan.md`), the files of an archive
//! (`docs/archive.md`), and the JSON form of [`Summary`] (`docs/summary.md`). Fields may be added to structures of results, so do not
//! construct or match them exhaustively. Everything in [`studies`] (`fill`, `knee`, `record` and other questions), the other crates of
//! this workspace, and the texts of [`Notice`], findings, stories and errors may change at any time.

mod load;

pub use iosonar_analyze::compare::Comparison;
pub use iosonar_analyze::{Caution, Findings, Judgement, Limits, Story, Summary, TimeStats, Verdict};
pub use iosonar_archive::{
    Archive, ArchiveError, Breakage, Interruption, Outcome, Record, RunInfo, RunState, Signal,
};
pub use iosonar_engine::{Control, PrepareError};
pub use iosonar_inputs::{
    ComparisonError, Figures, FiguresError, Input, OpenError, RunAnalysis, SummaryOptions, comparisons,
};
pub use iosonar_plan::{ByteSize, Decimal, Nanos, Op, Plan};
pub use iosonar_runner::{
    ConcludeError, Concluded, Ended, Error, ErrorKind, Notice, Observer, Problem, Progress, Ready, Scene,
    Session, Silent, Stage, new_run_id,
};
pub use iosonar_studies as studies;
pub use load::{LoadError, Request, write_load};
