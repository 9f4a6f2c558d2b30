//! Error rates of statistical detectors: runs from seeds, each judged as a whole.
//!
//! `cargo test --release -p iosonar-judge --lib -- --ignored --nocapture detection_rates` prints the table of `docs/validity.md`.

use crate::testing::Lab;
use iosonar_analyze::DetectorId;
use iosonar_testkit::SplitMix;
use std::f64::consts::TAU;

/// Equal parts of a run, of a second each.
const PARTS: usize = 20;
const REQUESTS: f64 = 3_000.0;

/// Noise of a run.
struct Noise(SplitMix);

impl Noise {
    fn of(seed: u64) -> Noise {
        Noise(SplitMix(seed))
    }

    /// A value of the normal distribution with mean 0 and variance 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.fraction()).ln()).sqrt();
        radius * (TAU * self.0.fraction()).cos()
    }

    /// A lognormal value around a median; the logarithm varies by `sigma`.
    fn lognormal_ns(&mut self, median_ns: f64, sigma: f64) -> u64 {
        (median_ns * (sigma * self.normal()).exp()) as u64
    }

    /// A run whose parts have these levels. Each varies by `cv` (standard deviation divided by the mean), and depends by `phi` on its
    /// predecessor.
    fn run(&mut self, cv: f64, phi: f64, level: impl Fn(usize) -> f64) -> Lab {
        let mut last = self.normal();
        let levels: Vec<f64> = (0..PARTS)
            .map(|part| {
                let value = last;
                last = phi * last + (1.0 - phi * phi).sqrt() * self.normal();
                level(part) * (1.0 + cv * value).max(0.05)
            })
            .collect();
        let sum: f64 = levels.iter().sum();
        levels.iter().fold(Lab::new(), |lab, level| {
            let requests = (REQUESTS * level / sum).round().max(1.0) as u64;
            lab.latency_ns(1_000_000_000 / requests).reads(requests, 4096)
        })
    }

    /// A run of a closed loop with one request in flight.
    fn closed(&mut self, mut latency_ns: impl FnMut(&mut Noise, usize) -> u64) -> Lab {
        (0..REQUESTS as usize).fold(Lab::new(), |lab, request| {
            let latency_ns = latency_ns(self, request);
            lab.latency_ns(latency_ns).reads(1, 4096)
        })
    }
}

/// Similar runs.
struct Scenario {
    what: &'static str,
    make: fn(&mut Noise) -> Lab,
    /// A caution, and the share of the runs that may have it: at least, at most.
    expected: &'static [(DetectorId, f64, f64)],
}

const fn always(detector: DetectorId) -> (DetectorId, f64, f64) {
    (detector, 0.99, 1.0)
}

const fn never(detector: DetectorId) -> (DetectorId, f64, f64) {
    (detector, 0.0, 0.0)
}

/// At most one of 40; of 500 rarely more than three.
const fn seldom(detector: DetectorId) -> (DetectorId, f64, f64) {
    (detector, 0.0, 0.025)
}

use DetectorId::{FasterThanAnyDevice, Noisy, NotSteady, StallsHidden};

const SCENARIOS: &[Scenario] = &[
    Scenario {
        what: "flat, noise 3 %",
        make: |noise| noise.run(0.03, 0.0, |_| 1.0),
        expected: &[never(NotSteady), never(Noisy)],
    },
    Scenario {
        what: "flat, noise 5 %",
        make: |noise| noise.run(0.05, 0.0, |_| 1.0),
        expected: &[never(NotSteady), never(Noisy)],
    },
    Scenario {
        what: "flat, noise 3 %, each part depends on the one before (φ = 0.5)",
        make: |noise| noise.run(0.03, 0.5, |_| 1.0),
        expected: &[never(NotSteady), never(Noisy)],
    },
    Scenario {
        what: "flat, noise 5 %, φ = 0.5",
        make: |noise| noise.run(0.05, 0.5, |_| 1.0),
        expected: &[seldom(NotSteady), never(Noisy)],
    },
    Scenario {
        what: "flat, noise 15 %",
        make: |noise| noise.run(0.15, 0.0, |_| 1.0),
        expected: &[seldom(NotSteady), (Noisy, 0.8, 1.0)],
    },
    Scenario {
        what: "0.4 times the level after 40 % of the time, noise 5 %, φ = 0.5",
        make: |noise| noise.run(0.05, 0.5, |part| if part < 8 { 1.0 } else { 0.4 }),
        expected: &[always(NotSteady)],
    },
    Scenario {
        what: "0.4 times the level after 85 % of the time, noise 5 %, φ = 0.5",
        make: |noise| noise.run(0.05, 0.5, |part| if part < 17 { 1.0 } else { 0.4 }),
        expected: &[(NotSteady, 0.5, 1.0)],
    },
    Scenario {
        what: "0.4 times the level after 90 % of the time, noise 5 %, φ = 0.5",
        make: |noise| noise.run(0.05, 0.5, |part| if part < 18 { 1.0 } else { 0.4 }),
        expected: &[(NotSteady, 0.94, 1.0)],
    },
    Scenario {
        what: "0.4 times the level after 90 % of the time, noise 3 %",
        make: |noise| noise.run(0.03, 0.0, |part| if part < 18 { 1.0 } else { 0.4 }),
        expected: &[(NotSteady, 0.94, 1.0)],
    },
    Scenario {
        what: "the level falls by 30 % little by little, noise 3 %",
        make: |noise| noise.run(0.03, 0.0, |part| 1.0 - 0.3 * part as f64 / 19.0),
        expected: &[(NotSteady, 0.5, 1.0)],
    },
    Scenario {
        what: "one part in 20 at 0.4 times the level, noise 5 %",
        make: |noise| noise.run(0.05, 0.0, |part| if part == 9 { 0.4 } else { 1.0 }),
        expected: &[seldom(NotSteady), (Noisy, 0.8, 1.0)],
    },
    Scenario {
        what: "reads of 4 KiB from a device, median 10 µs",
        make: |noise| noise.closed(|noise, _| noise.lognormal_ns(10_000.0, 0.3)),
        expected: &[never(FasterThanAnyDevice), never(StallsHidden)],
    },
    Scenario {
        what: "the same, 10 % of them from the page cache (0.7 µs)",
        make: |noise| {
            noise.closed(|noise, request| {
                noise.lognormal_ns(if request % 10 == 0 { 700.0 } else { 10_000.0 }, 0.3)
            })
        },
        expected: &[always(FasterThanAnyDevice)],
    },
    Scenario {
        what: "closed loop, median 1 ms with a long tail (σ = 1), no stall",
        make: |noise| noise.closed(|noise, _| noise.lognormal_ns(1e6, 1.0)),
        expected: &[seldom(StallsHidden)],
    },
    Scenario {
        what: "the same with one stall of 1 s",
        make: |noise| {
            noise.closed(|noise, request| match request {
                2_000 => 1_000_000_000,
                _ => noise.lognormal_ns(1e6, 1.0),
            })
        },
        expected: &[always(StallsHidden)],
    },
];

/// Number of runs with a caution, reported or explained by its cause.
fn appearances(scenario: &Scenario, detector: DetectorId, seeds: std::ops::Range<u64>) -> usize {
    let has_it = |seed: &u64| {
        let judgement = (scenario.make)(&mut Noise::of(*seed)).judgement();
        judgement.of(detector).is_some_and(|one| one.is_reported() || one.explained_by.is_some())
    };
    seeds.filter(has_it).count()
}

#[test]
#[ignore = "a measurement: it prints the table of docs/validity.md"]
fn detection_rates() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(500);
    for scenario in SCENARIOS {
        for (detector, ..) in scenario.expected {
            let found = appearances(scenario, *detector, 1_000..1_000 + seeds);
            println!("| {} | `{detector}` | {found} of {seeds} |", scenario.what);
        }
    }
}

#[test]
fn cautions_appear_exactly_where_expected() {
    let seeds = 40;
    for scenario in SCENARIOS {
        for (detector, least, most) in scenario.expected {
            let found = appearances(scenario, *detector, 1..seeds + 1) as f64 / seeds as f64;
            assert!((*least..=*most).contains(&found), "{}, {detector}: {found}", scenario.what);
        }
    }
}
