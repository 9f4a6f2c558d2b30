//! Options of `show`.

use super::common::{LimitArgs, percentile};
use clap::Args;
use iosonar_plan::Decimal;
use std::path::PathBuf;

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory of a result, finished or not
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print the whole summary and the findings, too
    #[arg(long)]
    pub all: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print Markdown for a report or a bug: story, figures, events, origin
    #[arg(long, conflicts_with_all = ["json", "all", "deskew", "percentile_list", "show_plan"])]
    pub markdown: bool,
    /// Print the rate while all targets were active, too
    ///
    /// That is from the start of the last one to the end of the first one.
    #[arg(long, conflicts_with = "json")]
    pub deskew: bool,
    /// Print these percentiles of the latency, too, separated by colons: 50:99:99.9
    #[arg(long, value_name = "PCT:...", value_delimiter = ':', value_parser = percentile)]
    pub percentile_list: Vec<Decimal>,
    /// Print the plan as TOML and stop
    #[arg(long)]
    pub show_plan: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}
