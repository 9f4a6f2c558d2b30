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

fn compared(a: &Vec<Record>, b: &Vec<Record>, timetable: bool) -> Comparison {
    let of = |name: &str, records| Run {
        name: name.to_string(),
        records,
        plan: None,
        environment: serde_json::Value::Null,
        has_timetable: timetable,
        incomplete: None,
    };
    let (a, b) = (of("a", a), of("b", b));
    let blocks = |run: &Run| Blocks::read(run.records, timetable).unwrap();
    compare((&a, &blocks(&a)), (&b, &blocks(&b))).unwrap()
}

/// Of comparisons with a slowdown: in how many any difference is shown, in how many that of the median latency is, and the
/// mean of the smallest visible change of it.
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

/// `cargo test --release -p iosonar-analyze -- --ignored --nocapture table_of_rates`
#[test]
#[ignore = "a measurement: it prints the table of docs/compare.md"]
fn table_of_rates() {
    println!("| noise | requests | A against A: any alarm | +3 %: any | +3 %: p50 | smallest visible p50 |");
    println!("|---|---|---|---|---|---|");
    let kinds = [
        Kind::Independent, Kind::Closed, Kind::Correlated(0.01), Kind::Correlated(0.03), Kind::Correlated(0.1),
        Kind::Drifting,
    ];
    for kind in kinds {
        for n in [2_000, 20_000] {
            let (alarms, _, _) = rates(kind, n, 1.0, 0..1000);
            let (any, median, visible) = rates(kind, n, 1.03, 2000..2300);
            println!(
                "| {kind:?} | {n} | {:.1} % | {:.0} % | {:.0} % | {visible:.1} % |",
                alarms * 100.0, any * 100.0, median * 100.0
            );
        }
    }
}
