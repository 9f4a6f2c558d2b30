//! `iosonar layout`: where the blocks of files are, and where space is free.

mod free;
mod latency;
mod map;
mod page;
mod picture;
mod pictures;
mod run;

use crate::args::layout::{Layout, LayoutArgs};
use crate::exit::{Exit, Failure};

/// Examines the layout of files.
pub fn layout(args: &LayoutArgs) -> Result<Exit, Failure> {
    match &args.what {
        Layout::Run(args) => run::run(args),
        Layout::Map(args) => map::map(args),
        Layout::Free(args) => free::free(args),
        Layout::Latency(args) => latency::latency(args),
    }
}
