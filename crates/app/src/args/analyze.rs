//! Options of `analyze`, and those that it shares with what draws.

use crate::args::common::{LimitArgs, ProgressArgs, SpoolArgs};
use clap::Args;
use iosonar_analyze::demand::{DemandOptions, PAGE_BYTES};
use iosonar_plan::{ByteSize, Nanos};
use std::path::PathBuf;

/// Most pages that are kept exactly, 2 TiB of data.
const MOST_PAGES: u64 = 1 << 29;

/// Options of `analyze`.
#[derive(Debug, Args)]
#[command(after_help = "\
The analysis of a load prints sizes, addresses, working sets, turns (backward seeks), page frequencies and the miss ratio of a \
cache. For a run, a result, or a load with latencies it also prints latency, delay, response time, throughput, limits and \
findings.

Examples:
  iosonar analyze web.load.gz
  iosonar analyze web.load.gz --device-size 100GiB --windows 1s,60s,3600s
  iosonar analyze first second --each --json
'iosonar plot' draws the same figures; 'iosonar compare' shows differences between runs.")]
pub struct AnalyzeArgs {
    /// Loads and results in blkreplay's form, plain or gzip, and directories of results; - is a load on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    pub inputs: Vec<PathBuf>,
    /// Analyze each input alone instead of all of them merged on one time axis
    #[arg(long)]
    pub each: bool,
    /// Print everything as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print every figure as a line of CSV: its name, its value
    #[arg(long)]
    pub csv: bool,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long, requires = "csv")]
    pub csv_safe: bool,
    /// End with exit code 3 if input was skipped, or the verdict is 'read with care'
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub spool: SpoolArgs,
    #[command(flatten)]
    pub demand: DemandArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// How loads are looked at.
#[derive(Debug, Args)]
#[command(next_help_heading = "Static analysis")]
pub struct DemandArgs {
    /// Set the windows of the working sets, in whole seconds; the infinite one is always there
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', default_value = "1s,6s,60s,600s", value_parser = whole_seconds)]
    pub windows: Vec<u64>,
    /// Set the window of throughput figures and pictures [default: 3s]
    ///
    /// The pictures of runs use a window as fine as they can show.
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub throughput_window: Option<Nanos>,
    /// Set the window in which turns (backward seeks) are counted
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time)]
    pub turn_window: Nanos,
    /// Print how the load would wrap around on devices of these sizes
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',')]
    pub device_size: Vec<ByteSize>,
    /// Count exactly up to this much data
    ///
    /// Beyond it, pages are sampled for working sets, frequencies and the miss ratio.
    #[arg(long, value_name = "SIZE", default_value = "16GiB")]
    pub exact_footprint: ByteSize,
    /// Treat all inputs as one device: equal positions are the same place
    #[arg(long)]
    pub one_device: bool,
}

impl Default for DemandArgs {
    /// What is typed where nothing is.
    fn default() -> DemandArgs {
        let options = DemandOptions::default();
        DemandArgs {
            windows: options.windows_s,
            throughput_window: None,
            turn_window: Nanos(options.turn_window_ns),
            device_size: Vec::new(),
            exact_footprint: ByteSize(options.exact_pages as u64 * PAGE_BYTES),
            one_device: false,
        }
    }
}

impl DemandArgs {
    /// What the analysis is told.
    pub fn options(&self) -> DemandOptions {
        let default = DemandOptions::default();
        DemandOptions {
            windows_s: self.windows.clone(),
            throughput_window_ns: self
                .throughput_window
                .map_or(default.throughput_window_ns, |window| window.0),
            turn_window_ns: self.turn_window.0,
            exact_pages: (self.exact_footprint.0 / PAGE_BYTES).clamp(1, MOST_PAGES) as usize,
            device_bytes: self.device_size.iter().map(|size| size.0).collect(),
        }
    }
}

fn whole_seconds(text: &str) -> Result<u64, String> {
    let time = some_time(text)?;
    match (time.0 / Nanos::SECOND.0, time.0 % Nanos::SECOND.0) {
        (seconds, 0) => Ok(seconds),
        _ => Err("windows are whole seconds: 1s, 60s, 10m".into()),
    }
}

fn some_time(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos(0)) => Err("a window needs some length".into()),
        other => other.map_err(|error| error.to_string()),
    }
}
