//! `iosonar layout latency`: the requests of a run against the extent maps of its files.

use super::TOOL;
use crate::commands::open;
use crate::exit::{Exit, Failure};
use crate::layout_args::LatencyArgs;
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_view::show_extent_latencies;

/// Prints latencies by place.
pub fn latency(args: &LatencyArgs) -> Result<Exit, Failure> {
    // A result of `layout run` holds two archives; its question is how files are read.
    let scan = args.result.join("scan");
    let is_archive = args.result.join("run.json").exists();
    let dir = if !is_archive && scan.is_dir() { &scan } else { &args.result };
    let archive = open(dir)?;
    let Some(found) = ExtentLatencies::of(&archive)? else {
        return Err(Failure::refused(anyhow!(
            "{}: it has no extent maps: they are kept of runs on regular files of file systems that report them, and not of \
             devices, recordings and other machines; run it on a file of XFS, ext4 or btrfs",
            dir.display()
        )));
    };
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&found.to_json(TOOL)).map_err(anyhow::Error::from)?;
            print(&(json + "\n"))?;
        }
        false => print(&show_extent_latencies(&found))?,
    }
    Ok(Exit::Fine)
}
