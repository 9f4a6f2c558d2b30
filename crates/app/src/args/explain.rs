//! Options of `explain`.

use clap::Args;
use std::path::PathBuf;

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
The verdict is the one that was kept with the result. --again judges the result with the thresholds of this version.

Exit code 4 with --brief, --json or --strict: the figures are fake. 3 with --strict: the verdict is 'read with care'.

Examples:
  iosonar explain first                        what was seen, why it matters, and the remedy
  iosonar explain first --brief                a line for each detector
  iosonar explain first --again --json         the judgement of this version, for scripts")]
pub struct ExplainArgs {
    /// The directory of a result
    pub dir: PathBuf,
    /// Judge again with the thresholds of this version
    #[arg(long)]
    pub again: bool,
    /// Print one line for each detector
    #[arg(long)]
    pub brief: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 3 if the verdict is 'read with care', and with 4 if it is 'FAKE'
    #[arg(long)]
    pub strict: bool,
}
