//! A pattern in fio's words becomes a plan. What contradicts itself or would have no effect is refused in the words that
//! were typed.

use super::means::{self, engine};
use super::replay::{new_run_id, overlap_policy};
use super::series;
use crate::exit::Failure;
use crate::output::tell;
use crate::run_args::{DEFAULT_SIZE, Distribution, PaceArgs, PatternArgs, ProcessArg, RunArgs, RwArg};
use anyhow::anyhow;
use iosonar_plan::{
    Access, BlockSizes, ByteSize, Conduct, Fill, Handling, Nanos, Order, Overlap, OverlapPolicy,
    PLAN_VERSION, Pace, PatternSource, Plan, Process, Source, Space, Stop, Target,
};

/// The plan that the options ask for.
pub fn plan(args: &RunArgs) -> Result<Plan, Failure> {
    let Some(rw) = args.pattern.rw.filter(|_| !args.targets.is_empty()) else {
        let missing = if args.targets.is_empty() { "--target" } else { "--rw" };
        return refuse(format!(
            "{missing} is missing: name a plan, as in 'iosonar run plan.toml', or say what to do, as in 'iosonar run \
             --target a.img --rw randread --runtime 60'"
        ));
    };
    check_mix(args, rw)?;
    check_pace(args)?;
    means::check(&args.io.engine)?;
    if let Some(order) = &args.steps.steps {
        return series::plan(args, rw, order);
    }
    series::refuse_without_steps(args)?;
    check_pattern(args, rw)?;
    let pattern = pattern(args, rw)?;
    // Where nothing is opened, a target is as long as its region needs.
    let size = means::pretended_size(&args.io)?;
    let size = size.map(|size| ByteSize(size.0.saturating_add(args.pattern.offset.0)));
    let policy = policy(args, &pattern)?;
    let source = Source::Pattern(pattern);
    let target = |path: &std::path::PathBuf| Target {
        path: path.clone(),
        size,
        handling: Handling::default(),
        source: source.clone(),
    };
    let plan = common(args, policy, args.targets.iter().map(target).collect());
    Ok(Plan { start_grace: args.pace.start_delay, ..plan })
}

/// What a pattern and a series have in common.
pub(super) fn common(args: &RunArgs, policy: OverlapPolicy, targets: Vec<Target>) -> Plan {
    Plan {
        version: PLAN_VERSION,
        run_id: args.io.run_id.unwrap_or_else(new_run_id),
        seed: args.io.seed,
        start_grace: Nanos(0),
        passes: args.pace.passes,
        depth: args.pace.iodepth,
        destroy: args.io.destroy,
        engine: engine(&args.io.engine),
        access: Access { buffered: args.io.buffered, sync: args.io.sync },
        fill: Fill { random_percent: args.io.fill_random },
        overlap: Overlap { policy, ..Overlap::default() },
        pacing: means::pacing(&args.io.means),
        memory: means::memory(&args.io.means),
        faults: means::faults(&args.io.means),
        conduct: Conduct::default(),
        targets,
    }
}

pub(super) fn refuse<T>(why: impl std::fmt::Display) -> Result<T, Failure> {
    Err(Failure::refused(anyhow!("{why}")))
}

/// Refuses the first whose words hold.
pub(super) fn refuse_first(cases: impl IntoIterator<Item = (bool, String)>) -> Result<(), Failure> {
    cases.into_iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| refuse(why))
}

fn check_mix(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let (kind, mixed) = (rw.word(), if rw.is_random() { "randrw" } else { "rw" });
    refuse_first([(args.pattern.rwmixread.is_some() && !rw.is_mixed(), {
        format!("--rwmixread has no effect with --rw {kind}: use --rw {mixed}, or leave it out")
    })])
}

fn check_pattern(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let (p, kind) = (&args.pattern, rw.word());
    let sizes = [("--bs", &p.bs), ("--bsrange", &p.bsrange), ("--bssplit", &p.bssplit)];
    let given: Vec<_> = sizes.into_iter().filter_map(|(name, sizes)| Some((name, sizes.as_ref()?))).collect();
    if let [(one, _), (other, _), ..] = given[..] {
        return refuse(format!("{one} and {other} both say how long requests are: leave one of them out"));
    }
    let halves = given.iter().any(|(_, sizes)| sizes.writes.is_some());
    let name = given.first().map_or("--bs", |(name, _)| name);
    let skewed = matches!(p.random_distribution, Some(Distribution::Skewed(_)));
    refuse_first([
        (halves && !rw.is_mixed(), {
            format!("{name}: sizes of reads and of writes have no meaning with --rw {kind}: give one")
        }),
        (p.random_distribution.is_some() && !rw.is_random(), {
            format!(
                "--random-distribution has no effect with --rw {kind}: use --rw rand{kind}, or leave it out"
            )
        }),
        (p.norandommap && !rw.is_random(), {
            format!("--norandommap has no effect with --rw {kind}: use --rw rand{kind}, or leave it out")
        }),
        (p.norandommap && skewed, {
            "--norandommap has no effect with this --random-distribution, whose addresses repeat anyhow: leave it out"
                .into()
        }),
        (args.typed.has("fill_random") && matches!(rw, RwArg::Read | RwArg::Randread), {
            format!("--fill-random has no effect with --rw {kind}, which writes nothing: leave it out")
        }),
    ])
}

fn check_pace(args: &RunArgs) -> Result<(), Failure> {
    let pace = &args.pace;
    refuse_first([
        (pace.rate.is_some() && pace.rate_iops.is_some(), {
            "--rate and --rate-iops both say when requests are due: leave one of them out".into()
        }),
        (pace.rate_process.is_some() && pace.rate.is_none() && pace.rate_iops.is_none(), {
            "--rate-process has no effect without --rate or --rate-iops: add one, or leave it out".into()
        }),
        (pace.runtime == Some(Nanos(0)), "--runtime 0: nothing would be done: give a time above 0".into()),
    ])
}

/// The share of reads.
pub(super) fn read_percent(args: &RunArgs, rw: RwArg) -> u8 {
    match rw {
        RwArg::Read | RwArg::Randread => 100,
        RwArg::Write | RwArg::Randwrite => 0,
        RwArg::Rw | RwArg::Randrw => args.pattern.rwmixread.unwrap_or(50),
    }
}

fn pattern(args: &RunArgs, rw: RwArg) -> Result<PatternSource, Failure> {
    let p = &args.pattern;
    let sizes = [&p.bs, &p.bsrange, &p.bssplit].into_iter().flatten().next();
    let block_size = sizes.map_or(BlockSizes::One(DEFAULT_SIZE), |s| s.reads.clone());
    let pattern = PatternSource {
        order: Order::Sequential,
        write_block_size: sizes.and_then(|s| s.writes.clone()).filter(|writes| *writes != block_size),
        block_size,
        read_percent: read_percent(args, rw),
        offset: p.offset,
        region: args.io.size,
        jobs: args.pace.numjobs,
        pace: pace(&args.pace),
        stop: Stop::default(),
    };
    let order = order(p, rw, pattern.fixed_size().is_some());
    let stop = stop(args, pattern.fixed_size());
    Ok(PatternSource { order, stop, ..pattern })
}

fn order(p: &PatternArgs, rw: RwArg, has_one_size: bool) -> Order {
    match &p.random_distribution {
        _ if !rw.is_random() => Order::Sequential,
        Some(Distribution::Skewed(order)) => order.clone(),
        _ if p.norandommap => Order::Random,
        _ if has_one_size => Order::Shuffled,
        _ => {
            tell(
                "iosonar: requests have different lengths, so addresses are drawn independently and may repeat; \
                 --norandommap says that this is meant",
            );
            Order::Random
        }
    }
}

fn pace(args: &PaceArgs) -> Pace {
    let process = match args.rate_process {
        Some(ProcessArg::Poisson) => Process::Poisson,
        Some(ProcessArg::Linear) | None => Process::Constant,
    };
    match (args.rate, args.rate_iops) {
        (Some(bytes_per_second), _) => Pace::Bandwidth { bytes_per_second, process },
        (None, Some(iops)) => Pace::Rate { iops, process },
        (None, None) => Pace::Closed,
    }
}

fn stop(args: &RunArgs, fixed_size: Option<u64>) -> Stop {
    let pace = &args.pace;
    let stop =
        Stop { requests: pace.number_ios, bytes: pace.io_size, runtime: pace.runtime, ramp: pace.ramp_time };
    if pace.time_based || stop.requests.is_some() || stop.bytes.is_some() {
        return stop;
    }
    // Once through the region, as in fio.
    match (args.io.size, fixed_size) {
        (Some(Space::Bytes(size)), Some(block)) if size.0 >= block => {
            Stop { requests: Some(size.0 / block), ..stop }
        }
        _ => Stop { bytes: Some(Space::Percent(100)), ..stop },
    }
}

/// Several jobs that write cannot keep out of each other's way.
fn policy(args: &RunArgs, pattern: &PatternSource) -> Result<OverlapPolicy, Failure> {
    let shared = pattern.jobs > 1 && pattern.writes();
    match args.pattern.overlap.map(overlap_policy) {
        None if shared => Ok(OverlapPolicy::Allow),
        None => Ok(OverlapPolicy::PushBack),
        Some(policy) if shared && policy != OverlapPolicy::Allow => refuse(format!(
            "--overlap with --numjobs {}: each job knows only its own requests, so overlaps between jobs would go \
             unnoticed: use --overlap allow, or one job",
            pattern.jobs
        )),
        Some(policy) => Ok(policy),
    }
}
