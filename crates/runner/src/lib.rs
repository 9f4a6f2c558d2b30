//! Drives a plan from its preparation to its summary.
//!
//! Each step is a type, so the type of a run shows how far it is:
//!
//! | step | what is true | next |
//! |---|---|---|
//! | [`Ready`] | targets, loads and memory were found fit; nothing was written to a target | [`Ready::begin`] |
//! | [`Begun`] | the archive exists | [`Begun::execute`] |
//! | [`Ended`] | all requests are over; their records are in the log | [`Ended::encode`] |
//! | [`Encoded`] | the records are Parquet, or still in their log | [`Encoded::sum_up`] |
//! | [`Concluded`] | the summary is kept beside the records | |
//!
//! Dropping a run before it was executed removes the targets that were created for it. A progress display gets a [`Scene`] in a separate
//! thread. This room knows no arguments, no signals and no terminal.
//!
//! A run on a simulated device:
//!
//! ```
//! use iosonar_engine::{Alone, Control};
//! use iosonar_plan::Plan;
//! use iosonar_runner::Ready;
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
//! let ready = Ready::new(plan, &Default::default(), |_, _| {})?;
//! let environment = ready.environment(&Default::default());
//! let begun = ready.begin(environment, &folder.path().join("result"), "an example")?;
//! let ended = begun.execute(&Control::default(), &Alone, |_| {})?;
//! let concluded = ended.encode(Default::default()).sum_up()?;
//! assert_eq!(concluded.figures.summary.counts.all.completed, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod abort;
mod conclude;
mod error;
pub mod foreign_io;
mod intent;
mod kernel_watch;
mod observer;
mod order_watch;
mod path_join;
mod path_sampling;
mod path_trace;
pub mod preflight;
pub mod probe;
mod run;
mod session;
pub mod write_back;

pub use conclude::{ConcludeError, Concluded, Encoded, Problem, conclude_late, finish, keep, sum_up_part};
pub use error::{Error, ErrorKind};
pub use intent::{Intent, MachineBefore, TargetUse, share_writes};
pub use observer::{Notice, Observer, Progress, Silent, Stage};
pub use run::{Begun, CarryOutError, Ended, Purpose, Ready, Scene, new_run_id};
pub use session::{Session, announcement};
