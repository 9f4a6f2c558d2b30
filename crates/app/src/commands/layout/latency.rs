//! `iosonar layout latency`: the requests of a run against the extent maps of its files.

use super::TOOL;
use crate::args::layout::LatencyArgs;
use crate::commands::open;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_plaintext::extent_latencies;
use iosonar_text::shown;
use std::path::PathBuf;

/// Prints latencies by place.
pub fn latency(args: &LatencyArgs) -> Result<Exit, Failure> {
    // A result of `layout run` holds two archives; the scan shows how files are read.
    let parts = ["scan", "create"].map(|part| args.result.join(part));
    let is_archive = |dir: &&PathBuf| dir.join("run.json").exists();
    let dir = [&args.result].into_iter().chain(&parts).find(is_archive).unwrap_or(&args.result);
    let archive = open(dir)?;
    let Some(found) = ExtentLatencies::of(&archive)? else {
        return Err(Failure::refused(anyhow!(
            "{}: it has no extent maps: they are kept when a run on regular files of XFS, ext4 or btrfs ends, and not of devices, \
             recordings, killed runs, other machines and files with too many extents (iosonar show {0} tells)",
            shown(&dir)
        )));
    };
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&found.to_json(TOOL)).map_err(anyhow::Error::from)?;
            print(&(json + "\n"))?;
        }
        false => print(&extent_latencies(&found, usize::MAX))?,
    }
    Ok(Exit::Fine)
}
