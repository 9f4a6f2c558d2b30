//! What can be typed about the cost of the program itself.

use clap::Args;
use iosonar_plan::Nanos;
use std::path::PathBuf;

/// Options of `calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A rate near what one issuing thread of this program can do is a figure of this program, and not of a device. The table shows \
for each engine what a request costs without a device: random reads of 4 KiB as fast as possible, from a file that is in the \
page cache. The kernel's part and its copy of the data are in it. Engine null does no I/O at all.
The timer is the lateness of requests that are due every 500 us: once with sleep alone, and once with the spinning that runs \
use here. Each figure is the median of its rounds, with the least and the greatest of them. The engines take turns, so that a \
disturbance meets all of them. Other programs on the machine change the figures: the ranges show it.
Exit codes: 0 measured; 1 not everything could be measured; 2 refused; 130 stopped by Ctrl-C.

Examples:
  iosonar calibrate
  iosonar calibrate --rounds 9
  iosonar calibrate --json")]
pub struct CalibrateArgs {
    /// Run this many rounds of each measurement
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Set the length of each round, 10ms to 1s
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    pub duration: Nanos,
    /// Create the file in this directory, for the time of the measurement
    ///
    /// Default: the directory for temporary files. In tmpfs (/dev/shm) the kernel passes reads of engine uring to other threads.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
