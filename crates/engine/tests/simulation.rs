//! Whole runs on the simulated device, from seeds: every policy, every table of conflicts, every fault. The invariants are judged
//! from the records alone. A failing case names its seed, and is the same each time.

mod common;

use common::{Dice, Ran, run};
use iosonar_archive::{Marks, Outcome, Record, RunState};
use iosonar_plan::{
    ByteSize, Engine, Job, Nanos, Op, Overlap, OverlapPolicy, Phase, Plan, SimChange, SimModel, SimStall,
    Strong, Target, TraceReplay, Workload,
};
use iosonar_testkit::{Access as Seen, Verdict, check};
use std::fmt::Write as _;
use std::path::Path;

const POLICIES: [OverlapPolicy; 4] =
    [OverlapPolicy::Allow, OverlapPolicy::Drop, OverlapPolicy::PushBack, OverlapPolicy::Order];
const STRONG: [Strong; 3] = [Strong::WriteWrite, Strong::AnyWrite, Strong::Every];

/// A load of `count` requests at whole microseconds, crowded so that many conflict.
fn load(dice: &mut Dice, count: u64) -> String {
    let (sectors, gap) = (200 + dice.below(4_000), [0, 1, 8, 60][dice.below(4) as usize]);
    let reads = dice.below(101);
    let (mut text, mut time) = (String::new(), dice.below(3_000_000));
    for _ in 0..count {
        time += if gap == 0 { 0 } else { dice.below(2 * gap) };
        let op = if dice.below(100) < reads { 'R' } else { 'W' };
        let (sector, length) = (dice.below(sectors), 1 + dice.below(24));
        let _ = writeln!(
            text,
            "{}.{:06} ; {sector} ; {length} ; {op} ; 0.0 ; 0.0",
            time / 1_000_000,
            time % 1_000_000
        );
    }
    text
}

/// A device from the seed; faults only where they are wanted.
fn model(dice: &mut Dice, faults: bool) -> SimModel {
    let stalls = faults && dice.one_in(3);
    SimModel {
        service: Nanos(1_000 + dice.below(200_000)),
        jitter: Nanos(dice.below(3) * dice.below(300_000)),
        channels: [0, 0, 1, 4][dice.below(4) as usize],
        error_every: if faults { dice.below(3) as u32 * 9 } else { 0 },
        short_every: if faults { dice.below(3) as u32 * 13 } else { 0 },
        stall: stalls
            .then(|| SimStall { period: Nanos(3_000_000), length: Nanos(1 + dice.below(2_500_000)) }),
        change: (dice.below(4) == 0)
            .then(|| SimChange { at: Nanos(dice.below(5_000_000)), percent: 1 + dice.below(500) as u32 }),
    }
}

fn plan(dir: &Path, targets: usize, overlap: Overlap, dice: &mut Dice, faults: bool) -> Plan {
    // Smaller than some loads: addresses wrap, and conflict where they did not.
    let target = |i: usize| Target { size: Some(ByteSize(512 * 1_024)), ..Target::new(format!("dev{i}")) };
    let load = |i: usize| Workload::Trace(TraceReplay::of(dir.join(format!("{i}.load"))));
    let passes = 1 + u32::from(dice.one_in(4));
    let depth = [1, 4, 16, 64][dice.below(4) as usize];
    let jobs = (0..targets).map(|i| Job::new(i as u16, depth, load(i))).collect();
    let phase = Phase { passes, ..Phase::of(jobs) };
    Plan {
        seed: dice.roll() >> 1,
        engine: Engine::Sim(model(dice, faults)),
        overlap,
        ..Plan::new(1, (0..targets).map(target).collect(), vec![phase])
    }
}

fn once(mut plan: Plan) -> Plan {
    plan.phases[0].passes = 1;
    plan
}

/// The records of one target and pass, and its requests.
struct PassRecords<'a> {
    records: &'a [Record],
    plan: &'a Plan,
    stopped: bool,
}

impl PassRecords<'_> {
    fn verdict(&self) -> Verdict {
        let seen: Vec<Seen> = self.records.iter().filter_map(Seen::of).collect();
        check(&seen, self.plan.overlap.strong)
    }

    fn most_in_flight(&self) -> i64 {
        let times = |r: &Record| Some([(r.submitted?.0, 1), (r.completed?.0, -1)]);
        let mut events: Vec<(u64, i64)> = self.records.iter().filter_map(times).flatten().collect();
        events.sort_unstable();
        let (mut flying, mut most) = (0, 0);
        for (_, step) in events {
            flying += step;
            most = most.max(flying);
        }
        most
    }

    /// Checks the invariants of every policy.
    fn holds(&self, what: &str) {
        assert!(self.most_in_flight() <= i64::from(self.plan.depth()), "{what}: depth");
        for r in self.records {
            let sent = matches!(r.outcome, Outcome::Completed | Outcome::Failed);
            assert_eq!((r.submitted.is_some(), r.completed.is_some()), (sent, sent), "{what}: {r:?}");
            let whole = r.result == r.executed.length as i64;
            match r.outcome {
                Outcome::Completed => assert!(whole, "{what}: {r:?}"),
                Outcome::Failed => {
                    assert!(r.result == -5 || (r.marks.has(Marks::SHORT) && !whole), "{what}: {r:?}")
                }
                Outcome::Dropped => assert!(r.blocked_by.is_some(), "{what}: {r:?}"),
                Outcome::Cancelled => assert!(self.stopped, "{what}: cancelled without a stop: {r:?}"),
            }
            assert!(r.submitted.is_none_or(|s| s >= r.due), "{what}: early: {r:?}");
            if let Engine::Sim(model) = self.plan.engine {
                let percent = model.change.map_or(100, |change| change.percent.min(100));
                let least = Nanos(model.service.0 * u64::from(percent) / 100);
                assert!(r.latency().is_none_or(|l| l >= least), "{what}: faster than the device: {r:?}");
            }
        }
        self.policy_holds(what);
        self.blame_is_right(what);
        self.nothing_waits_in_vain(what);
    }

    fn policy_holds(&self, what: &str) {
        let any = |f: fn(&Record) -> bool| self.records.iter().any(f);
        let verdict = self.verdict();
        match self.plan.overlap.policy {
            OverlapPolicy::Allow => assert!(!any(|r| r.blocked_by.is_some()), "{what}"),
            OverlapPolicy::Drop => {
                assert!(verdict.is_clean() && !any(|r| r.released.is_some()), "{what}: {verdict:?}")
            }
            OverlapPolicy::PushBack => assert!(verdict.is_clean(), "{what}: {verdict:?}"),
            OverlapPolicy::Order => {
                assert!(verdict.is_clean() && verdict.out_of_order == 0, "{what}: {verdict:?}")
            }
        }
        let policy = self.plan.overlap.policy;
        assert!(policy == OverlapPolicy::Drop || !any(|r| r.outcome == Outcome::Dropped), "{what}");
        assert!(policy == OverlapPolicy::PushBack || !any(Record::is_pushed), "{what}");
        assert!(policy == OverlapPolicy::Order || !any(|r| r.marks.has(Marks::ORDERED)), "{what}");
    }

    /// A request issued later than it is due and released found every slot taken. Under `order`, and where the push-back list may
    /// be full, it may also have waited for another.
    fn nothing_waits_in_vain(&self, what: &str) {
        let Overlap { policy, max_waiting, .. } = self.plan.overlap;
        if policy == OverlapPolicy::Order || policy == OverlapPolicy::PushBack && max_waiting < 1_000 {
            return;
        }
        let sorted = |time: fn(&Record) -> Option<Nanos>| {
            let mut times: Vec<Nanos> = self.records.iter().filter_map(time).collect();
            times.sort_unstable();
            times
        };
        let (begun, ended) = (sorted(|r| r.submitted), sorted(|r| r.completed));
        for r in self.records {
            let Some(at) = r.submitted.filter(|s| *s > r.due.max(r.released.unwrap_or_default())) else {
                continue;
            };
            // A completion at this very moment has made room for it.
            let flying = begun.partition_point(|t| *t < at) - ended.partition_point(|t| *t < at);
            assert!(
                flying >= self.plan.depth() as usize,
                "{what}: it waits while {flying} are in flight: {r:?}"
            );
        }
    }

    /// The request named as the reason of a wait or a drop was one: it conflicts, came before, and was in flight.
    fn blame_is_right(&self, what: &str) {
        for r in self.records {
            let Some(by) = r.blocked_by else { continue };
            let blamed = &self.records[by as usize];
            let strong = self.plan.overlap.strong;
            assert!(by < r.sequence && blamed.executed.overlaps(r.executed), "{what}: {r:?} {blamed:?}");
            assert!(strong.conflict(blamed.op, r.op), "{what}: {r:?} {blamed:?}");
            match r.outcome {
                Outcome::Dropped => assert!(blamed.completed.unwrap() > r.due, "{what}: {r:?} {blamed:?}"),
                _ => {
                    assert_eq!(r.released, blamed.completed, "{what}: {r:?} {blamed:?}");
                    assert!(r.submitted.unwrap() >= r.released.unwrap(), "{what}");
                }
            }
        }
    }
}

/// Every request of the load has exactly one record; of a stopped run, every request up to the last one.
fn all_there(ran: &Ran, plan: &Plan, requests: u64, stopped: bool, what: &str) {
    for target in 0..plan.targets.len() as u16 {
        for pass in 0..plan.phases[0].passes {
            let of = |r: &&Record| (r.target, r.pass) == (target, pass);
            let records: Vec<Record> = ran.records.iter().filter(of).copied().collect();
            let sequences: Vec<u64> = records.iter().map(|r| r.sequence).collect();
            let want = if stopped { records.len() as u64 } else { requests };
            assert!(want <= requests);
            assert_eq!(sequences, (0..want).collect::<Vec<_>>(), "{what}: target {target} pass {pass}");
            PassRecords { records: &records, plan, stopped }.holds(what);
        }
        let info = &ran.info.targets[target as usize];
        assert!(info.max_in_flight <= Some(plan.depth().into()), "{what}");
    }
    let failed = ran.records.iter().filter(|r| r.outcome == Outcome::Failed).count();
    let faulty =
        ran.records.iter().filter(|r| r.result != r.executed.length as i64 && r.submitted.is_some()).count();
    assert_eq!(failed, faulty, "{what}");
}

fn cases(seeds: std::ops::Range<u64>, mut case: impl FnMut(&Path, u64, Overlap, &mut Dice)) {
    let dir = tempfile::tempdir().unwrap();
    for seed in seeds {
        for policy in POLICIES {
            for strong in STRONG {
                // A short list now and then: its being full must cost no order and no request.
                let max_waiting = if seed % 3 == 0 { 3 } else { 65_536 };
                let overlap = Overlap { policy, strong, max_waiting };
                case(dir.path(), seed, overlap, &mut Dice(seed));
            }
        }
    }
}

const REQUESTS: u64 = 300;

fn write_loads(dir: &Path, targets: usize, dice: &mut Dice) {
    for i in 0..targets {
        std::fs::write(dir.join(format!("{i}.load")), load(dice, REQUESTS)).unwrap();
    }
}

#[test]
fn every_request_has_one_record_under_every_policy() {
    let mut seen = [0u64; 6];
    cases(0..40, |dir, seed, overlap, dice| {
        let targets = 1 + dice.below(3) as usize;
        write_loads(dir, targets, dice);
        let plan = plan(dir, targets, overlap, dice, seed % 2 == 1);
        let what = format!("seed {seed} {overlap:?}");
        let ran = run(dir, &plan, None);
        assert_eq!(ran.info.state, RunState::Finished, "{what}");
        all_there(&ran, &plan, REQUESTS, false, &what);
        let again = run(dir, &plan, None);
        assert!(ran.records == again.records, "{what}: the same seed, the same run");
        for r in &ran.records {
            seen[r.outcome as usize] += 1;
            seen[4] += u64::from(r.is_pushed());
            seen[5] += u64::from(r.marks.has(Marks::ORDERED));
        }
    });
    // The cases prove nothing if nothing of this ever happens.
    let [completed, failed, dropped, cancelled, pushed, ordered] = seen;
    assert!(completed > 0 && failed > 0 && dropped > 0 && pushed > 0 && ordered > 0, "{seen:?}");
    assert_eq!(cancelled, 0);
}

#[test]
fn stopped_run_cancels_only_waiting_requests() {
    let mut cancelled = 0;
    cases(100..108, |dir, seed, overlap, dice| {
        write_loads(dir, 2, dice);
        let plan = once(plan(dir, 2, overlap, dice, seed % 2 == 1));
        let what = format!("seed {seed} {overlap:?}");
        let whole = run(dir, &plan, None);
        let end = whole.records.iter().filter_map(|r| r.completed).max().unwrap();
        for stop in [Nanos(0), Nanos(dice.below(end.0)), Nanos(end.0 + 1)] {
            let ran = run(dir, &plan, Some(stop));
            let what = format!("{what} stopped at {stop}");
            all_there(&ran, &plan, REQUESTS, true, &what);
            assert!(
                ran.records.iter().filter_map(|r| r.submitted).all(|s| s < stop),
                "{what}: submitted after it"
            );
            // A stop that comes when everything has gone interrupts nothing.
            let gone = ran.records.iter().filter(|r| r.outcome != Outcome::Cancelled).count();
            if gone == whole.records.len() {
                assert_eq!(ran.info.state, RunState::Finished, "{what}");
            } else {
                assert!(matches!(ran.info.state, RunState::Interrupted(_)), "{what}: {:?}", ran.info.state);
            }
            let unlike = |r: &Record| {
                let twin = whole.records.iter().find(|w| (w.target, w.sequence) == (r.target, r.sequence));
                r.submitted.is_some()
                    && twin.map(|w| (w.submitted, w.completed)) != Some((r.submitted, r.completed))
            };
            assert!(!ran.records.iter().any(unlike), "{what}: before the stop it is the same run");
            cancelled += ran.records.iter().filter(|r| r.outcome == Outcome::Cancelled).count();
        }
    });
    assert!(cancelled > 0);
}

#[test]
fn errors_occur_only_at_the_given_rate() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..4 {
        let mut dice = Dice(seed);
        std::fs::write(dir.path().join("0.load"), load(&mut dice, 20_000)).unwrap();
        let overlap = Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() };
        let clean = once(plan(dir.path(), 1, overlap, &mut dice, false));
        assert!(run(dir.path(), &clean, None).records.iter().all(Record::is_completed));
        let model = SimModel { error_every: 50, ..SimModel::default() };
        let faulty = Plan { engine: Engine::Sim(model), ..clean };
        let failed = run(dir.path(), &faulty, None).records.iter().filter(|r| r.result == -5).count();
        // Six standard deviations around 400.
        assert!((281..=519).contains(&failed), "seed {seed}: {failed}");
    }
}

/// A simulated hour of 100 000 requests. How long it really takes is printed, not asserted.
#[test]
fn simulates_an_hour_of_requests() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for i in 0..100_000u64 {
        let ms = i * 36;
        let op = if i % 3 == 0 { 'W' } else { 'R' };
        // Three in a row at the same place, each 36 ms after the one before: some still find it in flight.
        let sector = i / 3 * 64;
        let _ = writeln!(text, "{}.{:03} ; {sector} ; 8 ; {op} ; 0.0 ; 0.0", ms / 1000, ms % 1000);
    }
    std::fs::write(dir.path().join("0.load"), text).unwrap();
    let overlap = Overlap::default();
    let model = SimModel { service: Nanos(20_000_000), jitter: Nanos(30_000_000), ..SimModel::default() };
    let mut plan = plan(dir.path(), 1, overlap, &mut Dice(1), false);
    (plan.phases[0].passes, plan.phases[0].jobs[0].depth) = (1, 32);
    plan.engine = Engine::Sim(model);
    plan.targets[0].size = Some(ByteSize(2 << 30));
    let begin = std::time::Instant::now();
    let ran = run(dir.path(), &plan, None);
    println!("a simulated hour of {} requests took {:?}", ran.records.len(), begin.elapsed());
    assert!(ran.records.last().unwrap().due >= Nanos::from_secs(3_599));
    assert!(ran.records.iter().any(|r| r.op == Op::Read && r.is_pushed()));
    all_there(&ran, &plan, 100_000, false, "an hour");
}
