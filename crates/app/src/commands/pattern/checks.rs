//! Refuses options of a workload that contradict each other or have no effect.

use super::generator::{discard_percent, read_percent};
use super::{refuse, refuse_first};
use crate::args::run::{Distribution, RunArgs, RwArg};
use crate::exit::Failure;
use iosonar_plan::{Nanos, Order};

pub(super) fn check_mix(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
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

pub(super) fn check_sizes(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
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
pub(super) fn check_order(args: &RunArgs, rw: RwArg) -> Result<(), Failure> {
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

pub(super) fn check_pace(args: &RunArgs) -> Result<(), Failure> {
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
