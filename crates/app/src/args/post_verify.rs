//! Options of `verify`.

use crate::args::hosts::ReachArgs;
use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, Decimal, VerifyModes};
use std::path::PathBuf;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
The plan and the records of a result say which versions each place may hold. The targets are read, nothing is written. Only the places \
that the run has written last are known: whatever has written to the target since then is a fault. Exit code 0: all is right; 5: there are \
faults; 3 with --strict: nothing was checked, or not all.

Relative paths of the result start in the directory that the run was started in. A target that is not there is looked for beside the \
result, then in the current directory.

Examples:
  iosonar verify written
  iosonar verify written --target w.img=copy.img     the data was copied
  iosonar verify written --sample 50% --json         a part of it, for scripts
  iosonar verify written --mode after-crash          what a crash has left
  iosonar verify written --on beta                   as another host sees the targets

Targets of a run on hosts are read there; the records of the result are sent to them.

After a crash only what was flushed has to be there (a flush, force unit access, O_SYNC or O_DSYNC); what was acknowledged \
without, or in flight, may be there or not. docs/verify.md has the rule.")]
pub struct PostVerifyArgs {
    /// Result of a run that wrote
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// Read NEW in place of the run's target OLD
    #[arg(long, short = 't', value_name = "OLD=NEW", num_args = 1..)]
    pub target: Vec<String>,
    /// Read only this share of the places, drawn from the plan's seed
    #[arg(long, value_name = "P%", value_parser = share)]
    pub sample: Option<Decimal>,
    /// Select what the targets have gone through since
    #[arg(long, value_enum, value_name = "MODE", default_value = "ended")]
    pub mode: PostVerifyMode,
    /// Read the journal of a killed run from here. Default: where the run has put it
    ///
    /// none: go without one that was lost. What was submitted last then counts as in flight.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Treat every acknowledged write as durable
    ///
    /// That is right on a device without a volatile cache, and for the page cache where only the process was killed.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub claim: Option<Claim>,
    /// Treat aligned units of this size as written wholly or not at all
    ///
    /// A power of two up to 64KiB. Default: a logical block.
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    pub atomic: Option<ByteSize>,
    /// Limit the memory for what sectors may hold; above it, some are not checked
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub verify_memory: ByteSize,
    /// End with exit code 3 if nothing was checked, or not all
    #[arg(long)]
    pub strict: bool,
    /// Print counts and faults as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// What the targets have gone through since the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PostVerifyMode {
    /// Nothing: the run came to its end
    Ended,
    /// The process, the machine or the device stopped in the middle
    AfterCrash,
}

/// What a device promises beyond flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Claim {
    /// Each acknowledged write survives
    WriteThrough,
}

/// Largest unit that is looked at.
const MOST_UNIT: ByteSize = ByteSize(64 << 10);

fn unit(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|why| format!("{why}"))?;
    let is_unit = size.0.is_power_of_two() && size.0 >= 512 && size <= MOST_UNIT;
    is_unit.then_some(size).ok_or_else(|| "a power of two from 512 to 64KiB is needed".into())
}

fn share(text: &str) -> Result<Decimal, String> {
    let modes: VerifyModes =
        format!("final,sample={text}").parse().map_err(|why: String| why.replace("sample=", ""))?;
    modes.sample.ok_or_else(|| "a share is needed, such as 5%".into())
}
