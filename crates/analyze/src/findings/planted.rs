//! Planted truth: runs with known properties, from seeds, and how often the findings detect them.
//!
//! `cargo test -p iosonar-analyze -- --ignored --nocapture detection_rates` prints the table of `docs/findings.md`.

use super::*;
use crate::testing::{Fixture, record};
use crate::{Cause, PartStats, PartTimes, Rate, Story, StoryEvent};
use iosonar_archive::Record;
use iosonar_plan::Op;
use iosonar_testkit::SplitMix;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Random numbers by their distribution.
struct Random(SplitMix);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.fraction()
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.0.fraction()).ln()
    }

    /// Standard normal (Box-Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.0.fraction()).ln()).sqrt() * (std::f64::consts::TAU * self.0.fraction()).cos()
    }

    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * self.normal()).exp()
    }
}

/// One request.
#[derive(Clone, Copy)]
struct Request {
    submitted: u64,
    completed: u64,
    op: Op,
}

/// Requests at random times with `rate(t)` per second; `latency` in microseconds by time and operation.
fn poisson(
    random: &mut Random,
    seconds: f64,
    most: f64,
    rate: impl Fn(f64) -> f64,
    mut latency: impl FnMut(&mut Random, f64, Op) -> f64,
) -> Vec<Request> {
    let (mut requests, mut t) = (Vec::new(), 0.0);
    loop {
        t += random.exponential(1.0 / most);
        if t >= seconds {
            return requests;
        }
        if random.0.fraction() * most < rate(t) {
            let op = if random.0.fraction() < 0.35 { Op::Write } else { Op::Read };
            let submitted = (t * 1e9) as u64;
            let took = latency(random, t, op).max(1.0);
            requests.push(Request { submitted, completed: submitted + (took * 1e3) as u64, op });
        }
    }
}

/// Delays requests for which `stands` from `from` to `to`; they then complete quickly, in order.
fn stall(requests: &mut [Request], from: u64, to: u64, mut stands: impl FnMut(&Request) -> bool) {
    let mut end = to;
    for r in requests.iter_mut().filter(|r| r.completed > from && r.submitted < to) {
        if stands(r) {
            r.completed = r.completed.max(end);
            end += 20_000;
        }
    }
}

fn records(requests: &[Request]) -> Vec<Record> {
    let one = |(i, r): (usize, &Request)| record(i as u64, r.op, r.submitted, r.submitted, r.completed);
    requests.iter().enumerate().map(one).collect()
}

/// Returns only the stalls.
fn stalls_of(mut requests: Vec<Request>) -> Vec<CompletionStall> {
    requests.sort_by_key(|r| r.completed);
    let mut completions = Completions::new();
    requests.iter().for_each(|r| completions.add(r.submitted, r.completed, r.op));
    let facts = completions.facts();
    assert_eq!(facts.left_out, 0);
    facts.stalls
}

fn look(records: Vec<Record>) -> Findings {
    look_with_story(records, None)
}

fn look_with_story(mut records: Vec<Record>, story: Option<Story>) -> Findings {
    records.sort_by_key(|r| r.completed);
    let mut completions = Completions::new();
    for r in &records {
        completions.add(r.submitted.unwrap().0, r.completed.unwrap().0, r.op);
    }
    let f = Fixture::new(records);
    let summary = crate::Summary { story, ..f.summary() };
    let diagrams = Diagrams::compute(&f.records).unwrap();
    Findings::of(&diagrams, &completions.facts(), &summary, &WithoutCpu::default())
}

fn plain(random: &mut Random, rate: f64, seconds: f64) -> Vec<Request> {
    poisson(random, seconds, rate, |_| rate, |r, _, _| r.lognormal(300.0, 0.3))
}

/// Twelve times of planted stalls, well apart from each other.
fn twelve(random: &mut Random, seconds: u64) -> Vec<(u64, u64)> {
    let slot = seconds * S / 12;
    let one = |i: u64| {
        let from = i * slot + (random.between(0.1, 0.4) * slot as f64) as u64;
        (from, from + (random.between(0.3, 2.0) * 1e9) as u64)
    };
    (0..12).map(one).collect()
}

/// The number of planted stalls found with the right kind, and of false ones.
fn matched(
    stalls: &[CompletionStall],
    planted: &[(u64, u64)],
    kind: StallKind,
    op: Option<Op>,
) -> (usize, usize) {
    let is_at = |s: &CompletionStall, (from, to): (u64, u64)| {
        s.kind == kind
            && s.op == op
            && s.range.from_ns.abs_diff(from) < 150 * MS
            && s.range.to_ns.abs_diff(to) < 60 * MS
    };
    let found = planted.iter().filter(|p| stalls.iter().any(|s| is_at(s, **p))).count();
    let wrong = stalls.iter().filter(|s| !planted.iter().any(|p| is_at(s, *p))).count();
    (found, wrong)
}

/// A target with eight servers, and at most 64 requests in flight in the order of their due times.
fn queue(random: &mut Random, dues: &[f64], capacity: f64) -> Vec<Record> {
    queue_with_stalls(random, dues, capacity, &[])
}

/// The same queue; nothing is served from the start to the end of each stall.
fn queue_with_stalls(random: &mut Random, dues: &[f64], capacity: f64, stalls: &[(f64, f64)]) -> Vec<Record> {
    let (mut servers, mut done) = ([0.0f64; 8], std::collections::BinaryHeap::new());
    let mut records = Vec::with_capacity(dues.len());
    for (i, due) in dues.iter().enumerate() {
        let nanos = |t: f64| (t * 1e9) as u64;
        let mut submitted = nanos(*due);
        if done.len() == 64 {
            let std::cmp::Reverse(first) = done.pop().unwrap();
            submitted = submitted.max(first);
        }
        let server = (0..8).min_by(|a, b| servers[*a].total_cmp(&servers[*b])).unwrap();
        let begin = servers[server].max(submitted as f64 / 1e9);
        servers[server] = begin + random.exponential(8.0 / capacity);
        if let Some((_, end)) = stalls.iter().find(|s| begin < s.1 && servers[server] > s.0) {
            servers[server] = end + random.exponential(8.0 / capacity);
        }
        let completed = nanos(servers[server]).max(submitted + 1);
        done.push(std::cmp::Reverse(completed));
        records.push(record(i as u64, Op::Read, nanos(*due), submitted, completed));
    }
    records
}

fn dues(random: &mut Random, seconds: f64, most: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
    poisson(random, seconds, most, rate, |_, _, _| 1.0).iter().map(|r| r.submitted as f64 / 1e9).collect()
}

/// A scenario: its checks for a seed, `true` for each right answer.
type Scenario = (&'static str, fn(u64) -> Vec<bool>);

const SCENARIOS: [Scenario; 15] = [
    ("noise: no stall, overload, period; steady; no band", noise),
    ("three bands for each operation, within 10 %", bands_are_found),
    ("bands under twelve stalls, within 10 %", bands_under_stalls),
    ("drains after stalls, open and closed loop: no band", drains_are_no_bands),
    (
        "noise in the latency: at most four bands for each operation, of few requests none",
        ripples_are_no_bands,
    ),
    ("twelve lashes, dense: each, and no other", |seed| lashes(seed, 3_000.0, 60)),
    ("twelve lashes, sparse: each, and no other", |seed| lashes(seed, 500.0, 120)),
    ("needles of writes: each, and no other", |seed| needles(seed, false)),
    ("piles of some writes: each, and no other", |seed| needles(seed, true)),
    ("single slow requests and bursts: no stall", slow_requests_are_no_stalls),
    ("collapse at 60 s, within 1 s", collapse_is_found),
    ("underload and a stall: no overload; overload with recovery", overload_recovers),
    ("period of 5 s, within 2 %, of the target", period_of_target),
    ("period of 5 s, within 2 %, of the load", period_of_load),
    ("cache that warms up: not steady, steady later, shares", warming),
];

fn noise(seed: u64) -> Vec<bool> {
    let findings = look(records(&plain(&mut Random(SplitMix(seed)), 600.0, 60.0)));
    vec![
        findings.stalls.is_empty(),
        findings.collapse.is_none(),
        findings.period.is_none(),
        is_steady_from_start(&findings),
        findings.bands.is_empty(),
    ]
}

fn is_steady_from_start(findings: &Findings) -> bool {
    findings
        .steady
        .as_ref()
        .is_some_and(|s| s.result() == SplitResult::Steady && s.steady_from_ns == Some(s.range.from_ns))
}

const READS: [f64; 3] = [90.0, 620.0, 9_000.0];
const WRITES: [f64; 3] = [55.0, 240.0, 3_000.0];

fn three_bands(random: &mut Random) -> Vec<Request> {
    poisson(
        random,
        60.0,
        1_500.0,
        |_| 1_500.0,
        |r, _, op| {
            let band = [0.34, 0.78, 1.0].iter().position(|end| r.0.fraction() < *end).unwrap_or(2);
            r.lognormal(if op == Op::Read { READS } else { WRITES }[band], 0.22)
        },
    )
}

fn bands_match(findings: &Findings) -> bool {
    let peaks = |op| findings.bands.iter().filter(move |b| b.op == op).map(|b| b.peak_ns as f64 / 1e3);
    let is_close = |op, truth: [f64; 3]| {
        peaks(op).count() == 3
            && peaks(op).zip(truth).all(|(peak, true_peak)| (peak / true_peak - 1.0).abs() < 0.1)
    };
    is_close(Op::Read, READS) && is_close(Op::Write, WRITES)
}

fn bands_are_found(seed: u64) -> Vec<bool> {
    vec![bands_match(&look(records(&three_bands(&mut Random(SplitMix(seed))))))]
}

fn bands_under_stalls(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut requests = three_bands(random);
    twelve(random, 60).iter().for_each(|(from, to)| stall(&mut requests, *from, *to, |_| true));
    vec![bands_match(&look(records(&requests)))]
}

/// Two stalls of 2 s in an open loop, each followed by some 6 s with all 64 requests in flight; and in a closed loop a
/// stall of 100 ms each second, after which 32 requests complete one by one in 320 ms.
fn drains_are_no_bands(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let dues = dues(random, 60.0, 300.0, |_| 300.0);
    let open = look(queue_with_stalls(random, &dues, 400.0, &[(10.0, 12.0), (35.0, 37.0)]));
    let mut closed = Vec::new();
    for worker in 0..32u64 {
        let mut now = worker;
        while now < 20 * S {
            let mut completed = now + (random.lognormal(1_000.0, 0.2) * 1e3) as u64;
            let (second, free) = (completed / S * S, completed / S * S + 200 * MS);
            // After the stall each request takes one slot of 10 ms, a second one if it was issued in the meantime.
            if now < free && completed >= second + 100 * MS && completed > S {
                completed = free + (worker + 1) * 10 * MS;
            } else if now >= free && now < free + 320 * MS && now > S {
                completed = now + 320 * MS;
            }
            closed.push(Request { submitted: now, completed, op: Op::Read });
            now = completed;
        }
    }
    vec![open.bands.is_empty(), look(records(&closed)).bands.is_empty()]
}

/// Nine humps side by side that rise to 1.8 times their valleys; and few requests without any.
fn ripples_are_no_bands(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut ripples = |seconds, rate, ripple: f64| {
        poisson(
            random,
            seconds,
            rate,
            |_| rate,
            |r, _, _| {
                loop {
                    let decades = r.between(0.0, 1.8);
                    let height = 1.4 - ripple * (decades * 5.0 * std::f64::consts::TAU).cos();
                    if r.0.fraction() * 1.8 < height {
                        return 100.0 * 10f64.powf(decades);
                    }
                }
            },
        )
    };
    let (many, few) = (ripples(60.0, 1_500.0, 0.4), ripples(10.0, 60.0, 0.0));
    vec![look(records(&many)).bands.len() <= 8, look(records(&few)).bands.is_empty()]
}

fn lashes(seed: u64, rate: f64, seconds: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut requests = plain(random, rate, seconds as f64);
    let planted = twelve(random, seconds);
    planted.iter().for_each(|(from, to)| stall(&mut requests, *from, *to, |_| true));
    let (found, wrong) = matched(&stalls_of(requests), &planted, StallKind::Lash, None);
    (0..12).map(|i| i < found).chain([wrong == 0]).collect()
}

fn needles(seed: u64, only_some: bool) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut requests = plain(random, 1_000.0, 60.0);
    let planted = twelve(random, 60);
    for (from, to) in &planted {
        stall(&mut requests, *from, *to, |r| {
            r.op == Op::Write && (!only_some || r.submitted / 1_000 % 10 < 4)
        });
    }
    let kind = if only_some { StallKind::Queue } else { StallKind::Needle };
    let (found, wrong) = matched(&stalls_of(requests), &planted, kind, Some(Op::Write));
    (0..12).map(|i| i < found).chain([wrong == 0]).collect()
}

/// Requests that take up to 1.5 s while others complete; and a hundred at once that complete one after the other.
fn slow_requests_are_no_stalls(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut requests = plain(random, 600.0, 60.0);
    // Not at the very end, where no others complete.
    let last = requests.iter().filter(|r| r.submitted < 58 * S).count();
    for i in (0..last).step_by(997) {
        requests[i].completed += (random.between(0.2, 1.5) * 1e9) as u64;
    }
    for burst in 1..10 {
        let submitted = burst * 6 * S;
        requests.extend((0..100).map(|i| Request {
            submitted,
            completed: submitted + i * 3 * MS,
            op: Op::Write,
        }));
    }
    vec![stalls_of(requests).is_empty()]
}

fn collapse_is_found(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let dues = dues(random, 120.0, 800.0, |t| if t < 60.0 { 240.0 } else { 800.0 });
    let collapse = look(queue(random, &dues, 400.0)).collapse;
    let is_right = |c: &Overload| {
        c.kind == OverloadKind::Collapse
            && c.range.from_ns.abs_diff(60 * S) <= S
            && (c.demanded_per_second / 800.0 - 1.0).abs() < 0.15
            && c.delivered_low_per_second < 400.0
            && c.delivered_high_per_second > 400.0
            && (c.lost_seconds_per_second - 1.0).abs() < 0.2
    };
    vec![collapse.as_ref().is_some_and(is_right)]
}

fn overload_recovers(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let calm = dues(random, 100.0, 340.0, |_| 340.0);
    let calm = look(queue(random, &calm, 400.0)).collapse;
    let mut stalled = plain(random, 300.0, 60.0);
    stall(&mut stalled, 50 * S, 58 * S, |_| true);
    let stalled = look(records(&stalled)).collapse;
    let wave = dues(random, 120.0, 800.0, |t| if (40.0..60.0).contains(&t) { 800.0 } else { 160.0 });
    let wave = look(queue(random, &wave, 400.0)).collapse;
    // 20 s with twice the capacity leave 8 000 requests, worked off with 240 more per second than are demanded.
    let is_right = |o: &Overload| {
        o.kind == OverloadKind::Recovered
            && o.range.from_ns.abs_diff(40 * S) <= S
            && o.range.to_ns.abs_diff(93 * S) <= 4 * S
            && o.backlog_requests.abs_diff(8_000) < 1_000
    };
    vec![calm.is_none(), stalled.is_none(), wave.as_ref().is_some_and(is_right)]
}

fn is_period(findings: &Findings, cause: PeriodCause) -> bool {
    findings.period.as_ref().is_some_and(|p| p.cause == cause && p.period_ns.abs_diff(5 * S) < 100 * MS)
}

fn period_of_target(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let mut requests = plain(random, 500.0, 120.0);
    let phase = (random.0.fraction() * 5e9) as u64;
    for i in 0..24 {
        let from = phase + i * 5 * S;
        stall(&mut requests, from, from + 200 * MS, |_| true);
    }
    vec![is_period(&look(records(&requests)), PeriodCause::Target)]
}

fn period_of_load(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let phase = random.0.fraction() * 5.0;
    let rate = |t: f64| if (t + phase) % 5.0 < 1.0 { 1_000.0 } else { 300.0 };
    let requests = poisson(random, 120.0, 1_000.0, rate, |r, _, _| r.lognormal(300.0, 0.3));
    vec![is_period(&look(records(&requests)), PeriodCause::Load)]
}

/// The share of fast requests grows from 10 % to 90 % in the first 40 % of the time.
fn warming(seed: u64) -> Vec<bool> {
    let random = &mut Random(SplitMix(seed));
    let requests = poisson(
        random,
        60.0,
        1_000.0,
        |_| 1_000.0,
        |r, t, _| {
            let fast = 0.1 + 0.8 * (t / 24.0).min(1.0);
            if r.0.fraction() < fast { r.lognormal(90.0, 0.25) } else { r.lognormal(6_000.0, 0.25) }
        },
    );
    let findings = look(records(&requests));
    let steady = findings.steady.as_ref().unwrap();
    let from = steady.steady_from_ns.unwrap_or(0) as f64 / 1e9;
    let fast = findings.bands.iter().find(|b| b.letter == 'A' && b.op == Op::Read).unwrap();
    let close = |share: Option<f64>, truth: f64| (share.unwrap() - truth).abs() < 0.05;
    vec![
        steady.result() == SplitResult::ChangedMuch,
        (15.0..36.0).contains(&from),
        close(fast.first_third_share, 0.433) && close(fast.last_third_share, 0.9),
    ]
}

/// Passes with these median latencies and rates.
fn of_passes(values: &[f64]) -> PassFindings {
    let mut summary = Fixture::mixed().summary();
    let part = |(i, value): (usize, &f64)| PartStats {
        phase: None,
        begin_ns: None,
        submitted_ns: None,
        name: format!("pass {i}"),
        number: Some(i as u32),
        completed: 1_000,
        failed: 0,
        latency: Some(PartTimes {
            mean_ns: 0,
            p50_ns: *value as u64,
            p99_ns: Some(3 * *value as u64),
            max_ns: 0,
        }),
        delay: None,
        delivered: Some(Rate {
            requests: 1_000,
            bytes: 0,
            duration_ns: S,
            requests_per_second: 1e9 / value,
            bytes_per_second: 0.0,
        }),
        in_flight_mean: None,
    };
    summary.parts.passes = values.iter().enumerate().map(part).collect();
    passes::passes(&summary).unwrap()
}

/// `passes` passes around 1 ms with noise of 3 %; each slower than the one before by `drift`.
fn noisy_passes(seed: u64, passes: usize, drift: f64) -> Vec<f64> {
    let random = &mut Random(SplitMix(seed));
    (0..passes).map(|i| 1e6 * (1.0 + drift * i as f64) * (1.0 + 0.03 * random.normal())).collect()
}

const PASSES: [Scenario; 7] = [
    ("3 to 12 equal passes, noise 3 %: no drift", |seed| {
        let found = of_passes(&noisy_passes(seed, 3 + seed as usize % 10, 0.0));
        vec![found.trends.iter().all(|t| !t.is_drift)]
    }),
    ("3 to 12 equal passes, noise 3 %: no outlier", |seed| {
        vec![of_passes(&noisy_passes(seed, 3 + seed as usize % 10, 0.0)).outliers.is_empty()]
    }),
    ("3 to 12 equal passes, noise 3 %: no change of level", |seed| {
        vec![of_passes(&noisy_passes(seed, 3 + seed as usize % 10, 0.0)).levels.is_empty()]
    }),
    ("8 passes, the last 3 twice as slow, noise 3 %: that change", |seed| {
        let mut values = noisy_passes(seed, 8, 0.0);
        values[5..].iter_mut().for_each(|v| *v *= 2.0);
        vec![of_passes(&values).levels.iter().any(|l| l.pass == 5)]
    }),
    ("8 passes, each 3 % slower, noise 3 %: drift", |seed| {
        vec![of_passes(&noisy_passes(seed, 8, 0.03)).trends.iter().all(|t| t.is_drift)]
    }),
    ("10 passes, one 50 % slower, noise 3 %: that one", |seed| {
        let mut values = noisy_passes(seed, 10, 0.0);
        values[4] *= 1.5;
        vec![of_passes(&values).outliers.iter().any(|o| o.pass == 4)]
    }),
    ("10 equal passes: the interval encloses the true median", |seed| {
        let t = &of_passes(&noisy_passes(seed, 10, 0.0)).trends[0];
        vec![t.low_95.unwrap() <= 1e6 && t.high_95.unwrap() >= 1e6]
    }),
];

/// Right answers and questions over some seeds.
fn rate_of(scenario: fn(u64) -> Vec<bool>, seeds: std::ops::Range<u64>) -> (usize, usize) {
    let answers: Vec<bool> = seeds.flat_map(scenario).collect();
    (answers.iter().filter(|right| **right).count(), answers.len())
}

#[test]
#[ignore = "a measurement"]
fn detection_rates() {
    let seeds = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(200);
    for (name, scenario) in SCENARIOS {
        let (right, asked) = rate_of(scenario, 1_000..1_000 + seeds);
        println!("| {name} | {seeds} | {right} of {asked} |");
    }
    for (name, scenario) in PASSES {
        let (right, asked) = rate_of(scenario, 1_000..2_000);
        println!("| {name} | 1000 | {right} of {asked} |");
    }
}

#[test]
fn finds_planted_events_and_nothing_else() {
    for (name, scenario) in SCENARIOS {
        let (right, asked) = rate_of(scenario, 1..4);
        // Of some 40 answers at most one may be wrong; of a few, zero.
        assert!(right + asked / 30 >= asked, "{name}: {right} of {asked}");
    }
    for ((name, scenario), least) in PASSES.into_iter().zip([0.98, 0.98, 0.98, 0.95, 0.7, 0.97, 0.93]) {
        let (right, asked) = rate_of(scenario, 1..301);
        assert!(right as f64 >= least * asked as f64, "{name}: {right} of {asked}");
    }
}

#[test]
fn finds_nothing_in_few_requests() {
    for count in [0, 1, 2, 50] {
        let requests: Vec<Request> =
            (0..count).map(|i| Request { submitted: i, completed: i + 5, op: Op::Read }).collect();
        let findings = look(records(&requests));
        let passes =
            (count > 0).then(|| PassFindings { passes: 1, trends: vec![], outliers: vec![], levels: vec![] });
        let expected = Findings { passes, ..Findings::default() };
        assert_eq!(findings, expected, "{count}");
    }
}

#[test]
fn stall_of_reads_and_writes_is_one_finding() {
    let random = &mut Random(SplitMix(3));
    let mut requests = plain(random, 1_000.0, 20.0);
    // Some of both operations still complete.
    stall(&mut requests, 10 * S, 11 * S, |r| r.submitted / 1_000 % 10 < 6);
    let stalls = stalls_of(requests);
    assert_eq!(stalls.len(), 1, "{stalls:#?}");
    assert!(stalls[0].op.is_none() && stalls[0].held_reads > 0 && stalls[0].held_writes > 0);
    assert!(stalls[0].sentence().contains("reads and writes piled up"), "{}", stalls[0].sentence());
}

#[test]
fn attributes_level_change_to_pass() {
    let found = of_passes(&[169e3, 175e3, 167e3, 230e3]);
    let sentence = found.sentence();
    assert!(sentence.contains("the level of median latency changes by +36 % with pass 4"), "{sentence}");
    let found = of_passes(&[100e3, 101e3, 102e3, 150e3, 151e3]);
    assert!(found.outliers.is_empty() && found.levels.iter().all(|l| l.pass == 3), "{found:?}");
}

#[test]
fn a_change_of_level_at_a_pass_names_the_pass() {
    let random = &mut Random(SplitMix(4));
    let took = |r: &mut Random, t: f64, _| r.lognormal(if t < 15.0 { 170.0 } else { 300.0 }, 0.2);
    let mut all = records(&poisson(random, 20.0, 500.0, |_| 500.0, took));
    all.iter_mut().for_each(|r| r.pass = (r.due.0 / (5 * S)) as u32);
    let sentences = look(all).sentences();
    assert!(sentences.iter().any(|s| s.contains("not steady: with pass 4 (at 1")), "{sentences:#?}");
}

/// A story with one event.
fn story(cause: Cause, from_ns: u64, to_ns: u64, text: &str) -> Story {
    let event = StoryEvent {
        range: TimeRange { from_ns, to_ns },
        target: None,
        phase: None,
        cause,
        text: text.into(),
        requests: 1_000,
        lost_request_seconds: 500.0,
        share: 0.9,
        worst_response_ns: S,
        shape: None,
    };
    Story {
        headline: String::new(),
        because: Vec::new(),
        worth: None,
        remedy: None,
        events: vec![event],
        shares: Vec::new(),
        lost_request_seconds: 500.0,
        normal: None,
        contrast: None,
        parts: Vec::new(),
        blame: None,
    }
}

#[test]
fn stalls_name_the_outside_cause_of_the_story() {
    let random = &mut Random(SplitMix(7));
    let mut requests = plain(random, 1_000.0, 20.0);
    stall(&mut requests, 10 * S, 11 * S, |_| true);
    let named = |cause, from, text| -> String {
        let found = look_with_story(records(&requests), Some(story(cause, from, from + 2 * S, text)));
        assert_eq!(found.stalls.len(), 1);
        found.stalls[0].sentence()
    };
    let halted = named(Cause::Halted, 10 * S, "this program was halted for 1.00 s");
    assert!(halted.contains(": this program was halted for 1.00 s, "), "{halted}");
    assert!(!halted.contains("lash"), "{halted}");
    let others = named(Cause::Others, 10 * S, "98 % of the bytes on vda were not of this run");
    assert!(
        others.contains("nothing completed (full stall: lash) while 98 % of the bytes on vda"),
        "{others}"
    );
    for (cause, from) in [(Cause::TargetStoodStill, 10 * S), (Cause::Others, 15 * S)] {
        let plain = named(cause, from, "words");
        assert!(plain.contains("lash") && !plain.contains("words"), "{cause:?} {from}: {plain}");
    }
}

#[test]
fn overloads_name_the_outside_cause_of_the_story() {
    // A thousand requests a second, and for two seconds nothing is done; then as fast as possible.
    let done = |i: u64| if (5_000..8_000).contains(&i) { (7_000 + (i - 5_000) / 3) * MS } else { i * MS };
    let one = |i: u64| record(i, Op::Read, i * MS, done(i), done(i) + MS / 10);
    let all: Vec<Record> = (0..20_000).map(one).collect();
    let sentence = |story| look_with_story(all.clone(), story).collapse.expect("an overload").sentence();
    assert!(sentence(None).contains("overloaded from 5."), "{}", sentence(None));
    let text = "this program was halted for 2.00 s";
    let halted = sentence(Some(story(Cause::Halted, 5 * S, 8 * S, text)));
    assert!(halted.contains("while this program was halted for 2.00 s: "), "{halted}");
    assert!(halted.contains("requests/s wanted"), "{halted}");
    assert!(halted.starts_with("late from 5.") && !halted.contains("--depth"), "{halted}");
    let short = sentence(Some(story(Cause::Halted, 5 * S, 5 * S + 500 * MS, text)));
    assert!(short.contains("overloaded from"), "a sixth of the time is not its cause: {short}");
}

#[test]
fn failed_requests_are_a_finding() {
    let mut all = records(&plain(&mut Random(SplitMix(6)), 100.0, 20.0));
    let count = all.len();
    let failed: Vec<usize> = (0..count).filter(|i| (5 * S..6 * S).contains(&all[*i].due.0)).collect();
    failed.iter().for_each(|i| (all[*i].outcome, all[*i].result) = (iosonar_archive::Outcome::Failed, -5));
    all[failed[0]].result = -28;
    let (first, last) = (all[failed[0]].due.0, all[failed[failed.len() - 1]].due.0);
    let found = look(all);
    let failures = found.failures.as_ref().unwrap();
    assert_eq!((failures.requests, failures.of), (failed.len() as u64, count as u64));
    assert!(
        failures.range.from_ns.abs_diff(first) < 10 * MS && failures.range.to_ns.abs_diff(last) < 10 * MS
    );
    let text = failures.sentence();
    assert!(text.contains("EIO, 1 ENOSPC; first at 5.") && text.contains("requests failed ("), "{text}");
}

#[test]
fn sentences_and_json_contain_the_findings() {
    let random = &mut Random(SplitMix(5));
    let mut requests = three_bands(random);
    stall(&mut requests, 10 * S, 11 * S, |_| true);
    let findings = look(records(&requests));
    let sentences = findings.sentences();
    let has = |part: &str| assert!(sentences.iter().any(|s| s.contains(part)), "{part}: {sentences:#?}");
    has("reads, band A: around ");
    has("stall 1: at 10.0");
    has("nothing completed (full stall: lash)");
    has("one pass only: no interval between passes");
    let json = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), findings);
}
