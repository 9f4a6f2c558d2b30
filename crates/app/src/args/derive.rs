//! What can be typed about loads that are derived from loads.

use crate::args::common::{LoadArgs, SpoolArgs};
use clap::{Args, Subcommand};
use iosonar_load::derive::ramp::MAX_GROWTH;
use iosonar_plan::Nanos;
use std::path::PathBuf;

/// Options of `derive`.
#[derive(Debug, Args)]
pub struct DeriveArgs {
    #[command(subcommand)]
    pub what: Derive,
}

/// What is derived.
#[derive(Debug, Subcommand)]
pub enum Derive {
    /// Make loads for overload tests: cut loads into snippets and sort them, the busiest first
    ///
    /// The snippets are dealt to several loads.
    Overload(OverloadArgs),
    /// Move loads side by side in space, and merge them by time
    Adjacent(AdjacentArgs),
    /// Make the requests of a load come faster and faster
    Ramp(RampArgs),
}

/// Options of `derive overload`.
#[derive(Debug, Args)]
#[command(after_help = "\
The loads are concatenated. Snippet j in the order of load goes to output j mod M and starts at the last time of the \
previous snippet there. The outputs of a split into M are DIR/BASE.derived.split.MMM/BASE.derived.JJJ.of.M.load.gz, where \
BASE is the name of the first load. Replay them at the same time on M targets: the overload comes first, and the rest shows \
whether and how fast the targets recover.

Examples:
  iosonar load derive overload monday.load.gz tuesday.load.gz
  iosonar load derive overload web.load.gz --window 60s --split 4 --out peak
  iosonar replay peak/web.derived.split.004/*.load.gz -t /dev/sdw /dev/sdx /dev/sdy /dev/sdz --destroy")]
pub struct OverloadArgs {
    /// Loads or results, plain or gzip; - is standard input
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<PathBuf>,
    /// Set the length of a snippet
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub window: Nanos,
    /// Split into this many loads; each number has a directory
    #[arg(
        long,
        value_name = "M,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128",
        value_parser = clap::value_parser!(u32).range(1..=65_535)
    )]
    pub split: Vec<u32>,
    /// Create the directories of the splits in this directory
    #[arg(long, short = 'o', value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Keep the last snippet too, whose window was not over when the loads ended
    #[arg(long)]
    pub keep_rest: bool,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Options of `derive adjacent`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each load starts at the end of the previous one, rounded up to 4 KiB; the first starts at 0. Times, delays and latencies \
do not change. At equal times, requests of the earlier load come first.

Example:
  iosonar load derive adjacent web.load.gz mail.load.gz db.load.gz -o consolidated.load.gz")]
pub struct AdjacentArgs {
    /// Loads or results, plain or gzip; - is standard input
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<PathBuf>,
    /// Write the new load to this file; gzip if it ends in .gz; - is standard output
    ///
    /// A file that exists is never overwritten.
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    #[command(flatten)]
    pub spool: SpoolArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Options of `derive ramp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Request 0 is due at 0. Request k+1 is due 1 / max(1, growth * t) seconds after request k, which is due at t. N requests \
take about sqrt(2 N / growth) seconds, and the final rate is about sqrt(2 N * growth) requests per second. \
'iosonar knee' makes a ramp and finds the rate that a target sustains.

Example:
  iosonar load derive ramp web.load.gz --growth 100 -o ramp.load.gz")]
pub struct RampArgs {
    /// The load or result, plain or gzip; - is standard input
    #[arg(value_name = "LOAD", default_value = "-")]
    pub load: PathBuf,
    /// Grow the rate by this many requests per second in each second
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=MAX_GROWTH))]
    pub growth: u64,
    /// Write the new load to this file; gzip if it ends in .gz; - is standard output
    ///
    /// A file that exists is never overwritten.
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Skip damaged request lines instead of refusing the load
    #[arg(long)]
    pub skip_bad: bool,
}
