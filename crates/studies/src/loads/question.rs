//! Which loads to make of loads.

use iosonar_plan::{Backward, ByteSize, Nanos, Pipeline};
use std::path::PathBuf;

/// How loads are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Treatment of times that run backward.
    pub backward: Backward,
    /// Skips damaged lines of requests.
    pub skip_bad: bool,
}

/// Loads are cut into snippets, which are dealt to new loads, the busiest first.
#[derive(Debug, Clone)]
pub struct Overload {
    /// The loads, which are concatenated; `-` is standard input.
    pub loads: Vec<PathBuf>,
    /// Duration of a snippet.
    pub window: Nanos,
    /// Numbers of new loads; each number has a directory.
    pub split: Vec<u32>,
    /// Where the directories are created.
    pub out: PathBuf,
    /// Keeps the last snippet, too, whose window was not over.
    pub keep_rest: bool,
    /// How the loads are read.
    pub reading: Reading,
}

/// Loads are moved side by side in space, and merged by time.
#[derive(Debug, Clone)]
pub struct Adjacent {
    /// The loads; `-` is standard input.
    pub loads: Vec<PathBuf>,
    /// The new load; `-` is standard output.
    pub out: PathBuf,
    /// Maximum size of a load that comes from a pipe.
    pub spool_limit: Option<ByteSize>,
    /// How the loads are read.
    pub reading: Reading,
}

/// The requests of a load come faster and faster.
#[derive(Debug, Clone)]
pub struct Ramp {
    /// The load; `-` is standard input.
    pub load: PathBuf,
    /// Growth of the rate: requests per second in each second.
    pub growth: u64,
    /// The new load; `-` is standard output.
    pub out: PathBuf,
    /// Skips damaged lines of requests.
    pub skip_bad: bool,
}

/// A load goes through filters.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The load; `-` is standard input.
    pub load: PathBuf,
    /// The filters.
    pub steps: Pipeline,
    /// The new load; `-` is standard output.
    pub out: PathBuf,
    /// Skips damaged lines of requests.
    pub skip_bad: bool,
}
