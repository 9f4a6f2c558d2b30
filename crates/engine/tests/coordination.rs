//! Targets that wait for each other, on the simulated device, from seeds: no target hangs, and the rules hold. They are judged from
//! the records alone. A failing case names its seed.

mod common;

use common::{Dice, Ran, run};
use iosonar_archive::Record;
use iosonar_plan::{
    Amount, AtEnd, Begins, ByteSize, Coordination, Decimal, Ends, Engine, Generator, Job, Lockstep, Nanos,
    Order, Overlap, OverlapPolicy, Phase, Plan, Sharing, SimModel, Stop, Target, Trigger, Workload,
};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const SIZE: u64 = 4096;

fn target(number: u64, requests: u64, jobs: u32) -> (Target, Workload) {
    // Exact places and those of a region wait for each other alike.
    let (at_end, order) = match number.is_multiple_of(2) {
        true => (AtEnd::Extend, Order::Sequential),
        false => (AtEnd::Wrap, Order::Random),
    };
    let sharing = if number.is_multiple_of(3) { Sharing::Striped } else { Sharing::Rounds };
    let workload = Workload::Generated(Generator {
        jobs,
        at_end,
        sharing,
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Generator::new(order, ByteSize(SIZE))
    });
    (Target { size: Some(ByteSize(1 << 30)), ..Target::new(format!("dev{number}")) }, workload)
}

fn plan(targets: Vec<(Target, Workload)>, coordination: Coordination, passes: u32, seed: u64) -> Plan {
    let mut dice = Dice(seed ^ 0xabc);
    let model = SimModel {
        service: Nanos(1_000 + dice.below(100_000)),
        jitter: Nanos(dice.below(3) * dice.below(300_000)),
        ..SimModel::default()
    };
    let (targets, workloads): (_, Vec<_>) = targets.into_iter().unzip();
    let jobs = workloads.into_iter().enumerate().map(|(i, workload)| Job::new(i as u16, 1, workload));
    let phase = Phase { passes, coordination, ..Phase::of(jobs.collect()) };
    Plan {
        seed,
        engine: Engine::Sim(model),
        overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
        ..Plan::new(1, targets, vec![phase])
    }
}

impl Ran {
    /// The requests of a target and pass, in the order in which they began.
    fn of(&self, target: u16, pass: u32) -> Vec<&Record> {
        let mut own: Vec<_> = self.records.iter().filter(|r| r.target == target && r.pass == pass).collect();
        own.sort_by_key(|r| (r.submitted, r.completed));
        own
    }

    /// Completions of a target and pass, in order.
    fn ends(&self, target: u16, pass: u32) -> Vec<Nanos> {
        let mut ends: Vec<_> = self.of(target, pass).iter().filter_map(|r| r.completed).collect();
        ends.sort_unstable();
        ends
    }
}

fn execute(dir: &Path, plan: &Plan) -> Ran {
    plan.validate().expect("a valid plan");
    run(dir, plan, None)
}

/// Runs a case for each seed; one that does not end is a failure that names its seed.
fn for_seeds(seeds: std::ops::Range<u64>, case: fn(&Path, u64)) {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        let dir = tempfile::tempdir().unwrap();
        for seed in seeds {
            sender.send(seed).unwrap();
            case(dir.path(), seed);
        }
    });
    let mut last = None;
    loop {
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(seed) => last = Some(seed),
            Err(RecvTimeoutError::Timeout) => panic!("seed {last:?} hangs"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if worker.join().is_err() {
        panic!("seed {last:?} failed: see above");
    }
}

/// How many seeds each case takes; `SEEDS=5000` takes more.
fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

#[test]
fn slave_never_overtakes_master() {
    for_seeds(0..seeds(), |dir, seed| {
        let mut dice = Dice(seed);
        let (masters, slaves) = (1 + dice.below(30), 1 + dice.below(30));
        let (every, task) = (1 + dice.below(4), 1 + dice.below(4));
        let begins = if dice.one_in(2) { Begins::Run } else { Begins::Wait };
        let ends = if dice.one_in(2) { Ends::Stop } else { Ends::Complete };
        let passes = 1 + dice.below(3) as u32;
        let amount = |dice: &mut Dice, n: u64| {
            if dice.one_in(2) { Amount::Ops(n) } else { Amount::Bytes(ByteSize(n * SIZE)) }
        };
        let lockstep = Lockstep {
            master: 0,
            slave: 1,
            every: amount(&mut dice, every),
            task: amount(&mut dice, task),
            begins,
            ends,
        };
        let jobs = [1 + dice.below(3) as u32, 1 + dice.below(3) as u32];
        let targets = vec![target(0, masters, jobs[0]), target(1, slaves, jobs[1])];
        let coordination = Coordination { lockstep: vec![lockstep], ..Coordination::default() };
        let ran = execute(dir, &plan(targets, coordination, passes, seed));
        let extra = u64::from(begins == Begins::Run);
        for pass in 0..passes {
            let (master_ends, slave) = (ran.ends(0, pass), ran.of(1, pass));
            assert_eq!(master_ends.len() as u64, masters, "seed {seed}");
            let asked = (masters / every + extra) * task;
            let expected = if ends == Ends::Stop { slaves.min(asked) } else { slaves };
            assert_eq!(slave.len() as u64, expected, "seed {seed}, pass {pass}");
            for (j, record) in (0u64..).zip(slave) {
                // Request j belongs to task j / task, which goes when `needed` requests of the master are complete.
                let needed = ((j / task + 1).saturating_sub(extra) * every).min(masters);
                let after = if needed == 0 { Nanos(0) } else { master_ends[needed as usize - 1] };
                assert!(record.submitted.unwrap() >= after, "seed {seed}, pass {pass}, request {j}");
            }
        }
    });
}

#[test]
fn chains_triggers_and_barriers_terminate() {
    for_seeds(0..seeds(), |dir, seed| {
        let mut dice = Dice(!seed);
        let count = 2 + dice.below(4);
        let requests: Vec<u64> = (0..count).map(|_| 1 + dice.below(25)).collect();
        let targets: Vec<(Target, Workload)> =
            (0..count).map(|i| target(i, requests[i as usize], 1 + dice.below(3) as u32)).collect();
        let amount = |dice: &mut Dice| match dice.below(4) {
            0 => Amount::Ops(1 + dice.below(30)),
            1 => Amount::Percent(Decimal::whole(1 + dice.below(100))),
            2 => Amount::Bytes(ByteSize(1 + dice.below(20 * SIZE))),
            _ => Amount::Time(Nanos(1 + dice.below(2_000_000))),
        };
        let mut coordination = Coordination {
            meet_every: dice.one_in(2).then(|| 1 + dice.below(5)),
            pass_delay: Nanos(dice.below(2) * 1_000_000),
            ..Coordination::default()
        };
        // Every target waits for one with a lower number: no cycles.
        for follower in 1..count as u16 {
            let leader = dice.below(follower.into()) as u16;
            match dice.below(4) {
                0 => coordination.lockstep.push(Lockstep {
                    master: leader,
                    slave: follower,
                    every: amount(&mut dice),
                    task: [Amount::Ops(1), Amount::Time(Nanos(50_000)), Amount::Bytes(ByteSize(SIZE))]
                        [dice.below(3) as usize],
                    begins: if dice.one_in(2) { Begins::Run } else { Begins::Wait },
                    ends: if dice.one_in(2) { Ends::Stop } else { Ends::Complete },
                }),
                1 => coordination.start.push(Trigger { leader, follower, when: amount(&mut dice) }),
                2 => coordination.stop.push(Trigger { leader, follower, when: amount(&mut dice) }),
                _ => {}
            }
        }
        let passes = 1 + dice.below(3) as u32;
        let plan = plan(targets, coordination, passes, seed);
        let ran = execute(dir, &plan);
        for trigger in &plan.phases[0].coordination.start {
            let Amount::Ops(n) = trigger.when else { continue };
            let ends = ran.ends(trigger.leader, 0);
            let first = ran.of(trigger.follower, 0).first().map(|r| r.submitted.unwrap());
            match ends.get(n as usize - 1) {
                Some(end) => assert!(first.is_none_or(|first| first >= *end), "seed {seed}"),
                None => {
                    assert_eq!(first, None, "seed {seed}");
                    let why = ran.info.targets[usize::from(trigger.follower)].ended_early.clone();
                    assert!(why.is_some_and(|why| why.contains("never triggered")), "seed {seed}");
                }
            }
        }
        let is_free = |number: u16| {
            plan.phases[0].coordination.lockstep.iter().all(|l| l.slave != number)
                && plan.phases[0]
                    .coordination
                    .start
                    .iter()
                    .chain(&plan.phases[0].coordination.stop)
                    .all(|t| t.follower != number)
        };
        for number in (0..count as u16).filter(|number| is_free(*number)) {
            for pass in 0..passes {
                assert_eq!(ran.of(number, pass).len() as u64, requests[usize::from(number)], "seed {seed}");
            }
        }
    });
}

/// One request at a time, of one target after the other; a target that has no more, or ended early, is skipped.
#[test]
fn jobs_issue_one_request_at_a_time_in_turn() {
    for_seeds(0..seeds(), |dir, seed| {
        let mut dice = Dice(seed ^ 0x7a4);
        let count = 2 + dice.below(3);
        let targets = (0..count).map(|i| target(i, 1 + dice.below(25), 1)).collect();
        let runtime = dice.one_in(4).then(|| Nanos(1 + dice.below(3_000_000)));
        let coordination = Coordination { in_turn: true, runtime, ..Coordination::default() };
        let mut plan = plan(targets, coordination, 1 + dice.below(3) as u32, seed);
        if let (Workload::Generated(generator), true) = (&mut plan.phases[0].jobs[0].workload, dice.one_in(4))
        {
            generator.stop.time_limit = Some(Nanos(1 + dice.below(500_000)));
        }
        if let (Engine::Sim(model), true) = (&mut plan.engine, dice.one_in(3)) {
            model.error_every = 20;
            plan.faults.max_errors = Some(1);
        }
        let ran = execute(dir, &plan);
        let last = ran.records.iter().map(|record| record.pass).max().unwrap_or(0);
        for pass in 0..=last {
            let mut all: Vec<_> = (0..count as u16).flat_map(|target| ran.of(target, pass)).collect();
            all.retain(|record| record.submitted.is_some());
            let mut left = vec![0; count as usize];
            all.iter().for_each(|record| left[usize::from(record.target)] += 1);
            let mut round: Vec<u16> = Vec::new();
            while left.iter().any(|left| *left > 0) {
                let has_more = (0..).zip(&mut left).filter(|(_, left)| **left > 0);
                round.extend(has_more.map(|(target, left)| {
                    *left -= 1;
                    target
                }));
            }
            all.sort_by_key(|record| record.submitted);
            let found: Vec<u16> = all.iter().map(|record| record.target).collect();
            assert_eq!(found, round, "seed {seed}, pass {pass}");
            let is_free = all.windows(2).all(|two| two[0].completed <= two[1].submitted);
            assert!(is_free, "seed {seed}, pass {pass}: two in flight");
        }
    });
}

#[test]
fn passes_are_synchronized_unless_independent() {
    let dir = tempfile::tempdir().unwrap();
    for is_free in [false, true] {
        let targets = vec![target(0, 40, 2), target(1, 3, 1)];
        let coordination =
            Coordination { free_passes: is_free, pass_delay: Nanos(20_000), ..Coordination::default() };
        let ran = execute(dir.path(), &plan(targets, coordination, 3, 5));
        let last = |target, pass| *ran.ends(target, pass).last().unwrap();
        let first = |target, pass| ran.of(target, pass)[0].submitted.unwrap();
        assert_eq!(first(1, 1) < last(0, 0), is_free);
        assert!(first(1, 1) >= last(1, 0).saturating_add(Nanos(20_000)));
        assert_eq!(ran.info.passes.len(), 3 * 3);
        for p in &ran.info.passes {
            let own: Vec<_> =
                ran.of(p.target, p.pass).into_iter().filter(|r| r.target == 1 || r.worker == p.job).collect();
            assert!(own.iter().all(|r| r.submitted >= Some(p.start) && r.completed <= Some(p.end)));
        }
    }
}

#[test]
fn run_time_adds_passes_until_it_expires() {
    let dir = tempfile::tempdir().unwrap();
    let coordination = Coordination { runtime: Some(Nanos(20_000_000)), ..Coordination::default() };
    let ran = execute(dir.path(), &plan(vec![target(0, 10, 1), target(1, 10, 1)], coordination, 1, 9));
    let passes = ran.info.passes.iter().map(|p| p.pass).max().unwrap();
    assert!(passes > 1, "{passes}");
    assert!(ran.records.iter().all(|r| r.submitted < Some(Nanos(20_000_000))));
}
