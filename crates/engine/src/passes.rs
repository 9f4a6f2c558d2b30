//! Work around passes: delays, files that are reopened, loops that wait for each other.

use crate::coordinator::Participant;
use crate::file_session::FileSession;
use crate::files::TargetFile;
use crate::job_status::JobStatus;
use crate::journal::Lane;
use crate::rendezvous::Rendezvous;
use crate::verify::Checker;
use iosonar_backend::Backend;
use iosonar_os::BufferPool;
use iosonar_plan::{Access, AtEnd, BetweenPasses, FileStep, Job, Nanos, Pace, Phase, PhaseEnd, Plan};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rules of a pass that follow from plan and target.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PassRules {
    /// A read of no data ends the pass of its loop.
    pub(crate) ends_with_file: bool,
    /// Each completed request is inspected beyond its record.
    pub(crate) is_watched: bool,
    /// The pass may end before its requests do, for other reasons than a stop.
    pub(crate) may_end_early: bool,
    /// The phase ends for all when the first job is done.
    pub(crate) ends_with_first: bool,
    /// From the end of a pass to the start of the next.
    pub(crate) delay: Nanos,
    /// When the phase ends, on the run's clock once it has started; passes are added until then.
    pub(crate) runtime: Option<Nanos>,
    /// Time from the start of the others to the first request.
    pub(crate) start_delay: Nanos,
    /// Only its thread can make its first request late.
    pub(crate) begins_at_once: bool,
    /// When a pass ends at the latest, counted from its start.
    pub(crate) time_limit: Option<Nanos>,
    /// Number of failed requests in a pass after which no more of it are issued.
    pub(crate) max_errors: Option<u64>,
    /// Loops of the phase execute file steps before each pass, and start it together.
    pub(crate) has_steps: bool,
    /// Loops of the phase execute file steps between two passes, and start the next one together.
    pub(crate) has_steps_between: bool,
}

impl PassRules {
    /// The rules for one job of a phase.
    pub(crate) fn new(plan: &Plan, phase: &Phase, job: usize) -> PassRules {
        let has_steps = phase.jobs.iter().any(|job| job.options.has_steps_before());
        let changes_file =
            |job: &Job| plan.targets[usize::from(job.target)].file.between_passes != BetweenPasses::Keep;
        let (coordination, job) = (&phase.coordination, &phase.jobs[job]);
        let generator = job.workload.generator();
        let ends_with_file = generator.is_some_and(|generator| generator.at_end == AtEnd::Extend);
        let has_delays = phase.jobs.iter().any(|job| job.options.start_delay > Nanos(0));
        let is_coupled = coordination.is_coupled();
        PassRules {
            ends_with_file,
            is_watched: ends_with_file || has_delays || is_coupled,
            may_end_early: coordination.runtime.is_some() || job.options.max_errors.is_some(),
            ends_with_first: coordination.ends == PhaseEnd::First,
            time_limit: generator.and_then(|generator| generator.stop.time_limit),
            delay: coordination.pass_delay,
            runtime: coordination.runtime,
            start_delay: job.options.start_delay,
            begins_at_once: job.options.start_delay == Nanos(0)
                && !is_coupled
                && generator.is_some_and(|generator| generator.pace == Pace::Closed),
            max_errors: job.options.max_errors,
            has_steps,
            has_steps_between: has_steps
                || coordination.pass_delay > Nanos(0)
                || is_coupled
                || phase.jobs.iter().any(changes_file),
        }
    }

    /// The rules of a phase that starts at `start`.
    #[must_use]
    pub(crate) fn from(self, start: Nanos) -> PassRules {
        PassRules { runtime: self.runtime.map(|time| time.saturating_add(start)), ..self }
    }

    /// Whether the phase is over by time.
    pub(crate) fn is_over(&self, now: Nanos) -> bool {
        self.runtime.is_some_and(|end| now >= end)
    }
}

/// Maximum lateness of the first requests of loops without a start delay, due to their threads. A loop that starts some time after
/// them counts that time from their actual start, not from the planned one.
#[derive(Debug, Default)]
pub(crate) struct FirstLateness(AtomicU64);

impl FirstLateness {
    pub(crate) fn note(&self, late: Nanos) {
        self.0.fetch_max(late.0, Ordering::Relaxed);
    }

    pub(crate) fn most(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// Makes the backend of a loop on another file; `None` makes one without a file that only keeps time.
pub(crate) type Remake<'a> =
    Box<dyn Fn(Option<File>, Option<&BufferPool>) -> io::Result<Box<dyn Backend>> + Send + 'a>;

/// Context that a loop shares with others.
pub(crate) struct WorkerContext<'a> {
    /// Checks the data of the loop, where the plan wants that.
    pub(crate) checker: Option<Checker<'a>>,
    /// Its part of the journal, where the plan has one.
    pub(crate) journal: Option<Lane<'a>>,
    /// The loops of the same job.
    pub(crate) job_status: Arc<JobStatus>,
    /// Number of these loops.
    pub(crate) loops: u32,
    /// Whether to keep the backend open after the run. Closing a file can write it back (NFS does), which must not count as done
    /// when the run ended. Direct I/O closes at once: only the thread that used a ring can release its file.
    pub(crate) stays_open: bool,
    /// How they open the target.
    pub(crate) access: Access,
    /// A job of the phase is done.
    pub(crate) first_done: &'a AtomicBool,
    /// The other processes, which learn when a job of this process is done.
    pub(crate) others: &'a dyn Rendezvous,
    /// Its place among loops that wait for each other, if any do; given up when this is dropped, also by a panic.
    pub(crate) participant: Option<Participant<'a>>,
    /// The file of the target; `None` where no file is opened.
    pub(crate) file: Option<Arc<TargetFile>>,
    pub(crate) remake: Remake<'a>,
    /// File operations before and after the requests of each pass.
    pub(crate) before: &'a [FileStep],
    pub(crate) after: &'a [FileStep],
    /// The file after these operations.
    pub(crate) session: FileSession,
    /// Shared by all loops of the phase.
    pub(crate) lateness: &'a FirstLateness,
    /// Pauses before its requests, by their numbers.
    pub(crate) delays: Option<Arc<[Nanos]>>,
}
