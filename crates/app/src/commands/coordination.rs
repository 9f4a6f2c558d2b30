//! How `run` handles targets, and how they wait for each other; a plan's reasons in the words that were typed.

use super::pattern::{read_percent, refuse_first};
use crate::exit::Failure;
use crate::run_args::{RunArgs, RwArg};
use iosonar_plan::{Coordination, FileLifecycle, JobOptions, Nanos, PhaseEnd, Plan, Space, Verify};

/// Words of a plan, and those that were typed. Longer ones first.
const TYPED: &[(&str, &str)] = &[
    ("coordination.lockstep", "--lockstep"),
    ("coordination.start", "--start-when"),
    ("coordination.stop", "--stop-when"),
    ("coordination.meet_every =", "--meet-every"),
    ("coordination: targets", "--lockstep and --start-when: targets"),
    ("coordination.pass_delay", "--pass-delay"),
    ("coordination.runtime", "--runtime"),
    ("options.start_delay", "--start-delay"),
    ("options.align =", "--align"),
    ("options.data", "--data"),
    ("file.between_passes", "--between-passes"),
    ("options.verify", "--verify"),
    ("create = true", "--create"),
    ("data = \"sequenced\"", "--data sequenced"),
    ("immediate = true", "--verify-immediate"),
    ("order.interleaved.every = ", "--steps interleaved:"),
    ("order = \"staggered\"", "--steps staggered"),
    ("order = \"random\"", "--steps random"),
    ("order = \"interleaved\"", "--steps interleaved"),
    ("order = \"fixed\"", "--steps fixed"),
    (
        "give requests, bytes, runtime or time_limit",
        "give --number-ios, --io-size, --time-limit or --runtime, or a --size to go through once",
    ),
    ("give a region, or requests or bytes", "give --size, --number-ios or --io-size"),
    ("give requests or bytes", "give --number-ios or --io-size"),
    ("give one block_size", "give one --bs"),
    ("iops =", "--rate-iops"),
    ("bytes_per_second =", "--rate"),
    ("block_size =", "--bs"),
    ("region =", "--size"),
    ("unit =", "--unit"),
];

/// A plan's reason, as somebody understands it who has typed options. Names of targets stay as they are.
pub(super) fn in_typed_words(plan: &Plan, why: &str) -> String {
    let mut names = plan.targets.iter().map(|target| format!("target {}: ", target.path.display()));
    let name = names.find(|name| why.starts_with(name.as_str())).unwrap_or_default();
    let reason = why[name.len()..].to_string();
    name + &TYPED.iter().fold(reason, |reason, (plan, typed)| reason.replace(plan, typed))
}

/// Options about files and data that contradict the rest, or would have no effect.
pub(super) fn check_options(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let h = &args.options;
    let (reads, writes) = (read_percent(args, rw) > 0, read_percent(args, rw) < 100);
    let no_effect = |option| {
        format!("{option} has no effect with --rw {}, which writes nothing: leave it out", rw.word())
    };
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
        (h.data.is_some() && h.verify.is_none() && !writes, {
            "--data has no effect where nothing is written or checked: add --verify, or leave it out".into()
        }),
    ])
}

pub(super) fn options(args: &RunArgs) -> JobOptions {
    let h = &args.options;
    JobOptions {
        access: None,
        data: h.data.clone(),
        verify: h.verify.map(|what| Verify { what: what.into(), immediate: h.verify_immediate }),
        start_delay: if args.steps.steps.is_some() { args.pace.start_delay } else { Nanos(0) },
        cpu: None,
        max_errors: None,
        shared_memory: h.shared_memory,
        align: h.align,
    }
}

pub(super) fn file_lifecycle(args: &RunArgs) -> FileLifecycle {
    let h = &args.options;
    FileLifecycle {
        create: h.create,
        between_passes: h.between_passes.into(),
        preallocate: h.preallocate,
        sync_each_pass: h.end_fsync,
        delete: h.unlink,
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
        lockstep: c.lockstep.clone(),
        start: c.start_when.clone(),
        stop: c.stop_when.clone(),
        ends: PhaseEnd::All,
    }
}
