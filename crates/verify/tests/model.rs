//! The expected state agrees with an obvious oracle.

mod support;

use iosonar_testkit::SplitMix;
use iosonar_verify::Expected;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::{Field, History, Step};

const LIMIT: u64 = 1 << 20;

/// Eight sectors: in one block of 4 KiB, across two, across two chunks, across two pointers of the root.
fn field(place: u64) -> Field {
    let start = [0, 4, 124, (1 << 30) - 3][(place % 4) as usize];
    Field { start, sectors: 8, longest: 8, depth: 12, exact: true }
}

fn run(place: u64, steps: &[Step]) -> Result<(), String> {
    let mut history = History::new(Expected::new(LIMIT), field(place));
    for &step in steps {
        history.step(step)?;
        history.compare()?;
    }
    history.finish()?;
    history.compare()?;
    history.compare_touched()
}

/// At most 12 requests, and their ends.
fn steps(random: &mut SplitMix) -> Vec<Step> {
    let requests = 2 + random.below(11);
    let mut steps = Vec::new();
    for _ in 0..requests {
        let whole = random.below(4) == 0;
        let (start, count) = if whole { (0, 7) } else { (random.next(), random.next()) };
        steps.push(match random.below(20) {
            0 => Step::Forget { start, count },
            1..10 => Step::Write { start, count, tag: random.next() },
            _ => Step::Read { start, count },
        });
        for _ in 0..random.below(3) {
            steps.push(Step::End { which: random.next(), how: random.next() });
        }
    }
    steps
}

/// Drops steps that the failure does not need.
fn shrink(place: u64, mut steps: Vec<Step>) -> Vec<Step> {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        if run(place, &fewer).is_err() {
            (steps, at) = (fewer, 0);
        } else {
            at += 1;
        }
    }
    steps
}

/// `SEEDS=1000000` tries that many; without it, as many as fit in some seconds.
#[test]
fn histories_of_seeds_agree_with_the_oracle() {
    let seeds: Option<u64> = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok());
    let start = Instant::now();
    let mut tried = 0;
    while seeds.map_or(start.elapsed() < Duration::from_secs(5), |seeds| tried < seeds) {
        let mut random = SplitMix(tried);
        let steps = steps(&mut random);
        if run(tried, &steps).is_err() {
            let steps = shrink(tried, steps);
            panic!("seed {tried}: {}\n{steps:#?}", run(tried, &steps).unwrap_err());
        }
        tried += 1;
    }
    println!("{tried} histories in {:.1?}", start.elapsed());
    assert!(tried > 100);
}

/// Runs a long history with many requests in flight; returns how often a sector was unknown that need not be.
/// One of 4 * `failures` writes fails.
fn run_long(seed: u64, limit: u64, field: Field, requests: u64, failures: u64) -> u64 {
    let mut random = SplitMix(seed);
    let mut history = History::new(Expected::new(limit), field);
    for n in 0..requests {
        let (start, count) = (random.next() / 8 * 8 + random.below(2) * random.below(8), random.next());
        // Most are aligned and short.
        let count = match random.below(8) {
            0 => count,
            1 => count % 64,
            _ => 7,
        };
        let step = match random.below(64) {
            0 => Step::Forget { start, count },
            1..32 => Step::Write { start, count, tag: 3 + random.below(13) },
            _ => Step::Read { start, count },
        };
        let ends = random.below(3);
        let mut all = vec![step];
        // An odd number is success.
        let how = |random: &mut SplitMix| random.next() | u64::from(random.below(failures) != 0);
        all.extend((0..ends).map(|_| Step::End { which: random.next(), how: how(&mut random) }));
        for step in all {
            history.step(step).unwrap_or_else(|e| panic!("seed {seed}, request {n}: {e}"));
        }
        assert!(history.expected.bytes() <= limit.max(64 << 10), "{} bytes", history.expected.bytes());
    }
    history.finish().and_then(|()| history.compare()).and_then(|()| history.compare_touched()).unwrap();
    history.unknown
}

const LARGE: Field = Field { start: 1 << 20, sectors: 8192, longest: 4096, depth: 64, exact: true };

#[test]
fn long_histories_agree_with_the_oracle() {
    // Short enough, and with few enough failures, that no sector has more than eight candidates.
    for seed in 0..4 {
        assert_eq!(run_long(seed, 1 << 30, Field { longest: 384, ..LARGE }, 3000, 16), 0);
    }
}

#[test]
fn low_memory_accepts_everything_the_oracle_accepts() {
    // Enough memory for the table, but more candidates than a range can have.
    let narrow = Field { sectors: 200, longest: 200, exact: false, ..LARGE };
    let unknown: u64 = (0..4).map(|seed| run_long(seed, 64 << 20, narrow, 500, 1)).sum();
    assert!(unknown > 0);
    // Too many ranges, too.
    let unknown: u64 = (0..4).map(|seed| run_long(seed, 16 << 10, narrow, 500, 1)).sum();
    assert!(unknown > 0);
    let mut unknown = 0;
    for (seed, kib) in (0..).zip([16, 24, 32, 48, 64]) {
        unknown += run_long(seed, kib << 10, Field { exact: false, ..LARGE }, 1500, 1);
    }
    assert!(unknown > 0);
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..8u64, 0..8u64, 0..16u64).prop_map(|(start, count, tag)| Step::Write { start, count, tag }),
        4 => (0..8u64, 0..8u64).prop_map(|(start, count)| Step::Read { start, count }),
        8 => (0..12u64, any::<u64>()).prop_map(|(which, how)| Step::End { which, how }),
        1 => (0..8u64, 0..8u64).prop_map(|(start, count)| Step::Forget { start, count }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_agree_with_the_oracle(place in 0..4u64, steps in prop::collection::vec(any_step(), 0..24)) {
        run(place, &steps).map_err(TestCaseError::fail)?;
    }
}
