//! `iosonar collect`: fetches records that a lost host has kept.

use crate::args::collect::CollectArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::session::{begin_session, conclude};
use crate::signals::Phase;
use crate::timings::Timings;
use iosonar_cluster::{Collected, Launch};
use iosonar_inputs::{SummaryOptions, open_archive};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// Fetches the records, and prints the story of all of them.
pub fn collect(args: CollectArgs) -> Result<Exit, Failure> {
    let result = open_archive(&args.dir)?;
    let timings = Timings::new();
    let (session, listener) = begin_session(&timings, Some(&args.progress))?;
    listener.set_phase(Phase::Assembling);
    let launch = Launch { sent: args.send_program, ..Launch::of_this_program(|line| print_message(line))? };
    let out = args.out.unwrap_or_else(|| collected(&args.dir));
    let Collected { ended, unreached } = iosonar_cluster::collect(&session, &launch, &result, &out)?;
    let concluded = conclude(ended, SummaryOptions::default(), &timings)?;
    let story = iosonar_plaintext::story(&concluded.figures.summary);
    print(&format!("{story}\nresult: {}\n", shown(&concluded.dir)))?;
    let keeps = |why: &String| print_message(format_args!("iosonar: {why}; it keeps its records"));
    unreached.iter().for_each(keeps);
    Ok(if unreached.is_empty() { Exit::Fine } else { Exit::Failed })
}

/// The name of the new result.
fn collected(dir: &Path) -> PathBuf {
    let mut name = dir.components().as_path().as_os_str().to_os_string();
    name.push("-collected");
    name.into()
}
