//! The generator of a workload: sizes, mix, order.

use super::amount::{exact, pace, stop};
use crate::args::run::{DEFAULT_SIZE, Distribution, PaceArgs, PatternArgs, RunArgs, RwArg};
use crate::exit::Failure;
use iosonar_plan::{
    AtEnd, BlockSizes, Decimal, FlushOp, FlushRule, Generator, Nanos, Order, Process, ThinkTime,
};

/// The share of reads.
pub fn read_percent(args: &RunArgs, rw: RwArg) -> u8 {
    match rw {
        RwArg::Read | RwArg::Randread => 100,
        RwArg::Write | RwArg::Randwrite | RwArg::Trim | RwArg::Randtrim => 0,
        RwArg::Rw | RwArg::Randrw => args.pattern.rwmixread.unwrap_or(50),
    }
}

/// The share of discards.
pub(super) fn discard_percent(args: &RunArgs, rw: RwArg) -> u8 {
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

/// The generator selected by the options.
pub(super) fn generator(args: &RunArgs, rw: RwArg) -> Result<Generator, Failure> {
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

fn order(p: &PatternArgs, rw: RwArg, has_one_size: bool) -> Order {
    match &p.random_distribution {
        _ if !rw.is_random() => Order::Sequential,
        Some(Distribution::Skewed(order)) => order.clone(),
        _ if p.norandommap => Order::Random,
        _ if has_one_size => Order::Shuffled,
        _ => Order::Random,
    }
}
