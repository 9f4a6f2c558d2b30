//! Translates a workload in fio's words into a plan. Contradictions and options without effect are refused in the typed words.

use super::coordination::{check_options, coordination, file_lifecycle, options};
use super::means::{self, engine};
use super::typed_words::check_run;
use crate::args::run::{DEFAULT_SIZE, Distribution, PaceArgs, PatternArgs, ProcessArg, RunArgs, RwArg};
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::{
    AtEnd, BlockSizes, ByteSize, Decimal, FlushOp, FlushRule, Generator, Job, Nanos, Order, Overlap,
    OverlapPolicy, Pace, Phase, Plan, Process, Sharing, Space, Stop, Target, ThinkTime, Workload,
};
use iosonar_runner::new_run_id;
use std::path::PathBuf;

/// The plan selected by the options.
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
    check_sizes(args, rw)?;
    check_order(args, rw)?;
    check_options(args, rw)?;
    let generator = generator(args, rw)?;
    let pretended = means::pretended_size(&args.io)?;
    let target = |(number, path): (usize, &PathBuf)| {
        let moved = args.steps.target_offset.0.saturating_mul(number as u64);
        let offset = ByteSize(generator.offset.0.saturating_add(moved));
        let generator = Generator { offset, ..generator.clone() };
        // Where nothing is opened, a target is as long as its region or its requests need.
        let region = pretended.map(|size| ByteSize(size.0.saturating_add(offset.0)));
        let end = generator.end(args.pace.passes).filter(|_| generator.at_end == AtEnd::Extend);
        let size = region.max(end.filter(|_| !engine(&args.io.engine).is_real()).map(ByteSize));
        let target = Target { size, file: file_lifecycle(args), ..Target::new(path) };
        let job = Job::new(number as u16, args.pace.iodepth, Workload::Generated(generator));
        (target, Job { options: options(args), ..job })
    };
    let (targets, jobs) = args.targets.iter().enumerate().map(target).unzip();
    let phase = Phase { passes: args.pace.passes, coordination: coordination(args), ..Phase::of(jobs) };
    let plan = assemble(args, policy(args, &generator)?, targets, phase);
    check_run(&plan)?;
    Ok(plan)
}

fn assemble(args: &RunArgs, policy: OverlapPolicy, targets: Vec<Target>, phase: Phase) -> Plan {
    // Only series at exact places distinguish a delay of single targets from one of the whole run.
    let start_grace = if args.steps.steps.is_some() { Nanos(0) } else { args.pace.start_delay };
    let run_id = args.io.run_id.unwrap_or_else(new_run_id);
    let overlap = Overlap { policy, ..Overlap::default() };
    Plan { start_grace, overlap, ..means::plan(&args.io, run_id, targets, phase) }
}

pub(super) fn refuse<T>(why: impl std::fmt::Display) -> Result<T, Failure> {
    Err(Failure::refused(anyhow!("{why}")))
}

/// Refuses with the text of the first case that holds.
pub(super) fn refuse_first(cases: impl IntoIterator<Item = (bool, String)>) -> Result<(), Failure> {
    cases.into_iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| refuse(why))
}

fn check_mix(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let (p, kind, mixed) = (&args.pattern, rw.word(), if rw.is_random() { "randrw" } else { "rw" });
    let dataless = [("--rwmixtrim", p.rwmixtrim), ("--rwmixzeroes", p.rwmixzeroes)];
    let of_writes = |(option, given): (&str, Option<u8>)| {
        (given.is_some() && !rw.writes(), {
            format!("{option} has no effect with --rw {kind}, which writes nothing: remove it")
        })
    };
    let sum: u32 = [Some(read_percent(args, rw)), p.rwmixtrim, p.rwmixzeroes]
        .map(|n| n.unwrap_or(0).into())
        .iter()
        .sum();
    let is_listed = matches!(args.steps.steps, Some(Order::List { .. }));
    refuse_first([
        (p.rwmixread.is_some() && !rw.is_mixed(), {
            format!("--rwmixread has no effect with --rw {kind}: use --rw {mixed}, or remove it")
        }),
        of_writes(dataless[0]),
        of_writes(dataless[1]),
        (sum > 100 && dataless.iter().any(|(_, given)| given.is_some()), {
            format!("--rwmixtrim and --rwmixzeroes: with reads they have {sum} percent together: 100 at most")
        }),
        (is_listed && (discard_percent(args, rw) > 0 || p.rwmixzeroes.is_some()), {
            "--steps list: the list names the operation of each request: remove --rwmixtrim and --rwmixzeroes, and use --rw \
             rw"
                .into()
        }),
    ])
}

fn check_sizes(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let (p, kind) = (&args.pattern, rw.word());
    let sizes = [("--bs", &p.bs), ("--bsrange", &p.bsrange), ("--bssplit", &p.bssplit)];
    let given: Vec<_> = sizes.into_iter().filter_map(|(name, sizes)| Some((name, sizes.as_ref()?))).collect();
    if let [(one, _), (other, _), ..] = given[..] {
        return refuse(format!("{one} and {other} both say how long requests are: remove one of them"));
    }
    let halves = given.iter().any(|(_, sizes)| sizes.writes.is_some());
    let name = given.first().map_or("--bs", |(name, _)| name);
    refuse_first([
        (halves && !rw.is_mixed(), {
            format!("{name}: sizes of reads and of writes have no meaning with --rw {kind}: give one")
        }),
        (args.typed.has("fill_random") && !rw.writes(), {
            format!("--fill-random has no effect with --rw {kind}, which writes nothing: remove it")
        }),
        (args.typed.has("fill_random") && args.options.data.is_some(), {
            "--fill-random has no effect with --data, which says what is written: remove one of them".into()
        }),
    ])
}

/// Checks options for the places of requests.
fn check_order(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
    let (p, kind) = (&args.pattern, rw.word());
    let skewed = matches!(p.random_distribution, Some(Distribution::Skewed(_)));
    refuse_first([
        (args.steps.steps.is_some() && rw.is_random(), {
            format!("--rw {kind} with --steps: the order is that of --steps: say --rw read, write or rw")
        }),
        (args.steps.steps.is_some() && p.random_distribution.is_some(), {
            "--random-distribution has no effect with --steps, which say where requests go: remove one of them"
                .into()
        }),
        (p.random_distribution.is_some() && !rw.is_random(), {
            format!("--random-distribution has no effect with --rw {kind}: use --rw rand{kind}, or remove it")
        }),
        (p.norandommap && args.steps.steps.is_some(), {
            "--norandommap has no effect with --steps, whose random places repeat anyhow: remove it".into()
        }),
        (p.norandommap && !rw.is_random(), {
            format!("--norandommap has no effect with --rw {kind}: use --rw rand{kind}, or remove it")
        }),
        (p.norandommap && skewed, {
            "--norandommap has no effect with this --random-distribution, whose addresses repeat anyhow: remove it"
                .into()
        }),
        (args.steps.new_order_each_pass && args.steps.steps != Some(Order::Random), {
            "--new-order-each-pass has no effect without --steps random: remove it".into()
        }),
        (args.io.size.is_some() && matches!(args.steps.steps, Some(Order::List { .. } | Order::Fixed)), {
            "--size has no effect on these --steps, which say where requests go: remove it".into()
        }),
        (args.steps.steps.is_some() && args.pace.time_based, {
            "--time-based has no effect with --steps, which go on until --runtime is over: remove it".into()
        }),
        (args.steps.time_limit == Some(Nanos(0)), {
            "--time-limit 0: nothing would be done: give a time above 0".into()
        }),
    ])
}

fn check_pace(args: &RunArgs) -> Result<(), Failure> {
    let pace = &args.pace;
    refuse_first([
        (pace.rate.is_some() && pace.rate_iops.is_some(), {
            "--rate and --rate-iops both say when requests are due: remove one of them".into()
        }),
        (pace.rate_process.is_some() && pace.rate.is_none() && pace.rate_iops.is_none(), {
            "--rate-process has no effect without --rate or --rate-iops: add one, or remove it".into()
        }),
        (pace.runtime == Some(Nanos(0)), "--runtime 0: nothing would be done: give a time above 0".into()),
    ])
}

/// The share of reads.
pub(super) fn read_percent(args: &RunArgs, rw: RwArg) -> u8 {
    match rw {
        RwArg::Read | RwArg::Randread => 100,
        RwArg::Write | RwArg::Randwrite | RwArg::Trim | RwArg::Randtrim => 0,
        RwArg::Rw | RwArg::Randrw => args.pattern.rwmixread.unwrap_or(50),
    }
}

/// The share of discards.
fn discard_percent(args: &RunArgs, rw: RwArg) -> u8 {
    match rw {
        RwArg::Trim | RwArg::Randtrim => 100,
        _ => args.pattern.rwmixtrim.unwrap_or(0),
    }
}

/// Flushes between writes; 0 means never, as in fio.
fn flush(args: &RunArgs) -> Option<FlushRule> {
    let rule = |op, every: Option<u64>| {
        every.filter(|writes| *writes > 0).map(|after_writes| FlushRule { after_writes, op })
    };
    let p = &args.pattern;
    rule(FlushOp::Fsync, p.fsync).or(rule(FlushOp::Flush, p.fdatasync))
}

/// Pauses between requests; a time of 0 means no pause, as in fio.
fn think_time(args: &PaceArgs) -> Option<ThinkTime> {
    let time = args.thinktime.filter(|time| *time > Nanos(0))?;
    let (spin, blocks) = (args.thinktime_spin.unwrap_or_default(), args.thinktime_blocks.unwrap_or(1));
    Some(ThinkTime { time, spin, blocks })
}

fn generator(args: &RunArgs, rw: RwArg) -> Result<Generator, Failure> {
    let p = &args.pattern;
    let sizes = [&p.bs, &p.bsrange, &p.bssplit].into_iter().flatten().next();
    let block_size = sizes.map_or(BlockSizes::One(DEFAULT_SIZE), |s| s.reads.clone());
    let generator = Generator {
        write_block_size: sizes.and_then(|s| s.writes.clone()).filter(|writes| *writes != block_size),
        block_size,
        read_percent: Decimal::whole(read_percent(args, rw).into()),
        discard_percent: Decimal::whole(discard_percent(args, rw).into()),
        zeroes_percent: Decimal::whole(p.rwmixzeroes.unwrap_or(0).into()),
        flush: flush(args),
        offset: p.offset,
        pass_offset: args.steps.pass_offset,
        region: args.io.size,
        unit: args.steps.unit,
        at_end: if args.options.create { AtEnd::Extend } else { AtEnd::Wrap },
        jobs: args.pace.numjobs,
        pace: pace(&args.pace, Process::Constant)?,
        thinktime: think_time(&args.pace),
        ..Generator::new(Order::Sequential, DEFAULT_SIZE)
    };
    if let Some(order) = &args.steps.steps {
        return exact(args, order, generator);
    }
    let order = order(p, rw, generator.fixed_size().is_some());
    let stop = stop(args, generator.fixed_size());
    Ok(Generator { order, stop, ..generator })
}

/// Whether addresses repeat without being requested: blocks of different lengths cannot be visited once each.
pub fn draws_independently(args: &RunArgs) -> bool {
    let p = &args.pattern;
    let is_uniform = !matches!(p.random_distribution, Some(Distribution::Skewed(_)));
    let is_random =
        p.rw.is_some_and(RwArg::is_random) && is_uniform && !p.norandommap && args.steps.steps.is_none();
    is_random
        && p.rw.is_some_and(|rw| generator(args, rw).is_ok_and(|generator| generator.fixed_size().is_none()))
}

/// A workload at exact places, which do not depend on the target.
fn exact(args: &RunArgs, order: &Order, generator: Generator) -> Result<Generator, Failure> {
    let pace = pace(&args.pace, Process::Trailing)?;
    let size = match args.io.size {
        Some(share @ Space::Percent(_)) => {
            return refuse(format!("--size {share} with --steps: places are exact: give bytes"));
        }
        Some(Space::Bytes(size)) => Some(size),
        None => None,
    };
    let is_random = *order == Order::Random;
    let stop = Stop {
        requests: args.pace.number_ios,
        bytes: args.pace.io_size,
        cut_last: true,
        runtime: None,
        time_limit: args.steps.time_limit,
        ramp: args.pace.ramp_time,
    };
    // Without an amount: once through the region, or as long as the run lasts; evenly spread places need an amount.
    let is_endless = args.pace.runtime.is_some() || stop.time_limit.is_some();
    let has_amount = stop.requests.is_some() || stop.bytes.is_some();
    let once = size.filter(|_| !has_amount && (!is_endless || *order == Order::Staggered));
    let longest = generator.longest();
    let stop = match (once, order) {
        (Some(size), Order::Interleaved { every }) => {
            let step = longest.saturating_mul((*every).into()).max(1);
            Stop { requests: Some(size.0.saturating_sub(longest) / step + 1), ..stop }
        }
        (Some(size), _) => Stop { bytes: Some(Space::Bytes(size)), ..stop },
        (None, _) => stop,
    };
    Ok(Generator {
        order: order.clone(),
        at_end: AtEnd::Extend,
        seed: is_random.then_some(args.io.seed),
        same_each_pass: is_random && !args.steps.new_order_each_pass,
        sharing: Sharing::Striped,
        pace,
        stop,
        ..generator
    })
}

fn order(p: &PatternArgs, rw: RwArg, has_one_size: bool) -> Order {
    match &p.random_distribution {
        _ if !rw.is_random() => Order::Sequential,
        Some(Distribution::Skewed(order)) => order.clone(),
        _ if p.norandommap => Order::Random,
        _ if has_one_size => Order::Shuffled,
        _ => Order::Random,
    }
}

fn pace(args: &PaceArgs, even: Process) -> Result<Pace, Failure> {
    let process = match args.rate_process {
        Some(ProcessArg::Poisson) => Process::Poisson,
        Some(ProcessArg::Linear) | None => even,
    };
    Ok(match (args.rate, args.rate_iops) {
        (Some(bytes_per_second), _) => Pace::Bandwidth { bytes_per_second, process },
        (None, Some(iops)) => match iops.to_string().parse() {
            Ok(iops) => Pace::Rate { iops, process },
            Err(error) => return refuse(format!("--rate-iops: {error}")),
        },
        (None, None) => Pace::Closed,
    })
}

fn stop(args: &RunArgs, fixed_size: Option<u64>) -> Stop {
    let pace = &args.pace;
    let stop = Stop {
        requests: pace.number_ios,
        bytes: pace.io_size,
        runtime: pace.runtime,
        time_limit: args.steps.time_limit,
        ramp: pace.ramp_time,
        ..Stop::default()
    };
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

/// Several writing jobs cannot avoid each other, and overlaps at exact places are requested.
fn policy(args: &RunArgs, generator: &Generator) -> Result<OverlapPolicy, Failure> {
    let shared = generator.jobs > 1 && generator.writes();
    match args.pattern.overlap {
        None if shared || args.steps.steps.is_some() => Ok(OverlapPolicy::Allow),
        None => Ok(OverlapPolicy::PushBack),
        Some(policy) if shared && policy != OverlapPolicy::Allow => refuse(format!(
            "--overlap with --numjobs {}: each job knows only its own requests, so overlaps between jobs would go \
             unnoticed: use --overlap allow, or one job",
            generator.jobs
        )),
        Some(policy) => Ok(policy),
    }
}
