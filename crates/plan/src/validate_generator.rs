//! Rules of a generated workload beyond its types.

use crate::rising::validate_rising;
use crate::rules::{MAX_REQUESTS, MAX_TIME, Result, bytes, require, time, utf8, within};
use crate::validate_extras::{validate_extra_reads, validate_think_time};
use crate::{
    AtEnd, BlockSizes, ByteSize, Decimal, FlushRule, Generator, InvalidPlan, Job, Nanos, Order,
    OverlapPolicy, Pace, Phase, Plan, SizeRange, SizeShare, Space, Zone,
};
use std::path::Path;

/// The longest request.
const MAX_BLOCK: u64 = 1 << 30;
/// The highest bandwidth, in bytes per second.
const MAX_BANDWIDTH: u64 = 1 << 50;
/// The most parts of a split and the most zones: as many as there are whole percents.
const MAX_SHARES: usize = 100;
/// The most issuing loops of one target.
const MAX_JOBS: u64 = 1024;

/// Checks a generated workload of a plan.
pub(crate) fn validate_generator(generator: &Generator, job: &Job, phase: &Phase, plan: &Plan) -> Result {
    let percent = generator.read_percent;
    require(percent <= Decimal::whole(100), || {
        InvalidPlan::of("read_percent", "it must lie between 0 and 100").value(percent)
    })?;
    let sum = percent.parts().saturating_add(generator.dataless_percent());
    require(sum <= Decimal::whole(100).parts(), || {
        InvalidPlan::of(
            "discard_percent",
            "reads, discards and write zeroes have more than 100 percent together",
        )
        .value(generator.discard_percent)
    })?;
    let is_listed = generator.order.is_listed();
    require(!(is_listed && generator.has_discards_or_zeroes()), || {
        InvalidPlan::of("discard_percent", "a list names the operation of each request")
            .value(generator.discard_percent)
            .remedy("remove it and `zeroes_percent`")
    })?;
    flush(generator, plan)?;
    validate_think_time(generator)?;
    validate_extra_reads(generator)?;
    sizes("block_size", &generator.block_size)?;
    if let Some(writes) = &generator.write_block_size {
        sizes("write_block_size", writes)?;
    }
    bytes("offset + block_size", generator.offset, ByteSize(generator.longest()))?;
    if let Some(region) = generator.region {
        shares("region", region)?;
        bytes("offset + region", generator.offset, ByteSize(length(region).unwrap_or_default()))?;
    }
    require(generator.seed.is_none_or(|seed| seed < 1 << 63), || {
        InvalidPlan::of("seed", "it must be below 2^63")
    })?;
    order(generator)?;
    places(generator, phase.passes)?;
    jobs(generator, plan)?;
    require(generator.count() != Some(0) || !job.options.before.is_empty(), || {
        InvalidPlan::whole("a pass would have no request")
            .remedy("give `stop.requests` or `stop.bytes` above 0, or file operations in `options.before`")
    })?;
    end(generator, phase)
}

/// Checks flushes between writes.
fn flush(generator: &Generator, plan: &Plan) -> Result {
    let Some(FlushRule { after_writes, .. }) = generator.flush else { return Ok(()) };
    require(after_writes > 0, || InvalidPlan::of("flush.after_writes", "it must be at least 1").value(0))?;
    require(generator.writes(), || {
        InvalidPlan::of("flush", "the workload writes nothing").remedy("remove it, or lower `read_percent`")
    })?;
    let is_polled = plan.engine.is_polled();
    require(!is_polled, || {
        InvalidPlan::of("flush", "the completion of a flush cannot be polled for")
            .remedy("remove it, or `engine.hipri = true`")
    })
}

/// Checks addresses that a region, the unit and passes decide.
fn places(generator: &Generator, passes: u32) -> Result {
    let (unit, smallest) = (generator.unit(), generator.smallest());
    within("unit", unit, 1, smallest)?;
    require(smallest.is_multiple_of(unit), || {
        InvalidPlan::of("block_size", format!("it is no multiple of `unit = {}`", ByteSize(unit)))
            .value(ByteSize(smallest))
            .remedy("use another one of them")
    })?;
    if generator.at_end == AtEnd::Wrap {
        return Ok(());
    }
    bytes("addresses", ByteSize(generator.end(passes).unwrap_or(0)), ByteSize(0))?;
    let least = match &generator.order {
        Order::Fixed | Order::List { .. } | Order::Telemetry { .. } => return Ok(()),
        Order::Sequential | Order::Interleaved { .. } if generator.region.is_none() => return Ok(()),
        Order::Staggered => generator.amount().unwrap_or(0),
        _ => generator.longest(),
    };
    let region = generator.region.map_or(generator.amount(), length);
    require(region.is_some() || matches!(generator.region, Some(Space::Percent(_))), || {
        InvalidPlan::of("order", "it needs to know where places end")
            .value(format_args!("\"{}\"", generator.order))
            .remedy("give `region`, `stop.requests` or `stop.bytes`")
    })?;
    let region = region.unwrap_or(u64::MAX);
    require(region >= least, || {
        InvalidPlan::of("region", format!("{least} bytes do not fit into it"))
            .value(ByteSize(region))
            .remedy("make it larger")
    })
}

fn sizes(name: &str, sizes: &BlockSizes) -> Result {
    match sizes {
        BlockSizes::One(size) => block(name, *size),
        BlockSizes::Range(SizeRange { least, most }) => {
            block(&format!("{name}.least"), *least)?;
            block(&format!("{name}.most"), *most)?;
            require(least <= most && most.0.is_multiple_of(least.0), || {
                InvalidPlan::of(
                    name,
                    format!("a range ends at a multiple of its least size, and {most} is none of {least}"),
                )
                .remedy("use another size")
            })
        }
        BlockSizes::Split(shares) => {
            shares.iter().try_for_each(|share| block(name, share.size))?;
            require(shares.iter().all(|s| s.percent > 0), || {
                InvalidPlan::of(name, "a size with a share of 0 percent never occurs").remedy("remove it")
            })?;
            percents(name, shares.iter().map(|SizeShare { percent, .. }| *percent))
        }
    }
}

fn block(name: &str, size: ByteSize) -> Result {
    require((1..=MAX_BLOCK).contains(&size.0), || {
        InvalidPlan::of(name, "it must lie between 1 byte and 1 GiB").value(size)
    })
}

fn percents(name: &str, percents: impl ExactSizeIterator<Item = u8>) -> Result {
    require((1..=MAX_SHARES).contains(&percents.len()), || {
        InvalidPlan::of(name, format!("it has {} parts; 1 to {MAX_SHARES} are possible", percents.len()))
    })?;
    let sum: u32 = percents.map(u32::from).sum();
    require(sum == 100, || {
        InvalidPlan::of(name, format!("the sum of its shares is {sum} percent")).remedy("make it 100")
    })
}

/// Whether a place is as long as a request: they meet, and do not overlap.
fn whole_places(generator: &Generator) -> Result {
    require(generator.unit.is_none_or(|unit| unit.0 == generator.longest()), || {
        InvalidPlan::of(
            "unit",
            format!("with `order = \"{}\"` places are as long as requests", generator.order),
        )
        .remedy("remove it")
    })
}

fn order(pattern: &Generator) -> Result {
    let has_one_size = || {
        require(pattern.fixed_size().is_some(), || {
            let (least, most) = (ByteSize(pattern.smallest()), ByteSize(pattern.longest()));
            InvalidPlan::of(
                "order",
                format!("it needs requests of one size, and these have {least} to {most}"),
            )
            .value(format_args!("\"{}\"", pattern.order))
            .remedy("give one `block_size`")
        })
    };
    match &pattern.order {
        Order::Sequential | Order::Random => Ok(()),
        Order::Fixed => has_one_size(),
        Order::Backward => whole_places(pattern).and_then(|()| has_one_size()),
        Order::Strided { every } => {
            within("order.strided.every", (*every).into(), 1, 1 << 31)?;
            whole_places(pattern).and_then(|()| has_one_size())
        }
        Order::Interleaved { every } => {
            within("order.interleaved.every", (*every).into(), 1, 1 << 31)?;
            has_one_size()
        }
        Order::Staggered => {
            has_one_size()?;
            require(pattern.count().is_some(), || {
                InvalidPlan::of("order", "requests are spread over the region, so their number must be known")
                    .value("\"staggered\"")
                    .remedy("give `stop.requests` or `stop.bytes`")
            })
        }
        Order::List { file } => {
            utf8("order.list.file", file)?;
            has_one_size()
        }
        Order::Telemetry { file } => has_one_size().and_then(|()| telemetry(pattern, file)),
        Order::Shuffled | Order::MersenneShuffled => require(pattern.fixed_size().is_some(), || {
            let (least, most) = (ByteSize(pattern.smallest()), ByteSize(pattern.longest()));
            let rule = format!(
                "without repeats means each block once, and sizes from {least} to {most} have no common block"
            );
            InvalidPlan::of("order", rule)
                .value(format!("\"{}\"", pattern.order))
                .remedy("use one `block_size`, or `order = \"random\"`")
        }),
        Order::Zipf { theta } => {
            require((0.0..=10.0).contains(&theta.as_f64()) && theta.as_f64() > 0.0, || {
                InvalidPlan::of("order.zipf.theta", "it must be above 0 and at most 10, for example 1.1")
                    .value(theta)
            })
        }
        Order::Pareto { h } => require(h.as_f64() > 0.0 && h.as_f64() < 1.0, || {
            InvalidPlan::of("order.pareto.h", "it must lie between 0 and 1, for example 0.2").value(h)
        }),
        Order::Normal { deviation } => {
            require(deviation.as_f64() > 0.0 && deviation.as_f64() <= 100.0, || {
                InvalidPlan::of("order.normal.deviation", "it must be above 0 and at most 100 percent")
                    .value(deviation)
            })
        }
        Order::Zoned(zones) => validate_zones(zones, pattern),
    }
}

/// Checks that all requests of a telemetry file have one operation, and follow each other.
fn telemetry(pattern: &Generator, file: &Path) -> Result {
    utf8("order.telemetry.file", file)?;
    let percent = pattern.read_percent;
    require([Decimal::whole(0), Decimal::whole(100)].contains(&percent), || {
        InvalidPlan::of("read_percent", "a telemetry file does not tell reads from writes")
            .value(percent)
            .remedy("use 0 or 100")
    })?;
    require(pattern.jobs == 1, || {
        InvalidPlan::of("jobs", "the requests of a telemetry file follow each other")
            .value(pattern.jobs)
            .remedy("use 1")
    })
}

fn validate_zones(zones: &[Zone], pattern: &Generator) -> Result {
    percents("order.zoned", zones.iter().map(|zone| zone.percent))?;
    let shares: Vec<u64> = zones.iter().filter_map(|zone| share(zone.space)).collect();
    let lengths: Vec<u64> = zones.iter().filter_map(|zone| length(zone.space)).collect();
    require(shares.is_empty() || lengths.is_empty(), || {
        InvalidPlan::of("order.zoned", "spaces are either all shares (\"10%\") or all sizes (\"10GiB\")")
    })?;
    require(shares.iter().chain(&lengths).all(|space| *space > 0), || {
        InvalidPlan::of("order.zoned", "a zone without space holds no request").remedy("remove it")
    })?;
    let sum = shares.iter().sum::<u64>();
    require(shares.is_empty() || sum == 100, || {
        InvalidPlan::of("order.zoned", format!("the sum of the spaces is {sum} percent"))
            .remedy("make it 100")
    })?;
    let sum = lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length));
    bytes("offset + zones", pattern.offset, ByteSize(sum))?;
    let region = pattern.region.and_then(length).unwrap_or(u64::MAX);
    require(sum <= region, || {
        let rule =
            format!("the zones have {} together, and the region has {}", ByteSize(sum), ByteSize(region));
        InvalidPlan::of("order.zoned", rule).remedy("make them smaller")
    })
}

/// Checks that shares lie between 1 and 100 percent.
fn shares(name: &str, space: Space) -> Result {
    share(space).map_or(Ok(()), |percent| within(name, percent, 1, 100))
}

fn share(space: Space) -> Option<u64> {
    if let Space::Percent(percent) = space { Some(percent.into()) } else { None }
}

fn length(space: Space) -> Option<u64> {
    if let Space::Bytes(bytes) = space { Some(bytes.0) } else { None }
}

fn jobs(pattern: &Generator, plan: &Plan) -> Result {
    within("jobs", pattern.jobs.into(), 1, MAX_JOBS)?;
    let apart = pattern.jobs == 1 || !pattern.writes() || plan.overlap.policy == OverlapPolicy::Allow;
    require(apart, || {
        InvalidPlan::of(
            "jobs",
            "each job knows only its own requests, so overlaps between jobs would go unnoticed",
        )
        .value(pattern.jobs)
        .remedy("set `overlap.policy = \"allow\"` or `jobs = 1`, or only read")
    })
}

fn end(pattern: &Generator, phase: &Phase) -> Result {
    let (stop, passes) = (pattern.stop, phase.passes);
    let is_timed =
        stop.runtime.is_some() || stop.time_limit.is_some() || phase.coordination.runtime.is_some();
    require(is_timed || !pattern.ends_by_time(), || {
        InvalidPlan::whole("a pass would never end")
            .remedy("give `stop.requests`, `stop.bytes`, `stop.runtime` or `stop.time_limit`")
    })?;
    if let Some(amount) = stop.bytes {
        shares("stop.bytes", amount)?;
        bytes("stop.bytes", ByteSize(0), ByteSize(length(amount).unwrap_or_default()))?;
        require(length(amount) != Some(0), || InvalidPlan::of("stop.bytes", "it must be above 0").value(0))?;
    }
    time("stop.runtime", stop.runtime.unwrap_or_default())?;
    time("stop.ramp", stop.ramp)?;
    time("stop.time_limit", stop.time_limit.unwrap_or_default())?;
    time("stop.ramp + stop.runtime", stop.end().unwrap_or_default())?;
    let requests = stop.requests.unwrap_or_default();
    require(requests.checked_mul(passes.into()).is_some_and(|all| all <= MAX_REQUESTS), || {
        InvalidPlan::of("stop.requests", format!("at most 2^52 can be numbered in all {passes} passes"))
            .value(requests)
    })?;
    pace(pattern, requests)
}

fn pace(pattern: &Generator, requests: u64) -> Result {
    let at = |units: u128, per_second: u64| {
        Nanos(u64::try_from(units * 1_000_000_000 / u128::from(per_second)).unwrap_or(u64::MAX))
    };
    let (last_due, per_second) = match pattern.pace {
        Pace::Closed => return Ok(()),
        Pace::Rate { iops, .. } => {
            require(iops > Decimal::whole(0) && iops <= Decimal::whole(1_000_000_000), || {
                InvalidPlan::of("pace.iops", "it must be above 0 and at most 1000000000").value(iops)
            })?;
            let parts = Decimal::whole(1).parts();
            (at(u128::from(requests) * u128::from(parts), iops.parts()), iops.as_f64())
        }
        Pace::Bandwidth { bytes_per_second, .. } => {
            within("pace.bytes_per_second", bytes_per_second.0, 1, MAX_BANDWIDTH)?;
            let bytes = u128::from(requests) * u128::from(pattern.longest());
            (at(bytes, bytes_per_second.0), bytes_per_second.0 as f64)
        }
        Pace::Rising(rising) => {
            validate_rising(&rising)?;
            (rising.due(requests), rising.to as f64)
        }
    };
    // The runtime, if there is one, ends the pass before its times grow too large.
    let is_timed = pattern.stop.runtime.is_some() || pattern.stop.time_limit.is_some();
    require(is_timed || last_due <= MAX_TIME, || {
        InvalidPlan::of("stop.requests", format!("at {per_second} a second they take more than 146 years"))
            .value(requests)
            .remedy("use fewer")
    })?;
    require(is_timed || pattern.stop.ramp <= last_due, || {
        InvalidPlan::of("stop.ramp", "the last request is due before it ends")
            .value(pattern.stop.ramp)
            .remedy("make it shorter")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::sample;
    use crate::validate::tests::{Spoil, all_refused};
    use crate::{Process, Workload};

    fn pattern(plan: &mut Plan) -> &mut Generator {
        let Workload::Generated(pattern) = &mut plan.phases[0].jobs[1].workload else {
            unreachable!("the sample has it")
        };
        pattern
    }

    fn split(shares: &[(u64, u8)]) -> BlockSizes {
        let share = |(size, percent): &(u64, u8)| SizeShare { size: ByteSize(*size), percent: *percent };
        BlockSizes::Split(shares.iter().map(share).collect())
    }

    fn range(least: u64, most: u64) -> BlockSizes {
        BlockSizes::Range(SizeRange { least: ByteSize(least), most: ByteSize(most) })
    }

    fn zones(zones: &[(u8, &str)]) -> Order {
        let zone = |(percent, space): &(u8, &str)| Zone { percent: *percent, space: space.parse().unwrap() };
        Order::Zoned(zones.iter().map(zone).collect())
    }

    fn number(text: &str) -> crate::Decimal {
        text.parse().unwrap()
    }

    /// Every order, with sizes and a pace that go with it.
    fn sound() -> Vec<Plan> {
        let orders = [
            (Order::Sequential, range(512, 65_536)),
            (Order::Random, split(&[(4096, 60), (65_536, 40)])),
            (Order::Shuffled, ByteSize(4096).into()),
            (Order::MersenneShuffled, ByteSize(4096).into()),
            (Order::Backward, ByteSize(4096).into()),
            (Order::Strided { every: 17 }, ByteSize(4096).into()),
            (Order::Zipf { theta: number("1.1") }, range(4096, 8192)),
            (Order::Zipf { theta: number("1") }, ByteSize(4096).into()),
            (Order::Pareto { h: number("0.2") }, ByteSize(4096).into()),
            (Order::Normal { deviation: number("20") }, ByteSize(4096).into()),
            (zones(&[(60, "10%"), (40, "90%")]), ByteSize(4096).into()),
            (zones(&[(60, "10GiB"), (0, "1GiB"), (40, "90GiB")]), ByteSize(4096).into()),
        ];
        let plan = |(order, sizes)| {
            let mut plan = sample();
            plan.overlap.policy = OverlapPolicy::Allow;
            let p = pattern(&mut plan);
            (p.order, p.block_size, p.jobs) = (order, sizes, 3);
            p.pace = Pace::Bandwidth { bytes_per_second: ByteSize(10 << 20), process: Process::Poisson };
            p.stop = crate::Stop { runtime: Some(Nanos::SECOND), ramp: Nanos(5), ..crate::Stop::default() };
            plan
        };
        orders.into_iter().map(plan).collect()
    }

    #[test]
    fn every_pattern_round_trips_through_toml() {
        for plan in sound() {
            plan.validate().unwrap();
            let text = plan.to_toml();
            assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        }
        let mut plan = sample();
        pattern(&mut plan).write_block_size = Some(range(512, 1024));
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn errors_name_unknown_pattern_fields() {
        let fields =
            ["theta", "h", "deviation", "size", "most", "bytes_per_second", "ramp"].map(|f| format!("\n{f}"));
        for field in fields.into_iter().chain([", space".to_string()]) {
            let plans = sound();
            let field = format!("{field} = ");
            let text = plans.iter().map(Plan::to_toml).find(|text| text.contains(&field)).expect(&field);
            let separator = if field.starts_with(',') { ", " } else { "\n" };
            let text = text.replacen(&field, &format!("{separator}bogus = 3{field}"), 1);
            let error = Plan::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains("unknown field `bogus`"), "{error}");
        }
    }

    #[test]
    fn rejects_contradictory_patterns() {
        let cases: [(&str, Spoil); 22] = [
            ("block_size", |p| pattern(p).block_size = split(&[(4096, 60), (8192, 41)])),
            ("block_size", |p| pattern(p).block_size = split(&[])),
            ("never occurs", |p| pattern(p).block_size = split(&[(4096, 0), (8192, 100)])),
            ("write_block_size", |p| pattern(p).write_block_size = Some(split(&[(0, 100)]))),
            ("block_size.least", |p| pattern(p).block_size = range(0, 4096)),
            ("multiple", |p| pattern(p).block_size = range(4096, 6000)),
            ("multiple", |p| pattern(p).block_size = range(8192, 4096)),
            ("shuffled", |p| (pattern(p).order, pattern(p).block_size) = (Order::Shuffled, range(512, 1024))),
            ("more than 100 percent together", |p| {
                (pattern(p).read_percent, pattern(p).discard_percent) = (number("60"), number("30"));
                pattern(p).zeroes_percent = number("10.5");
            }),
            ("a list names the operation", |p| {
                pattern(p).order = Order::List { file: "list".into() };
                (pattern(p).read_percent, pattern(p).zeroes_percent) = (number("0"), number("1"));
            }),
            ("theta", |p| pattern(p).order = Order::Zipf { theta: number("0") }),
            ("theta", |p| pattern(p).order = Order::Zipf { theta: number("10.5") }),
            ("pareto.h", |p| pattern(p).order = Order::Pareto { h: number("1") }),
            ("deviation", |p| pattern(p).order = Order::Normal { deviation: number("101") }),
            ("60 percent", |p| pattern(p).order = zones(&[(60, "100%")])),
            ("90 percent", |p| pattern(p).order = zones(&[(100, "90%")])),
            ("either", |p| pattern(p).order = zones(&[(50, "90%"), (50, "1g")])),
            ("without space", |p| pattern(p).order = zones(&[(50, "100%"), (50, "0%")])),
            ("region", |p| {
                let region = Some(Space::Bytes(ByteSize(1 << 30)));
                (pattern(p).order, pattern(p).region) = (zones(&[(100, "2g")]), region);
            }),
            ("jobs", |p| pattern(p).jobs = 0),
            ("overlap.policy", |p| pattern(p).jobs = 2),
            ("ramp", |p| pattern(p).stop.ramp = Nanos::from_secs(99)),
        ];
        all_refused(&cases);
    }

    #[test]
    fn read_only_jobs_accept_any_overlap_policy() {
        let mut plan = sample();
        (pattern(&mut plan).jobs, pattern(&mut plan).read_percent) = (8, Decimal::whole(100));
        plan.validate().unwrap();
    }

    #[test]
    fn ignores_sizes_with_zero_share() {
        let mut plan = sample();
        let p = pattern(&mut plan);
        (p.block_size, p.write_block_size) = (ByteSize(4096).into(), Some(split(&[(512, 50), (1536, 50)])));
        p.read_percent = Decimal::whole(100);
        assert_eq!((p.fixed_size(), p.to_string().as_str()), (Some(4096), "random 4KiB 100% read"));
        p.read_percent = Decimal::whole(75);
        assert_eq!((p.smallest(), p.longest(), p.mean_size()), (512, 4096, 3328.0));
        assert!(p.is_aligned(512) && !p.is_aligned(1024));
        assert_eq!(p.to_string(), "random 512-4KiB 75% read");
    }
}
