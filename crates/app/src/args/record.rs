//! Options of `record`.

use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, Nanos};
use std::path::PathBuf;

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Needs root: a recording reads the kernel's trace buffers in a tracing instance of its own, which disturbs no other user. \
Ctrl-C ends a recording cleanly and undoes its changes in the kernel. After a crash, --cleanup undoes them.

  --at queue   record bios as requested, before the kernel merges and splits them. A replay needs these
  --at issue   record requests as passed to the driver: what the device saw

  --interface tracepoints   any number of recorders at a time
  --interface blktrace      one user per device; needs debugfs. Use it where tracing is not available, or to compare with \
                            blktrace(8)

The result is an archive (for show, plot and report) that keeps the raw events in DIR/events. 'iosonar convert DIR x.load.gz' \
makes a load from them. Reads, writes, flushes, discards and write zeroes become records. Other operations stay in the events \
and are counted.

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
    /// Bios as requested
    Queue,
    /// Requests as passed to the driver
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
