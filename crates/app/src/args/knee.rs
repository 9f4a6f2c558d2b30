//! What can be typed about the search for the highest rate that a target sustains.

use crate::args::common::{IoArgs, LoadArgs, ProgressArgs};
use clap::Args;
use iosonar_plan::{ByteSize, Nanos};
use std::path::PathBuf;

/// Options of `knee`.
#[derive(Debug, Args)]
#[command(after_help = "\
The request rate rises until the target cannot keep up; the rate that it delivers then is the sustained rate. Without --to or \
--growth, short ramps find its order of magnitude (each ten times as high as the previous one). A slow ramp from 50 % to 150 % \
of that rate measures it. A ramp ends early when the answer is clear.
Without a LOAD, requests are random 4 KiB reads and nothing is written. With --reads below 100, or with a LOAD that \
writes, the content of the target is lost; a block device needs --destroy.
DIR contains one archive per ramp, knee.json, knee.html, knee.png and knee.svg. The rate holds for this --depth: take the depth from the \
application that you model. docs/knee.md explains how the rate and its interval are computed.
Exit codes: 0 rate found, or the target kept up to the end; 1 no clear answer, or requests failed; 2 refused.

Examples:
  iosonar knee -t /dev/sdx
  iosonar knee -t a.img --from 100 --to 5000 --duration 60s --out knee-a
  iosonar knee -t /dev/sdx --reads 70 --bs 8k --depth 32 --destroy
  iosonar knee web.load.gz -t /dev/sdx --growth 50 --duration 2m --destroy")]
pub struct KneeArgs {
    /// Issue the requests of this load in its order, at the times of the ramp; plain or gzip
    #[arg(value_name = "LOAD")]
    pub load: Option<PathBuf>,
    /// Use this block device or regular file
    #[arg(long, short = 't', value_name = "TARGET")]
    pub target: PathBuf,
    #[command(flatten)]
    pub demand: DemandArgs,
    #[command(flatten)]
    pub reading: LoadArgs,
    #[command(flatten)]
    pub io: IoArgs,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// What is asked for, and how fast.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rate")]
pub struct DemandArgs {
    /// Start with this many requests per second. Default: 10, or 1 with --to or --growth
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub from: Option<u64>,
    /// End with this many requests per second: one ramp, evenly from --from to this
    #[arg(long, value_name = "RATE", conflicts_with = "growth", value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    pub to: Option<u64>,
    /// Run one ramp that grows by this many requests per second in each second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub growth: Option<u64>,
    /// Set the length of the ramp that measures
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub duration: Nanos,
    /// Limit the highest rate to try, without --to
    #[arg(long, value_name = "RATE", default_value = "1000000", value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub most: u64,
    /// Limit the requests in flight
    #[arg(long, value_name = "N", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub depth: u32,
    /// Set the bytes of each request. Default: 4k
    #[arg(long, value_name = "SIZE", conflicts_with = "load")]
    pub bs: Option<ByteSize>,
    /// Set the share of reads in percent, exact in every hundred. Default: 100
    #[arg(long, value_name = "PCT", conflicts_with = "load", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub reads: Option<u8>,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Result and progress")]
pub struct ResultArgs {
    /// Write the results into this directory, which must not exist. Default: a new name here
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}
