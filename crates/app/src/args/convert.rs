//! Options of `convert` and `info`.

use super::common::SpoolArgs;
use super::words::{Word, words};
use clap::Args;
use iosonar_plan::ByteSize;
use iosonar_studies::convert::{Form, RecordForm, RequestForm, Split};
use iosonar_trace::fio::Version;
use iosonar_trace::kernel::Timing;
use iosonar_trace::{Format, Kind};
use std::path::PathBuf;

/// Options of `convert`.
#[derive(Debug, Args)]
#[command(
    mut_arg("from", |from| from.value_parser([&Format::NAMES[..], &["result", "iozone"]].concat())),
    after_help = "\
The format of an input is detected from its content, not its name. gzip is decompressed, except in dumps of XDD. Several inputs are merged by time. \
The per-CPU files of one blktrace are one trace; their common prefix (NAME of NAME.blktrace.0) selects all of them.

  input     what it is
  traces    blktrace, blkparse, perf, tracefs; logs of fio; lists of XDD; DiskMon, MSR, Alibaba, Tencent, SPC, FIU, NetApp
  loads     .load of blkreplay
  runs      archives, and their records.parquet
  results   .replay of blkreplay, on standard input with --from result; latency logs of fio; dumps of XDD's time stamps
  IOzone    its text, also quoted in a mail, or its old workbook (.xls); on standard input with --from iozone

The output is -o, else the last file. - is standard output. Its form is that of --to, else that of its name:

  --to       name       content
  load       .load      requests for a replay
  fio        .iolog     requests as a log of fio, version 3 (fio2: version 2)
  seek-list  .seek      requests as a list of XDD
  archive    any other  a directory for show, plot, report …; of a result with the facts about its run
  parquet    .parquet   the records of an archive alone
  replay     .replay    records as blkreplay's result: its columns and statistics, of one target
  csv        .csv       records, a line each, with a header
  json       .json      records, an object and a line each; of IOzone's output the table of its cells, for compare

Texts may end in .gz. Without an output a text goes to standard output. An archive, and the table of IOzone's output, get \
a new name here, which is printed on standard output; --to is not needed if the input is a result. The number of requests is \
printed on standard error.

  --at      one kernel event counts as the request: queue (as requested) or issue (as passed to the driver, merged and split). \
            Default: the most frequent of queue, get-request, insert and issue
  --timing  none: no latencies (enough for a replay). exact: a completion ends the requests that it covers; ambiguous ones are \
            counted and marked. guessed: as blkreplay's script does. Default for records: exact

Examples:
  iosonar convert sda.blktrace.0 sda.blktrace.1 db.load.gz
  iosonar convert --at issue --timing exact sda db.iosonar        then: iosonar report db.iosonar
  perf script | iosonar convert --at issue - out.load.gz
  iosonar convert proj_0.csv.gz proj_0.load.gz
  iosonar convert --split device diskmon.log.gz windows.load.gz   windows.disk0.load.gz, windows.disk1.load.gz
  iosonar convert first --to csv                                  the records of a run
  iosonar convert first -o first.replay                           the same as blkreplay's result"
)]
pub struct ConvertArgs {
    /// Inputs, then the output unless -o names it. - is standard input, or as the output standard output
    #[arg(required = true, value_name = "IN… [OUT]")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Write to this file or directory, which must not exist
    #[arg(long, short = 'o', value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Set the form of the output
    #[arg(long, value_name = "FORM", value_parser = words(TO))]
    pub to: Option<Form>,
    /// Write one output for each device or process, named NAME.WHICH.load.gz
    #[arg(long, value_name = "BY", value_parser = words(SPLIT))]
    pub split: Option<Split>,
    /// Set the file's name in a log of fio
    #[arg(long, value_name = "NAME", default_value = "/dev/replayed")]
    pub fio_file: String,
    /// Select the target whose records become replay, csv or json, by its number from 0
    #[arg(long, value_name = "N")]
    pub target: Option<u16>,
    /// Write an apostrophe before words of the CSV that a spreadsheet would take for formulas
    #[arg(long)]
    pub csv_safe: bool,
    #[command(flatten)]
    pub spool: SpoolArgs,
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
const TO: &[Word<Form>] = &[
    ("load", "blkreplay's load", Form::Requests(RequestForm::Load)),
    ("fio", "fio's I/O log, version 3", Form::Requests(RequestForm::Fio(Version::Three))),
    ("fio2", "fio's I/O log, version 2", Form::Requests(RequestForm::Fio(Version::Two))),
    ("seek-list", "XDD's seek list", Form::Requests(RequestForm::SeekList)),
    ("archive", "Our archive, for show, plot, report", Form::Requests(RequestForm::Archive)),
    ("parquet", "The archive's records alone", Form::Requests(RequestForm::Parquet)),
    ("replay", "blkreplay's columns and statistics", Form::Records(RecordForm::Replay)),
    ("csv", "One line per record, with a header", Form::Records(RecordForm::Csv)),
    ("json", "One JSON object per record and line", Form::Records(RecordForm::Json)),
];

/// By what an output is split.
const SPLIT: &[Word<Split>] =
    &[("device", "By device", Split::Device), ("process", "By process name", Split::Process)];

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
