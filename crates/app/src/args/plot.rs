//! Options of `plot`.

use crate::args::analyze::DemandArgs;
use crate::args::common::{LimitArgs, ProgressArgs, SpoolArgs};
use crate::args::words::{Word, words};
use clap::Args;
use iosonar_plan::Nanos;
use iosonar_view::{Scale, Theme};
use std::path::PathBuf;

/// Options of `plot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every input has static pictures, which show the requested workload. Runs, results and loads with latencies also have dynamic \
pictures, which show what happened.

Examples:
  iosonar plot first                                 all pictures, into first/plots
  iosonar plot web.load.gz --only ws_log,turns       two pictures of a load
  iosonar plot first --range 60s..70s                a part of the time
  iosonar plot --compare before after                two runs, side by side
  iosonar plot first --text                          text for a mail")]
pub struct PlotArgs {
    /// Loads and results in blkreplay's form, plain or gzip, and directories of results; several are merged
    #[arg(required = true, value_name = "FILE|DIR")]
    pub inputs: Vec<PathBuf>,
    /// Write the pictures into this directory. Default: DIR/plots, or FILE.plots here
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, conflicts_with = "text")]
    pub force: bool,
    /// Draw only these: sheet, response, latency, delay, inflight …; a wrong name lists all
    #[arg(long, value_name = "PICTURE,...", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Draw only this part of the time
    #[arg(long, value_name = "T1..T2", value_parser = range, conflicts_with = "text")]
    pub range: Option<(Nanos, Nanos)>,
    /// Draw two inputs side by side, the baseline first
    #[arg(long, conflicts_with_all = ["text", "data", "only"])]
    pub compare: bool,
    /// Print a text of 72 columns with a picture made of characters instead
    #[arg(long)]
    pub text: bool,
    /// Write the numbers of each picture as CSV, too, and the smoothed curves
    #[arg(long, conflicts_with = "text")]
    pub data: bool,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long, requires = "data")]
    pub csv_safe: bool,
    /// Write only PNG
    #[arg(long)]
    pub png: bool,
    /// Write only SVG
    #[arg(long, conflicts_with = "png")]
    pub svg: bool,
    /// Set the colours
    #[arg(long, default_value = "light", value_parser = words(THEMES))]
    pub theme: Theme,
    /// Scale PNGs of 1600 × 900: 1, or 2 for dense screens and for print
    #[arg(long, value_name = "1|2", default_value = "1", value_parser = scale, conflicts_with = "svg")]
    pub scale: Scale,
    /// Set the window of the smoothed curves in the CSV
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub smooth_window: Nanos,
    #[command(flatten)]
    pub spool: SpoolArgs,
    #[command(flatten)]
    pub demand: DemandArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Themes.
const THEMES: &[Word<Theme>] = &[
    ("light", "On white", Theme::Light),
    ("dark", "On black", Theme::Dark),
    ("print", "Black on white, for paper", Theme::Print),
    ("gray", "Without colours", Theme::Gray),
];

fn scale(text: &str) -> Result<Scale, String> {
    match text {
        "1" => Ok(Scale::Single),
        "2" => Ok(Scale::Double),
        _ => Err("1 or 2".into()),
    }
}

fn range(text: &str) -> Result<(Nanos, Nanos), String> {
    let (from, to) = text.split_once("..").ok_or("a range is T1..T2, for example 60s..70s")?;
    let time = |text: &str| text.trim().parse::<Nanos>().map_err(|error| error.to_string());
    let (from, to) = (time(from)?, time(to)?);
    if from < to { Ok((from, to)) } else { Err(format!("the range ends at {to}, which is not after {from}")) }
}
