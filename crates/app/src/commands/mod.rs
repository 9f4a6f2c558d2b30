//! One file per sub-command.

mod analyze;
mod compare;
mod derive;
mod export;
mod filter;
mod generate;
mod import;
mod knee;
mod live;
mod means;
mod pattern;
mod plot;
mod replay;
mod report;
mod run;
mod series;
mod show;
mod xdd;

pub use analyze::analyze;
pub use compare::compare;
pub use derive::derive;
pub use export::export;
pub use filter::filter;
pub use generate::generate;
pub use import::import;
pub use knee::knee;
pub use live::live;
pub use plot::plot;
pub use replay::replay;
pub use report::report;
pub use run::run;
pub use show::show;
pub use xdd::{as_xdd, xdd};

use crate::args::LimitArgs;
use crate::exit::Failure;
use iosonar_analyze::Limits;
use iosonar_archive::Archive;
use std::path::Path;

/// Opens an archive; what is none is refused.
fn open(dir: &Path) -> Result<Archive, Failure> {
    Archive::open(dir).map_err(Failure::refused)
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Limits {
        Limits { bad_latency: args.bad_latency, bad_delay: args.bad_delay, bad_ignore: args.bad_ignore }
    }
}

/// Kernel and the first target's scheduler, as pictures carry it.
pub fn headline(archive: &Archive) -> iosonar_view::Headline {
    let environment = archive.environment();
    let kernel = environment.pointer("/kernel/release").and_then(|v| v.as_str());
    let device = environment.pointer("/targets/0/kind/block-device");
    let text = |pointer: &str| device.and_then(|d| d.pointer(pointer)).and_then(|v| v.as_str());
    let parts = [
        kernel.map(|k| format!("Linux {k}")),
        text("/model").map(|m| m.trim().to_string()),
        text("/queue/scheduler").map(|s| format!("scheduler {s}")),
    ];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    iosonar_view::Headline { environment: (!words.is_empty()).then(|| words.join(", ")) }
}
