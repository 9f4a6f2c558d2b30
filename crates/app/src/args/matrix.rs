//! What can be typed about matrices of file operations.

use crate::args::common::{ProgressArgs, sync_flag};
use crate::args::hosts::ReachArgs;
use clap::{Args, ValueEnum};
use iosonar_cells::{
    METHODS, MOST_DEPTH, MOST_REPETITIONS, MOST_SIZES, MOST_STREAMS, MOST_STRIDE, test_names,
};
use iosonar_plan::{ByteSize, Claim, SyncFlag};
use iosonar_text::csv::Form;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `matrix`.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Each test reads or writes a file once, from its start to its end or in another order, with requests of the record size. A cell \
is one test with one file size, record size, method and number of streams. Every repetition measures all cells in a new random \
order. FILE must not exist; it is created, and removed at the end.
  TEST    {}, all
  METHOD  {}
  SIZES   64k,1m: these sizes; 64k..512m: every doubling from the first to the second

DIR contains matrix.json (the question), part-N (archives with the records of every request), cells.json and cells.csv (one \
line for each cell and repetition), and pictures. An interrupted matrix continues with --resume DIR; \
what may be overwritten (--destroy) is typed again, and so is everything where DIR belongs to another user.
Exit codes: 0 all cells measured; 1 some are missing; 2 refused; 4 the figures are fake; 5 data was not what was written; 130 interrupted, the cells so far are kept.

Examples:
  iosonar matrix test.tmp --sizes 64k..512k --records 4k..64k
  iosonar matrix test.tmp --sizes 1m --records 64k --tests write,read --cache cold --repeat 5 --out cold
  iosonar matrix test.tmp --sizes 1m --records 64k --streams 1,2,4 --methods sync,mmap,uring
  iosonar matrix test.tmp --sizes 1m --records 64k --on alpha beta", test_names(), METHODS.join(", ")))]
pub struct MatrixArgs {
    /// Test files on the file system to measure. One name is enough: further streams get it with a number
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub cells: CellArgs,
    #[command(flatten)]
    pub way: WayArgs,
    #[command(flatten)]
    pub result: ResultArgs,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Which cells.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cells")]
pub struct CellArgs {
    /// Select tests
    #[arg(
        long,
        value_name = "TEST,…",
        value_delimiter = ',',
        default_value = "write,rewrite,read,reread,random_read,random_write"
    )]
    pub tests: Vec<String>,
    /// Set the sizes of files
    #[arg(long, value_name = "SIZES", default_value = "64k..512m")]
    pub sizes: Sizes,
    /// Set the sizes of records
    #[arg(long, value_name = "SIZES", default_value = "4k..16m")]
    pub records: Sizes,
    /// Measure files above 16 MiB with records below 64 KiB, too
    #[arg(long)]
    pub all_pairs: bool,
    /// Set the numbers of files that are used at the same time. Default: one, or one on each host
    #[arg(long, alias = "threads", value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STREAMS)))]
    pub streams: Vec<u32>,
    /// Select what executes the requests of tests that name no calls of their own
    #[arg(long, alias = "method", value_name = "METHOD,…", value_delimiter = ',', default_value = "sync")]
    pub methods: Vec<String>,
    /// Measure each cell this often
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPETITIONS)))]
    pub repeat: u32,
}

/// How cells are measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct WayArgs {
    /// Set what the page cache holds of a file at the start of a test that reads
    #[arg(long, value_enum, value_name = "STATE", default_value = "warm")]
    pub cache: CacheArg,
    /// Open files with O_DIRECT; what was left in the page cache is counted
    #[arg(long)]
    pub direct: bool,
    /// Open files with O_SYNC, or with another flag: --sync=dsync, --sync=rsync
    ///
    /// On Linux O_RSYNC is O_SYNC.
    #[arg(long, value_name = "FLAG", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "sync", value_parser = sync_flag)]
    pub sync: SyncFlag,
    /// Set the requests in flight of methods that can have several
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_DEPTH)))]
    pub depth: u32,
    /// Count the flush after a test as part of its time
    #[arg(long)]
    pub include_flush: bool,
    /// Count closing the file as part of its time
    #[arg(long)]
    pub include_close: bool,
    /// Let every stream read its whole file. Default: stop readers when the first of them is done
    #[arg(long)]
    pub no_stonewall: bool,
    /// Set the distance of stride reads in records
    #[arg(long, value_name = "N", default_value = "17", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STRIDE)))]
    pub stride: u32,
    /// Set the seed of the order of cells and of random requests
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Set what the figures are said to be: device, filesystem, cache or replay
    ///
    /// Default: cache where all files fit in memory and are not evicted, filesystem otherwise, device
    /// with --direct.
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<Claim>,
    /// Allow files that exist: overwrite them, and remove them at the end
    #[arg(long)]
    pub destroy: bool,
    /// Keep the files at the end
    #[arg(long)]
    pub keep: bool,
}

/// State of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheArg {
    /// Nothing of it: files are evicted, and what stays is counted
    Cold,
    /// Whatever the tests before have left there
    Warm,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Result and progress")]
pub struct ResultArgs {
    /// Write the results into this directory, which must not exist. Default: a new name here
    #[arg(long, short = 'o', value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Measure the cells that are missing in this directory
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Remove the record of every request when its cells are counted; histograms stay
    #[arg(long)]
    pub no_records: bool,
    /// Print the cells that would be measured, in their order
    #[arg(long)]
    pub dry_run: bool,
    /// Print the plan and do nothing
    #[arg(long)]
    pub show_plan: bool,
    /// Print the cells as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print the cells as CSV
    #[arg(long)]
    pub csv: bool,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long)]
    pub csv_safe: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ResultArgs {
    /// How cells are written as CSV.
    pub fn csv_form(&self) -> Form {
        Form { safe: self.csv_safe, crlf: false }
    }
}

/// Sizes that were typed: a list of sizes and of ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(pub Vec<ByteSize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((from, to)) => sizes.extend(range(from, to)?),
                None => sizes.push(size(part)?),
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        match sizes.len() {
            0..=MOST_SIZES => Ok(Sizes(sizes)),
            many => Err(format!("{many} sizes, and {MOST_SIZES} are the most")),
        }
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.trim().parse().map_err(|error| format!("'{text}': {error}"))?;
    if size.0 == 0 {
        return Err(format!("'{text}': a size has at least 1 byte"));
    }
    Ok(size)
}

fn range(from: &str, to: &str) -> Result<Vec<ByteSize>, String> {
    let (from, to) = (size(from)?, size(to)?);
    if from > to {
        return Err(format!("'{from}..{to}': the second size is smaller than the first: swap them"));
    }
    Ok(iosonar_cells::Series { least: from, most: to, factor: 2 }.sizes().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lists_and_ranges_of_sizes() {
        let kib =
            |text: &str| text.parse::<Sizes>().map(|s| s.0.iter().map(|s| s.0 >> 10).collect::<Vec<_>>());
        assert_eq!(kib("64k..300k"), Ok(vec![64, 128, 256]));
        assert_eq!(kib("1m,4k,4k..8k"), Ok(vec![4, 8, 1024]));
        for bad in ["", "0", "8k..4k", "4k..", "x", "1..1,,"] {
            assert!(kib(bad).is_err(), "{bad}");
        }
    }
}
