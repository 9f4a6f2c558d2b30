//! Options of `explain` and `judge`.

use clap::Args;
use std::path::PathBuf;

/// Options of `judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// The directory of a result
    pub dir: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 3 if the verdict is 'read with care'
    #[arg(long)]
    pub strict: bool,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The directory of a result
    pub dir: PathBuf,
}
