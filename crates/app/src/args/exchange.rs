//! Options of `export` and `import`.

use super::common::SpoolArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Directory of a result
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Set the form
    ///
    /// replay: blkreplay's columns and statistics; csv; json: one object per line.
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: ExportArg,
    /// Export this target, by its number from 0, where replay needs one of several
    #[arg(long, value_name = "N")]
    pub target: Option<u16>,
    /// Write to this file. Default: standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long)]
    pub csv_safe: bool,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A result in blkreplay's form, a latency log of fio (NAME_clat.1.log), a dump of XDD's time stamps, or what IOzone printed
    ///
    /// Plain or gzip; - is standard input. The format is detected from the content; 'iozone FILE' states that it is IOzone's: text,
    /// also quoted in a mail, or the old workbook (.xls).
    #[arg(value_name = "FILE", num_args = 1..=2, required = true)]
    pub words: Vec<PathBuf>,
    /// Write the archive into this directory, which must not exist. Default: a new name here
    ///
    /// Of IOzone it is a file of JSON, which 'compare' reads.
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub spool: SpoolArgs,
}

/// Forms of export.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ExportArg {
    /// blkreplay's columns and statistics
    Replay,
    /// One line per record, with a header
    Csv,
    /// One JSON object per record and line
    Json,
}
