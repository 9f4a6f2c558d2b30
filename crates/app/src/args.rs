//! What can be typed: every option once, with its help. Options are only stored here; what they mean is
//! resolved in the command that takes them.

use crate::analyze_args::AnalyzeArgs;
use crate::calibrate_args::CalibrateArgs;
use crate::check_args::CheckArgs;
use crate::compare_args::CompareArgs;
use crate::convert_args::{ConvertArgs, InfoArgs};
use crate::derive_args::DeriveArgs;
use crate::fill_args::FillArgs;
use crate::knee_args::KneeArgs;
use crate::later_args::LaterArgs;
use crate::layout_args::{CachedArgs, EvictArgs, LayoutArgs};
use crate::matrix_args::MatrixArgs;
use crate::means_args::{EngineArgs, MeansArgs};
use crate::plot_args::PlotArgs;
use crate::record_args::RecordArgs;
use crate::run_args::RunArgs;
use crate::verify_args::VerifyArgs;
use crate::words::{Word, words};
use clap::{Args, Parser, Subcommand, ValueEnum};
use iosonar_plan::{
    Backward, ByteSize, Claim, Decimal, IssuePolicy, Nanos, OverlapPolicy, Pipeline, Probe, Space, Speed,
    SyncFlag,
};
use std::path::PathBuf;

/// The version, and the commit where there is one. A fuzz target takes this module without the build script.
const VERSION: &str = match option_env!("IOSONAR_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Measures storage with replays and patterns, and shows what happened to each request.
#[derive(Debug, Parser)]
#[command(
    name = "iosonar",
    version = VERSION,
    arg_required_else_help = true,
    after_help = "\
Start here:
  iosonar load generate bursts demo.load                  make a synthetic load
  iosonar replay demo.load --target a.img --out first     replay it on a file or device
  iosonar show first                                      the figures
  iosonar live first                                      the run again, faster
  iosonar plot first                                      the pictures
  iosonar analyze demo.load                               the figures of a load
  iosonar compare first second                            the differences
'iosonar COMMAND --help' explains each option. Exit codes: 0 fine, 1 requests failed or the run broke, \
2 refused, 3 with --strict: read with care, 4 the figures are fake, 5 data was not what was written, 128+n signal n."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay recorded loads on block devices or files
    Replay(Box<ReplayArgs>),
    /// Run a plan, or a workload in fio's words
    Run(Box<RunArgs>),
    /// Fill a device or a file with incompressible data, so that what is measured is stored
    Fill(Box<FillArgs>),
    /// Measure what this program itself costs on this machine, by engine
    Calibrate(CalibrateArgs),
    /// Print the summary of a run
    Show(ShowArgs),
    /// Judge what the figures of a run are worth, with today's thresholds
    Judge(JudgeArgs),
    /// Explain the verdict on a run: what was seen, why it matters, and the remedy
    Explain(ExplainArgs),
    /// Examine a device, file or directory: what would spoil a measurement of it
    Doctor(DoctorArgs),
    /// Show a finished or running run in the live view
    Live(LiveArgs),
    /// Find the highest rate that a target sustains, with a rising request rate
    Knee(Box<KneeArgs>),
    /// Compare runs: what differs, by how much, and whether it is more than noise
    Compare(CompareArgs),
    /// Analyze workloads and runs
    Analyze(Box<AnalyzeArgs>),
    /// Draw the diagrams of loads and runs as PNG and SVG
    Plot(Box<PlotArgs>),
    /// Write one self-contained HTML page about a run
    Report(ReportArgs),
    /// Write the records of a run in another form
    Export(ExportArgs),
    /// Make an archive from a result of blkreplay, or a table from what IOzone printed
    Import(ImportArgs),
    /// Make loads, and change them: synthetic ones, filters, loads of whole loads
    Load(LoadCommand),
    /// Evict files from the page cache, or count their pages there
    Cache(CacheCommand),
    /// Make a synthetic load: 'iosonar load generate'
    #[command(hide = true)]
    Generate(GenerateArgs),
    /// Record the block I/O of live devices
    Record(RecordArgs),
    /// Check that a replay issued all of its load, and nothing else
    Check(Box<CheckArgs>),
    /// Verify later what a run has written, from its result
    Verify(Box<LaterArgs>),
    /// Make loads and archives of traces: blktrace, blkparse, perf, fio, XDD, DiskMon, MSR …
    Convert(Box<ConvertArgs>),
    /// Print the format of a trace and its main figures
    Info(Box<InfoArgs>),
    /// Transform a load: 'iosonar load filter'
    #[command(hide = true)]
    Filter(FilterArgs),
    /// Make loads of whole loads: 'iosonar load derive'
    #[command(hide = true)]
    Derive(DeriveArgs),
    /// Measure file operations over file sizes and record sizes, each cell several times
    Matrix(Box<MatrixArgs>),
    /// Map the blocks of files, compare ways to create them, list free space
    Layout(LayoutArgs),
    /// Run XDD's command line with this engine; -fullhelp lists its options
    #[command(disable_help_flag = true)]
    Xdd(XddArgs),
    /// Run IOzone's command line with this engine; -h lists its options
    #[command(disable_help_flag = true)]
    Iozone(IozoneArgs),
    /// Run blkreplay's command line: load on standard input, result on standard output
    #[command(disable_help_flag = true)]
    Blkreplay(crate::blkreplay_args::BlkreplayArgs),
}

/// Options of `load`.
#[derive(Debug, Args)]
pub struct LoadCommand {
    #[command(subcommand)]
    pub what: Load,
}

/// Ways to make a load.
#[derive(Debug, Subcommand)]
pub enum Load {
    /// Make a synthetic load
    Generate(GenerateArgs),
    /// Transform a load: cut it, spread it, repeat it …
    Filter(FilterArgs),
    /// Make loads of whole loads: the busiest parts first, side by side, as a ramp
    Derive(DeriveArgs),
}

/// Options of `cache`.
#[derive(Debug, Args)]
pub struct CacheCommand {
    #[command(subcommand)]
    pub what: Cache,
}

/// Uses of the page cache.
#[derive(Debug, Subcommand)]
pub enum Cache {
    /// Remove files from the page cache, and verify that nothing stays
    Evict(EvictArgs),
    /// Print how many pages of files are in the page cache
    Count(CachedArgs),
}

/// What XDD would be given.
#[derive(Debug, Args)]
pub struct XddArgs {
    /// Options of XDD 6.5, in its own form
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub options: Vec<std::ffi::OsString>,
}

/// What IOzone would be given.
#[derive(Debug, Args)]
pub struct IozoneArgs {
    /// Options of IOzone 3, in its own form
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub options: Vec<std::ffi::OsString>,
}

/// Options of a replay.
#[derive(Debug, Args)]
#[command(after_help = "\
Writing destroys what is on a target. A device that is mounted, held or in use is never written; any other \
block device needs --destroy. Times are seconds unless they carry a unit: 0.5, 30s, 100us, 2m.
Exit codes: 0 fine; 1 requests failed, or the run broke; 2 refused; 3 nothing was verified, or read with care (--strict); \
4 the figures are fake; 5 data was not what was written; 128+n signal n.

Examples:
  iosonar replay web.load.gz --target /dev/sdx --destroy
  iosonar replay web.load.gz --target a.img --start 2250 --duration 30 --overlap order
  iosonar replay web.load.gz --target a.img --filter 'select:300..600 | spread:2.0,align=8'
  iosonar replay web.load.gz --target a.img --dry-run --show-plan

The progress line: done, elapsed/total, delivered/requested requests per second and their ratio, bytes per second, \
response times (due to completion) of the last interval, how late the latest request was, q: requests in flight, \
wait: requests that wait for a conflict, stalls: times of a second and more without a completion, !: failed and dropped \
requests. On a terminal v switches to the live view and back.")]
pub struct ReplayArgs {
    /// Loads in blkreplay's form, plain or gzip; - is standard input. Target i gets load i mod number of loads
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<PathBuf>,
    /// Replay on this block device or regular file; several run at the same time
    #[arg(long = "target", short = 't', required = true, value_name = "TARGET", num_args = 1..)]
    pub targets: Vec<PathBuf>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    #[command(flatten)]
    pub io: IoArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Which part of a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Window and time")]
pub struct WindowArgs {
    /// Start at this time of the load
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "0s")]
    pub start: Nanos,
    /// Stop at this time of the load
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", conflicts_with = "duration")]
    pub end: Option<Nanos>,
    /// Replay a window of this length, from --start on
    #[arg(long, allow_negative_numbers = true, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Start the window of target i this much later, times i, so that peaks do not coincide
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "0s")]
    pub delta: Nanos,
    /// Replay this much faster than recorded
    ///
    /// The result is then no replay at the original times.
    #[arg(long, value_name = "FACTOR", default_value = "1", conflicts_with = "asap")]
    pub speed: Speed,
    /// Ignore the load's times: every request is due at once, in order
    #[arg(long)]
    pub asap: bool,
    /// Wait this long between the end of the preparations and time zero
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", default_value = "1s")]
    pub start_grace: Nanos,
}

/// How loads are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading loads")]
pub struct LoadArgs {
    /// Transform the load first; 'iosonar load filter --help' lists the steps
    ///
    /// Window, backward time and speed apply to the result.
    #[arg(long, value_name = "STEPS")]
    pub filter: Option<Pipeline>,
    /// Set what to do where the load's time runs backward
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = words(BACKWARD))]
    pub backward: Backward,
    /// Skip damaged request lines instead of refusing the load
    #[arg(long)]
    pub skip_bad: bool,
    /// Set what to do with the load's flushes, and with FUA and preflush of its writes
    #[arg(long, value_name = "WHAT", default_value = "issue", value_parser = words(ISSUE))]
    pub flush: IssuePolicy,
    /// Set what to do with the load's discards and write zeroes
    #[arg(long, value_name = "WHAT", default_value = "issue", value_parser = words(ISSUE))]
    pub discard: IssuePolicy,
}

/// What happens to requests that conflict.
#[derive(Debug, Args)]
#[command(next_help_heading = "Overlapping requests")]
pub struct PolicyArgs {
    /// Set what to do with a request that overlaps one in flight
    #[arg(long, value_name = "POLICY", default_value = "push-back", value_parser = words(OVERLAP))]
    pub overlap: OverlapPolicy,
    /// Set which pairs conflict. 0: write and write; 1: all but read and read; 2: all
    #[arg(long, value_name = "TABLE", default_value = "1", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub strong: u8,
    /// Limit the requests in flight on a target
    ///
    /// Take the number from the application that you model.
    #[arg(long, value_name = "N", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub depth: u32,
}

/// How targets are used.
#[derive(Debug, Args)]
#[command(next_help_heading = "I/O")]
pub struct IoArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Set the size of targets, for --engine null and sim
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Space>,
    /// Use the page cache instead of O_DIRECT; the result is no storage result
    #[arg(long)]
    pub buffered: bool,
    /// Set what the figures are said to be: device, filesystem, cache or replay
    ///
    /// A figure is fake only against its claim. Default: replay for recorded loads, filesystem through
    /// the page cache, otherwise device.
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<Claim>,
    /// Start a run of a minute or more although its figures will be fake
    ///
    /// Where that is known before the first request, such a run is refused. Goes with a plan, too.
    #[arg(long)]
    pub anyway: bool,
    /// Count requests that overtake others on their way to the device
    ///
    /// An I/O scheduler may sort what waits together. The verdict's requests-reshaped has the share. Requests of
    /// other programs on the device are counted, too. Uses the kernel's tracepoints as root, and some CPU
    /// time.
    #[arg(long)]
    pub watch_order: bool,
    /// Read random blocks twice before the run, to find caches below Linux: auto, on or off
    ///
    /// Takes up to 4 s for each target, and writes nothing. auto, the default: before runs of a minute
    /// or more with direct I/O that claim a device or a replay. Goes with a plan, too.
    #[arg(long, value_name = "WHEN")]
    pub probe: Option<Probe>,
    /// Open targets with O_SYNC, or with another flag: --sync=dsync, --sync=rsync
    ///
    /// On Linux O_RSYNC is O_SYNC.
    #[arg(long, value_name = "FLAG", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "sync", value_parser = sync_flag)]
    pub sync: SyncFlag,
    /// Make this share of written data incompressible, in percent; the rest is zeros
    ///
    /// Less than 100 flatters devices that compress or deduplicate.
    #[arg(long, value_name = "PCT", default_value = "100", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub fill_random: u8,
    /// Mark written blocks with this number; equal numbers write equal bytes. Default: a new one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..1 << 63))]
    pub run_id: Option<u64>,
    /// Set the seed of all random choices
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(0..1 << 63))]
    pub seed: u64,
    /// Allow writing to block devices: what is on them is lost
    #[arg(long)]
    pub destroy: bool,
    #[command(flatten)]
    pub means: MeansArgs,
    #[command(flatten)]
    pub verify: VerifyArgs,
}

/// Where results go, and what is shown meanwhile.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Result and progress")]
pub struct SessionArgs {
    /// Write the result into this directory, which must not exist. Default: a new name here
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the plan as TOML and stop; 'iosonar run' runs it
    #[arg(long)]
    pub show_plan: bool,
    /// End with exit code 3 if the verdict is 'read with care', or if input was skipped
    #[arg(long)]
    pub strict: bool,
    /// Print the rate while all targets were active, too
    ///
    /// That is from the start of the last one to the end of the first one.
    #[arg(long)]
    pub deskew: bool,
    /// Fail the latency limit above this latency
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub bad_latency: Nanos,
    /// Fail the delay limit above this delay
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub bad_delay: Nanos,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print these percentiles of the latency, too, separated by colons: 50:99:99.9
    #[arg(long, value_name = "PCT:...", value_delimiter = ':', value_parser = percentile)]
    pub percentile_list: Vec<Decimal>,
    /// Print the CPU time of each phase as JSON on standard error
    #[arg(long, hide = true)]
    pub timings: bool,
    /// Show the live view on the terminal of standard error; v switches to lines and back
    ///
    /// Without a terminal, or with TERM=dumb, lines are printed.
    #[arg(long, conflicts_with = "no_progress")]
    pub live: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// What is shown while something goes on.
#[derive(Debug, Clone, Args)]
pub struct ProgressArgs {
    /// Set how progress is shown on standard error
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    pub progress: ProgressArg,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// Print progress lines this often where standard error is no terminal
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub progress_every: Nanos,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory of a result, finished or not
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
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

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints what the target is, what lies below it, whether others use it, and what would make the figures \
of a run fake: for a device, a file system, and memory. Nothing is written to a device or to a file. In \
a directory, a small file is made for a moment, because direct I/O is a property of files.
Of devices and files of 16 MiB or more, 300 to 1000 random blocks are read twice, in up to 4 s: what is \
faster the second time came from a cache below Linux.
The exit code is 4 if a result with --claim would be fake.

  iosonar doctor /dev/sdx
  iosonar doctor /mnt/data --claim filesystem && iosonar run -t /mnt/data/file --size 4G --rw randread")]
pub struct DoctorArgs {
    /// A block device, a file, or a directory
    #[arg(value_name = "TARGET")]
    pub target: PathBuf,
    /// Set what is going to be measured: device, filesystem, cache or replay
    #[arg(long, value_name = "CLAIM", default_value = "device")]
    pub claim: Claim,
    /// Count for this long what others do on the devices; 0s: do not
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub quiet: Nanos,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 3 if anything is found
    #[arg(long)]
    pub strict: bool,
}

/// A flag of open(2), as `--sync=FLAG` has it.
pub fn sync_flag(word: &str) -> Result<SyncFlag, String> {
    SyncFlag::named(word).ok_or_else(|| format!("there is no flag '{word}': use {}", SyncFlag::KNOWN))
}

/// A number of percent.
fn percentile(text: &str) -> Result<Decimal, String> {
    let number: Decimal = text.parse().map_err(|e: iosonar_plan::ParseUnitError| e.to_string())?;
    let fits = number > Decimal::whole(0) && number <= Decimal::whole(100);
    fits.then_some(number)
        .ok_or_else(|| format!("{number} is no percentile: give numbers above 0 and up to 100"))
}

/// Options of `live`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q quits, space or p pauses, left and right arrow move back and forward, + and - change the time span, r and w \
show reads or writes only, l toggles a logarithmic scale, s saves the picture as text, ? shows help.
The view follows a run that is still running, unless --at or --speed is given. Requests in flight are not recorded yet, so \
they are missing.

Examples:
  iosonar live first
  iosonar live first --speed 10 --at 60s
  iosonar live first --once --at 60s --size 120x40     the picture as text")]
pub struct LiveArgs {
    /// Directory of a result, finished or not
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Show it this much faster. Default: it takes at most 20 s
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<Speed>,
    /// Start at this time of the run; with --once show this time. Default there: the end
    #[arg(long, value_name = "TIME")]
    pub at: Option<Nanos>,
    /// Print one picture as plain text, and end
    #[arg(long, conflicts_with = "speed")]
    pub once: bool,
    /// Set columns and rows of that picture. Default: those of the terminal, or 80x24
    #[arg(long, value_name = "COLUMNSxROWS", requires = "once", value_parser = columns_and_rows)]
    pub size: Option<(usize, usize)>,
}

/// `80x24`.
fn columns_and_rows(text: &str) -> Result<(usize, usize), String> {
    let (least, most) = (iosonar_view::live::LEAST, (1000, 1000));
    let parts = text.split_once('x').and_then(|(c, r)| Some((c.parse().ok()?, r.parse().ok()?)));
    let fits = |s: &(usize, usize)| s.0 >= least.0 && s.1 >= least.1 && s.0 <= most.0 && s.1 <= most.1;
    parts
        .filter(fits)
        .ok_or(format!("give columns and rows, from {}x{} to {}x{}", least.0, least.1, most.0, most.1))
}

/// Limits that a run is judged by.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Fail the latency limit above this latency
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub bad_latency: Nanos,
    /// Fail the delay limit above this delay
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub bad_delay: Nanos,
    /// Fail a limit at the Nth request above it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    pub bad_ignore: u64,
}

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

/// How an input that is read more than once, and comes from a pipe, is kept.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct SpoolArgs {
    /// Keep at most SIZE of a pipe in a temporary file. Default: half of the free space of TMPDIR
    #[arg(long, value_name = "SIZE")]
    pub spool_limit: Option<ByteSize>,
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
    pub demand: crate::analyze_args::DemandArgs,
    #[command(flatten)]
    pub spool: SpoolArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

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

/// Options of `generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
bursts  at each whole second a burst, each larger than the one before: shows where a target collapses
mixed   like a small server: hot reads, streaks of writes, a rate that swells and ebbs")]
pub struct GenerateArgs {
    /// Its shape
    #[arg(value_enum)]
    pub shape: ShapeArg,
    /// The file; gzip if it ends in .gz; - is standard output
    #[arg(value_name = "FILE")]
    pub out: PathBuf,
    /// Set its length
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub duration: Nanos,
    /// Set the size of the region that it touches
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub size: ByteSize,
    /// Set the rate
    ///
    /// bursts: by how many requests each burst grows; mixed: mean requests per second beside the bursts.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub rate: u64,
    /// Set the share of reads in percent
    #[arg(long, value_name = "PCT", default_value = "50", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub reads: u8,
    /// Seed the load; equal seeds result in equal loads
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// Options of `filter`.
#[derive(Debug, Args)]
#[command(after_help = "\
Steps run from left to right, separated by |. Addresses and lengths are in sectors of 512 bytes; times are in seconds unless \
they have a unit. Values without a name come first; the list shows the defaults.

  select:FROM..TO                  keep FROM <= t < TO; times do not change
  repeat:TIMES,offset=0            repeat the load TIMES times, each time offset sectors further
  slip:every=32768,increase=256    request i moves by floor(i / every) * increase
  subst:R,W                        turn reads into writes (W,R: writes into reads)
  spread:factor=2,align=8,offset=0 s becomes floor(s * factor / align) * align + s mod align + offset
  resize:factor=2,min=0,max=65536  l becomes floor(l * factor), at least min, then at most max
  reverse                          keep the times, reverse the order of requests
  sort                             sort by time; equal times keep their order
  scale:FACTOR                     multiply times by FACTOR: 2 is half as fast
  shift:BY                         make all times later by BY
  sample:N                         keep the first request and each N-th after it
  merge:FILE,offset=0,shift=0s     merge another load by time, moved by offset sectors and shift
  cmd:COMMAND                      pipe request lines through a shell COMMAND; it must exit with 0

Quote a value with ' or \" if it contains a comma, a bar or =, or starts or ends with a blank; double a quote inside it.

Examples:
  iosonar load filter 'select:300..600 | spread:2.0,align=8' web.load.gz -o peak.load.gz
  iosonar load filter 'repeat:12 | slip' short.load.gz | iosonar replay - -t /dev/sdx --destroy
  iosonar load filter \"merge:'b 1.load',offset=2097152 | cmd:'grep -v R | head -1000'\" a.load -o both.load
  zcat web.load.gz | iosonar load filter subst:W,R | iosonar analyze -")]
pub struct FilterArgs {
    /// Steps, for example 'select:300..600 | spread:2.0,align=8'
    #[arg(value_name = "STEPS")]
    pub steps: Pipeline,
    /// The load or result, plain or gzip; - is standard input
    #[arg(value_name = "LOAD", default_value = "-")]
    pub load: PathBuf,
    /// Write the new load to this file; gzip if it ends in .gz; - is standard output
    ///
    /// A file that exists is never overwritten.
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Skip damaged request lines instead of refusing the load
    #[arg(long)]
    pub skip_bad: bool,
}

/// Treatment of a load's times that run backward.
const BACKWARD: &[Word<Backward>] = &[
    ("refuse", "Refuse the load", Backward::Refuse),
    ("sort", "Sort it", Backward::Sort),
    ("shift", "Shift what follows, as blkreplay does", Backward::Shift),
];

/// Treatment of operations beyond plain reads and writes.
const ISSUE: &[Word<IssuePolicy>] = &[
    ("issue", "Issue them as recorded", IssuePolicy::Issue),
    ("drop", "Drop them, which is easier for the target", IssuePolicy::Drop),
];

/// Treatment of requests that overlap.
pub const OVERLAP: &[Word<OverlapPolicy>] = &[
    ("allow", "Issue it anyway", OverlapPolicy::Allow),
    ("drop", "Drop it", OverlapPolicy::Drop),
    ("push-back", "Defer it; others pass", OverlapPolicy::PushBack),
    ("order", "Defer it, and all after it", OverlapPolicy::Order),
];

/// Forms of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A line that is rewritten on a terminal, a line now and then elsewhere
    Auto,
    /// One JSON object per line
    Json,
    /// Nothing
    None,
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

/// Shapes of synthetic loads.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ShapeArg {
    /// Growing bursts at whole seconds
    Bursts,
    /// A small server
    Mixed,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    /// Verbs with which the help of an option starts.
    const VERBS: &[&str] = &[
        "Add",
        "Advise",
        "Align",
        "Allow",
        "Analyze",
        "Bind",
        "Choose",
        "Complete",
        "Count",
        "Create",
        "Do",
        "Draw",
        "End",
        "Exclude",
        "Export",
        "Fail",
        "Fill",
        "Flush",
        "Go",
        "Grow",
        "Ignore",
        "Inject",
        "Issue",
        "Keep",
        "Let",
        "Limit",
        "List",
        "Lock",
        "Make",
        "Map",
        "Mark",
        "Measure",
        "Open",
        "Pause",
        "Place",
        "Poll",
        "Print",
        "Read",
        "Refuse",
        "Record",
        "Remove",
        "Replace",
        "Replay",
        "Request",
        "Reserve",
        "Run",
        "Scale",
        "Seed",
        "Select",
        "Serve",
        "Set",
        "Show",
        "Skip",
        "Spin",
        "Split",
        "Start",
        "Stop",
        "Transfer",
        "Transform",
        "Treat",
        "Try",
        "Use",
        "Verify",
        "Wait",
        "Write",
    ];
    /// Words that help does without: a standard term says the same.
    const BANNED: &[&str] = &[
        "anew",
        "asked for",
        "behind",
        "begins",
        "carried out",
        "carries out",
        "carry out",
        "comes to",
        "handed out",
        "hands out",
        "leave out",
        "left out",
        "mend",
        "natural load",
        "once more",
        "told",
        "tells",
    ];
    /// Columns of the first line of an option's help, below the option at the usual width of 100.
    const LINE: usize = 90;

    fn commands(of: &clap::Command, found: &mut Vec<clap::Command>) {
        found.push(of.clone());
        of.get_subcommands().for_each(|sub| commands(sub, found));
    }

    fn banned_in(name: &str, help: &str) -> Vec<String> {
        let line_of = |word: &&str| help.lines().find(|line| line.contains(*word));
        let found = |word: &&str| line_of(word).map(|line| format!("'{word}' in {name}: {}", line.trim()));
        BANNED.iter().filter_map(found).collect()
    }

    #[test]
    fn help_begins_with_a_verb_fits_its_line_and_uses_standard_terms() {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        commands(&Cli::command(), &mut all);
        for command in &all {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let options = command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
            let helps = options.filter_map(|arg| Some((arg.get_id().as_str(), arg.get_help()?.to_string())));
            for (name, help) in helps.chain([("", about)]) {
                let name = format!("{} {name}: {help}", command.get_name());
                let verb = help.split(' ').next().unwrap_or_default();
                if !name.contains(" : ") && !VERBS.contains(&verb) {
                    wrong.push(format!("begins with no verb: {name}"));
                }
                if help.chars().count() > LINE {
                    wrong.push(format!("does not fit its line: {name}"));
                }
            }
            let whole = command.clone().render_long_help().to_string();
            wrong.extend(banned_in(command.get_name(), &whole));
        }
        wrong.extend(banned_in("blkreplay", &iosonar_dialect_blkreplay::usage()));
        wrong.extend(banned_in("xdd", &iosonar_dialect_xdd::full_help()));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
