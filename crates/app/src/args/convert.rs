//! Options of `convert` and `info`.

use super::words::{Word, words};
use clap::Args;
use iosonar_plan::ByteSize;
use iosonar_trace::Kind;
use iosonar_trace::kernel::Timing;
use std::path::PathBuf;

/// Options of `convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
The format of an input is detected from its content, not its name. gzip is decompressed. Several inputs are merged by time. \
The per-CPU files of one blktrace are one trace; their common prefix (NAME of NAME.blktrace.0) selects all of them.

The format of OUT is that of --to, else that of its name: .load, .iolog (fio), .seek (XDD), .parquet. All but .parquet may \
end in .gz. Any other name creates an archive (a directory). - is standard output.

  --at      one kernel event counts as the request: queue (as requested) or issue (as passed to the driver, merged and split). \
            Default: the most frequent of queue, get-request, insert and issue
  --timing  none: no latencies (enough for a replay). exact: a completion ends the requests that it covers; ambiguous ones are \
            counted and marked. guessed: as blkreplay's script does. Default for an archive: exact

Examples:
  iosonar convert sda.blktrace.0 sda.blktrace.1 db.load.gz
  iosonar convert --at issue --timing exact sda db.iosonar        then: iosonar report db.iosonar
  perf script | iosonar convert --at issue - out.load.gz
  iosonar convert proj_0.csv.gz proj_0.load.gz
  iosonar convert --split device diskmon.log.gz windows.load.gz   windows.disk0.load.gz, windows.disk1.load.gz")]
pub struct ConvertArgs {
    /// Traces, loads or archives, then the output. - is standard input, or as the output standard output
    #[arg(required = true, value_name = "IN… OUT")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Set the form of the output
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Option<ToArg>,
    /// Write one output for each device or process, named NAME.WHICH.load.gz
    #[arg(long, value_enum, value_name = "BY")]
    pub split: Option<SplitArg>,
    /// Set the file's name in a log of fio
    #[arg(long, value_name = "NAME", default_value = "/dev/replayed")]
    pub fio_file: String,
}

/// How traces are read.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// Set the format of the inputs where their content does not show it
    #[arg(long, value_name = "FORM", value_parser = iosonar_trace::Format::NAMES)]
    pub from: Option<String>,
    /// Set which kernel event counts as the request
    #[arg(long, value_name = "EVENT", value_parser = ["queue", "get-request", "insert", "issue", "complete"])]
    pub at: Option<String>,
    /// Set how the ends of requests are found among kernel events
    #[arg(long, value_name = "HOW", value_parser = words(TIMING))]
    pub timing: Option<Timing>,
    /// Use --timing guessed
    #[arg(long, conflicts_with = "timing")]
    pub guess_timing: bool,
    /// Select requests of these devices, as the trace names them (8,16; a host and disk; a file)
    ///
    /// In a trace of a disk with remap events, the number of a partition (8,18) selects its requests, with their places on it.
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
    /// Select requests of these processes, by name or number
    #[arg(long, value_name = "PROCESS")]
    pub process: Vec<String>,
    /// Set the form of blkparse's lines, as its -f takes it
    #[arg(long, value_name = "FORM", allow_hyphen_values = true)]
    pub blkparse_format: Option<String>,
    /// Set the operation of all requests, if blkparse's lines do not contain it
    ///
    /// blkparse -f without %d prints such lines; blkparse -a selects one operation.
    #[arg(long, value_name = "OPERATION", value_parser = words(DIRECTION))]
    pub direction: Option<Kind>,
    /// Set the bytes of a block of XDD's seek lists
    #[arg(long, value_name = "SIZE", default_value = "1KiB")]
    pub block_size: ByteSize,
    /// Keep requests in the order of the trace instead of the order of their times
    #[arg(long)]
    pub keep_order: bool,
    /// End with exit code 3 if anything damaged was skipped
    #[arg(long)]
    pub strict: bool,
}

/// The operation of all requests of a trace.
const DIRECTION: &[Word<Kind>] = &[
    ("read", "Reads", Kind::Read),
    ("write", "Writes", Kind::Write),
    ("discard", "Discards", Kind::Discard),
];

/// How ends are found.
const TIMING: &[Word<Timing>] = &[
    ("none", "Not at all", Timing::None),
    ("exact", "By what a completion covers", Timing::Exact),
    ("guessed", "As blkreplay's script", Timing::Guessed),
];

/// Forms that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ToArg {
    /// blkreplay's load
    Load,
    /// fio's I/O log, version 3
    Fio,
    /// fio's I/O log, version 2
    Fio2,
    /// XDD's seek list
    SeekList,
    /// Our archive, for show, plot, report
    Archive,
    /// The archive's records alone
    Parquet,
}

/// By what an output is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SplitArg {
    /// By device
    Device,
    /// By process name
    Process,
}

/// Options of `info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iosonar info web.load.gz
  iosonar info sda.blktrace.*
  iosonar info --json proj_0.csv.gz")]
pub struct InfoArgs {
    /// Traces, loads, archives; - is standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Print the facts as JSON
    #[arg(long)]
    pub json: bool,
}
