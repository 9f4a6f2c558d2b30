//! Phases of a plan: jobs that run together.

use crate::strict::is_default;
use crate::{Access, ByteSize, Coordination, Engine, JobOptions, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Jobs that run together. Phases follow each other: one starts when all loops of the one before have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What it is called in results; empty where it is the plan's only one.
    pub name: String,
    /// How often it is executed. Its jobs wait for each other between passes.
    pub passes: u32,
    /// Which cell of a matrix of file operations it measures; none: it belongs to no matrix.
    pub cell: Option<Cell>,
    /// Mount point of a file system that is unmounted and mounted again before the phase starts, so that nothing of its files is in
    /// the page cache.
    pub remount: Option<PathBuf>,
    /// How its passes and jobs follow each other, and what ends it.
    pub coordination: Coordination,
    /// At least one, each on a target of its own.
    pub jobs: Vec<Job>,
}

/// A cell of a matrix: one test at one size of file and record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Which test, as `write` or `reread`.
    pub test: String,
    /// Length of the file of each stream.
    pub file: ByteSize,
    /// Bytes of a record, the unit of reads and writes.
    pub record: ByteSize,
    /// Files that are used at the same time, each by a job of its own.
    #[serde(default = "one_stream", skip_serializing_if = "is_one_stream")]
    pub streams: u32,
    /// What executes its requests, by the name that users type; empty in plans that do not tell cells apart by it.
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
    /// How the target is opened, filled and checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: JobOptions,
    /// Its requests.
    pub workload: Workload,
}

impl Phase {
    /// A phase without a name that carries its jobs out once.
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

    /// How many issuing loops it has.
    pub fn loops(&self) -> usize {
        self.jobs.iter().map(|job| job.workload.jobs() as usize).sum()
    }
}

impl Job {
    /// A workload on a target that is handled as the plan says for all.
    pub fn new(target: u16, depth: u32, workload: Workload) -> Job {
        Job { target, depth, options: JobOptions::default(), workload }
    }

    /// What carries its requests out, where the plan says `engine` for all.
    pub fn engine(&self, engine: Engine) -> Engine {
        self.options.engine.unwrap_or(engine)
    }

    /// How its target is opened, where the plan says `access` for all.
    pub fn access(&self, access: Access) -> Access {
        self.options.access.unwrap_or(access)
    }
}
