//! Options that several commands share.

use super::hosts::HostArgs;
use super::setup::{EngineArgs, SetupArgs};
use super::verify::VerifyArgs;
use super::words::{Word, words};
use clap::{Args, ValueEnum};
use iosonar_plan::{
    Backward, ByteSize, Claim, Decimal, IssuePolicy, Nanos, OverlapPolicy, Pipeline, Probe, Space, SyncFlag,
    TracePath,
};
use std::path::PathBuf;

/// How loads are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading loads")]
pub struct LoadArgs {
    /// Transform the load first; 'iosonar load filter --help' lists the steps
    ///
    /// Window, backward time and speed apply to the result.
    #[arg(long, value_name = "STEPS")]
    pub filter: Option<Pipeline>,
    /// Set what to do where the load's time runs backward
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = words(BACKWARD))]
    pub backward: Backward,
    /// Skip damaged request lines instead of refusing the load
    #[arg(long)]
    pub skip_bad: bool,
    /// Set what to do with the load's flushes, and with FUA and preflush of its writes
    #[arg(long, value_name = "WHAT", default_value = "issue", value_parser = words(ISSUE))]
    pub flush: IssuePolicy,
    /// Set what to do with the load's discards and write zeroes
    #[arg(long, value_name = "WHAT", default_value = "issue", value_parser = words(ISSUE))]
    pub discard: IssuePolicy,
}

/// What happens to requests that conflict.
#[derive(Debug, Args)]
#[command(next_help_heading = "Overlapping requests")]
pub struct PolicyArgs {
    /// Set what to do with a request that overlaps one in flight
    #[arg(long, value_name = "POLICY", default_value = "push-back", value_parser = words(OVERLAP))]
    pub overlap: OverlapPolicy,
    /// Set which pairs conflict. 0: write and write; 1: all but read and read; 2: all
    #[arg(long, value_name = "TABLE", default_value = "1", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub strong: u8,
    /// Limit the requests in flight on a target
    ///
    /// Take the number from the application that you model.
    #[arg(long, value_name = "N", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub depth: u32,
}

/// How targets are used.
#[derive(Debug, Args)]
#[command(next_help_heading = "I/O")]
pub struct IoArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Set the size of targets, for --engine null and sim
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Space>,
    /// Use the page cache instead of O_DIRECT; the result is no storage result
    #[arg(long)]
    pub buffered: bool,
    /// Set what the figures are said to be: device, filesystem, cache or replay
    ///
    /// A figure is fake only against its claim. Default: replay for recorded loads, filesystem through
    /// the page cache, otherwise device.
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<Claim>,
    /// Start a run of a minute or more although its figures will be fake
    ///
    /// Where that is known before the first request, such a run is refused. Goes with a plan, too.
    #[arg(long)]
    pub anyway: bool,
    /// Count requests that overtake others on their way to the device
    ///
    /// An I/O scheduler may sort what waits together. The verdict's requests-reshaped has the share. Requests of
    /// other programs on the device are counted, too. Uses the kernel's tracepoints as root, and some CPU
    /// time.
    #[arg(long)]
    pub watch_order: bool,
    /// Record where the time of each request goes in the kernel
    ///
    /// Joins each request with the kernel's block tracepoints: queued, issued to the driver, completed by
    /// the device, seen by this program. Needs root, costs some CPU time, and goes with direct I/O. 'show --all' has
    /// the steps, path.parquet the times of each request. With =N the events are recorded in one of N windows of 100 ms,
    /// chosen by chance, and the latencies within and outside of them show the cost.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub trace_path: Option<TracePath>,
    /// Read random blocks twice before the run, to find caches below Linux: auto, on or off
    ///
    /// Takes up to 4 s for each target, and writes nothing. auto, the default: before runs of a minute
    /// or more with direct I/O that claim a device or a replay. Goes with a plan, too.
    #[arg(long, value_name = "WHEN")]
    pub probe: Option<Probe>,
    /// Open targets with O_SYNC, or with another flag: --sync=dsync, --sync=rsync
    ///
    /// On Linux O_RSYNC is O_SYNC.
    #[arg(long, value_name = "FLAG", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "sync", value_parser = sync_flag)]
    pub sync: SyncFlag,
    /// Make this share of written data incompressible, in percent; the rest is zeros
    ///
    /// Less than 100 flatters devices that compress or deduplicate.
    #[arg(long, value_name = "PCT", default_value = "100", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub fill_random: u8,
    /// Mark written blocks with this number; equal numbers write equal bytes. Default: a new one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..1 << 63))]
    pub run_id: Option<u64>,
    /// Set the seed of all random choices
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(0..1 << 63))]
    pub seed: u64,
    /// Allow writing to block devices: what is on them is lost
    #[arg(long)]
    pub destroy: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub verify: VerifyArgs,
}

/// Where results go, and what is shown meanwhile.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Result and progress")]
pub struct SessionArgs {
    /// Write the result into this directory, which must not exist. Default: a new name here
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the plan as TOML and stop; 'iosonar run' runs it
    #[arg(long)]
    pub show_plan: bool,
    /// End with exit code 3 if the verdict is 'read with care', or if input was skipped
    #[arg(long)]
    pub strict: bool,
    /// Print the rate while all targets were active, too
    ///
    /// That is from the start of the last one to the end of the first one.
    #[arg(long)]
    pub deskew: bool,
    /// Fail the latency limit above this latency
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub bad_latency: Nanos,
    /// Fail the delay limit above this delay
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub bad_delay: Nanos,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print these percentiles of the latency, too, separated by colons: 50:99:99.9
    #[arg(long, value_name = "PCT:...", value_delimiter = ':', value_parser = percentile)]
    pub percentile_list: Vec<Decimal>,
    /// Print the CPU time of each phase as JSON on standard error
    #[arg(long, hide = true)]
    pub timings: bool,
    /// Show the live view on the terminal of standard error; v switches to lines and back
    ///
    /// Without a terminal, or with TERM=dumb, lines are printed.
    #[arg(long, conflicts_with = "no_progress")]
    pub live: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub hosts: HostArgs,
}

/// What is shown while something goes on.
#[derive(Debug, Clone, Args)]
pub struct ProgressArgs {
    /// Set how progress is shown on standard error
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    pub progress: ProgressArg,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// Print progress lines this often where standard error is no terminal
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub progress_every: Nanos,
}

impl ProgressArgs {
    /// Shows none.
    pub fn none() -> ProgressArgs {
        let progress_every = Nanos::from_secs(10);
        ProgressArgs { progress: ProgressArg::None, no_progress: true, progress_every }
    }
}

/// A flag of open(2), as `--sync=FLAG` has it.
pub fn sync_flag(word: &str) -> Result<SyncFlag, String> {
    SyncFlag::named(word).ok_or_else(|| format!("there is no flag '{word}': use {}", SyncFlag::KNOWN))
}

/// A number of percent.
pub fn percentile(text: &str) -> Result<Decimal, String> {
    let number: Decimal = text.parse().map_err(|e: iosonar_plan::ParseUnitError| e.to_string())?;
    let fits = number > Decimal::whole(0) && number <= Decimal::whole(100);
    fits.then_some(number)
        .ok_or_else(|| format!("{number} is no percentile: give numbers above 0 and up to 100"))
}

/// Limits that a run is judged by.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Fail the latency limit above this latency
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub bad_latency: Nanos,
    /// Fail the delay limit above this delay
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub bad_delay: Nanos,
    /// Fail a limit at the Nth request above it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    pub bad_ignore: u64,
}

/// How an input that is read more than once, and comes from a pipe, is kept.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct SpoolArgs {
    /// Keep at most SIZE of a pipe in a temporary file. Default: half of the free space of TMPDIR
    #[arg(long, value_name = "SIZE")]
    pub spool_limit: Option<ByteSize>,
}

/// Treatment of a load's times that run backward.
pub const BACKWARD: &[Word<Backward>] = &[
    ("refuse", "Refuse the load", Backward::Refuse),
    ("sort", "Sort it", Backward::Sort),
    ("shift", "Shift what follows, as blkreplay does", Backward::Shift),
];

/// Treatment of operations beyond plain reads and writes.
pub const ISSUE: &[Word<IssuePolicy>] = &[
    ("issue", "Issue them as recorded", IssuePolicy::Issue),
    ("drop", "Drop them, which is easier for the target", IssuePolicy::Drop),
];

/// Treatment of requests that overlap.
pub const OVERLAP: &[Word<OverlapPolicy>] = &[
    ("allow", "Issue it anyway", OverlapPolicy::Allow),
    ("drop", "Drop it", OverlapPolicy::Drop),
    ("push-back", "Defer it; others pass", OverlapPolicy::PushBack),
    ("order", "Defer it, and all after it", OverlapPolicy::Order),
];

/// Forms of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A line that is rewritten on a terminal, a line now and then elsewhere
    Auto,
    /// One JSON object per line
    Json,
    /// Nothing
    None,
}
