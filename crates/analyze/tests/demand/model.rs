//! Slow and obvious ways to compute the same, on small random loads.

use super::{S, analysis, demand};
use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally, SetSizes};
use iosonar_plan::Op;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const WINDOWS: [u64; 3] = [1, 3, 7];

fn options() -> DemandOptions {
    DemandOptions { windows_s: WINDOWS.to_vec(), ..DemandOptions::default() }
}

/// Small loads in the order of time, on two devices.
fn loads() -> impl Strategy<Value = Vec<Demand>> {
    let one = (0u64..20, 0u64..80, 0u64..20, 0u16..2, any::<bool>());
    let build = |(s, sector, sectors, device, write)| {
        let op = if write { Op::Write } else { Op::Read };
        Demand { time_ns: s * S + sector, sector, sectors, device, op }
    };
    prop::collection::vec(one.prop_map(build), 1..60).prop_map(|mut load| {
        load.sort_by_key(|d| d.time_ns);
        load
    })
}

/// Device and number of each item.
type Set = BTreeSet<(u16, u64)>;

fn sets<'a>(load: impl Iterator<Item = &'a Demand>) -> SetSizes<u64> {
    let (mut start, mut touched, mut pages) = (Set::new(), Set::new(), Set::new());
    for d in load.filter(|d| d.sectors > 0) {
        start.insert((d.device, d.sector));
        for sector in d.sector..d.end() {
            touched.insert((d.device, sector));
            pages.insert((d.device, sector / 8));
        }
    }
    SetSizes { start: start.len() as u64, touched: touched.len() as u64, pages: pages.len() as u64 }
}

fn within(load: &[Demand], from: u64, to: u64) -> impl Iterator<Item = &Demand> {
    load.iter().filter(move |d| (from * S..to * S).contains(&d.time_ns))
}

/// Highest minus lowest first sector, added up over devices.
fn spans<'a>(load: impl Iterator<Item = &'a Demand>) -> u64 {
    let mut spans = BTreeMap::<u16, (u64, u64)>::new();
    for d in load.filter(|d| d.sectors > 0) {
        let span = spans.entry(d.device).or_insert((d.sector, d.sector));
        *span = (span.0.min(d.sector), span.1.max(d.sector));
    }
    spans.values().map(|(low, high)| high - low).sum()
}

fn pages(d: &Demand) -> impl Iterator<Item = (u16, u64)> + use<> {
    let device = d.device;
    let end = if d.sectors == 0 { d.sector / 8 } else { d.end().div_ceil(8) };
    (d.sector / 8..end).map(move |page| (device, page))
}

/// Misses of an LRU cache of `size` pages for each device, by reads and by writes.
fn misses(load: &[Demand], size: usize) -> [u64; 2] {
    let mut caches = BTreeMap::<u16, Vec<u64>>::new();
    let mut misses = [0; 2];
    for d in load {
        for (device, page) in pages(d) {
            let cache = caches.entry(device).or_default();
            match cache.iter().position(|p| *p == page) {
                Some(at) => {
                    cache.remove(at);
                }
                None => misses[usize::from(d.op.is_write())] += 1,
            }
            cache.insert(0, page);
            cache.truncate(size);
        }
    }
    misses
}

fn set_at(series: &SetSizes<Vec<u64>>, i: usize) -> SetSizes<u64> {
    SetSizes { start: series.start[i], touched: series.touched[i], pages: series.pages[i] }
}

fn check_caches(a: &DemandAnalysis, load: &[Demand]) {
    let accesses = load.iter().flat_map(pages).count() as f64;
    for point in &a.series.miss_ratio {
        let [reads, writes] = misses(load, point.cache_pages as usize);
        assert_eq!(point.miss.all, (reads + writes) as f64 / accesses, "{} pages", point.cache_pages);
    }
    let reads = load.iter().filter(|d| d.op == Op::Read).flat_map(pages).count();
    if let Some(point) = a.series.miss_ratio.first().filter(|_| reads > 0) {
        assert_eq!(point.miss.read, misses(load, point.cache_pages as usize)[0] as f64 / reads as f64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn working_sets_match_the_definition(load in loads()) {
        let a = analysis(&load, &options());
        let last = load.last().unwrap().time_ns / S;
        for (i, d) in WINDOWS.into_iter().enumerate() {
            let series = &a.series.working_sets[i];
            for t in 1..=last + 1 {
                let expected = sets(within(&load, t.saturating_sub(d), t));
                prop_assert_eq!(set_at(&series.sliding, t as usize - 1), expected, "[{} - {}, {})", t, d, t);
            }
            let c = series.consecutive.as_ref().unwrap();
            prop_assert_eq!(c.sum_dist.len() as u64, last / d + 1);
            for k in 0..=last / d {
                let window = || within(&load, k * d, (k + 1) * d);
                prop_assert_eq!(set_at(&c.sets, k as usize), sets(window()), "window {} of {} s", k, d);
                prop_assert_eq!(c.sum_dist[k as usize], spans(window()));
            }
        }
        let infinite = &a.series.working_sets[WINDOWS.len()].sliding;
        for t in 1..=last + 1 {
            prop_assert_eq!(set_at(infinite, t as usize - 1), sets(within(&load, 0, t)));
        }
    }

    #[test]
    fn caches_and_frequencies_match_the_definition(load in loads()) {
        let a = analysis(&load, &options());
        check_caches(&a, &load);
        let mut uses = BTreeMap::new();
        load.iter().flat_map(pages).for_each(|page| *uses.entry(page).or_insert(0u64) += 1);
        let mut counts: Vec<u64> = uses.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let groups = &a.series.frequency_groups.all;
        let flat: Vec<u64> = groups.iter().flat_map(|g| vec![g.accesses; g.pages as usize]).collect();
        prop_assert_eq!(flat, counts);
        let mut hottest: Vec<_> = uses.into_iter().collect();
        hottest.sort_by_key(|(page, n)| (std::cmp::Reverse(*n), *page));
        let named = a.facts.frequency.all.hottest.iter().map(|p| ((p.device, p.page), p.accesses));
        prop_assert_eq!(named.collect::<Vec<_>>(), hottest.into_iter().take(10).collect::<Vec<_>>());
    }

    #[test]
    fn tallies_of_devices_merge_to_one_pass(load in loads()) {
        let of = |device: u16| {
            let mut tally = DemandTally::new(&options());
            load.iter().filter(|d| d.device == device).for_each(|d| tally.add(d));
            tally
        };
        let mut merged = of(1);
        merged.merge(of(0));
        let merged = merged.finish();
        let whole = analysis(&load, &options());
        prop_assert_eq!(&merged.facts, &whole.facts);
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn facts_round_trip_through_json(load in loads()) {
        let facts = analysis(&load, &options()).facts;
        let text = serde_json::to_string(&facts).unwrap();
        prop_assert_eq!(serde_json::from_str::<iosonar_analyze::demand::DemandFacts>(&text).unwrap(), facts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// When single seconds are no longer distinguished, sizes at the ends of the steps are still exact.
    #[test]
    fn multi_second_steps_keep_working_set_sizes(times in prop::collection::vec((0u64..1 << 21, 0u64..40), 1..30)) {
        let mut load: Vec<Demand> = times.iter().map(|(s, sector)| demand(s * S, *sector, 9, Op::Read)).collect();
        load.sort_by_key(|d| d.time_ns);
        let windows = [1, 60, 100_000];
        let a = analysis(&load, &DemandOptions { windows_s: windows.to_vec(), ..DemandOptions::default() });
        for (series, d) in a.series.working_sets.iter().zip(windows.map(Some).into_iter().chain([None])) {
            let step = series.step_s;
            prop_assert!(series.sliding.pages.len() <= 1 << 18);
            for t in load.iter().flat_map(|r| [r.time_ns / S / step, r.time_ns / S / step + 1]).filter(|t| *t > 0) {
                let Some(_) = series.sliding.pages.get(t as usize - 1) else { continue };
                let expected = sets(within(&load, d.map_or(0, |d| (t * step).saturating_sub(d)), t * step));
                prop_assert_eq!(set_at(&series.sliding, t as usize - 1), expected, "t {} d {:?} step {}", t, d, step);
            }
        }
    }
}

#[test]
fn analyzes_load_on_one_or_two_devices() {
    let load: Vec<Demand> = (0..4)
        .map(|i| Demand { device: i % 2, ..demand(u64::from(i), 800 - 100 * u64::from(i), 8, Op::Read) })
        .collect();
    let two = analysis(&load, &options()).facts;
    let one: Vec<Demand> = load.iter().map(|d| Demand { device: 0, ..*d }).collect();
    let one = analysis(&one, &options()).facts;
    assert_eq!((two.devices, two.turns.total.all.turns), (2, 2));
    assert_eq!((one.devices, one.turns.total.all.turns), (1, 3));
    // Spans add up; the gaps between devices do not count.
    assert_eq!(two.working_sets[0].sum_dist.unwrap().max, 400);
    assert_eq!(two.working_sets[0].mean_gap.unwrap().max, 200.0);
    assert_eq!(one.working_sets[0].sum_dist.unwrap().max, 300);
    assert_eq!(
        (one.working_sets[0].mean_gap.unwrap().max, one.working_sets[0].avg_dist.unwrap().max),
        (100.0, 75.0)
    );
}
