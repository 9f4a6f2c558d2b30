//! How `run` opens, fills and checks targets, and how they wait for each other.

use super::pattern::{read_percent, refuse_first};
use crate::args::run::{RunArgs, RwArg};
use crate::exit::Failure;
use iosonar_plan::{Coordination, FileLifecycle, JobOptions, JobVerification, Nanos, PhaseEnd, Space};

/// Options about files and data that contradict the rest, or would have no effect.
pub(super) fn check_options(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let h = &args.options;
    let (reads, writes) = (read_percent(args, rw) > 0, rw.writes());
    let no_effect =
        |option| format!("{option} has no effect with --rw {}, which writes nothing: remove it", rw.word());
    let has_places = args.steps.steps.is_some();
    refuse_first([
        (h.end_fsync && !writes, no_effect("--end-fsync")),
        (h.preallocate.0 > 0 && !writes, no_effect("--preallocate")),
        (h.create && !writes, no_effect("--create")),
        (h.create && reads && !has_places, {
            format!(
                "--create with --rw {}: reads would find nothing in a new file: write it first, with --rw write",
                rw.word()
            )
        }),
        (h.create && !has_places && !matches!(args.io.size, Some(Space::Bytes(_))), {
            "--create: a new file has no size: give --size in bytes".into()
        }),
        (h.data.is_some() && args.io.verify.of_data().is_none() && !writes, {
            "--data has no effect where nothing is written or checked: add --verify, or remove it".into()
        }),
        (h.verify_immediate && args.io.verify.of_data().is_none(), {
            "--verify-immediate checks data by name: add --verify contents with --data, or write --verify after-write".into()
        }),
    ])
}

pub(super) fn options(args: &RunArgs) -> JobOptions {
    let h = &args.options;
    JobOptions {
        access: None,
        engine: None,
        data: h.data.clone(),
        verify: args.io.verify.of_data().map(|what| JobVerification { what, immediate: h.verify_immediate }),
        before: h.before_pass.clone(),
        after: h.after_pass.clone(),
        start_delay: if args.steps.steps.is_some() { args.pace.start_delay } else { Nanos(0) },
        cpu: None,
        max_errors: None,
        lock_requests: h.lock_requests,
        shared_memory: h.shared_memory,
        align: h.align,
        buffer_set: h.buffer_set,
        purge_cpu_cache: h.purge_cpu_cache,
    }
}

pub(super) fn file_lifecycle(args: &RunArgs) -> FileLifecycle {
    let h = &args.options;
    FileLifecycle {
        create: h.create,
        between_passes: h.between_passes,
        preallocate: h.preallocate,
        sync_each_pass: h.end_fsync,
        delete: h.unlink,
        ..FileLifecycle::default()
    }
}

pub(super) fn coordination(args: &RunArgs) -> Coordination {
    let c = &args.coordination;
    Coordination {
        pass_delay: c.pass_delay,
        free_passes: c.free_passes,
        // The words of fio end a pass; those of XDD the whole run.
        runtime: args.pace.runtime.filter(|_| args.steps.steps.is_some()),
        meet_every: c.meet_every,
        in_turn: false,
        lockstep: c.lockstep.clone(),
        start: c.start_when.clone(),
        stop: c.stop_when.clone(),
        ends: PhaseEnd::All,
    }
}
