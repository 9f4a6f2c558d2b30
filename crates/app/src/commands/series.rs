//! `run --steps`: a series at exact locations, how its targets are handled and how they wait for each other.

use super::means::engine;
use super::pattern::{common, read_percent, refuse, refuse_first};
use crate::exit::Failure;
use crate::run_args::{DEFAULT_SIZE, PaceArgs, ProcessArg, RunArgs, RwArg};
use crate::steps_args::{ConductArgs, HandlingArgs, StepsArgs};
use clap::Args;
use iosonar_plan::{
    BlockSizes, ByteSize, Conduct, Decimal, FileCare, Handling, InvalidPlan, Nanos, OverlapPolicy, Plan,
    Source, Space, StepOrder, StepsSource, Target, Throttle, Verify,
};
use std::path::PathBuf;

/// Fields whose options mean something in a pattern alone, and what to do instead.
const ONLY_PATTERNS: [(&str, &str); 7] = [
    ("overlap", "what overlaps in a series was asked for: leave it out"),
    ("bsrange", "requests of a series have one size: use --bs"),
    ("bssplit", "requests of a series have one size: use --bs"),
    ("random_distribution", "random locations of a series are uniform: leave it out"),
    ("norandommap", "random locations of a series repeat anyhow: leave it out"),
    ("ramp_time", "every request of a series counts: leave it out"),
    ("fill_random", "--data says what a series writes: leave it out"),
];

/// Options of a series without one.
pub(super) fn refuse_without_steps(args: &RunArgs) -> Result<(), Failure> {
    let series = HandlingArgs::augment_args(StepsArgs::augment_args(clap::Command::new("series")));
    let series = ConductArgs::augment_args(series);
    let fields: Vec<&str> = series.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    match args.typed.first_of(&fields) {
        Some(option) => refuse(format!(
            "{option} has no effect on a pattern: add --steps, for example --steps sequential, or leave it out"
        )),
        None => Ok(()),
    }
}

/// The plan of a series.
pub(super) fn plan(args: &RunArgs, rw: RwArg, order: &StepOrder) -> Result<Plan, Failure> {
    check(args, rw, order)?;
    let size = size(args)?;
    let steps = steps(args, rw, order, size)?;
    let is_pretended = !engine(&args.io.engine).is_real();
    let target = |(number, path): (usize, &PathBuf)| {
        let moved = args.steps.target_offset.0.saturating_mul(number as u64);
        let offset = ByteSize(steps.offset.0.saturating_add(moved));
        let steps = StepsSource { offset, ..steps.clone() };
        // Where nothing is opened, a target is as long as its requests need.
        let region = size.map(|size| size.0.saturating_add(offset.0));
        let size = region.max(steps.end(args.pace.passes)).filter(|_| is_pretended).map(ByteSize);
        Target { path: path.clone(), size, handling: handling(args), source: Source::Steps(steps) }
    };
    let targets = args.targets.iter().enumerate().map(target).collect();
    // Locations are exact: what overlaps was asked for.
    let plan = Plan { conduct: conduct(args), ..common(args, OverlapPolicy::Allow, targets) };
    plan.validate().or_else(|InvalidPlan(why)| refuse(in_typed_words(&plan, &why)))?;
    stays_inside(size, &steps)?;
    Ok(plan)
}

/// A series in order goes where its requests go: not beyond the region that was named.
fn stays_inside(size: Option<ByteSize>, steps: &StepsSource) -> Result<(), Failure> {
    let (Some(size), StepOrder::Sequential { .. }) = (size, &steps.order) else { return Ok(()) };
    let span = steps.end(1).map(|end| ByteSize(end.saturating_sub(steps.offset.0)));
    match span {
        Some(span) if span > size => refuse(format!(
            "--size {size}: the requests of a pass go over {span}, and a series does not begin again: ask for less, or \
             leave --size out"
        )),
        Some(_) => Ok(()),
        None => refuse(
            "--size has no effect on a series in order that ends by time, which does not begin again: leave it out, or \
             use a pattern, without --steps",
        ),
    }
}

/// Words of a plan, and those that were typed. Longer ones first.
const TYPED: [(&str, &str); 25] = [
    ("conduct.lockstep", "--lockstep"),
    ("conduct.start", "--start-when"),
    ("conduct.stop", "--stop-when"),
    ("conduct.meet_every =", "--meet-every"),
    ("conduct: targets", "--lockstep and --start-when: targets"),
    ("conduct.pass_delay", "--pass-delay"),
    ("conduct.runtime", "--runtime"),
    ("handling.start_delay", "--start-delay"),
    ("handling.align =", "--align"),
    ("handling.data", "--data"),
    ("handling.file.between_passes", "--between-passes"),
    ("handling.verify", "--verify"),
    ("create = true", "--create"),
    ("data = \"sequenced\"", "--data sequenced"),
    ("immediate = true", "--verify-immediate"),
    ("order.sequential.interleave = ", "--steps interleaved:"),
    ("order = \"staggered\"", "--steps staggered"),
    ("order = \"random\"", "--steps random"),
    (
        "give requests, bytes or time_limit",
        "give --number-ios, --io-size, --time-limit or --runtime, or a --size to go through once",
    ),
    ("give a range, or requests or bytes", "give --size, --number-ios or --io-size"),
    ("give requests or bytes", "give --number-ios or --io-size"),
    ("throttle:", "--rate or --rate-iops:"),
    ("request_size =", "--bs"),
    ("unit =", "--unit"),
    ("range =", "--size"),
];

/// A plan's reason, as somebody understands it who has typed options. Names of targets stay as they are.
fn in_typed_words(plan: &Plan, why: &str) -> String {
    let mut names = plan.targets.iter().map(|target| format!("target {}: ", target.path.display()));
    let name = names.find(|name| why.starts_with(name.as_str())).unwrap_or_default();
    let reason = why[name.len()..].to_string();
    name + &TYPED.iter().fold(reason, |reason, (plan, typed)| reason.replace(plan, typed))
}

fn check(args: &RunArgs, rw: RwArg, order: &StepOrder) -> Result<(), Failure> {
    for (field, why) in ONLY_PATTERNS {
        if let Some(option) = args.typed.first_of(&[field]) {
            return refuse(format!("{option} has no effect with --steps: {why}"));
        }
    }
    let (pace, is_random) = (&args.pace, matches!(order, StepOrder::Random { .. }));
    let writes = read_percent(args, rw) < 100;
    let no_effect = |option| {
        format!("{option} has no effect with --rw {}, which writes nothing: leave it out", rw.word())
    };
    refuse_first([
        (rw.is_random(), {
            format!(
                "--rw {} with --steps: the order is that of --steps: say --rw read, write or rw",
                rw.word()
            )
        }),
        (pace.time_based, {
            "--time-based has no effect with --steps: a series does not begin again: leave it out".into()
        }),
        (pace.iodepth > 1, {
            "--iodepth with --steps: each job of a series has one request in flight: use --numjobs".into()
        }),
        (matches!(pace.rate_process, Some(ProcessArg::Poisson)), {
            "--rate-process poisson has no effect with --steps: a series is throttled evenly".into()
        }),
        (args.io.size.is_some() && matches!(order, StepOrder::List { .. } | StepOrder::Fixed), {
            "--size has no effect on these --steps, which say where requests go: leave it out".into()
        }),
        (args.steps.time_limit == Some(Nanos(0)), {
            "--time-limit 0: nothing would be done: give a time above 0".into()
        }),
        (args.handling.end_fsync && !writes, no_effect("--end-fsync")),
        (args.handling.preallocate.0 > 0 && !writes, no_effect("--preallocate")),
        (args.handling.create && !writes, no_effect("--create")),
        (args.handling.data.is_some() && args.handling.verify.is_none() && !writes, {
            "--data has no effect where nothing is written or checked: add --verify, or leave it out".into()
        }),
        (args.steps.new_order_each_pass && !is_random, {
            "--new-order-each-pass has no effect without --steps random: leave it out".into()
        }),
        (pace.number_ios.is_some() && pace.io_size.is_some(), {
            "--number-ios and --io-size both say how long a pass is: leave one of them out".into()
        }),
    ])
}

/// The region, and the bytes of a pass: a series names its locations before it knows the target.
fn size(args: &RunArgs) -> Result<Option<ByteSize>, Failure> {
    bytes_of("--size", args.io.size)
}

fn bytes_of(option: &str, space: Option<Space>) -> Result<Option<ByteSize>, Failure> {
    match space {
        Some(share @ Space::Percent(_)) => {
            refuse(format!("{option} {share} with --steps: a series has exact locations: give bytes"))
        }
        Some(Space::Bytes(size)) => Ok(Some(size)),
        None => Ok(None),
    }
}

fn steps(
    args: &RunArgs,
    rw: RwArg,
    order: &StepOrder,
    size: Option<ByteSize>,
) -> Result<StepsSource, Failure> {
    let (p, pace, io) = (&args.pattern, &args.pace, &args.io);
    let io_size = bytes_of("--io-size", pace.io_size)?;
    let request_size = match &p.bs {
        None => DEFAULT_SIZE,
        Some(sizes) => match (&sizes.reads, &sizes.writes) {
            (BlockSizes::One(size), None) => *size,
            _ => return refuse("--bs with --steps: all requests of a series have one size: give one"),
        },
    };
    let order = match order {
        StepOrder::Random { .. } => {
            StepOrder::Random { seed: io.seed, new_each_pass: args.steps.new_order_each_pass }
        }
        other => other.clone(),
    };
    // Without an amount, once through the region, or as long as the run lasts; places that are spread evenly need one.
    let is_endless = pace.runtime.is_some() || args.steps.time_limit.is_some();
    let has_amount = pace.number_ios.is_some() || io_size.is_some();
    let once = size.filter(|_| !has_amount && (!is_endless || order == StepOrder::Staggered));
    let (requests, bytes) = match order {
        StepOrder::Sequential { interleave } if interleave > 1 => {
            let step = request_size.0.saturating_mul(interleave.into()).max(1);
            (once.map(|size| size.0.saturating_sub(request_size.0) / step + 1), None)
        }
        _ => (None, once),
    };
    Ok(StepsSource {
        order,
        unit: args.steps.unit.unwrap_or(request_size),
        request_size,
        requests: pace.number_ios.or(requests),
        bytes: io_size.or(bytes),
        time_limit: args.steps.time_limit,
        read_percent: Decimal::whole(read_percent(args, rw).into()),
        offset: p.offset,
        pass_offset: args.steps.pass_offset,
        range: size,
        jobs: pace.numjobs,
        throttle: throttle(pace)?,
    })
}

fn throttle(pace: &PaceArgs) -> Result<Option<Throttle>, Failure> {
    let decimal = |option: &str, number: u64| match number.to_string().parse() {
        Ok(number) => Ok(number),
        Err(error) => refuse(format!("{option}: {error}")),
    };
    Ok(match (pace.rate, pace.rate_iops) {
        (Some(bytes), _) => Some(Throttle::Bytes(decimal("--rate", bytes.0)?)),
        (None, Some(iops)) => Some(Throttle::Ops(decimal("--rate-iops", iops)?)),
        (None, None) => None,
    })
}

fn handling(args: &RunArgs) -> Handling {
    let h = &args.handling;
    Handling {
        access: None,
        data: h.data.clone(),
        verify: h.verify.map(|what| Verify { what: what.into(), immediate: h.verify_immediate }),
        file: FileCare {
            create: h.create,
            between_passes: h.between_passes.into(),
            preallocate: h.preallocate,
            sync_each_pass: h.end_fsync,
            delete: h.unlink,
        },
        start_delay: args.pace.start_delay,
        cpu: None,
        max_errors: None,
        shared_memory: h.shared_memory,
        align: h.align,
    }
}

fn conduct(args: &RunArgs) -> Conduct {
    let c = &args.conduct;
    Conduct {
        pass_delay: c.pass_delay,
        free_passes: c.free_passes,
        runtime: args.pace.runtime,
        meet_every: c.meet_every,
        lockstep: c.lockstep.clone(),
        start: c.start_when.clone(),
        stop: c.stop_when.clone(),
    }
}
