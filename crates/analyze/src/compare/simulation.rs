//! Runs with a known truth: how often a false alarm is raised, and how often a slowdown is found.

use super::random::Random;
use super::*;
use crate::testing::record;
use iosonar_archive::Record;
use iosonar_plan::Op;

/// How the latencies of a run wander.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Each by itself, with the same timetable.
    Independent,
    /// A level that keeps 0.9 of itself from one 256th of the run to the next, with this standard deviation.
    Correlated(f64),
    /// Noise that grows threefold in the course of the run, over a level that swings by 3 % once, anywhere.
    Drifting,
    /// Independent, one after the other: no timetable.
    Closed,
}

const SECONDS: u64 = 20;

/// A run of `n` requests; reads of 100 us, writes of 150 us in the median, times `factor`, lognormal.
fn run(kind: Kind, n: u64, factor: f64, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let levels = match kind {
        Kind::Correlated(spread) => random.correlated(257, 0.9).iter().map(|l| (l * spread).exp()).collect(),
        _ => vec![1.0; 257],
    };
    let phase = random.uniform();
    let every = SECONDS * 1_000_000_000 / n;
    let mut free = 0;
    let mut one = |i: u64| {
        let at = i as f64 / n as f64;
        let (level, spread) = match kind {
            Kind::Drifting => (1.0 + 0.03 * (std::f64::consts::TAU * (at + phase)).sin(), 0.2 + 0.4 * at),
            _ => (levels[(at * 256.0) as usize], 0.3),
        };
        let op = if i.is_multiple_of(3) { Op::Write } else { Op::Read };
        let median = if op == Op::Read { 100_000.0 } else { 150_000.0 };
        let latency = (median * factor * level * (spread * random.normal()).exp()) as u64;
        let due = if matches!(kind, Kind::Closed) { free } else { i * every };
        free = due + latency;
        record(i, op, due, due + 500 + (random.uniform() * 300.0) as u64, due + 800 + latency)
    };
    (0..n).map(&mut one).collect()
}

// A slice is unsized, so it cannot be a `dyn Records`.
#[allow(clippy::ptr_arg)]
fn compared(a: &Vec<Record>, b: &Vec<Record>, timetable: bool) -> Comparison {
    let of = |name: &str, records| Run {
        name: name.to_string(),
        records,
        plan: None,
        environment: serde_json::Value::Null,
        has_timetable: timetable,
        phases: &[],
        incomplete: None,
        verdict: None,
    };
    let (a, b) = (of("a", a), of("b", b));
    let blocks = |run: &Run| Blocks::read(run.records, timetable).unwrap();
    compare((&a, &blocks(&a)), (&b, &blocks(&b))).unwrap()
}

/// Among comparisons with a slowdown: the share that shows any difference, the share that shows one of the median latency,
/// and the mean of its smallest visible change.
fn rates(kind: Kind, n: u64, factor: f64, seeds: std::ops::Range<u64>) -> (f64, f64, f64) {
    let timetable = !matches!(kind, Kind::Closed);
    let (mut any, mut median, mut visible) = (0, 0, 0.0);
    let count = (seeds.end - seeds.start) as f64;
    for seed in seeds {
        let c = compared(&run(kind, n, 1.0, 2 * seed), &run(kind, n, factor, 2 * seed + 1), timetable);
        any += u32::from(c.answer.outcome != Outcome::NotShown);
        median += u32::from(c.figures.iter().any(|f| f.name == "latency.p50" && f.shown));
        visible += c.answer.smallest_visible_percent.unwrap_or(f64::NAN);
    }
    (f64::from(any) / count, f64::from(median) / count, visible / count)
}

/// Of `n` comparisons no more than this many may raise an alarm: 5 %, and two standard deviations of a binomial count.
fn allowed(n: f64) -> f64 {
    0.05 + 2.0 * (0.05 * 0.95 / n).sqrt()
}

#[test]
fn equal_runs_raise_few_alarms() {
    for kind in [Kind::Independent, Kind::Closed, Kind::Correlated(0.03), Kind::Drifting] {
        let (alarms, _, _) = rates(kind, 1_500, 1.0, 0..15);
        assert!(alarms <= allowed(15.0), "{kind:?}: {alarms}");
    }
}

#[test]
fn detection_rate_agrees_with_stated_visible_change() {
    let (any, median, visible) = rates(Kind::Closed, 10_000, 1.03, 100..112);
    assert!(any >= 0.8, "{any}");
    assert!((1.0..4.0).contains(&visible), "{visible}");
    assert!(visible > 3.0 || median >= 0.6, "{median} {visible}");
    let (_, noisy, visible) = rates(Kind::Correlated(0.1), 1_500, 1.03, 100..106);
    assert!(noisy <= 0.35 && visible > 10.0, "{noisy} {visible}");
}

#[test]
fn intervals_cover_the_true_change() {
    let (mut held, mut all) = (0, 0);
    for seed in 500..515 {
        let factor = 1.1;
        let c = compared(
            &run(Kind::Correlated(0.02), 1_500, 1.0, 2 * seed),
            &run(Kind::Correlated(0.02), 1_500, factor, 2 * seed + 1),
            true,
        );
        for f in c
            .figures
            .iter()
            .filter(|f| ["latency.p50", "latency.mean", "latency.read.p90"].contains(&f.name.as_str()))
        {
            all += 1;
            held += u32::from(f.low_percent.unwrap() <= 10.0 && f.high_percent.unwrap() >= 10.0);
        }
    }
    assert_eq!(all, 45);
    assert!(held >= 42, "{held}");
}

#[test]
fn locates_a_slow_stretch() {
    let (a, mut b) = (run(Kind::Independent, 10_000, 1.0, 1), run(Kind::Independent, 10_000, 1.0, 2));
    for r in b.iter_mut().filter(|r| (8_000_000_000..10_000_000_000).contains(&r.due.0)) {
        let submitted = r.submitted.unwrap().0;
        r.completed = Some(iosonar_plan::Nanos(submitted + 2 * (r.completed.unwrap().0 - submitted)));
    }
    let ranges = compared(&a, &b, true).over_time.ranges;
    let median: Vec<&Stretch> = ranges.iter().filter(|r| r.figure == "latency.p50").collect();
    assert_eq!(median.len(), 1, "{ranges:?}");
    assert!(median[0].begin_ns.abs_diff(8_000_000_000) < 1_500_000_000, "{median:?}");
    assert!(median[0].end_ns.abs_diff(10_000_000_000) < 1_500_000_000, "{median:?}");
    assert!(median[0].change_percent > 40.0);
}

#[test]
fn unusual_runs_produce_a_sentence() {
    let empty: Vec<Record> = Vec::new();
    let usual = run(Kind::Independent, 1_000, 1.0, 1);
    let mut failed = usual.clone();
    failed.iter_mut().for_each(|r| (r.outcome, r.result) = (iosonar_archive::Outcome::Failed, -5));
    let at_once: Vec<Record> = (0..50).map(|i| record(i, Op::Read, 0, 0, 1000 + i)).collect();
    let huge = vec![record(0, Op::Write, 0, u64::MAX - 1, u64::MAX)];
    let runs = [&empty, &usual, &failed, &at_once, &huge];
    for a in runs {
        for b in runs {
            for timetable in [true, false] {
                let c = compared(a, b, timetable);
                assert!(!c.answer.text.is_empty());
                let nothing = [a, b].iter().any(|r| r.is_empty() || *r == &failed);
                assert_eq!(c.answer.outcome == Outcome::Nothing, nothing, "{}", c.answer.text);
                assert!(!to_json(&[Judged::new(c, &[], crate::compare::OnFake::Refuse)]).contains("NaN"));
            }
        }
    }
    let cut: Vec<Record> = usual[..600].to_vec();
    let c = compared(&usual, &cut, true);
    assert_eq!(
        (c.load, c.answer.outcome),
        (SameLoad::SameAsFarAsBothGo, Outcome::NotShown),
        "{}",
        c.answer.text
    );
    assert!(c.cautions.iter().any(|text| text.contains("goes further")));
    assert_eq!(c.pairs.unwrap().completed, 600);
}

/// Requests of the runs after the table.
const REQUESTS: u64 = 3_000;

/// `cargo test --release -p iosonar-analyze -- --ignored --nocapture table_of_rates`
#[test]
#[ignore = "a measurement: it prints the table of docs/compare.md"]
fn table_of_rates() {
    println!("| noise | A against A: any alarm | +3 %: any | +3 %: p50 | smallest visible p50 |");
    println!("|---|---|---|---|---|");
    let kinds = [
        Kind::Correlated(0.03),
        Kind::Drifting,
        Kind::Closed,
        Kind::Correlated(0.01),
        Kind::Independent,
        Kind::Correlated(0.1),
    ];
    for kind in kinds {
        let (alarms, _, _) = rates(kind, REQUESTS, 1.0, 0..200);
        let (any, median, visible) = rates(kind, REQUESTS, 1.03, 2000..2040);
        let [alarms, any, median] = [alarms, any, median].map(|share| share * 100.0);
        println!("| {kind:?} | {alarms:.1} % | {any:.0} % | {median:.0} % | {visible:.1} % |");
    }
}
