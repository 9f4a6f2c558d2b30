//! Options of `check`.

use crate::convert_args::ReadingArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Compares which requests there are, not when and in which order. What the kernel split into several or joined into one is \
recognised and counted apart. --process chooses requests of RECORDING only, because a replay names no processes. Exit code 0: \
all the same, but for that; 5: something is missing or was added.

Examples:
  iosonar record /dev/sdx --out seen & iosonar replay db.load.gz -t /dev/sdx --destroy -o ran; kill $!; wait
  iosonar check ran seen
  iosonar check old.replay.gz sdx            a result of blkreplay, and the files of a blktrace")]
pub struct CheckArgs {
    /// What should have been done: an archive of a replay, a result, a load
    #[arg(value_name = "REPLAY")]
    pub replay: PathBuf,
    /// What the kernel saw: a recording, or any trace that 'convert' reads
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// List at most this many differences
    #[arg(long, value_name = "N", default_value = "20")]
    pub list: usize,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
