//! How a job opens, fills and checks its target, and the lifecycle of a file.

use crate::strict::is_default;
use crate::{Access, ByteSize, Dedupe, Engine, FileStep, JobVerification, Nanos};
use serde::{Deserialize, Serialize};

/// How a job handles its target. Everything is off by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobOptions {
    /// How it is opened; `None` means as the plan sets it for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Engine of its requests; `None` means the plan's. Both are engines with real I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Written data; `None` means sectors that identify their writer, as set by the plan's `fill`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Each request locks its bytes of the file (`fcntl` with `F_OFD_SETLKW`): a write against all others, a read against writes.
    /// Taking the lock, with the wait for it, and giving it back are part of the request's time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lock_requests: bool,
    /// Checks of its data; `None` means no checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<JobVerification>,
    /// File operations before the requests of each pass, by each of its issuing loops. Each is a record with its own times, and the
    /// pass starts when all loops of the phase have completed them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub before: Vec<FileStep>,
    /// File operations after the requests of each pass; no part of its time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after: Vec<FileStep>,
    /// Time from the start of jobs without a delay to its first request; part of no pass.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start_delay: Nanos,
    /// CPU of its issuing loops; `None` means as set by the plan's `pacing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Number of failed requests in a pass after which no more of that pass are issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<u64>,
    /// Its memory for data is shared memory, as of a segment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_memory: bool,
    /// Its memory for data starts this many bytes after a page boundary.
    #[serde(default, skip_serializing_if = "is_default")]
    pub align: ByteSize,
    /// Requests use the parts of this much memory for data in turn, at most 1 GiB, instead of the same few again: no buffer is in a
    /// CPU cache that is smaller. 0: as few as there are requests in flight.
    #[serde(default, skip_serializing_if = "is_default")]
    pub buffer_set: ByteSize,
    /// Each issuing loop reads this much other memory before each pass, at most 1 GiB, so that no CPU cache of that size holds
    /// anything of use to the pass. No part of its time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub purge_cpu_cache: ByteSize,
}

impl JobOptions {
    /// All file operations of a pass.
    pub fn file_steps(&self) -> impl Iterator<Item = FileStep> {
        self.before.iter().chain(&self.after).copied()
    }

    /// Whether loops have file operations before the requests of a pass, and start these together.
    pub fn has_steps_before(&self) -> bool {
        !self.before.is_empty() || self.purge_cpu_cache > ByteSize(0)
    }

    /// Whether any of them changes the file.
    pub fn changes_file(&self) -> bool {
        self.file_steps().any(FileStep::changes_file)
    }
}

/// Written data: a function of place, and for `random` of the request, so that it can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Data {
    /// One byte again and again.
    Byte(u8),
    /// A text at the start of each request; the rest is zeros.
    Ascii(String),
    /// Each eight bytes hold their byte offset on the target, the least significant byte first.
    Sequenced,
    /// Incompressible; different in every request, equal in two runs with the same seed.
    Random,
    /// Incompressible, and partly the same on all targets.
    Dedupe(Dedupe),
}

impl Data {
    /// Whether each byte is a function of its place, for any request.
    pub fn is_by_place(&self) -> bool {
        matches!(self, Data::Byte(_) | Data::Sequenced | Data::Dedupe(_))
    }

    /// The same data with another unit, where it has one.
    pub fn in_units_of(self, unit: ByteSize) -> Data {
        match self {
            Data::Dedupe(dedupe) => Data::Dedupe(Dedupe { unit, ..dedupe }),
            other => other,
        }
    }
}

/// Lifecycle of a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLifecycle {
    /// It is made if it does not exist, and may grow by writes.
    #[serde(default)]
    pub create: bool,
    /// The run is refused if a file of that name exists, unless the plan has `destroy`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub must_be_new: bool,
    /// Its treatment between passes.
    #[serde(default)]
    pub between_passes: BetweenPasses,
    /// Space that is allocated before the first pass; its length does not change.
    #[serde(default)]
    pub preallocate: ByteSize,
    /// Written data is flushed at the end of each pass, within its time.
    #[serde(default)]
    pub sync_each_pass: bool,
    /// The same after this many passes; 0 is never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync_every_passes: u32,
    /// It is deleted at the end of the run.
    #[serde(default)]
    pub delete: bool,
}

/// Treatment of a file between passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BetweenPasses {
    /// It stays open.
    #[default]
    Keep,
    /// It is closed and opened again.
    Reopen,
    /// It is closed, deleted, and made again under the same name.
    Recreate,
    /// Each pass, the first too, makes a new file: the name, a dot, and the pass from 1 in eight digits.
    NewFile,
}

impl BetweenPasses {
    /// Whether files are made, which rules out devices and needs a job that writes.
    pub fn makes_files(self) -> bool {
        matches!(self, BetweenPasses::Recreate | BetweenPasses::NewFile)
    }
}
