//! What series, handling and conduct must keep to, beyond what their types say.

use crate::validate::{MAX_REQUESTS, Result, bytes, require, time, utf8, within};
use crate::{
    Amount, ByteSize, Checked, Conduct, Data, Decimal, Plan, Source, StepOrder, StepsSource, Target, Throttle,
};

/// The longest request.
const MAX_REQUEST: u64 = 1 << 30;

/// Checks a series of a plan.
pub(crate) fn validate_steps(steps: &StepsSource, plan: &Plan) -> Result {
    within("request_size", steps.request_size.0, 1, MAX_REQUEST)?;
    within("unit", steps.unit.0, 1, steps.request_size.0)?;
    require(steps.request_size.0.is_multiple_of(steps.unit.0), || {
        format!("request_size = {}: it is no multiple of unit = {}", steps.request_size, steps.unit)
    })?;
    require(steps.read_percent <= Decimal::whole(100), || {
        format!("read_percent = {}: it must lie between 0 and 100", steps.read_percent)
    })?;
    within("jobs", steps.jobs.into(), 1, 1024)?;
    amount(steps, plan)?;
    order(steps)?;
    bytes("offset + request_size", steps.offset, steps.request_size)?;
    bytes("locations", ByteSize(steps.end(plan.passes).unwrap_or(0)), ByteSize(0))?;
    time("time_limit", steps.time_limit.unwrap_or_default())?;
    match steps.throttle {
        Some(Throttle::Ops(x) | Throttle::Bytes(x)) => {
            require(x > Decimal::whole(0), || "throttle: it must be above 0".into())
        }
        None => Ok(()),
    }
}

fn amount(steps: &StepsSource, plan: &Plan) -> Result {
    require(steps.requests.is_none() || steps.bytes.is_none(), || {
        "requests and bytes both say how long a pass is: leave one of them out".into()
    })?;
    let count = steps.count();
    require(count != Some(0), || "a pass of no request: give requests or bytes above 0".into())?;
    let is_list = matches!(steps.order, StepOrder::List { .. });
    require(
        count.is_some() || is_list || steps.time_limit.is_some() || plan.conduct.runtime.is_some(),
        || "nothing says when a pass ends: give requests, bytes or time_limit".into(),
    )?;
    let all = count.unwrap_or(0).saturating_mul(plan.passes.into());
    require(all <= MAX_REQUESTS, || format!("{all} requests over all passes: at most 2^53 can be counted"))
}

fn order(steps: &StepsSource) -> Result {
    match &steps.order {
        StepOrder::Sequential { interleave } => {
            within("order.sequential.interleave", (*interleave).into(), 1, 1 << 31)
        }
        StepOrder::Fixed => Ok(()),
        StepOrder::List { file } => utf8("order.list.file", file),
        StepOrder::Staggered | StepOrder::Random { .. } => {
            let name = if steps.order == StepOrder::Staggered { "staggered" } else { "random" };
            require(steps.order != StepOrder::Staggered || steps.count().is_some(), || {
                "order = \"staggered\": requests are spread over the range, so their number must be known: give requests \
                 or bytes"
                    .into()
            })?;
            let range = steps.range_bytes();
            require(range.is_some(), || format!("order = \"{name}\": give a range, or requests or bytes"))?;
            let least = match steps.order {
                StepOrder::Staggered => steps.amount().unwrap_or(0),
                _ => steps.length(0),
            };
            require(range.unwrap_or(0) >= least, || {
                format!("range = {}: {least} bytes do not fit into it", ByteSize(range.unwrap_or(0)))
            })
        }
    }
}

/// Checks how a target is handled.
pub(crate) fn validate_handling(target: &Target) -> Result {
    let (handling, file) = (&target.handling, &target.handling.file);
    let is_steps = matches!(target.source, Source::Steps(_));
    time("handling.start_delay", handling.start_delay)?;
    require(is_steps || handling.is_default(), || {
        "handling: only a source of kind \"steps\" takes it; leave it out".into()
    })?;
    require(handling.max_errors != Some(0), || "handling.max_errors = 0: it must be above 0".into())?;
    require(handling.align.0 < 1 << 30, || {
        format!("handling.align = {}: it must be below 1 GiB", handling.align)
    })?;
    within("handling.cpu", handling.cpu.unwrap_or(0).into(), 0, 8191)?;
    require(!file.between_passes.makes_files() || file.create, || {
        "handling.file.between_passes makes files anew: say create = true, too".into()
    })?;
    let Some(verify) = handling.verify else { return Ok(()) };
    let is_sequenced = matches!(handling.data, Some(Data::Sequenced));
    match verify.what {
        Checked::Contents => {
            require(handling.data.is_some(), || {
                "handling.verify: contents are compared with handling.data, and there is none: name a pattern"
                    .into()
            })?;
            can_be_checked(target)
        }
        Checked::Location => require(!verify.immediate || is_sequenced, || {
            "handling.verify: a location can be read back at once only where it was written: data = \"sequenced\""
                .into()
        }),
    }
}

/// Whether what is read, or read back, can be known: it is what the same request wrote, or a function of its place.
fn can_be_checked(target: &Target) -> Result {
    let (Source::Steps(steps), Some(verify)) = (&target.source, target.handling.verify) else {
        return Ok(());
    };
    let by_place = matches!(target.handling.data, Some(Data::Byte(_) | Data::Sequenced));
    let is_random = matches!(target.handling.data, Some(Data::Random));
    require(!is_random || verify.immediate, || {
        "handling.verify: random data differs in every request, so only what is read back at once can be checked: say \
         immediate = true, or use data = \"sequenced\""
            .into()
    })?;
    let may_meet = !matches!(steps.order, StepOrder::Sequential { .. } | StepOrder::Staggered);
    require(by_place || !verify.immediate || steps.jobs == 1 || !may_meet, || {
        "handling.verify: several jobs may write to one place, and each would find another's data: use one job, or data = \
         \"sequenced\""
            .into()
    })
}

/// Checks how targets wait for each other: whoever waits is let go at some time.
pub(crate) fn validate_conduct(plan: &Plan) -> Result {
    let Conduct { pass_delay, runtime, meet_every, lockstep, start, stop, .. } = &plan.conduct;
    time("conduct.pass_delay", *pass_delay)?;
    time("conduct.runtime", runtime.unwrap_or_default())?;
    require(runtime.is_none_or(|time| time.0 > 0), || "conduct.runtime: it must be above 0".into())?;
    require(*meet_every != Some(0), || "conduct.meet_every = 0: it must be above 0".into())?;
    let is_default = plan.conduct == Conduct::default();
    let all_steps = plan.targets.iter().all(|t| matches!(t.source, Source::Steps(_)));
    require(is_default || all_steps, || "conduct: it needs sources of kind \"steps\" on all targets".into())?;
    for (i, l) in lockstep.iter().enumerate() {
        let name = format!("conduct.lockstep {i}");
        pair(plan, &name, "master", l.master, "slave", l.slave)?;
        reached(&format!("{name}: every"), l.every)?;
        reached(&format!("{name}: task"), l.task)?;
        require(!matches!(l.task, Amount::Percent(_)), || {
            format!("{name}: task: a slave's task is no percentage: use ops, bytes or time")
        })?;
        counted(plan, &name, l.master, l.every)?;
        let others = lockstep[..i].iter().any(|other| other.slave == l.slave);
        require(!others, || format!("{name}: target {} is the slave of two masters", l.slave))?;
    }
    for (name, triggers) in [("start", start), ("stop", stop)] {
        for (i, t) in triggers.iter().enumerate() {
            let name = format!("conduct.{name} {i}");
            pair(plan, &name, "leader", t.leader, "follower", t.follower)?;
            reached(&format!("{name}: when"), t.when)?;
            counted(plan, &name, t.leader, t.when)?;
        }
    }
    no_cycle(plan)
}

fn pair(plan: &Plan, name: &str, first: &str, a: u16, second: &str, b: u16) -> Result {
    for (word, number) in [(first, a), (second, b)] {
        require(usize::from(number) < plan.targets.len(), || {
            format!("{name}: {word} = {number}: there is no such target; there are {}", plan.targets.len())
        })?;
    }
    require(a != b, || format!("{name}: target {a} cannot wait for itself"))
}

fn reached(name: &str, amount: Amount) -> Result {
    let is_more = match amount {
        Amount::Time(t) => {
            time(name, t)?;
            t.0 > 0
        }
        Amount::Ops(n) => n > 0,
        Amount::Bytes(n) => n.0 > 0,
        Amount::Percent(p) => {
            require(p <= Decimal::whole(100), || format!("{name}: at most 100 percent"))?;
            p > Decimal::whole(0)
        }
    };
    require(is_more, || format!("{name}: it must be above 0"))
}

/// A percentage needs a number to be a percentage of.
fn counted(plan: &Plan, name: &str, target: u16, amount: Amount) -> Result {
    let source = &plan.targets[usize::from(target)].source;
    let is_counted = matches!(source, Source::Steps(s) if s.count().is_some());
    require(!matches!(amount, Amount::Percent(_)) || is_counted, || {
        format!(
            "{name}: percent of a pass whose number of requests is not known: give target {target} requests or bytes"
        )
    })
}

/// Targets that wait for each other in a circle would wait for ever.
fn no_cycle(plan: &Plan) -> Result {
    let mut waits: Vec<(u16, u16)> = plan.conduct.waits().collect();
    loop {
        let is_free =
            |target: u16, waits: &[(u16, u16)]| waits.iter().all(|(_, follower)| *follower != target);
        let left: Vec<_> = waits.iter().copied().filter(|(leader, _)| !is_free(*leader, &waits)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == waits.len() {
            let names: Vec<String> = left.iter().map(|(a, b)| format!("{b} for {a}")).collect();
            return require(false, || {
                format!(
                    "conduct: targets wait for each other in a circle ({}): leave one out",
                    names.join(", ")
                )
            });
        }
        waits = left;
    }
}

#[cfg(test)]
mod tests {
    use crate::steps::tests::steps;
    use crate::*;

    fn plan() -> Plan {
        let target = |path: &str| Target {
            path: path.into(),
            size: None,
            handling: Handling::default(),
            source: Source::Steps(StepsSource { requests: Some(10), bytes: None, ..steps() }),
        };
        let targets = vec![target("a"), target("b"), target("c")];
        Plan { targets, engine: Engine::Null, ..crate::plan::tests::sample() }
    }

    fn first(plan: &mut Plan) -> &mut StepsSource {
        let Source::Steps(steps) = &mut plan.targets[0].source else { unreachable!("all are") };
        steps
    }

    fn lockstep(master: u16, slave: u16) -> Lockstep {
        let (every, task) = (Amount::Ops(1), Amount::Ops(1));
        Lockstep { master, slave, every, task, begins: Begins::Wait, ends: Ends::Complete }
    }

    fn trigger(leader: u16, follower: u16) -> Trigger {
        Trigger { leader, follower, when: Amount::Ops(1) }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 20] = [
            ("multiple", |p| first(p).unit = ByteSize(1000)),
            ("both say", |p| first(p).bytes = Some(ByteSize(5))),
            ("when a pass ends", |p| first(p).requests = None),
            ("no request", |p| first(p).requests = Some(0)),
            ("read_percent", |p| first(p).read_percent = Decimal::whole(101)),
            ("jobs", |p| first(p).jobs = 0),
            ("throttle", |p| first(p).throttle = Some(Throttle::Ops(Decimal::whole(0)))),
            ("interleave", |p| first(p).order = StepOrder::Sequential { interleave: 0 }),
            ("fit", |p| (first(p).order, first(p).range) = (StepOrder::Staggered, Some(ByteSize(65536)))),
            ("2^63", |p| first(p).pass_offset = ByteSize(1 << 62)),
            ("circle", |p| p.conduct.lockstep = vec![lockstep(0, 1), lockstep(1, 2), lockstep(2, 0)]),
            ("circle", |p| {
                (p.conduct.lockstep, p.conduct.start) = (vec![lockstep(0, 1)], vec![trigger(1, 0)])
            }),
            ("itself", |p| p.conduct.stop = vec![trigger(1, 1)]),
            ("no such target", |p| p.conduct.start = vec![trigger(0, 3)]),
            ("two masters", |p| p.conduct.lockstep = vec![lockstep(0, 2), lockstep(1, 2)]),
            ("above 0", |p| p.conduct.lockstep = vec![Lockstep { every: Amount::Ops(0), ..lockstep(0, 2) }]),
            ("percent", |p| {
                p.conduct.stop =
                    vec![Trigger { when: Amount::Percent(Decimal::whole(101)), ..trigger(0, 1) }];
            }),
            ("meet_every", |p| p.conduct.meet_every = Some(0)),
            ("name a pattern", |p| {
                p.targets[0].handling.verify = Some(Verify { what: Checked::Contents, immediate: false });
            }),
            ("create", |p| p.targets[0].handling.file.between_passes = BetweenPasses::Recreate),
        ];
        plan().validate().unwrap();
        for (word, spoil) in cases {
            let mut plan = plan();
            plan.passes = 3;
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn everything_reads_back() {
        let mut plan = plan();
        let orders = [
            StepOrder::Staggered,
            StepOrder::Fixed,
            StepOrder::Random { seed: 72058, new_each_pass: true },
            StepOrder::List { file: "a.T0Q0.txt".into() },
        ];
        for (order, data) in orders.into_iter().zip([
            Data::Byte(0x78),
            Data::Ascii("HELLO".into()),
            Data::Sequenced,
            Data::Random,
        ]) {
            let handling = &mut plan.targets[0].handling;
            handling.data = Some(data);
            handling.verify = Some(Verify { what: Checked::Contents, immediate: true });
            handling.access = Some(Access { buffered: true, sync: false });
            handling.file = FileCare {
                create: true,
                between_passes: BetweenPasses::NewFile,
                preallocate: ByteSize(1024),
                sync_each_pass: true,
                delete: true,
            };
            first(&mut plan).order = order;
            first(&mut plan).throttle = Some(Throttle::Bytes("0.5".parse().unwrap()));
            plan.conduct = Conduct {
                pass_delay: Nanos(5),
                free_passes: false,
                runtime: Some(Nanos(7)),
                meet_every: Some(2),
                lockstep: vec![
                    lockstep(0, 1),
                    Lockstep { every: Amount::Percent("2.5".parse().unwrap()), ..lockstep(1, 2) },
                ],
                start: vec![Trigger { when: Amount::Time(Nanos(9)), ..trigger(0, 2) }],
                stop: vec![Trigger { when: Amount::Bytes(ByteSize(512)), ..trigger(0, 1) }],
            };
            plan.validate().unwrap();
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan, "{}", plan.to_toml());
        }
    }
}
