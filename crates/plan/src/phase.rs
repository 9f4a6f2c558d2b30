//! Phases of a plan: jobs that run together.

use crate::strict::is_default;
use crate::{Access, ByteSize, Coordination, Engine, JobOptions, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Jobs that run together. Phases follow each other: one starts when all loops of the one before have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Name in results; empty where it is the plan's only phase.
    pub name: String,
    /// Number of executions. Its jobs wait for each other between passes.
    pub passes: u32,
    /// Cell of a matrix of file operations that it measures; `None` if it belongs to no matrix.
    pub cell: Option<Cell>,
    /// Mount point of a file system that is unmounted and mounted again before the phase starts, so that nothing of its files is in
    /// the page cache.
    pub remount: Option<PathBuf>,
    /// How its passes and jobs follow each other, and when it ends.
    pub coordination: Coordination,
    /// At least one, each on a separate target.
    pub jobs: Vec<Job>,
}

/// A cell of a matrix: one test at one size of file and record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the test, such as `write` or `reread`.
    pub test: String,
    /// Length of the file of each stream.
    pub file: ByteSize,
    /// Bytes of a record, the unit of reads and writes.
    pub record: ByteSize,
    /// Files that are used at the same time, each by a separate job.
    #[serde(default = "one_stream", skip_serializing_if = "is_one_stream")]
    pub streams: u32,
    /// Name of the engine as users type it; empty in plans whose cells do not differ by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Number of the repetition, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repeat: u32,
}

fn one_stream() -> u32 {
    1
}

fn is_one_stream(streams: &u32) -> bool {
    *streams == 1
}

/// A workload on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Number of the target in the plan, from 0.
    pub target: u16,
    /// The most requests in flight, 1 to 65 536; of a workload with several issuing loops, of each loop.
    pub depth: u32,
    /// Options for opening, filling and checking the target.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: JobOptions,
    /// Its requests.
    pub workload: Workload,
}

impl Phase {
    /// A phase without a name that executes its jobs once.
    pub fn of(jobs: Vec<Job>) -> Phase {
        Phase {
            name: String::new(),
            passes: 1,
            cell: None,
            remount: None,
            coordination: Coordination::default(),
            jobs,
        }
    }

    /// Whether a job compares data with that of a place.
    pub fn is_verified(&self) -> bool {
        self.jobs.iter().any(|job| job.options.verify.is_some())
    }

    /// Number of issuing loops.
    pub fn loops(&self) -> usize {
        self.jobs.iter().map(|job| job.workload.jobs() as usize).sum()
    }
}

impl Job {
    /// A workload on a target with the plan's common options.
    pub fn new(target: u16, depth: u32, workload: Workload) -> Job {
        Job { target, depth, options: JobOptions::default(), workload }
    }

    /// Engine of its requests, where the plan has `engine` for all.
    pub fn engine(&self, engine: Engine) -> Engine {
        self.options.engine.unwrap_or(engine)
    }

    /// Access to its target, where the plan has `access` for all.
    pub fn access(&self, access: Access) -> Access {
        self.options.access.unwrap_or(access)
    }
}
