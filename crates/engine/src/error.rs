//! Errors of plans that cannot be executed and of runs that cannot begin, in sentences for the plan's author.

use iosonar_archive::ArchiveError;
use iosonar_host::TargetError;
use iosonar_host::guard::Refusal;
use iosonar_host::remount::RemountError;
use iosonar_load::{LoadError, PatternError};
use iosonar_plan::{Engine, PlacementError};
use iosonar_trace::InputError;

/// Why a plan cannot be executed. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A signal came first. Files made so far were removed.
    #[error("the run was stopped before it started")]
    Stopped,
    /// The error of one phase, of a plan with several.
    #[error("phase {phase}: {why}")]
    InPhase {
        /// Its name.
        phase: String,
        /// Why the phase cannot be executed.
        why: Box<PrepareError>,
    },
    /// A path is no target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A target must not be written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file system cannot be mounted again.
    #[error(transparent)]
    Remount(#[from] RemountError),
    /// A phase mounts a file system again that no target of the plan lies on.
    #[error("no target lies on {0}, which is to be unmounted and mounted again: name a file there")]
    NothingToRemount(String),
    /// A target cannot be opened.
    #[error("{path}: {error}")]
    Open {
        /// Path as typed.
        path: String,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// A target cannot be opened for direct I/O.
    #[error(
        "target {0}: its file system has no direct I/O; use a target elsewhere, or --buffered, which measures the page cache too"
    )]
    NoDirectIo(String),
    /// Space for a file cannot be allocated.
    #[error(
        "target {path}: {bytes} bytes cannot be allocated before the run: {error}; use another file system, or no preallocation"
    )]
    Preallocate {
        /// Path as typed.
        path: String,
        /// Bytes requested.
        bytes: u64,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// A seek list cannot be followed.
    #[error("seek list {path}: {why}")]
    SeekList {
        /// Path as typed.
        path: String,
        /// Where and why, with the remedy.
        why: String,
    },
    /// Exact places reach beyond a device that is written.
    #[error(
        "target {path} holds {size} bytes, and its workload writes up to byte {end}: write less, start earlier, or use a larger target"
    )]
    Series {
        /// Path as typed.
        path: String,
        /// First byte after the requests.
        end: u64,
        /// Bytes of the device.
        size: u64,
    },
    /// A file that is only read would be recreated.
    #[error(
        "target {0}: {1} passes only read, and a file that was made for a pass has nothing to read: write to it, ask for one pass, or keep the file between passes"
    )]
    NothingToMake(String, u32),
    /// Files cannot be made in place of a device.
    #[error(
        "target {0}: it is a device, and a file cannot be made in its place between passes: name a file, or keep it open"
    )]
    NoFile(String),
    /// A file that was not made by the run would be overwritten.
    #[error(
        "target {0}: the file exists, and would be overwritten and deleted: name another file, or allow it with --destroy"
    )]
    NotNew(String),
    /// The file of a pass is there already.
    #[error(
        "target {target}: {file}, the file of pass {pass}, exists and would be overwritten: move it away, name another target, or allow it with --destroy"
    )]
    PassFileExists {
        /// Path of the target as typed.
        target: String,
        /// Its name.
        file: String,
        /// Number of the pass, from 1.
        pass: u32,
    },
    /// Only files are created, truncated and allocated.
    #[error(
        "target {0}: it is a device, which cannot be created, truncated or allocated: name a file, or remove these steps from \
         options.before and options.after (--before-pass, --after-pass)"
    )]
    NoFileToChange(String),
    /// A load cannot be opened.
    #[error("load {path}: {error}")]
    Input {
        /// Path as typed.
        path: String,
        /// The error.
        error: InputError,
    },
    /// A load is a pipe or the like: reading it once, to check it, would use it up.
    #[error(
        "load {path}: it is no regular file, and a load is read wholly before it is replayed: save it to a file, or pipe it to standard input and name -"
    )]
    OnlyOnce {
        /// Path as typed.
        path: String,
    },
    /// A load cannot be replayed.
    #[error("load {path}: {error}")]
    Load {
        /// Path as typed.
        path: String,
        /// Where and why, with the remedy.
        error: LoadError,
    },
    /// A load, or its window, is empty.
    #[error("load {path}: {why}")]
    Empty {
        /// Path as typed.
        path: String,
        /// Reason, with the remedy.
        why: String,
    },
    /// A target has no usable block.
    #[error("target {path}: {error}")]
    Placement {
        /// Path as typed.
        path: String,
        /// The error.
        error: PlacementError,
    },
    /// A request is larger than the target.
    #[error(
        "target {path} holds {size} bytes, and {source_name} contains a request of {length} bytes: use a larger target"
    )]
    TooSmall {
        /// Path as typed.
        path: String,
        /// Usable bytes.
        size: u64,
        /// The load or pattern.
        source_name: String,
        /// The longest request.
        length: u64,
    },
    /// A workload discards or zeroes ranges, and the engine or the target cannot.
    #[error("target {path}: {why}")]
    NoDiscard {
        /// Path as typed.
        path: String,
        /// The missing capability, and the remedy.
        why: String,
    },
    /// A pattern's region ends after the target.
    #[error(
        "target {path} holds {size} bytes, and the pattern's region ends at {end}: use a smaller --offset or --size (offset and region in a plan), or a larger target"
    )]
    Region {
        /// Path as typed.
        path: String,
        /// First byte after the region.
        end: u64,
        /// Usable bytes of the target.
        size: u64,
    },
    /// The size of a pretended target is unknown.
    #[error(
        "target {0} does not exist, so its size is unknown: give --size (in a plan: size = \"10GiB\" in its [[target]])"
    )]
    NoSize(String),
    /// The path led elsewhere when the target was opened.
    #[error("target {0} is no longer what it was a moment ago; start again")]
    Moved(String),
    /// The run exceeds a limit of the kernel for this process.
    #[error(
        "the run has {targets} targets and needs {needed} {what}; this process may have {limit}: {remedy}, or use fewer targets"
    )]
    Limit {
        /// Number of targets.
        targets: u64,
        /// Needed amount.
        needed: u64,
        /// Name of the limited resource.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The remedy.
        remedy: &'static str,
    },
    /// The run would need more memory than is available.
    #[error(
        "the run needs {needed} MiB of memory ({what}), and {available} MiB are available: use a smaller --depth (depth in a plan), fewer targets, or smaller requests"
    )]
    Memory {
        /// Needed MiB.
        needed: u64,
        /// Available MiB.
        available: u64,
        /// The largest consumer.
        what: String,
    },
    /// A request does not fit into the memory for data.
    #[error(
        "target {path}: requests of up to {length} bytes do not fit into its share of memory for data, {share} bytes: raise --buffer-memory (memory.buffers in a plan), or use fewer targets"
    )]
    Buffers {
        /// Path as typed.
        path: String,
        /// Bytes of its share of the memory.
        share: u64,
        /// Bytes of the longest request.
        length: u64,
    },
    /// Standard input feeds more than one target.
    #[error("standard input can feed only one target: save the load to a file")]
    SharedInput,
    /// A target to be written is also a load, or another target.
    #[error("target {path} and {other} are the same: name another target")]
    Same {
        /// Path as typed.
        path: String,
        /// Its other role: `load` or `target`, and the path as typed.
        other: String,
    },
    /// Several streams of the C library over one file, whose data is to be verified.
    #[error(
        "target {path}: --engine stdio with several jobs on one file (--numjobs, jobs in a plan, or two targets that are this file) cannot be \
         verified (--verify): each job has a buffer of its own, which answers reads with old data and is written out later than its requests \
         are acknowledged. Use one job, or --engine sync, or remove --verify"
    )]
    SharedStream {
        /// Path as typed.
        path: String,
    },
    /// A pattern does not fit its target.
    #[error("target {path}: {why}")]
    Pattern {
        /// Path as typed.
        path: String,
        /// The mismatch.
        why: PatternError,
    },
    /// Block sizes do not fit the target's direct I/O.
    #[error(
        "target {path}: block_size and offset of its workload must be multiples of the target's logical blocks of {block} bytes, or use --buffered"
    )]
    Unaligned {
        /// Path as typed.
        path: String,
        /// Logical block size.
        block: u64,
    },
}

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An error of the archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// No threads, or no descriptors for them.
    #[error(
        "cannot start the threads of the run ({0}): use fewer jobs or fewer targets, or raise the limits on threads and open files (ulimit -u, \
         ulimit -n, pids.max of the control group)"
    )]
    Threads(std::io::Error),
    /// No memory for data.
    #[error("{0}: use a smaller --buffer-memory, or fewer targets")]
    Memory(std::io::Error),
    /// An error of the engine.
    #[error("the engine cannot be used: {0}; --engine threads works everywhere")]
    Engine(std::io::Error),
    /// The threads of the engine cannot be started.
    #[error(
        "the engine cannot start its threads ({0}): use fewer jobs or fewer targets, or raise the limits on threads (ulimit -u, pids.max of \
         the control group, kernel.threads-max)"
    )]
    EngineThreads(std::io::Error),
    /// The journal cannot be made.
    #[error("--journal {path}: {why}")]
    Journal {
        /// As typed.
        path: String,
        /// Why, with the remedy.
        why: String,
    },
    /// A later phase does not fit the state after the phases before it.
    #[error(transparent)]
    Phase(#[from] PrepareError),
    /// An error of another process that executes a part of the plan.
    #[error("{0}")]
    Others(String),
}

impl RunError {
    /// The error of an engine that cannot be used.
    pub(crate) fn of_engine(engine: Engine, error: std::io::Error) -> RunError {
        match engine {
            Engine::Threads => RunError::EngineThreads(error),
            _ => RunError::Engine(error),
        }
    }
}
