//! Options of `doctor`.

use crate::args::hosts::ReachArgs;
use clap::Args;
use iosonar_plan::{Claim, Nanos};
use std::path::PathBuf;

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints what the target is, what lies below it, whether others use it, and what would make the figures \
of a run fake: for a device, a file system, and memory. Nothing is written to a device or to a file. In \
a directory, a small file is made for a moment, because direct I/O is a property of files.
Of devices and files of 16 MiB or more, 300 to 1000 random blocks are read twice, in up to 4 s: what is \
faster the second time came from a cache below Linux.
The exit code is 4 if a result with --claim would be fake.

  iosonar doctor /dev/sdx
  iosonar doctor /mnt/data --claim filesystem && iosonar run -t /mnt/data/file --size 4G --rw randread
  iosonar doctor /mnt/data --on alpha beta")]
pub struct DoctorArgs {
    /// A block device, a file, or a directory
    #[arg(value_name = "TARGET", required_unless_present = "on")]
    pub target: Option<PathBuf>,
    /// Set what is going to be measured: device, filesystem, cache or replay
    #[arg(long, value_name = "CLAIM", default_value = "device")]
    pub claim: Claim,
    /// Count for this long what others do on the devices; 0s: do not
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub quiet: Nanos,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 3 if anything is found
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub reach: ReachArgs,
}
