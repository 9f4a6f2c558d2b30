//! Options of `report`.

use super::common::{LimitArgs, ProgressArgs, SpoolArgs};
use clap::Args;
use iosonar_plan::ByteSize;
use std::path::PathBuf;

/// How many requests are told of in a page, or how much of each.
#[derive(Debug, Clone, Copy)]
pub enum PointsArg {
    /// About so many.
    About(u64),
    /// As many as by default, with what the sonar needs.
    Picture,
}

impl std::str::FromStr for PointsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<PointsArg, String> {
        match text {
            "picture" => Ok(PointsArg::Picture),
            number => number
                .parse()
                .map(PointsArg::About)
                .map_err(|_| "it is neither a number of requests nor 'picture'".to_string()),
        }
    }
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directories of results, and loads and results in blkreplay's form, plain or gzip; several are merged on one time
    /// axis
    #[arg(required = true, value_name = "FILE|DIR")]
    pub inputs: Vec<PathBuf>,
    /// Write the page to this file. Default: DIR/report.html, or NAME.html here
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, conflicts_with = "text")]
    pub force: bool,
    /// Show two runs on one page, A and B
    #[arg(long, conflicts_with = "text")]
    pub compare: bool,
    /// Keep about this many requests with their facts in the page, exceptional ones first
    ///
    /// Default: all of a million, of more 200000. 0: none. picture: the default number without lengths, places and
    /// workers, for a smaller page.
    #[arg(long, value_name = "N|picture", conflicts_with = "text")]
    pub points: Option<PointsArg>,
    /// Limit the size of the page; single requests are dropped until it fits
    #[arg(long, value_name = "SIZE", default_value = "25MB", conflicts_with = "text")]
    pub max_html: ByteSize,
    /// Write the facts of all requests beside the page, as NAME.trace
    ///
    /// Drop that file onto the page to see every request.
    #[arg(long, conflicts_with = "text")]
    pub side_car: bool,
    /// Read names for parts of the target, shown beside the places
    ///
    /// Lines of start, length and name, for example 1GiB 512MiB data/ibdata1. Partitions are known without it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "compare"])]
    pub places: Option<PathBuf>,
    /// Print a text of 72 columns with a picture made of characters instead, for a mail
    #[arg(long, conflicts_with = "out")]
    pub text: bool,
    #[command(flatten)]
    pub demand: crate::args::analyze::DemandArgs,
    #[command(flatten)]
    pub spool: SpoolArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}
