//! What can be typed about comparisons.

use crate::args::common::SpoolArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
A condition names a figure and a limit: of the change from A to the other run (+10%), or of the value in the other run (5ms). It fails \
if the whole interval lies beyond the limit.
  FIGURE  [latency.|delay.|response.][read.|write.|flush.] and mean, p50, p90, p99, p99.9 or max; \
          [read.|write.|flush.] and iops, [read.|write.] and throughput; pairs (the same requests in both runs)
Conditions on matrices have changes only, and name a test (all its cells together), any (any test) or cells (any single cell).
Exit codes: 0 every condition holds, 1 one failed or there is nothing to compare, 2 refused, or a condition cannot be \
judged: its figure is missing, or one of the runs is FAKE (--anyway).

Examples:
  iosonar compare before after
  iosonar compare baseline run1 run2 run3 --markdown
  iosonar compare before after --fail-if 'p99 > +10%' --fail-if 'iops < -3%' --fail-if 'p99 > 5ms'
  iosonar compare first second --against run1 run2
  iosonar compare matrix1 matrix2 --html change.html --fail-if 'read < -5%'")]
pub struct CompareArgs {
    /// The baseline, and the runs that are compared with it: directories of results, results in
    /// blkreplay's form, loads that carry latencies. Or matrices: their directories, or cells as JSON. Or directories of knee, or of layout run
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Use these runs together as B, and the others together as A: repeats of two settings
    ///
    /// The intervals then cover the noise between runs. Each side needs two runs at least. --csv has the figures of both sides, --json those of
    /// each run.
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "html")]
    pub against: Vec<PathBuf>,
    /// End with exit code 1 if this is shown: 'p99 > +10%', 'p99 > 5ms'; can be repeated
    ///
    /// Of matrices it names a test: 'read < -5%'.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Allow conditions on runs that are FAKE
    ///
    /// They are judged by the figures as they are.
    #[arg(long, requires = "fail_if")]
    pub anyway: bool,
    /// End with exit code 2 if a condition could not see what it asks about
    ///
    /// With the noise of these runs only larger changes would be shown: that it holds says little.
    #[arg(long, requires = "fail_if")]
    pub strict: bool,
    /// Print all tables after the story
    ///
    /// They are all figures, differences of plans and environments, and times in which the runs differ.
    #[arg(long, conflicts_with_all = ["json", "csv", "markdown"])]
    pub all: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["csv", "markdown"])]
    pub json: bool,
    /// Print CSV: one line for each figure of each run
    #[arg(long, conflicts_with = "markdown")]
    pub csv: bool,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long, requires = "csv")]
    pub csv_safe: bool,
    /// Print Markdown for a report or a bug: the story, and a table of all runs
    #[arg(long)]
    pub markdown: bool,
    /// Write a page with heat maps of both matrices and of their difference
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub spool: SpoolArgs,
}
