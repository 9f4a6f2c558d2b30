//! Loads that no application generates.

use super::{S, SplitMix, analysis, demand};
use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions};
use iosonar_plan::Op;

fn of(load: &[Demand]) -> DemandAnalysis {
    let a = analysis(load, &DemandOptions::default());
    assert_eq!(a.facts.counts.all.requests, load.len() as u64);
    let series = &a.series;
    let total = |reads: &[u64], writes: &[u64]| reads.iter().chain(writes).sum::<u64>();
    for rates in [&series.per_second, &series.throughput] {
        assert_eq!(total(&rates.reads, &rates.writes), load.len() as u64);
        assert!(rates.reads.len() <= 1 << 18);
    }
    assert_eq!(series.turns.requests.iter().sum::<u64>(), load.len() as u64);
    assert_eq!(total(&series.positions.reads, &series.positions.writes), load.len() as u64);
    assert_eq!(series.sizes.iter().map(|c| c.reads + c.writes).sum::<u64>(), load.len() as u64);
    let map = &series.seek_map;
    let cells = (0..map.columns).flat_map(|c| map.column(c)).flatten();
    assert_eq!(cells.map(|n| u64::from(*n)).sum::<u64>(), load.len() as u64);
    assert!(map.columns <= 2048 && map.rows <= 512 && series.positions.reads.len() <= 1 << 16);
    serde_json::to_string(&a.facts).expect("every number is finite");
    a
}

#[test]
fn analyzes_load_without_requests() {
    let f = of(&[]).facts;
    assert_eq!((f.span, f.positions, f.sizes.all, f.devices), (None, None, None, 0));
    assert!(f.growth.after.is_empty() && f.frequency.all.markers.is_empty() && f.miss_ratio.at.is_empty());
    assert_eq!((f.working_sets.len(), f.turns.total.all.percent, f.throughput.iops.all.count), (5, 0.0, 0));
    assert!(f.sampling.exact);
}

#[test]
fn analyzes_load_with_one_request() {
    let f = of(&[demand(0, 7, 2, Op::Write)]).facts;
    let sets = f.working_sets[4].sliding;
    assert_eq!((sets.start.max, sets.touched.max, sets.pages.max), (1, 2, 2));
    assert_eq!((f.turns.total.all.turns, f.throughput.iops.all.max), (0, 1.0 / 3.0));
    assert_eq!((f.miss_ratio.first_use.all, f.miss_ratio.knee.all), (1.0, None));
    assert_eq!(f.working_sets[0].mean_gap.unwrap().count, 0);
}

#[test]
fn analyzes_load_with_one_instant() {
    let load: Vec<Demand> = (0..1000).map(|i| demand(5 * S, i % 100 * 8, 8, Op::Read)).collect();
    let f = of(&load).facts;
    assert_eq!((f.span.unwrap().first_ns, f.span.unwrap().last_ns), (5 * S, 5 * S));
    assert_eq!((f.working_sets[0].sliding.pages.max, f.working_sets[0].sliding.pages.sum), (100, 100));
    assert_eq!((f.repetitions.page_accesses, f.repetitions.pages_used_once), (900, 0));
}

#[test]
fn accepts_offsets_at_end_of_address_space() {
    let far = 1 << 54;
    let load = [
        demand(0, 0, 8, Op::Read),
        demand(1, far, 8, Op::Write),
        demand(2, u64::MAX, u64::from(u32::MAX >> 8), Op::Read),
    ];
    let f = of(&load).facts;
    assert!(f.positions.unwrap().highest_end_sector > far && f.positions.unwrap().cell_gib > 1);
    assert_eq!(f.frequency.write.distinct_pages, 1);
    assert!(f.working_sets[0].sum_dist.unwrap().max >= far);
}

#[test]
fn accepts_maximum_times() {
    for last in [u64::MAX / 2, u64::MAX] {
        let load = [demand(0, 0, 8, Op::Read), demand(1, 8, 8, Op::Read), demand(last, 0, 8, Op::Write)];
        let a = of(&load);
        assert_eq!(a.facts.span.unwrap().last_ns, last);
        let infinite = &a.series.working_sets[4];
        assert!(infinite.sliding.pages.len() <= 1 << 18 && infinite.step_s > 1);
        assert_eq!(*infinite.sliding.pages.last().unwrap(), 2);
        assert_eq!(a.facts.working_sets[0].consecutive, None);
    }
}

#[test]
fn accepts_backward_times() {
    let mut random = SplitMix(1);
    let load: Vec<Demand> = (0..5000)
        .map(|i| {
            let op = if i % 2 == 0 { Op::Read } else { Op::Write };
            demand(random.below(100 * S), random.below(2000), random.below(40), op)
        })
        .collect();
    let late = of(&load);
    let mut sorted = load.clone();
    sorted.sort_by_key(|d| d.time_ns);
    let sorted = of(&sorted);
    // Series by a request's own time are not affected.
    assert_eq!(late.series.per_second, sorted.series.per_second);
    assert_eq!(late.series.positions, sorted.series.positions);
    assert_eq!(late.series.seek_map, sorted.series.seek_map);
    assert_eq!(late.facts.frequency, sorted.facts.frequency);
    let end = |a: &DemandAnalysis| a.facts.growth.after.last().unwrap().sets;
    assert_eq!(end(&late), end(&sorted));
    for (late, sorted) in late.series.working_sets.iter().zip(&sorted.series.working_sets) {
        assert!(
            late.sliding
                .pages
                .iter()
                .zip(&sorted.sliding.pages)
                .all(|(l, s)| l <= s || late.window_s.is_none())
        );
    }
}

#[test]
fn accepts_zero_and_huge_lengths() {
    let load = [demand(0, 16, 0, Op::Read), demand(1, 16, 8, Op::Read), demand(2, 3, 1 << 24, Op::Write)];
    let options = DemandOptions { exact_pages: 5000, ..DemandOptions::default() };
    let a = analysis(&load, &options);
    assert_eq!(a.facts.counts.all.sectors, 8 + (1 << 24));
    // Only the first GiB of the longest is counted, which is reported.
    assert_eq!(a.facts.frequency.all.accesses, 1 + (1 << 18));
    assert_eq!(a.facts.sampling.cut_requests, 1);
    assert!(!a.facts.sampling.exact && a.facts.sampling.sampled_pages <= 5000);
    let pages = a.facts.growth.after.last().unwrap().sets.pages as f64;
    let error = a.facts.sampling.relative_error.pages;
    assert!((pages / (1 << 18) as f64 - 1.0).abs() < 4.0 * error, "{pages} {error}");
    assert_eq!(of(&load[..1]).facts.frequency.all.accesses, 0);
}

#[test]
fn accepts_zero_options() {
    let options = DemandOptions {
        windows_s: vec![0, u64::MAX],
        throughput_window_ns: 0,
        turn_window_ns: 0,
        exact_pages: 0,
        device_bytes: vec![0, 1, 512, u64::MAX],
    };
    let load: Vec<Demand> = (0..3000).map(|i| demand(i * S, i * 8, 9, Op::Read)).collect();
    let a = analysis(&load, &options);
    assert_eq!(a.facts.working_sets.len(), 2);
    assert_eq!(a.facts.wraparound.len(), 4);
    assert!(a.facts.sampling.sampled_pages <= 1);
    serde_json::to_string(&a.facts).expect("every number is finite");
}
