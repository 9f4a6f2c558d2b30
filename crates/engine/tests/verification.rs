//! Faults are injected on the simulated device, from seeds, and each must be found and named; where none is injected, none may be
//! found. `SEEDS=N` runs more seeds, `SECTORS=N` checks more sectors, `SEED=N` starts at one, `REQUESTS=N` makes its runs short. Seeds are
//! independent: threads share them.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::Dice;
use iosonar_archive::{Archive, ArchiveWriter, Fault, FaultClass, Outcome, ReadAgain, RunInfo};
use iosonar_engine::{Control, Progress, prepare};
use iosonar_host::Root;
use iosonar_plan::{
    BlockSizes, ByteSize, Data, Decimal, Engine, ExpectedData, Generator, Injection, InjectionKind, Job,
    JobVerification, Nanos, Occasion, Order, Overlap, OverlapPolicy, Pace, Phase, Plan, SimModel, SizeRange,
    Space, Stop, Strong, Target, VerifyModes, Workload,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const POLICIES: [OverlapPolicy; 4] =
    [OverlapPolicy::PushBack, OverlapPolicy::Order, OverlapPolicy::Drop, OverlapPolicy::Allow];

/// A run that is over.
struct Checked {
    info: RunInfo,
    faults: Vec<Fault>,
    /// Lines of the ledger.
    injected: Vec<Value>,
    /// Requests that failed.
    failed: u64,
}

fn run(plan: &Plan) -> Checked {
    let dir = tempfile::tempdir().unwrap();
    let prepared =
        prepare(plan.clone(), &Root::default(), Arc::new(|_, _| {})).expect("a plan that can be executed");
    let progress = Arc::new(Progress::new(prepared.workers()));
    let out = dir.path().join("result");
    let info = prepared.info("test", "");
    let archive = ArchiveWriter::create(&out, plan, &Default::default(), &info).unwrap();
    let info = prepared.run(&archive, info, &Control::default(), &progress).unwrap();
    let ledger = fs::read_to_string(out.join("injected.jsonl")).unwrap_or_default();
    let injected = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (archive, mut failed) = (Archive::open(&out).unwrap(), 0);
    archive.for_each_record(&mut |record| failed += u64::from(record.outcome == Outcome::Failed)).unwrap();
    Checked { info, faults: archive.faults().unwrap(), injected, failed }
}

/// A generated workload on simulated targets, from a seed.
fn plan(dice: &mut Dice, targets: u16, requests: u64) -> Plan {
    let is_aligned = dice.one_in(2);
    let unit = if is_aligned { 4096 } else { 512 };
    let most = unit * (2 + dice.below(14));
    let generator = || Generator {
        unit: Some(ByteSize(unit)),
        region: Some(Space::Bytes(ByteSize(3 << 20))),
        read_percent: Decimal::whole(40),
        stop: Stop { requests: Some(requests), ..Stop::default() },
        pace: Pace::Closed,
        block_size: BlockSizes::Range(SizeRange { least: ByteSize(unit), most: ByteSize(most) }),
        ..Generator::new(Order::Zipf { theta: "0.4".parse().unwrap() }, ByteSize(4096))
    };
    let workload = || Workload::Generated(generator());
    let depth = [1, 8, 64][dice.below(3) as usize];
    let jobs = (0..targets).map(|target| Job::new(target, depth, workload())).collect();
    let target = |number| Target { size: Some(ByteSize(4 << 20)), ..Target::new(format!("device-{number}")) };
    let mut plan =
        Plan::new(7 + dice.below(1 << 40), (0..targets).map(target).collect(), vec![Phase::of(jobs)]);
    plan.seed = dice.roll() >> 1;
    plan.engine = Engine::Sim(SimModel { jitter: Nanos(50_000), ..SimModel::default() });
    plan.overlap =
        Overlap { policy: POLICIES[dice.below(4) as usize], strong: Strong::Every, ..Overlap::default() };
    plan.verify.modes = "read,final,outside".parse().unwrap();
    plan
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Sectors that an injection hit, and until when they are wrong.
#[derive(Clone, Copy)]
struct Hit {
    start: u64,
    end: u64,
    superseded_at: Option<u64>,
    is_read: bool,
}

/// An injection of the ledger.
struct Entry<'a> {
    value: &'a Value,
    kind: InjectionKind,
    target: u64,
    time: u64,
    place: Option<Hit>,
    destination: Option<Hit>,
}

impl Entry<'_> {
    fn of(value: &Value) -> Entry<'_> {
        let hit = |name: &str| {
            let hit = value.get(name).filter(|hit| !hit.is_null())?;
            let start = hit["sector"].as_u64().unwrap();
            Some(Hit {
                start,
                end: start + hit["sectors"].as_u64().unwrap(),
                superseded_at: hit["superseded_at_ns"].as_u64(),
                is_read: !hit["read_at_ns"].is_null(),
            })
        };
        Entry {
            value,
            kind: InjectionKind::try_from(value["kind"].as_str().unwrap().to_string()).unwrap(),
            target: value["target"].as_u64().unwrap(),
            time: value["time_ns"].as_u64().unwrap(),
            place: hit("place"),
            destination: hit("destination"),
        }
    }

    /// Whether a fault lies where this injection was, whenever that was.
    fn covers(&self, fault: &Fault) -> bool {
        let (start, end) = (fault.offset / 512, (fault.offset + fault.length) / 512);
        self.place.is_some_and(|hit| hit.start < end && start < hit.end)
    }

    fn is(&self, name: &str) -> bool {
        self.value[name] == Value::Bool(true)
    }

    /// The hit of this injection that explains a fault.
    fn hit_by(&self, fault: &Fault) -> Option<Hit> {
        let (start, end) = (fault.offset / 512, (fault.offset + fault.length) / 512);
        let is_then = |hit: &Hit| {
            let is_there = hit.superseded_at.is_none_or(|at| at > fault.submitted.0);
            self.time <= fault.completed.0 && is_there && hit.start < end && start < hit.end
        };
        let is_here = self.target == u64::from(fault.target);
        [self.destination, self.place].into_iter().flatten().find(|hit| is_here && is_then(hit))
    }

    /// Whether a read of the run must have seen it.
    fn must_be_found(&self, overlap: OverlapPolicy) -> bool {
        let is_known = self.value["due"].as_str().is_some_and(|due| due.bytes().any(|digit| digit != b'0'));
        // Where writes overlap reads, the result of a read may have been right then.
        let is_judged = |hit: &Hit| hit.is_read && overlap != OverlapPolicy::Allow;
        let stays = |hit: &Hit| hit.superseded_at.is_none() || is_judged(hit);
        let is_seen = [self.destination, self.place].iter().flatten().any(stays);
        match self.kind {
            // The caller of a write sees that it stayed short, and a check that did is repeated.
            InjectionKind::Short => false,
            // Failed requests are no faults; the scan must find the place.
            InjectionKind::Unreadable => {
                self.place.is_some_and(|hit| hit.superseded_at.is_none()) && is_known
            }
            _ => self.is("applied") && !self.is("unclear") && is_seen && is_known,
        }
    }
}

/// Whether a fault has the right name for the injection.
fn is_right(fault: &Fault, entry: &Entry<'_>) -> bool {
    let class = fault.class;
    let is_at_place = entry
        .place
        .is_some_and(|hit| hit.start * 512 < fault.offset + fault.length && fault.offset < hit.end * 512);
    match entry.kind {
        kind if kind.name() == class.name() => true,
        // Where the run had written a place only once, its content before may have been anything.
        InjectionKind::Zeroed | InjectionKind::Ones | InjectionKind::Foreign | InjectionKind::OtherRun => {
            class == FaultClass::Lost && !fault.note.is_empty()
        }
        // A misdirected write counts as lost at home, where the other place was overwritten.
        InjectionKind::Misdirected => class == FaultClass::Lost && is_at_place,
        // One of the two places was overwritten.
        InjectionKind::Swapped => matches!(class, FaultClass::Lost | FaultClass::Misdirected),
        _ => false,
    }
}

/// Whether the place was overwritten before it could be read again: then the fault lists alternatives.
fn is_open(fault: &Fault, kind: InjectionKind) -> bool {
    let may_be = fault.also_possible.iter().any(|class| class.name() == kind.name());
    // The same where other sectors of the write, or its home, were overwritten.
    let depends_on_others =
        matches!(kind, InjectionKind::TornPage | InjectionKind::TornSector | InjectionKind::Duplicated);
    (fault.again[0] != ReadAgain::Same || depends_on_others) && may_be
}

/// Whether the home of a write that was found elsewhere was hit itself.
fn has_lost_home(fault: &Fault, entries: &[Entry<'_>]) -> bool {
    let Some(home) = fault.belongs_at.filter(|_| fault.class == FaultClass::Misdirected) else {
        return false;
    };
    let at_home = Fault { offset: home, ..fault.clone() };
    entries.iter().any(|entry| entry.kind == InjectionKind::Duplicated && entry.hit_by(&at_home).is_some())
}

/// Step that selects about eight of `count`.
fn matrix_step(count: usize) -> usize {
    count.div_ceil(8).max(1)
}

#[derive(Default)]
struct Matrix {
    cells: BTreeMap<(InjectionKind, FaultClass), u64>,
    open: u64,
    /// Concurrent writes over one place: its content before them is not always known.
    rare: Vec<String>,
    injected: BTreeMap<InjectionKind, u64>,
    wrong: Vec<String>,
}

impl Matrix {
    fn add(&mut self, checked: &Checked, overlap: OverlapPolicy, seed: u64) {
        let entries: Vec<Entry<'_>> = checked.injected.iter().map(Entry::of).collect();
        let mut found = vec![false; entries.len()];
        for fault in &checked.faults {
            let hits = |(_, entry): &(usize, &Entry<'_>)| entry.hit_by(fault).is_some();
            let Some((_, entry)) =
                entries.iter().enumerate().filter(hits).max_by_key(|(_, entry)| entry.time)
            else {
                self.wrong.push(format!("seed {seed}, {overlap:?}: not injected: {fault:?}"));
                continue;
            };
            // One fault may have several causes.
            entries.iter().zip(&mut found).for_each(|(entry, found)| *found |= entry.hit_by(fault).is_some());
            if is_right(fault, entry) {
                *self.cells.entry((entry.kind, fault.class)).or_default() += 1;
            } else if is_open(fault, entry.kind) || has_lost_home(fault, &entries) {
                self.open += 1;
            } else if overlap == OverlapPolicy::Allow {
                self.rare.push(format!("seed {seed}: {} was called {fault:?}", entry.kind.name()));
            } else {
                self.wrong.push(format!(
                    "seed {seed}, {overlap:?}: {} was called {fault:?}\n  {}",
                    entry.kind.name(),
                    entry.value
                ));
            }
        }
        for (entry, found) in entries.iter().zip(found) {
            *self.injected.entry(entry.kind).or_default() += 1;
            // The same fault at the same place is reported once.
            let is_known = |fault: &Fault| fault.class.name() == entry.kind.name() && entry.covers(fault);
            if entry.must_be_found(overlap) && !found && !checked.faults.iter().any(is_known) {
                let near: Vec<&Fault> =
                    checked.faults.iter().filter(|fault| entry.hit_by(fault).is_some()).collect();
                self.wrong.push(format!("seed {seed}, {overlap:?}: not found: {} {near:?}", entry.value));
            }
        }
    }

    /// Some that are wrong, of different kinds.
    fn examples(&self) -> Vec<&str> {
        let number = matrix_step(self.wrong.len());
        self.wrong.iter().step_by(number).map(String::as_str).collect()
    }

    fn print(&self) {
        let mut text = String::new();
        for (kind, count) in &self.injected {
            let named = self.cells.iter().filter(|((injected, _), _)| injected == kind);
            let named: Vec<String> = named.map(|((_, class), n)| format!("{class} {n}")).collect();
            let _ = writeln!(text, "{:<16} injected {count:>6}, named {}", kind.name(), named.join(", "));
        }
        println!("{text}overwritten before a second read, and told so: {}", self.open);
    }
}

/// Does the same for one seed after the other, from `SEED` on, in as many threads as there are CPUs, until `work` breaks.
fn for_seeds(work: impl Fn(u64) -> ControlFlow<()> + Sync) {
    let next = AtomicU64::new(from_environment("SEED", 0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| while work(next.fetch_add(1, Relaxed)).is_continue() {});
        }
    });
}

/// Every class, under every policy, at depths from 1 to 64, aligned and not.
#[test]
fn finds_and_classifies_injected_faults() {
    let seeds = from_environment("SEEDS", 20);
    let matrix = Mutex::new(Matrix::default());
    // Crash damage is judged from the result: `iosonar verify RESULT --mode after-crash`.
    let is_judged = |kind: &InjectionKind| !kind.is_of_cache();
    let kinds: Vec<InjectionKind> = InjectionKind::ALL.into_iter().filter(is_judged).collect();
    let first = from_environment("SEED", 0);
    for_seeds(|seed| {
        if seed >= first + seeds {
            return ControlFlow::Break(());
        }
        for kind in &kinds {
            let mut dice = Dice(seed << 8 | *kind as u64);
            let targets = if *kind == InjectionKind::OtherTarget { 2 } else { 1 };
            let mut plan = plan(&mut dice, targets, 4_000);
            plan.inject = vec![Injection::new(*kind, Occasion::Every(100))];
            let checked = run(&plan);
            matrix.lock().unwrap().add(&checked, plan.overlap.policy, seed);
        }
        ControlFlow::Continue(())
    });
    let matrix = matrix.into_inner().unwrap();
    matrix.print();
    let injected: u64 = matrix.injected.values().sum();
    assert!(
        (matrix.rare.len() as u64) * 1000 <= injected,
        "{} of {injected}: {}",
        matrix.rare.len(),
        matrix.rare[0]
    );
    assert!(
        matrix.wrong.is_empty(),
        "{} are wrong, such as\n{}",
        matrix.wrong.len(),
        matrix.examples().join("\n")
    );
}

/// An honest device: errors, short transfers, conflicts, passes, and two targets that are one device.
fn honest(seed: u64, requests: u64) -> Plan {
    let mut dice = Dice(seed);
    let mut plan = plan(&mut dice, 1 + (seed % 2) as u16, requests);
    plan.phases[0].passes = 1 + dice.below(3) as u32;
    if let Engine::Sim(model) = &mut plan.engine {
        (model.error_every, model.short_every) = (dice.below(3) as u32 * 20, dice.below(3) as u32 * 30);
    }
    if dice.one_in(4) {
        plan.targets.iter_mut().for_each(|target| target.path = "one".into());
    }
    if dice.one_in(4) {
        // A volatile write cache, and a crash that does not come.
        plan.inject = vec![Injection::new(InjectionKind::Crash, Occasion::At(vec![1 << 40]))];
    }
    plan.verify.modes = ["read,final,outside=1000", "read,before-write,after-write,final,outside=1000"]
        [dice.below(2) as usize]
        .parse()
        .unwrap();
    plan
}

/// The sectors that a run checked, or a fault that it should not have.
fn check_honest(seed: u64, requests: u64) -> Result<u64, Box<Fault>> {
    let ran = run(&honest(seed, requests));
    // A device that reports more than it transferred is not honest.
    match ran.faults.into_iter().find(|fault| fault.class != FaultClass::Short) {
        None => {
            let verified = ran.info.verified.expect("it was verified");
            Ok(verified.checked + verified.checked_again)
        }
        Some(fault) => Err(Box::new(fault)),
    }
}

/// The fault of the shortest run of a seed that has one, as far as halving finds it.
fn shrunk(seed: u64, mut requests: u64, mut fault: Box<Fault>) -> String {
    while requests > 1
        && let Err(earlier) = check_honest(seed, requests / 2)
    {
        (requests, fault) = (requests / 2, earlier);
    }
    format!(
        "SECTORS=1 SEED={seed} REQUESTS={requests} cargo test -p iosonar-engine --test verification honest\n{fault:?}"
    )
}

#[test]
fn honest_device_has_no_faults() {
    let sectors = from_environment("SECTORS", 20_000_000);
    let requests = from_environment("REQUESTS", 3_000);
    let (checked, runs) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(|seed| {
        if checked.load(Relaxed) >= sectors {
            return ControlFlow::Break(());
        }
        let new =
            check_honest(seed, requests).unwrap_or_else(|fault| panic!("{}", shrunk(seed, requests, fault)));
        assert!(new > 0, "seed {seed} checked nothing");
        checked.fetch_add(new, Relaxed);
        runs.fetch_add(1, Relaxed);
        ControlFlow::Continue(())
    });
    println!("{} sectors checked in {} runs", checked.into_inner(), runs.into_inner());
}

/// A write whose data takes several turns of its loop gets a place to read first when the other loop has written there meanwhile.
#[test]
fn write_waiting_for_data_is_read_first_only_once() {
    for seed in 0..30 {
        let mut plan = plan(&mut Dice(seed), 2, 60);
        plan.targets.iter_mut().for_each(|target| target.path = "one".into());
        for job in &mut plan.phases[0].jobs {
            let Workload::Generated(generator) = &mut job.workload else { continue };
            let long = SizeRange { least: ByteSize(256 << 10), most: ByteSize(512 << 10) };
            generator.block_size = BlockSizes::Range(long);
            generator.read_percent = Decimal::whole(0);
            job.depth = 8;
        }
        plan.verify.modes = "read,before-write".parse().unwrap();
        let ran = run(&plan);
        assert!(ran.faults.is_empty(), "seed {seed}: {:?}", ran.faults[0]);
        assert_eq!(ran.info.passes.len(), 2, "seed {seed}: a loop has broken");
    }
}

/// Writes are read back through the engine, so an injected fault cannot hide; no state of earlier writes is needed.
#[test]
fn data_by_place_is_read_back_and_compared() {
    for (seed, kind) in (0..8).zip([InjectionKind::Flipped, InjectionKind::Untransferred].into_iter().cycle())
    {
        let mut plan = plan(&mut Dice(seed), 1, 500);
        (plan.verify.modes, plan.overlap.policy) = (VerifyModes::default(), OverlapPolicy::Order);
        let job = &mut plan.phases[0].jobs[0];
        let Workload::Generated(generator) = &mut job.workload else { panic!("it is generated") };
        generator.read_percent = Decimal::whole(0);
        job.options.data = Some(Data::Sequenced);
        job.options.verify = Some(JobVerification { what: ExpectedData::Contents, immediate: true });
        plan.inject = vec![Injection::new(kind, Occasion::Every(10))];
        let ran = run(&plan);
        let checks = ran.info.targets[0].checks.as_ref().unwrap();
        assert_eq!((checks.requests, checks.miscompared), (500, ran.injected.len() as u64), "seed {seed}");
        assert!(ran.injected.len() > 20, "seed {seed}");
        let is_untransferred = kind == InjectionKind::Untransferred;
        assert!(checks.first.iter().all(|bad| bad.untransferred == is_untransferred), "seed {seed}");
        assert!(ran.info.verified.is_none() && ran.info.has_data_errors());
        plan.verify.stop_at_fault = true;
        let ran = run(&plan);
        let target = &ran.info.targets[0];
        assert!(target.checks.as_ref().unwrap().requests < 300, "seed {seed}: {:?}", target.checks);
        assert!(target.ended_early.as_ref().unwrap().contains("--verify-fatal"));
    }
}

/// After a crash every request fails, and so does the scan; until then there are no faults.
#[test]
fn crashed_device_fails_all_later_requests() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let mut plan = plan(&mut dice, 1, 2_000);
        let at = 100 + dice.below(1_000);
        plan.inject = vec![Injection::new(InjectionKind::Crash, Occasion::At(vec![at]))];
        let ran = run(&plan);
        let others: Vec<&Fault> =
            ran.faults.iter().filter(|fault| fault.class != FaultClass::Unreadable).collect();
        assert!(others.is_empty() && !ran.faults.is_empty(), "seed {seed}: {:?}", others.first());
        let [entry] = &ran.injected[..] else { panic!("seed {seed}: {:?}", ran.injected) };
        assert_eq!((&entry["kind"], &entry["number"]), (&"crash".into(), &at.into()));
        let survived: u64 =
            ["whole", "in_part", "lost"].map(|name| entry["survived"][name].as_u64().unwrap()).iter().sum();
        assert!(survived > 0, "{entry}");
        assert!(ran.failed > 100, "seed {seed}: {}", ran.failed);
    }
}

/// Samples find some of the changes outside; those they miss cause no fault of another name.
#[test]
fn outside_samples_find_expected_share_of_changes() {
    let seeds = from_environment("SEEDS", 8);
    let (mut injected, mut found) = (0, 0);
    for seed in 0..seeds {
        let mut dice = Dice(seed);
        let mut plan = plan(&mut dice, 1, 1_000);
        // A change has 8 sectors in the 1 MiB that no request covers; the samples lie in holes between requests, too.
        plan.verify.modes = "outside=500".parse().unwrap();
        plan.inject = vec![Injection::new(InjectionKind::Phantom, Occasion::Every(100))];
        let ran = run(&plan);
        assert!(ran.faults.iter().all(|fault| fault.class == FaultClass::Phantom), "seed {seed}");
        let entries: Vec<Entry<'_>> = ran.injected.iter().map(Entry::of).collect();
        assert!(ran.faults.iter().all(|fault| entries.iter().any(|entry| entry.hit_by(fault).is_some())));
        injected += entries.len();
        found += entries.iter().filter(|e| ran.faults.iter().any(|fault| e.hit_by(fault).is_some())).count();
    }
    println!("{found} of {injected} changes were found");
    assert!(
        injected as u64 >= 4 * seeds && found * 10 > injected * 4 && found < injected,
        "{found} of {injected}"
    );
}
