//! Options of `record`.

use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, Nanos};
use std::path::PathBuf;

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Needs root: it reads the kernel's trace buffers, in an instance of its own that nobody else is disturbed by. Ctrl-C ends a \
recording in order; whatever was changed in the kernel is undone, after a crash by --cleanup.

  --at queue   a request is what was asked for: bios, before the kernel joins and splits them. What replays need
  --at issue   a request is what the driver was given. What the device saw

  --interface tracepoints   any number of recorders at a time
  --interface blktrace      one user for each device; needs debugfs. Where tracing is used up or locked, or to compare with \
                            blktrace(8)

Result: an archive (show, plot, report) with the events themselves in DIR/events, of which 'iosonar convert DIR x.load.gz' \
makes loads. Reads, writes and flushes become records; discards and the like stay in the events and are counted.

Examples:
  iosonar record /dev/sda --out monday --duration 8h --segment 1h
  iosonar record /dev/nvme0n1 /dev/nvme1n1 --out incident --max-size 2GiB
  iosonar record --measure-overhead /dev/sda --duration 20s
  iosonar record --cleanup monday                  after a crash: tracing off, and the archive made of what is there")]
pub struct RecordArgs {
    /// Block devices; with --cleanup directories of recordings that were cut off
    #[arg(value_name = "DEVICE", required_unless_present = "cleanup")]
    pub devices: Vec<PathBuf>,
    /// Write the result into this directory, which must not exist. Default: a new name here
    #[arg(long, short = 'o', value_name = "DIR", conflicts_with = "cleanup")]
    pub out: Option<PathBuf>,
    /// Record for this time. Default: until Ctrl-C
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Set which kernel event counts as the request
    #[arg(long, value_enum, value_name = "EVENT", default_value = "queue")]
    pub at: WatchArg,
    /// Set the kernel's interface: its tracepoints, or the one that blktrace uses
    #[arg(long, value_enum, value_name = "NAME", default_value = "tracepoints")]
    pub interface: InterfaceArg,
    /// Start a new segment of events this often
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub segment: Nanos,
    /// Keep at most this much of events; the oldest segments are removed and counted
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<ByteSize>,
    /// Set the memory of the kernel's ring buffers, of all CPUs together
    #[arg(long, value_name = "SIZE", default_value = "32MiB")]
    pub buffer: ByteSize,
    /// Measure what recording costs while something uses the device
    ///
    /// Windows with and without it alternate.
    #[arg(long, conflicts_with_all = ["cleanup", "out"])]
    pub measure_overhead: bool,
    /// Remove what killed recorders left in the kernel, and make archives of the named recordings
    #[arg(long)]
    pub cleanup: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

/// Which kernel event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchArg {
    /// What was requested
    Queue,
    /// What the driver was given
    Issue,
}

/// Where the kernel tells of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InterfaceArg {
    /// Tracepoints, in an instance of tracing of its own
    Tracepoints,
    /// The blktrace interface
    Blktrace,
}
