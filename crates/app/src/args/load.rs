//! Options of `load`.

use super::derive::DeriveArgs;
use clap::{Args, Subcommand, ValueEnum};
use iosonar_plan::{ByteSize, Nanos, Pipeline};
use std::path::PathBuf;

/// Options of `load`.
#[derive(Debug, Args)]
pub struct LoadCommand {
    #[command(subcommand)]
    pub what: Load,
}

/// Ways to make a load.
#[derive(Debug, Subcommand)]
pub enum Load {
    /// Make a synthetic load
    Generate(GenerateArgs),
    /// Transform a load: cut it, spread it, repeat it …
    Filter(FilterArgs),
    /// Make loads of whole loads: the busiest parts first, side by side, as a ramp
    Derive(DeriveArgs),
}

/// Options of `generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
bursts  at each whole second a burst, each larger than the one before: shows where a target collapses
mixed   like a small server: hot reads, streaks of writes, a rate that swells and ebbs")]
pub struct GenerateArgs {
    /// Its shape
    #[arg(value_enum)]
    pub shape: ShapeArg,
    /// The file; gzip if it ends in .gz; - is standard output
    #[arg(value_name = "FILE")]
    pub out: PathBuf,
    /// Set its length
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub duration: Nanos,
    /// Set the size of the region that it touches
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub size: ByteSize,
    /// Set the rate
    ///
    /// bursts: by how many requests each burst grows; mixed: mean requests per second beside the bursts.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub rate: u64,
    /// Set the share of reads in percent
    #[arg(long, value_name = "PCT", default_value = "50", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub reads: u8,
    /// Seed the load; equal seeds result in equal loads
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// Options of `filter`.
#[derive(Debug, Args)]
#[command(after_help = "\
Steps run from left to right, separated by |. Addresses and lengths are in sectors of 512 bytes; times are in seconds unless \
they have a unit. Values without a name come first; the list shows the defaults.

  select:FROM..TO                  keep FROM <= t < TO; times do not change
  repeat:TIMES,offset=0            repeat the load TIMES times, each time offset sectors further
  slip:every=32768,increase=256    request i moves by floor(i / every) * increase
  subst:R,W                        turn reads into writes (W,R: writes into reads)
  spread:factor=2,align=8,offset=0 s becomes floor(s * factor / align) * align + s mod align + offset
  resize:factor=2,min=0,max=65536  l becomes floor(l * factor), at least min, then at most max
  reverse                          keep the times, reverse the order of requests
  sort                             sort by time; equal times keep their order
  scale:FACTOR                     multiply times by FACTOR: 2 is half as fast
  shift:BY                         make all times later by BY
  sample:N                         keep the first request and each N-th after it
  merge:FILE,offset=0,shift=0s     merge another load by time, moved by offset sectors and shift
  cmd:COMMAND                      pipe request lines through a shell COMMAND; it must exit with 0

Quote a value with ' or \" if it contains a comma, a bar or =, or starts or ends with a blank; double a quote inside it.

Examples:
  iosonar load filter 'select:300..600 | spread:2.0,align=8' web.load.gz -o peak.load.gz
  iosonar load filter 'repeat:12 | slip' short.load.gz | iosonar replay - -t /dev/sdx --destroy
  iosonar load filter \"merge:'b 1.load',offset=2097152 | cmd:'grep -v R | head -1000'\" a.load -o both.load
  zcat web.load.gz | iosonar load filter subst:W,R | iosonar analyze -")]
pub struct FilterArgs {
    /// Steps, for example 'select:300..600 | spread:2.0,align=8'
    #[arg(value_name = "STEPS")]
    pub steps: Pipeline,
    /// The load or result, plain or gzip; - is standard input
    #[arg(value_name = "LOAD", default_value = "-")]
    pub load: PathBuf,
    /// Write the new load to this file; gzip if it ends in .gz; - is standard output
    ///
    /// A file that exists is never overwritten.
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Skip damaged request lines instead of refusing the load
    #[arg(long)]
    pub skip_bad: bool,
}

/// Shapes of synthetic loads.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ShapeArg {
    /// Growing bursts at whole seconds
    Bursts,
    /// A small server
    Mixed,
}
