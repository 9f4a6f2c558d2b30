//! Limits of the kernel that a plan of very many targets would meet: compared before any target is inspected, so that such a plan
//! is refused at once.

use crate::engines::usable;
use crate::error::PrepareError;
use crate::job_loop::{JobLoop, parts};
use iosonar_host::Root;
use iosonar_os::{open_file_limit, raise_file_limit};
use iosonar_plan::{Engine, Phase, Plan, Workload};

/// Needs of an issuing loop that the kernel limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Needs {
    files: u64,
    threads: u64,
    maps: u64,
}

/// Files that the program itself has open: standard streams, the archive, the sampler.
const OWN_FILES: u64 = 32;
/// Maps of the program itself: its code, libraries, heaps.
const OWN_MAPS: u64 = 256;
/// Maps of a thread: its stack and that of its signals, each with a guard.
const MAPS_OF_THREAD: u64 = 4;

/// Refuses a plan that needs more open files, threads or maps than this process may have.
pub(super) fn check_limits(plan: &Plan, root: &Root) -> Result<(), PrepareError> {
    raise_file_limit();
    let targets = plan.jobs_by_target().iter().filter(|jobs| !jobs.is_empty()).count() as u64;
    let needs = plan.phases.iter().map(|phase| needs_of(plan, phase));
    let most = needs.fold(Needs::default(), |a, b| Needs {
        files: a.files.max(b.files),
        threads: a.threads.max(b.threads),
        maps: a.maps.max(b.maps),
    });
    let files = most.files + if plan.engine.is_real() { targets } else { 0 } + OWN_FILES;
    let number = |path: &str| root.read(path).ok()?.parse::<u64>().ok();
    let limits = [
        (files, "open files", open_file_limit(), "raise the hard limit of open files (ulimit -Hn)"),
        (
            most.threads,
            "threads",
            number("/proc/sys/kernel/threads-max"),
            "raise the limit of threads (sysctl kernel.threads-max)",
        ),
        (
            most.maps + OWN_MAPS,
            "mapped areas of memory",
            number("/proc/sys/vm/max_map_count"),
            "raise the limit of mapped areas (sysctl vm.max_map_count)",
        ),
    ];
    for (needed, what, limit, remedy) in limits {
        if let Some(limit) = limit.filter(|limit| needed > *limit) {
            return Err(PrepareError::Limit { targets, needed, what, limit, remedy });
        }
    }
    Ok(())
}

fn needs_of(plan: &Plan, phase: &Phase) -> Needs {
    let of_part = |part: &JobLoop| {
        let job = &phase.jobs[part.job];
        let depth = u64::from(job.depth);
        let engine = usable(job.engine(plan.engine)).0;
        // Its descriptor of the target, and the engine's further needs.
        let (files, threads, maps) = match engine {
            Engine::Null | Engine::Sim(_) => (0, 0, 0),
            Engine::Uring(_) => (2, 0, 3),
            Engine::Threads if depth > 1 => (1, depth, 1),
            _ => (1, 0, 1),
        };
        // A load is read by a separate thread while it is replayed.
        let loads = u64::from(matches!(job.workload, Workload::Trace(_)));
        let threads = threads + loads + 1;
        Needs { files: files + loads, threads, maps: maps + threads * MAPS_OF_THREAD }
    };
    parts(phase).iter().map(of_part).fold(Needs::default(), |a, b| Needs {
        files: a.files + b.files,
        threads: a.threads + b.threads,
        maps: a.maps + b.maps,
    })
}
