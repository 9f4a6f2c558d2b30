//! One file per sub-command.

mod analyze;
mod blkreplay;
mod cache;
mod calibrate;
mod check;
mod collect;
mod compare;
mod compare_answers;
mod compare_matrices;
mod convert;
mod coordination;
mod derive;
mod doctor;
mod explain;
mod fill;
mod filter;
mod generate;
mod host_questions;
mod info;
mod iozone;
mod knee;
mod layout;
mod live;
mod live_http;
mod matrix;
mod note;
mod on_hosts;
mod pattern;
mod plot;
mod record;
mod replay;
mod report;
mod run;
mod setup;
mod show;
mod typed_words;
mod verify;
mod verify_on_hosts;
mod xdd;

pub use analyze::analyze;
pub use blkreplay::{as_blkreplay, blkreplay};
pub use cache::cache;
pub use calibrate::calibrate;
pub use check::check;
pub use collect::collect;
pub use compare::compare;
pub use convert::convert;
pub use derive::derive;
pub use doctor::{doctor, doctor_answer};
pub use explain::explain;
pub use fill::{fill, fill_answer};
pub use filter::filter;
pub use generate::generate;
pub use info::info;
pub use iozone::{as_iozone, iozone};
pub use knee::knee;
pub use layout::layout;
pub use live::live;
pub use matrix::matrix;
pub use note::note;
pub use plot::plot;
pub use record::record;
pub use replay::replay;
pub use report::report;
pub use run::run;
pub use show::show;
pub use verify::{verify, verify_answer};
pub use xdd::{as_xdd, xdd};

use crate::args::common::LimitArgs;
use crate::exit::Failure;
use iosonar_analyze::Limits;
use iosonar_archive::Archive;
use iosonar_inputs::open_archive;
use std::ffi::OsString;
use std::path::Path;

/// The arguments of a command line in another program's words, if the program was called by one of its names, or with the first of them as
/// command.
fn called_as(names: &[&str], mut args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = args.next()?;
    if Path::new(&program).file_name().is_some_and(|file| names.iter().any(|name| file == *name)) {
        return Some(args.collect());
    }
    let command = args.next()?;
    names.first().is_some_and(|name| command == *name).then(|| args.collect())
}

/// Opens the archive of a run; anything else is refused.
fn open(dir: &Path) -> Result<Archive, Failure> {
    open_archive(dir).map_err(Failure::refused)
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Limits {
        Limits { bad_latency: args.bad_latency, bad_delay: args.bad_delay, bad_ignore: args.bad_ignore }
    }
}

/// Number of processors that this process may use.
fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}
