//! Options of `replay`.

use super::common::{IoArgs, LoadArgs, PolicyArgs, SessionArgs};
use clap::Args;
use iosonar_plan::{Nanos, Speed};
use std::path::PathBuf;

/// Options of a replay.
#[derive(Debug, Args)]
#[command(after_help = "\
Writing destroys what is on a target. A device that is mounted, held or in use is never written; any other \
block device needs --destroy. Times are seconds unless they carry a unit: 0.5, 30s, 100us, 2m.
Exit codes: 0 fine; 1 requests failed, or the run broke; 2 refused; 3 nothing was verified, or read with care (--strict); \
4 the figures are fake; 5 data was not what was written; 128+n signal n.

Examples:
  iosonar replay web.load.gz --target /dev/sdx --destroy
  iosonar replay web.load.gz --target a.img --start 2250 --duration 30 --overlap order
  iosonar replay web.load.gz --target a.img --filter 'select:300..600 | spread:2.0,align=8'
  iosonar replay web.load.gz --target a.img --dry-run --show-plan
  iosonar replay web.load.gz --on store[01-03]:/dev/sdx --destroy

The progress line: done, elapsed/total, delivered/requested requests per second and their ratio, bytes per second, \
response times (due to completion) of the last interval, how late the latest request was, q: requests in flight, \
wait: requests that wait for a conflict, stalls: times of a second and more without a completion, !: failed and dropped \
requests. On a terminal v switches to the live view and back.")]
pub struct ReplayArgs {
    /// Loads in blkreplay's form, plain or gzip; - is standard input. Target i gets load i mod number of loads
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<PathBuf>,
    /// Replay on this block device or regular file; several run at the same time
    #[arg(long = "target", short = 't', required_unless_present = "on", value_name = "TARGET", num_args = 1..)]
    pub targets: Vec<PathBuf>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub io: IoArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Which part of a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Window and time")]
pub struct WindowArgs {
    /// Start at this time of the load
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "0s")]
    pub start: Nanos,
    /// Stop at this time of the load
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", conflicts_with = "duration")]
    pub end: Option<Nanos>,
    /// Replay a window of this length, from --start on
    #[arg(long, allow_negative_numbers = true, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Start the window of target i this much later, times i, so that peaks do not coincide
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "0s")]
    pub delta: Nanos,
    /// Replay this much faster than recorded
    ///
    /// The result is then no replay at the original times.
    #[arg(long, value_name = "FACTOR", default_value = "1", conflicts_with = "asap")]
    pub speed: Speed,
    /// Ignore the load's times: every request is due at once, in order
    #[arg(long)]
    pub asap: bool,
    /// Wait this long between the end of the preparations and time zero
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "1s")]
    pub start_grace: Nanos,
}
