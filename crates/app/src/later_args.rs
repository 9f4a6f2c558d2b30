//! Options of `verify`.

use clap::Args;
use iosonar_plan::{ByteSize, Decimal, VerifyModes};
use std::path::PathBuf;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
The plan and the records of a result say which versions each place may hold. The targets are read, nothing is written. Only the places \
that the run has written last are known: whatever has written to the target since then is a fault. Exit code 0: all is right; 5: there are \
faults; 3 with --strict: nothing was checked, or not all.

Examples:
  iosonar verify written
  iosonar verify written --target w.img=copy.img     the data was copied
  iosonar verify written --sample 50% --json         a part of it, for scripts")]
pub struct LaterArgs {
    /// Result of a run that wrote
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// Read NEW in place of the run's target OLD
    #[arg(long, short = 't', value_name = "OLD=NEW", num_args = 1..)]
    pub target: Vec<String>,
    /// Read only this share of the places, drawn from the plan's seed
    #[arg(long, value_name = "P%", value_parser = share)]
    pub sample: Option<Decimal>,
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
}

fn share(text: &str) -> Result<Decimal, String> {
    let modes: VerifyModes =
        format!("final,sample={text}").parse().map_err(|why: String| why.replace("sample=", ""))?;
    modes.sample.ok_or_else(|| "a share is needed, such as 5%".into())
}
