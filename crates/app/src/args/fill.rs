//! What can be typed about filling a target.

use crate::args::common::ProgressArgs;
use crate::args::hosts::ReachArgs;
use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, Space};
use std::path::PathBuf;

/// Options of `fill`.
#[derive(Debug, Args)]
#[command(after_help = "\
A measurement of a target that holds no data is fake: reads of holes reach no device. Fill the target first. The data is \
incompressible, and no sector is like another one, so targets that compress or deduplicate store all of it. Each of --times \
writes new data.
The content of the range is lost. A device that is mounted, held or in use is never written; any other block device needs \
--destroy, and its content is named.
When everything is written and flushed, the file system (for a loop device: that of its backing file) reports what is \
stored. Other devices do not report it.
Exit codes: 0 filled; 1 a write failed, or not every byte is stored; 2 refused; 130 stopped by Ctrl-C.

Examples:
  iosonar fill /dev/sdx --destroy
  iosonar fill a.img
  iosonar fill new.img --size 16m
  iosonar fill /dev/sdx --percent 50 --times 2 --destroy
  iosonar fill --on alpha:/dev/sdx beta:/dev/sdy --destroy")]
pub struct FillArgs {
    /// The block device or regular file; a file that does not exist is created, with --size
    #[arg(value_name = "TARGET", required_unless_present = "on")]
    pub target: Option<PathBuf>,
    #[command(flatten)]
    pub range: FillRangeArgs,
    #[command(flatten)]
    pub writing: FillWritingArgs,
    #[command(flatten)]
    pub result: FillResultArgs,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// What is filled.
#[derive(Debug, Args)]
#[command(next_help_heading = "Range")]
pub struct FillRangeArgs {
    /// Start at this offset
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub offset: ByteSize,
    /// Fill so many bytes, or percent of the target (50%). Default: to its end
    ///
    /// It is also the size of a file that does not exist.
    #[arg(long, value_name = "SIZE", conflicts_with = "percent")]
    pub size: Option<Space>,
    /// Fill this share of the target, in percent
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub percent: Option<u8>,
    /// Fill the range so often, each time with new data
    ///
    /// Preconditioning as SNIA describes it writes a device twice.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
}

/// How it is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "I/O")]
pub struct FillWritingArgs {
    /// Set the bytes of each write
    #[arg(long, value_name = "SIZE", alias = "blocksize", default_value = "1MiB")]
    pub bs: ByteSize,
    /// Limit the writes in flight
    #[arg(long, value_name = "N", alias = "depth", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub iodepth: u32,
    /// Set what executes the writes
    #[arg(long, alias = "ioengine", value_enum, value_name = "ENGINE", default_value = "uring")]
    pub engine: FillEngineArg,
    /// Write through the page cache instead of O_DIRECT, and flush at the end
    ///
    /// Where the file system has no direct I/O, and for sizes that are no multiple of the target's blocks, this is the default.
    #[arg(long)]
    pub buffered: bool,
    /// Allow writing to block devices: what is on them is lost
    #[arg(long)]
    pub destroy: bool,
}

/// What is printed and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Result and progress")]
pub struct FillResultArgs {
    /// Keep a result with the record of each write in this directory. Default: none
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the plan as TOML and stop; 'iosonar run' runs it
    #[arg(long)]
    pub show_plan: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Engines that fill.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FillEngineArg {
    /// io_uring
    #[value(alias = "io_uring")]
    Uring,
    /// The kernel's older asynchronous interface
    #[value(alias = "libaio")]
    Aio,
    /// One blocking thread for each write in flight
    #[value(alias = "psync")]
    Threads,
}
