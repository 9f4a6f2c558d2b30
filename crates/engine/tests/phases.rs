//! Phases that follow each other, simulated from seeds.

mod common;

use common::{Dice, Ran, run};
use iosonar_archive::RunState;
use iosonar_plan::{
    AtEnd, ByteSize, Engine, Generator, Job, Nanos, Order, Phase, Plan, SimModel, Stop, Target, Workload,
};

const TARGETS: u16 = 3;

fn job(target: u16, requests: u64, jobs: u32, depth: u32) -> Job {
    let generator = Generator {
        jobs,
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Generator::new(Order::Random, ByteSize(4096))
    };
    Job::new(target, depth, Workload::Generated(generator))
}

/// Phases of jobs on some of the targets, each used in the first.
fn plan(seed: u64) -> Plan {
    let mut dice = Dice(seed);
    let phase = |number: u64, dice: &mut Dice| {
        let uses = |target: &u16, dice: &mut Dice| number == 0 || *target == 0 || dice.one_in(2);
        let jobs = (0..TARGETS).filter(|target| uses(target, dice)).collect::<Vec<_>>();
        let jobs = jobs.into_iter().map(|target| {
            job(target, 1 + dice.below(40), 1 + dice.below(3) as u32, 1 + dice.below(4) as u32)
        });
        let jobs = jobs.collect();
        Phase { name: format!("phase {number}"), passes: 1 + dice.below(3) as u32, ..Phase::of(jobs) }
    };
    let phases = (0..2 + dice.below(3)).map(|number| phase(number, &mut dice)).collect();
    let model = SimModel {
        service: Nanos(1_000 + dice.below(100_000)),
        jitter: Nanos(dice.below(300_000)),
        ..SimModel::default()
    };
    let text = "version = 2\nrun_id = 1\nseed = 1\n[[target]]\npath = 'x'\nworkload = { kind = 'trace', file = 'l' }";
    let targets =
        (0..TARGETS).map(|i| Target { size: Some(ByteSize(1 << 30)), ..Target::new(format!("dev{i}")) });
    let targets = targets.collect();
    Plan { seed, engine: Engine::Sim(model), targets, phases, ..Plan::from_toml(text).unwrap() }
}

fn of_phase(ran: &Ran, phase: u16) -> Vec<&iosonar_archive::Record> {
    ran.records.iter().filter(|r| r.phase == phase).collect()
}

#[test]
fn phases_complete_fully_and_in_sequence() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let plan = plan(seed);
        plan.validate().unwrap();
        let ran = run(dir.path(), &plan, None);
        assert_eq!(ran.info.state, RunState::Finished, "seed {seed}");
        assert_eq!(ran.info.phases.len(), plan.phases.len(), "seed {seed}");
        let mut last = Nanos(0);
        for (number, phase) in plan.phases.iter().enumerate() {
            let (records, times) = (of_phase(&ran, number as u16), &ran.info.phases[number]);
            let asked = |job: &Job| {
                job.workload.generator().unwrap().stop.requests.unwrap() * u64::from(phase.passes)
            };
            assert_eq!(records.len() as u64, phase.jobs.iter().map(asked).sum::<u64>(), "seed {seed}");
            assert!(times.start >= last && times.name == phase.name, "seed {seed}: phase {number}");
            assert!(records.iter().all(|r| r.submitted >= Some(times.start)), "seed {seed}: phase {number}");
            assert!(records.iter().all(|r| r.completed <= Some(times.end)), "seed {seed}: phase {number}");
            assert!(records.iter().all(|r| r.pass < phase.passes), "seed {seed}: phase {number}");
            last = times.end;
        }
        let expected: u64 = ran.info.targets.iter().map(|t| t.expected_requests.unwrap()).sum();
        assert_eq!(expected, ran.records.len() as u64, "seed {seed}");
        let loops = |phase: &Phase| phase.loops() * phase.passes as usize;
        assert_eq!(ran.info.passes.len(), plan.phases.iter().map(loops).sum::<usize>(), "seed {seed}");
    }
}

#[test]
fn only_seeded_jobs_repeat_addresses_across_phases() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(1);
    for (seed, is_alike) in [(None, false), (Some(5), true)] {
        let mut job = job(0, 50, 1, 1);
        if let Workload::Generated(generator) = &mut job.workload {
            (generator.seed, generator.at_end, generator.region) =
                (seed, AtEnd::Wrap, Some(iosonar_plan::Space::Bytes(ByteSize(1 << 29))));
        }
        let phase = |name: &str| Phase { name: name.into(), ..Phase::of(vec![job.clone()]) };
        plan.targets.truncate(1);
        plan.phases = vec![phase("a"), phase("b")];
        let ran = run(dir.path(), &plan, None);
        let places = |phase| of_phase(&ran, phase).iter().map(|r| r.executed.offset).collect::<Vec<_>>();
        assert_eq!(places(0).len(), 50);
        assert_eq!(places(0) == places(1), is_alike);
    }
}

#[test]
fn stop_ends_the_run_in_any_phase() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..30 {
        let mut plan = plan(seed);
        plan.start_grace = Nanos(0);
        let whole = run(dir.path(), &plan, None);
        let end = whole.info.phases.last().unwrap().end;
        for part in 1..8 {
            let stop = Nanos(end.0 * part / 8);
            let ran = run(dir.path(), &plan, Some(stop));
            assert!(matches!(ran.info.state, RunState::Interrupted(_)), "seed {seed}: {:?}", ran.info.state);
            assert!(ran.records.iter().all(|r| r.submitted.is_none_or(|at| at <= stop)), "seed {seed}");
            assert!(ran.info.phases.iter().all(|phase| phase.start <= stop), "seed {seed}");
            // Requests before the stop are the same as without one.
            let before = whole.records.iter().filter(|r| r.completed < Some(stop)).count();
            assert!(ran.records.iter().filter(|r| r.is_completed()).count() >= before, "seed {seed}");
        }
    }
}

#[test]
fn failed_phase_prevents_later_phases() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(2);
    let model = SimModel { error_every: 1, ..SimModel::default() };
    (plan.engine, plan.faults.max_errors) = (Engine::Sim(model), Some(0));
    let ran = run(dir.path(), &plan, None);
    let RunState::Broken(why) = &ran.info.state else { panic!("{:?}", ran.info.state) };
    assert!(
        why.to_string()
            .starts_with("phase phase 1 was not started, because phase phase 0 ended before its end"),
        "{why}"
    );
    assert_eq!(ran.info.phases.len(), 1);
    assert!(ran.records.iter().all(|r| r.phase == 0));
}
