//! Estimates from a sample of the pages against the exact numbers.

use super::{S, SplitMix, analysis, demand};
use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions};
use iosonar_plan::Op;

const REQUESTS: u64 = 120_000;
const PAGES: u64 = 60_000;

/// Reads and writes over two minutes, each with a page that `pick` chooses.
fn load(seed: u64, pick: impl Fn(&mut SplitMix) -> u64) -> Vec<Demand> {
    let mut random = SplitMix(seed);
    let one = |i: u64| {
        let (page, low) = (pick(&mut random), random.below(4));
        let op = if random.below(3) == 0 { Op::Write } else { Op::Read };
        demand(i * (120 * S / REQUESTS), page * 8 + low, 4 + random.below(9), op)
    };
    (0..REQUESTS).map(one).collect()
}

fn uniform(seed: u64) -> Vec<Demand> {
    load(seed, |random| random.below(PAGES))
}

/// Rank r with a density of about 1/r^0.8, ranks spread over the device.
fn zipf(seed: u64) -> Vec<Demand> {
    load(seed, |random| {
        let rank = (PAGES as f64 * random.fraction().powi(5)) as u64;
        rank.wrapping_mul(0x9e37_79b1) % (1 << 30)
    })
}

fn near(name: &str, sampled: u64, exact: u64, error: f64) {
    let off = (sampled as f64 / exact as f64 - 1.0).abs();
    assert!(off <= 4.0 * error + 1e-9, "{name}: {sampled} is not {exact}, standard error {error}");
}

fn check(load: &[Demand]) {
    let exact = analysis(load, &DemandOptions::default());
    let sampled = analysis(load, &DemandOptions { exact_pages: 1 << 12, ..DemandOptions::default() });
    let (facts, error) = (&sampled.facts, sampled.facts.sampling.relative_error);
    assert!(exact.facts.sampling.exact && exact.facts.sampling.one_of == 1);
    assert!(!facts.sampling.exact && facts.sampling.one_of >= 8);
    assert!((1..=1 << 12).contains(&facts.sampling.sampled_pages));
    assert!(error.pages > 0.005 && error.pages < 0.1, "{}", error.pages);
    let end = |a: &DemandAnalysis| a.facts.growth.after.last().unwrap().sets;
    near("pages", end(&sampled).pages, end(&exact).pages, error.pages);
    near("touched", end(&sampled).touched, end(&exact).touched, error.touched);
    near("start", end(&sampled).start, end(&exact).start, error.start);
    near(
        "distinct",
        facts.frequency.all.distinct_pages,
        exact.facts.frequency.all.distinct_pages,
        error.pages,
    );
    // Windows hold fewer pages of the sample, so their error is larger.
    for (sampled, exact) in sampled.series.working_sets.iter().zip(&exact.series.working_sets) {
        for (s, e) in sampled.sliding.pages.iter().zip(&exact.sliding.pages) {
            let error = (facts.sampling.one_of as f64 / *e as f64).sqrt();
            near("window", *s, *e, error);
        }
    }
    check_miss_ratio(&sampled, &exact);
}

fn check_miss_ratio(sampled: &DemandAnalysis, exact: &DemandAnalysis) {
    let at = |a: &DemandAnalysis, pages: u64| {
        let before = a.series.miss_ratio.iter().take_while(|p| p.cache_pages <= pages).last();
        before.map_or(1.0, |p| p.miss.all)
    };
    let error = sampled.facts.sampling.miss_ratio_error;
    let (mut sum, mut count) = (0.0, 0.0);
    for log in 8..17 {
        let (s, e) = (at(sampled, 1 << log), at(exact, 1 << log));
        assert!((s - e).abs() <= 4.0 * error, "{log}: {s} is not {e}, standard error {error}");
        (sum, count) = (sum + (s - e).abs(), count + 1.0);
    }
    assert!(sum / count <= 2.0 * error, "mean error {}, standard error {error}", sum / count);
}

#[test]
fn uniform_loads() {
    (1..=3).for_each(|seed| check(&uniform(seed)));
}

#[test]
fn skewed_loads() {
    (1..=3).for_each(|seed| check(&zipf(seed)));
}

#[test]
fn page_independent_figures_stay_exact() {
    let load = zipf(9);
    let exact = analysis(&load, &DemandOptions::default());
    let sampled = analysis(&load, &DemandOptions { exact_pages: 100, ..DemandOptions::default() });
    assert_eq!(exact.facts.counts, sampled.facts.counts);
    assert_eq!(exact.facts.turns, sampled.facts.turns);
    assert_eq!(exact.series.throughput, sampled.series.throughput);
    assert_eq!(exact.facts.frequency.all.accesses, sampled.facts.frequency.all.accesses);
    let spans = |a: &DemandAnalysis| a.facts.working_sets[1].sum_dist;
    assert_eq!(spans(&exact), spans(&sampled));
}
