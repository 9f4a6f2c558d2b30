//! Options of `check`.

use crate::args::convert::ReadingArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Compares the sets of requests; times and order do not matter. Requests that the kernel split or merged are recognised and \
counted separately. A \
recording that had ended before the replay began is taken for its load. --process selects requests of RECORDING only, because a replay names no processes. Exit code 0: no \
difference; 5: requests are missing or were added.

Examples:
  iosonar record /dev/sdx --out seen & iosonar replay db.load.gz -t /dev/sdx --destroy -o ran; kill $!; wait
  iosonar check ran seen
  iosonar check old.replay.gz sdx            a result of blkreplay, and the files of a blktrace")]
pub struct CheckArgs {
    /// Expected requests: an archive of a replay, a result, or a load
    #[arg(value_name = "REPLAY")]
    pub replay: PathBuf,
    /// Observed requests: a recording, or any trace that 'convert' reads
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
