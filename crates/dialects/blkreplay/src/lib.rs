//! blkreplay's dialect: its command line becomes a plan ([`parse`], [`Settings::plan`]), [`export`] turns an archive into
//! its result text, a `.replay`, and [`import`] a `.replay` into a plan, facts about the run and records.
//!
//! Import and export work line by line in bounded memory, in the order in which completions were seen. The text is in
//! the format of blkreplay's scripts: free text, a header, six columns separated by `;`, a tail of `name : value`.
//! iosonar's additions are in lines without `;`, so that `grep ';' | tail -n +2` returns the results:
//!
//! - a text block with the run's id, its tool and its exact start;
//! - after `INFO: dropping`, the due time (`time=`) and the request in flight (`by=`);
//! - `INFO: skipping` for each request that a stopped run no longer submitted;
//! - after a line of `VERIFY ERROR`, in brackets, the name of the fault;
//! - after the tail: failed requests, skipped requests, state of the run.
//!
//! Quirks of the format are confined to this crate.

mod call;
mod ctime;
mod export;
mod facts;
mod form;
mod import;
mod lines;
mod options;
mod parse;
mod recording;
mod settings;
mod to_plan;
mod usage;
mod verify;
mod words;

pub use export::{ExportError, Exported, export, export_later, export_observed};
pub use import::{ImportError, ImportProblem, Imported, import};
pub use parse::{Command, parse};
pub use recording::recording;
pub use settings::Settings;
pub use usage::usage;
pub use words::OPTIONS;
