//! Runs that meet: two of them as two processes would, on real time and without I/O.

use iosonar_archive::{ArchiveWriter, RunInfo, RunState};
use iosonar_engine::{Control, Progress, Rendezvous, RunError, prepare};
use iosonar_host::Root;
use iosonar_plan::{ByteSize, Engine, Generator, Job, Order, Phase, Plan, Stop, Target, Workload};
use std::sync::{Arc, Barrier, Mutex};

/// Both wait for each other; the later `earliest` counts.
struct Two {
    barrier: Barrier,
    earliest: Mutex<Vec<u64>>,
    ended_whole: Mutex<Vec<bool>>,
}

impl Rendezvous for Two {
    fn begin(&self, phase: u16, earliest: u64) -> Result<u64, String> {
        self.earliest.lock().unwrap().push(earliest);
        self.barrier.wait();
        let all = self.earliest.lock().unwrap();
        Ok(all[2 * usize::from(phase)..].iter().copied().max().unwrap())
    }

    fn end(&self, phase: u16, is_whole: bool) -> bool {
        self.ended_whole.lock().unwrap().push(is_whole);
        self.barrier.wait();
        self.ended_whole.lock().unwrap()[2 * usize::from(phase)..].iter().all(|whole| *whole)
    }
}

/// One of two, which may have failed.
struct One<'a> {
    both: &'a Two,
    fails: bool,
}

impl Rendezvous for One<'_> {
    fn begin(&self, phase: u16, earliest: u64) -> Result<u64, String> {
        self.both.begin(phase, earliest)
    }

    fn end(&self, phase: u16, is_whole: bool) -> bool {
        self.both.end(phase, is_whole && !self.fails)
    }
}

struct Refuses;

impl Rendezvous for Refuses {
    fn begin(&self, _: u16, _: u64) -> Result<u64, String> {
        Err("host b: /dev/sdx is mounted".into())
    }

    fn end(&self, _: u16, _: bool) -> bool {
        unreachable!("nothing was begun")
    }
}

fn two() -> Two {
    Two { barrier: Barrier::new(2), earliest: Mutex::default(), ended_whole: Mutex::default() }
}

fn plan(requests: u64) -> Plan {
    let text = "version = 2\nrun_id = 1\nseed = 1\n[[target]]\npath = 'x'\nworkload = { kind = 'trace', file = 'l' }";
    let generator = Generator {
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Generator::new(Order::Random, ByteSize(4096))
    };
    let phase = |name: &str| {
        let job = Job::new(0, 4, Workload::Generated(generator.clone()));
        Phase { name: name.into(), ..Phase::of(vec![job]) }
    };
    let targets = vec![Target { size: Some(ByteSize(1 << 30)), ..Target::new("dev") }];
    let phases = vec![phase("write"), phase("read")];
    Plan { engine: Engine::Null, targets, phases, ..Plan::from_toml(text).unwrap() }
}

fn run(plan: &Plan, others: &dyn Rendezvous) -> Result<RunInfo, RunError> {
    let dir = tempfile::tempdir().unwrap();
    let prepared = prepare(plan.clone(), &Root::default(), Arc::new(|_, _| {})).unwrap();
    let (control, progress) = (Control::default(), Arc::new(Progress::new(prepared.workers())));
    let info = prepared.info("test", "");
    let archive =
        ArchiveWriter::create(&dir.path().join("result"), plan, &Default::default(), &info).unwrap();
    prepared.run_with(&archive, info, &control, &progress, others)
}

fn both(others: [&dyn Rendezvous; 2]) -> [RunInfo; 2] {
    std::thread::scope(|scope| {
        let [a, b] = [(others[0], 10), (others[1], 400_000)]
            .map(|(others, requests)| scope.spawn(move || run(&plan(requests), others).unwrap()));
        [a.join().unwrap(), b.join().unwrap()]
    })
}

#[test]
fn processes_start_each_phase_together() {
    let two = two();
    let [a, b] = both([&two, &two]);
    assert_eq!((&a.state, &b.state), (&RunState::Finished, &RunState::Finished));
    assert_eq!(a.origin_monotonic_ns, b.origin_monotonic_ns);
    for phase in 0..2 {
        assert_eq!(a.phases[phase].start, b.phases[phase].start);
    }
    // The first had little to do, and waited for the second.
    assert!(a.phases[1].start >= b.phases[0].end && a.phases[0].end < b.phases[0].end);
}

#[test]
fn incomplete_phase_stops_all_processes() {
    let two = two();
    let [a, b] = both([true, false].map(|fails| One { both: &two, fails }).each_ref().map(|one| one as _));
    for info in [a, b] {
        assert_eq!(info.state, RunState::Broken("another process did not do all of phase write".into()));
        assert_eq!(info.phases.len(), 1);
    }
}

#[test]
fn run_does_not_start_if_peer_refuses() {
    let error = run(&plan(10), &Refuses).unwrap_err();
    assert_eq!(error.to_string(), "host b: /dev/sdx is mounted");
}
