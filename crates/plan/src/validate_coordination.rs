//! Rules of options and coordination beyond their types.

use crate::rules::{Result, require, time, within};
use crate::validate_file_steps::validate_file_steps;
use crate::{
    Amount, AtEnd, Coordination, Data, Decimal, ExpectedData, Generator, InvalidPlan, Job, Order,
    OverlapPolicy, Phase, Plan,
};

/// Checks how a job handles its target.
pub(crate) fn validate_options(job: &Job, phase: &Phase, plan: &Plan) -> Result {
    let options = &job.options;
    time("options.start_delay", options.start_delay)?;
    above_zero("options.max_errors", options.max_errors != Some(0))?;
    require(options.align.0 < 1 << 30, || {
        InvalidPlan::of("options.align", "it must be below 1 GiB").value(options.align)
    })?;
    for (field, bytes) in
        [("options.buffer_set", options.buffer_set), ("options.purge_cpu_cache", options.purge_cpu_cache)]
    {
        require(bytes.0 <= 1 << 30, || InvalidPlan::of(field, "it must be at most 1 GiB").value(bytes))?;
    }
    within("options.cpu", options.cpu.unwrap_or(0).into(), 0, 8191)?;
    validate_file_steps(job, plan)?;
    if let Some(Data::Dedupe(dedupe)) = &options.data {
        dedupe.validate()?;
    }
    let Some(verify) = options.verify else { return Ok(()) };
    let is_sequenced = matches!(options.data, Some(Data::Sequenced));
    match verify.what {
        ExpectedData::Contents => {
            require(options.data.is_some(), || {
                InvalidPlan::of(
                    "options.verify",
                    "contents are compared with `options.data`, and there is none",
                )
                .remedy("name a pattern in `options.data`")
            })?;
            can_be_checked(job, phase, plan)
        }
        ExpectedData::Headers => {
            let has_data = |job: &Job| job.options.data.is_some();
            require(!plan.jobs_on(job.target.into()).any(has_data), || {
                let rule = "what `options.data` names has no headers";
                InvalidPlan::of("options.verify", rule)
                    .value("\"headers\"")
                    .remedy("remove `options.data` from the jobs on the target, or check \"contents\"")
            })
        }
        ExpectedData::Location => {
            require(!verify.immediate || is_sequenced, || {
                let rule = "a location can be read back at once only where it was written";
                InvalidPlan::of("options.verify", rule).remedy("use `options.data = \"sequenced\"`")
            })?;
            holds_locations(job, plan)
        }
    }
}

/// Whether all that the plan itself writes to the target of a job holds its location.
fn holds_locations(job: &Job, plan: &Plan) -> Result {
    let is_other = |other: &&Job| {
        let writes = other.workload.generator().is_none_or(Generator::writes);
        writes && !matches!(other.options.data, Some(Data::Sequenced))
    };
    require(plan.jobs_on(job.target.into()).all(|other| !is_other(&other)), || {
        let rule = "what the plan writes to the target does not hold its location, so each read of it would look bad";
        InvalidPlan::of("options.verify", rule)
            .value("\"location\"")
            .remedy("use `options.data = \"sequenced\"` in each job that writes to it")
    })
}

/// Whether read data can be checked: it was written by the same request, or is a function of its place.
fn can_be_checked(job: &Job, phase: &Phase, plan: &Plan) -> Result {
    let Some(verify) = job.options.verify else { return Ok(()) };
    let by_place = job.options.data.as_ref().is_some_and(Data::is_by_place);
    let is_random = matches!(job.options.data, Some(Data::Random));
    require(!is_random || verify.immediate, || {
        let rule =
            "random data differs in every request, so only data that is read back at once can be checked";
        InvalidPlan::of("options.verify", rule)
            .remedy("say `options.verify.immediate = true`, or use `options.data = \"sequenced\"`")
    })?;
    let writes = job.workload.generator().is_none_or(Generator::writes);
    require(!is_random || writes, || {
        let rule = "random data is checked where it was written just before, and this job writes nothing";
        InvalidPlan::of("options.verify", rule).remedy("remove it, or use `options.data = \"sequenced\"`")
    })?;
    let path_of = |job: &Job| &plan.targets[usize::from(job.target)].path;
    let mut others = phase.jobs.iter().filter(|other| other.target != job.target);
    let is_used_twice = others.any(|other| path_of(other) == path_of(job));
    let shares = job.workload.jobs() > 1 || job.depth > 1 || is_used_twice;
    let never_meets = job.workload.generator().is_some_and(|g| {
        let ascends = matches!(g.order, Order::Sequential | Order::Interleaved { .. } | Order::Staggered);
        ascends && g.at_end == AtEnd::Extend
    });
    let is_apart = plan.overlap.policy != OverlapPolicy::Allow && job.workload.jobs() == 1;
    require(by_place || !verify.immediate || !shares || never_meets || is_apart, || {
        let rule =
            "several requests may write to one place at the same time, and each would find another's data";
        InvalidPlan::of("options.verify", rule)
            .remedy("use one job of `depth = 1`, or `options.data = \"sequenced\"`")
    })
}

/// Checks how the jobs of a phase wait for each other: every wait ends at some time.
pub(crate) fn validate_coordination(phase: &Phase) -> Result {
    let Coordination { pass_delay, runtime, meet_every, lockstep, start, stop, .. } = &phase.coordination;
    time("coordination.pass_delay", *pass_delay)?;
    time("coordination.runtime", runtime.unwrap_or_default())?;
    above_zero("coordination.runtime", runtime.is_none_or(|time| time.0 > 0))?;
    above_zero("coordination.meet_every", *meet_every != Some(0))?;
    for (i, l) in lockstep.iter().enumerate() {
        let entry = Entry { field: "coordination.lockstep", number: i, phase };
        entry.pair(("master", l.master), ("slave", l.slave))?;
        entry.reached("every", l.every)?;
        entry.reached("task", l.task)?;
        require(!matches!(l.task, Amount::Percent(_)), || {
            entry.invalid("task", "a slave's task is no percentage").remedy("use ops, bytes or time")
        })?;
        entry.counted(l.master, l.every)?;
        let others = lockstep[..i].iter().any(|other| other.slave == l.slave);
        require(!others, || {
            let rule = format!("`job` {} is the slave of two masters", l.slave);
            entry.invalid("slave", &rule).remedy("remove one of them")
        })?;
    }
    for (field, triggers) in [("coordination.start", start), ("coordination.stop", stop)] {
        for (number, t) in triggers.iter().enumerate() {
            let entry = Entry { field, number, phase };
            entry.pair(("leader", t.leader), ("follower", t.follower))?;
            entry.reached("when", t.when)?;
            entry.counted(t.leader, t.when)?;
        }
    }
    if phase.coordination.in_turn { can_take_turns(phase) } else { no_cycle(phase) }
}

/// Checks that jobs that take turns have one request at a time, and no other reason to wait.
fn can_take_turns(phase: &Phase) -> Result {
    let Coordination { meet_every, lockstep, start, stop, free_passes, .. } = &phase.coordination;
    let keeps = |holds: bool, rule: &str, remedy: &str| {
        require(holds, || InvalidPlan::of("coordination.in_turn", rule).value(true).remedy(remedy))
    };
    let all = |is_so: fn(&Job) -> bool| phase.jobs.iter().all(is_so);
    keeps(phase.jobs.len() > 1, "one job has nobody to take turns with", "remove it, or add a job")?;
    keeps(all(|job| job.depth == 1), "one request is in flight at a time", "use `depth = 1`")?;
    keeps(all(|job| job.workload.jobs() == 1), "each job has one turn in a round", "use `jobs = 1`")?;
    let is_closed = all(|job| !job.workload.has_timetable());
    keeps(is_closed, "a request goes after another one, not at a time of its own", "use a closed pace")?;
    let is_alone = meet_every.is_none() && lockstep.is_empty() && start.is_empty() && stop.is_empty();
    let rule = "jobs that take turns do not wait for each other in other ways, too";
    keeps(is_alone, rule, "remove `meet_every`, `lockstep`, `start` and `stop`")?;
    keeps(!free_passes, "jobs take turns within a pass", "remove `free_passes`")
}

fn above_zero(field: &str, holds: bool) -> Result {
    require(holds, || InvalidPlan::of(field, "it must be above 0").value(0))
}

/// One of several lockstep pairs or triggers.
struct Entry<'a> {
    field: &'static str,
    number: usize,
    phase: &'a Phase,
}

impl Entry<'_> {
    fn invalid(&self, part: &str, rule: &str) -> InvalidPlan {
        InvalidPlan::of(self.field, format!("number {}: {part}: {rule}", self.number))
    }

    fn pair(&self, first: (&str, u16), second: (&str, u16)) -> Result {
        for (part, number) in [first, second] {
            require(usize::from(number) < self.phase.jobs.len(), || {
                let rule = format!("there is no `job` {number}; there are {}", self.phase.jobs.len());
                self.invalid(part, &rule).remedy("they are counted from 0")
            })?;
        }
        require(first.1 != second.1, || {
            self.invalid(second.0, &format!("`job` {} cannot wait for itself", first.1))
                .remedy("name another one")
        })
    }

    fn reached(&self, part: &str, amount: Amount) -> Result {
        let is_more = match amount {
            Amount::Time(t) => {
                time(self.field, t)?;
                t.0 > 0
            }
            Amount::Ops(n) => n > 0,
            Amount::Bytes(n) => n.0 > 0,
            Amount::Percent(p) => {
                require(p <= Decimal::whole(100), || self.invalid(part, "it must be at most 100 percent"))?;
                p > Decimal::whole(0)
            }
        };
        require(is_more, || self.invalid(part, "it must be above 0"))
    }

    /// Checks that a percentage has a number to refer to.
    fn counted(&self, job: u16, amount: Amount) -> Result {
        let workload = &self.phase.jobs[usize::from(job)].workload;
        let is_counted = workload.generator().is_some_and(|generator| generator.count().is_some());
        require(!matches!(amount, Amount::Percent(_)) || is_counted, || {
            self.invalid("percent", "the number of requests of a pass is not known")
                .remedy(format!("give `job` {job} `stop.requests` or `stop.bytes`"))
        })
    }
}

/// Refuses targets that wait for each other in a cycle.
fn no_cycle(phase: &Phase) -> Result {
    let mut waits: Vec<(u16, u16)> = phase.coordination.waits().collect();
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
                InvalidPlan::of(
                    "coordination",
                    format!("each waits for another in a circle ({})", names.join(", ")),
                )
                .remedy("remove one of `coordination.lockstep` and `coordination.start`")
            });
        }
        waits = left;
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    fn plan() -> Plan {
        let generator = Generator {
            at_end: AtEnd::Extend,
            sharing: Sharing::Striped,
            stop: Stop { requests: Some(10), ..Stop::default() },
            ..Generator::new(Order::Sequential, ByteSize(65_536))
        };
        let job = |target| Job::new(target, 128, Workload::Generated(generator.clone()));
        let phases = vec![Phase::of(vec![job(0), job(1), job(2)])];
        let targets = ["a", "b", "c"].map(Target::new).into();
        Plan { targets, phases, engine: Engine::Null, ..crate::plan::tests::sample() }
    }

    fn first(plan: &mut Plan) -> &mut Generator {
        let Workload::Generated(generator) = &mut plan.phases[0].jobs[0].workload else {
            unreachable!("all are")
        };
        generator
    }

    fn lockstep(master: u16, slave: u16) -> Lockstep {
        let (every, task) = (Amount::Ops(1), Amount::Ops(1));
        Lockstep { master, slave, every, task, begins: Begins::Wait, ends: Ends::Complete }
    }

    fn trigger(leader: u16, follower: u16) -> Trigger {
        Trigger { leader, follower, when: Amount::Ops(1) }
    }

    fn take_turns(plan: &mut Plan) {
        plan.phases[0].coordination.in_turn = true;
        plan.phases[0].jobs.iter_mut().for_each(|job| job.depth = 1);
    }

    #[test]
    fn accepts_jobs_in_turn() {
        let mut plan = plan();
        take_turns(&mut plan);
        plan.validate().unwrap();
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn rejects_impossible_coordination() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 29] = [
            ("nobody to take turns", |p| {
                (p.phases, p.targets) =
                    (vec![Phase::of(vec![p.phases[0].jobs[0].clone()])], vec![p.targets[0].clone()]);
                p.phases[0].coordination.in_turn = true;
            }),
            ("use depth = 1", |p| p.phases[0].coordination.in_turn = true),
            ("use jobs = 1", |p| {
                take_turns(p);
                first(p).jobs = 2;
            }),
            ("closed pace", |p| {
                take_turns(p);
                first(p).pace = Pace::Rate { iops: Decimal::whole(9), process: Process::Constant };
            }),
            ("remove meet_every", |p| {
                take_turns(p);
                p.phases[0].coordination.meet_every = Some(2);
            }),
            ("remove meet_every", |p| {
                take_turns(p);
                p.phases[0].coordination.start = vec![trigger(0, 1)];
            }),
            ("remove free_passes", |p| {
                take_turns(p);
                p.phases[0].coordination.free_passes = true;
            }),
            ("multiple", |p| first(p).unit = Some(ByteSize(1000))),
            ("never end", |p| first(p).stop.requests = None),
            ("no request", |p| first(p).stop.requests = Some(0)),
            ("read_percent", |p| first(p).read_percent = Decimal::whole(101)),
            ("jobs", |p| first(p).jobs = 0),
            ("iops", |p| {
                first(p).pace = Pace::Rate { iops: Decimal::whole(0), process: Process::Trailing };
            }),
            ("every", |p| first(p).order = Order::Interleaved { every: 0 }),
            ("fit", |p| {
                (first(p).order, first(p).region) = (Order::Staggered, Some(Space::Bytes(ByteSize(65536))));
            }),
            ("2^63", |p| first(p).pass_offset = ByteSize(1 << 62)),
            ("circle", |p| {
                p.phases[0].coordination.lockstep = vec![lockstep(0, 1), lockstep(1, 2), lockstep(2, 0)]
            }),
            ("circle", |p| {
                (p.phases[0].coordination.lockstep, p.phases[0].coordination.start) =
                    (vec![lockstep(0, 1)], vec![trigger(1, 0)])
            }),
            ("itself", |p| p.phases[0].coordination.stop = vec![trigger(1, 1)]),
            ("no job 3", |p| p.phases[0].coordination.start = vec![trigger(0, 3)]),
            ("two masters", |p| p.phases[0].coordination.lockstep = vec![lockstep(0, 2), lockstep(1, 2)]),
            ("above 0", |p| {
                p.phases[0].coordination.lockstep = vec![Lockstep { every: Amount::Ops(0), ..lockstep(0, 2) }]
            }),
            ("percent", |p| {
                p.phases[0].coordination.stop =
                    vec![Trigger { when: Amount::Percent(Decimal::whole(101)), ..trigger(0, 1) }];
            }),
            ("meet_every", |p| p.phases[0].coordination.meet_every = Some(0)),
            ("name a pattern", |p| {
                p.phases[0].jobs[0].options.verify =
                    Some(JobVerification { what: ExpectedData::Contents, immediate: false });
            }),
            ("does not hold its location", |p| {
                first(p).read_percent = Decimal::whole(50);
                p.phases[0].jobs[0].options.verify =
                    Some(JobVerification { what: ExpectedData::Location, immediate: false });
            }),
            ("this job writes nothing", |p| {
                let options = &mut p.phases[0].jobs[0].options;
                (options.data, options.verify) = (
                    Some(Data::Random),
                    Some(JobVerification { what: ExpectedData::Contents, immediate: true }),
                );
            }),
            ("find another's data", |p| {
                (first(p).read_percent, first(p).at_end) = (Decimal::whole(0), AtEnd::Wrap);
                p.targets[1].path = "a".into();
                p.overlap.policy = OverlapPolicy::Allow;
                let job = &mut p.phases[0].jobs[0];
                (job.depth, job.options.data) = (1, Some(Data::Random));
                job.options.verify = Some(JobVerification { what: ExpectedData::Contents, immediate: true });
            }),
            ("create", |p| p.targets[0].file.between_passes = BetweenPasses::Recreate),
        ];
        plan().validate().unwrap();
        for (word, spoil) in cases {
            let mut plan = plan();
            plan.phases[0].passes = 3;
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn coordination_round_trips() {
        let mut plan = plan();
        let orders = [
            Order::Staggered,
            Order::Fixed,
            Order::Random,
            Order::List { file: "a.T0Q0.txt".into() },
            Order::Fixed,
        ];
        for (order, data) in orders.into_iter().zip([
            Data::Byte(0x78),
            Data::Ascii("HELLO".into()),
            Data::Sequenced,
            Data::Random,
            Data::Dedupe(Dedupe { skew: 3, ..Dedupe::of(50, ByteSize(4096)) }),
        ]) {
            let options = &mut plan.phases[0].jobs[0].options;
            options.data = Some(data);
            (options.buffer_set, options.purge_cpu_cache) = (ByteSize(16 << 20), ByteSize(1 << 20));
            options.verify = Some(JobVerification { what: ExpectedData::Contents, immediate: true });
            options.access = Some(Access { buffered: true, sync: SyncFlag::None });
            plan.targets[0].file = FileLifecycle {
                create: true,
                between_passes: BetweenPasses::NewFile,
                preallocate: ByteSize(1024),
                sync_each_pass: true,
                sync_every_passes: 3,
                delete: true,
                ..FileLifecycle::default()
            };
            (first(&mut plan).order, first(&mut plan).read_percent) = (order, Decimal::whole(0));
            first(&mut plan).pace = Pace::Rate { iops: "0.5".parse().unwrap(), process: Process::Trailing };
            plan.phases[0].coordination = Coordination {
                pass_delay: Nanos(5),
                free_passes: false,
                runtime: Some(Nanos(7)),
                ends: PhaseEnd::First,
                meet_every: Some(2),
                in_turn: false,
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
