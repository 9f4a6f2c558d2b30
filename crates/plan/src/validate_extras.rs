//! Rules of a generated workload's extra reads and pauses.

use crate::rules::{Result, require, time};
use crate::{Decimal, ExtraReads, Generator, InvalidPlan, Nanos, Pace, ThinkTime};

/// Checks the extra reads of a generated workload.
pub(crate) fn validate_extra_reads(generator: &Generator) -> Result {
    let Some(extra) = generator.extra_reads else { return Ok(()) };
    require(extra.every > 0, || InvalidPlan::of("extra_reads.every", "it must be at least 1").value(0))?;
    require((1..=ExtraReads::SECOND).contains(&extra.size.0), || {
        InvalidPlan::of("extra_reads.size", "it must lie between 1 byte and 4 KiB").value(extra.size)
    })?;
    let only_reads = generator.read_percent == Decimal::whole(100) && !generator.order.is_listed();
    require(only_reads, || {
        InvalidPlan::of(
            "extra_reads",
            "they belong to a workload that only reads, in an order without a list",
        )
        .remedy("remove it, or set `read_percent` to 100")
    })?;
    require(generator.jobs == 1, || {
        InvalidPlan::of("extra_reads", "several jobs share the numbers of requests")
            .remedy("remove it, or use one of the `jobs`")
    })
}

/// Checks the pauses of a generated workload.
pub(crate) fn validate_think_time(generator: &Generator) -> Result {
    let Some(ThinkTime { time: length, spin, blocks }) = generator.thinktime else { return Ok(()) };
    require(length > Nanos(0), || {
        InvalidPlan::of("thinktime.time", "a pause has a length").value(length).remedy("give a time above 0")
    })?;
    time("thinktime.time", length)?;
    require(spin <= length, || {
        InvalidPlan::of("thinktime.spin", format!("it is longer than the pause of {length}"))
            .value(spin)
            .remedy("use at most `thinktime.time`")
    })?;
    require(blocks > 0, || InvalidPlan::of("thinktime.blocks", "it must be at least 1").value(0))?;
    require(generator.pace == Pace::Closed, || {
        InvalidPlan::of("thinktime", "requests with due times have no pauses")
            .remedy("remove it, or use a closed `pace`")
    })
}
