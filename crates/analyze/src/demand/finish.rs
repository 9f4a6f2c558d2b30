//! From the tally to figures and arrays.

use super::device::{Device, Sums};
use super::frequency::{Curve, Frequency};
use super::lanes::Lanes;
use super::tally::GIB_SECTORS;
use super::windows::Sliding;
use super::{
    ByOp, ConsecutiveSeries, DemandAnalysis, DemandFacts, DemandSeries, DemandTally, DemandThroughput,
    DemandTurnSeries, DemandTurns, Extremes, FractionExtremes, FrequencyFacts, FrequencyGroup, Growth,
    GrowthPoint, PAGE_BYTES, PositionFacts, PositionSeries, RateSeries, Repetitions, SamplingFacts,
    SetSeries, SetSizes, SizeCount, SizeFacts, WindowFacts, WindowSeries, sizes,
};
use std::thread;

const SECOND_NS: u64 = 1_000_000_000;
/// Seconds after which the growth of the infinite window is reported.
const GROWTH_S: [u64; 12] = [1, 6, 10, 60, 600, 1_800, 3_000, 3_600, 21_600, 86_400, 604_800, 2_592_000];

impl DemandTally {
    /// Returns the analysis of the counted requests.
    pub fn finish(mut self) -> DemandAnalysis {
        let last_second = self.span.map(|s| s.last_ns / SECOND_NS);
        // Both read the whole table of pages.
        let (devices, sums) = (&self.devices, &mut self.sums);
        let (working_sets, frequency) = thread::scope(|scope| {
            let frequency = scope.spawn(|| page_frequency(devices));
            (working_sets(devices, sums, last_second), frequency.join().expect("counting does not panic"))
        });
        let groups = ByOp {
            all: frequency.all.groups(),
            read: frequency.read.groups(),
            write: frequency.write.groups(),
        };
        let accesses = self.volume.map(|v| v.page_accesses);
        let miss_ratio = self.sums.reuse.curve(accesses);
        let series = DemandSeries {
            per_second: self.rates(&self.per_second, SECOND_NS),
            throughput: self.rates(&self.throughput, self.options.throughput_window_ns.max(1)),
            turns: self.turn_series(),
            sizes: self.sizes.counts(),
            positions: self.positions(),
            rank_frequency: groups.map(|g| Curve::of(g).samples()),
            seek_map: std::mem::replace(&mut self.seek, super::seek::Seek::new()).map(),
            frequency_groups: groups,
            working_sets,
            miss_ratio,
        };
        DemandAnalysis { facts: self.facts(&series, frequency), series }
    }

    fn facts(&self, series: &DemandSeries, frequency: ByOp<Frequency>) -> DemandFacts {
        let accesses = self.volume.map(|v| v.page_accesses);
        let frequency = frequency_facts(frequency, &series.frequency_groups, accesses);
        let highest_end = self.bounds.map_or(0, |(_, end)| end);
        DemandFacts {
            devices: self.devices.len() as u64,
            counts: self.counts(),
            span: self.span,
            sizes: self.size_facts(&series.sizes),
            positions: self.position_facts(&series.positions),
            working_sets: series.working_sets.iter().map(window_facts).collect(),
            growth: growth(series.working_sets.last()),
            turns: self.turn_facts(&series.turns),
            throughput: throughput_facts(&series.throughput),
            repetitions: self.repetitions(&frequency.all, &series.frequency_groups.all),
            frequency,
            miss_ratio: self.sums.reuse.facts(&series.miss_ratio, accesses),
            wraparound: self.wraps.iter().map(|w| w.facts(highest_end)).collect(),
            sampling: self.sampling(accesses[0] + accesses[1]),
        }
    }

    fn rates(&self, lanes: &Lanes, window_ns: u64) -> RateSeries {
        let steps = lanes.steps();
        RateSeries {
            width_ns: wider(window_ns, lanes.shift()),
            reads: lanes.lane(0, steps),
            writes: lanes.lane(1, steps),
            read_sectors: lanes.lane(2, steps),
            write_sectors: lanes.lane(3, steps),
        }
    }

    fn turn_series(&self) -> DemandTurnSeries {
        let steps = self.turns.steps();
        DemandTurnSeries {
            width_ns: wider(self.options.turn_window_ns.max(1), self.turns.shift()),
            requests: self.turns.lane(0, steps),
            turns: self.turns.lane(1, steps),
        }
    }

    fn positions(&self) -> PositionSeries {
        let steps = self.positions.steps();
        PositionSeries {
            cell_sectors: GIB_SECTORS << self.positions.shift(),
            reads: self.positions.lane(0, steps),
            writes: self.positions.lane(1, steps),
        }
    }

    fn size_facts(&self, counts: &[SizeCount]) -> ByOp<Option<SizeFacts>> {
        let volume = self.counts();
        ByOp {
            all: sizes::facts(counts, |c| c.reads + c.writes, volume.all.sectors),
            read: sizes::facts(counts, |c| c.reads, volume.read.sectors),
            write: sizes::facts(counts, |c| c.writes, volume.write.sectors),
        }
    }

    fn position_facts(&self, series: &PositionSeries) -> Option<PositionFacts> {
        let (lowest_sector, highest_end_sector) = self.bounds?;
        let used = series.reads.iter().zip(&series.writes).filter(|(r, w)| **r + **w > 0).count();
        Some(PositionFacts {
            lowest_sector,
            highest_end_sector,
            not_page_aligned: self.not_page_aligned,
            cell_gib: series.cell_sectors / GIB_SECTORS,
            cells_used: used as u64,
        })
    }

    fn turn_facts(&self, series: &DemandTurnSeries) -> DemandTurns {
        let windows = series.requests.iter().zip(&series.turns).filter(|(requests, _)| **requests > 0);
        DemandTurns {
            total: self.steps.counts(self.counts().map(|c| c.requests)),
            window_ns: series.width_ns,
            percent_per_window: FractionExtremes::of(windows.map(|(r, t)| 100.0 * *t as f64 / *r as f64)),
        }
    }

    fn repetitions(&self, all: &FrequencyFacts, groups: &[FrequencyGroup]) -> Repetitions {
        let again = all.accesses.saturating_sub(all.distinct_pages);
        Repetitions {
            page_accesses: again,
            page_accesses_percent: percent(again, all.accesses),
            pages_used_once: groups.last().filter(|g| g.accesses == 1).map_or(0, |g| g.pages),
            immediate: self.steps.repetitions,
        }
    }

    /// Each page is in the sample with probability r, independently. So a sum over pages of x has the variance (1 − r) / r
    /// · Σ x², and the sum of x² over the sample, divided by r, estimates Σ x² (Horvitz and Thompson, 1952).
    fn sampling(&self, accesses: u64) -> SamplingFacts {
        let (mut sum, mut variance, mut uses) = ([0.0; 3], [0.0; 3], 0.0);
        let log_rate = self.devices.iter().map(|d| d.table.log_rate()).max().unwrap_or(0);
        // Without sampling there is no uncertainty.
        let sampled = if log_rate > 0 { self.devices.as_slice() } else { &[] };
        for device in sampled {
            let weight = (1u64 << device.table.log_rate()) as f64;
            for entry in device.table.entries() {
                let of = [entry.starts.ever.count_ones(), entry.touched.ever.count_ones(), 1].map(f64::from);
                for set in 0..3 {
                    sum[set] += weight * of[set];
                    variance[set] += weight * (weight - 1.0) * of[set].powi(2);
                }
                let [read, write] = entry.uses.map(f64::from);
                uses += weight * (weight - 1.0) * (read + write).powi(2);
            }
        }
        let error = |set: usize| if sum[set] == 0.0 { 0.0 } else { variance[set].sqrt() / sum[set] };
        SamplingFacts {
            exact: log_rate == 0 && self.cut == 0,
            cut_requests: self.cut,
            one_of: 1 << log_rate,
            sampled_pages: self.devices.iter().map(|d| d.table.len() as u64).sum(),
            relative_error: SetSizes { start: error(0), touched: error(1), pages: error(2) },
            miss_ratio_error: if accesses == 0 { 0.0 } else { uses.sqrt() / accesses as f64 },
        }
    }
}

fn working_sets(devices: &[Device], sums: &mut Sums, last_second: Option<u64>) -> Vec<WindowSeries> {
    let windows = sums.windows.clone();
    let last = last_second.unwrap_or(0).min(u64::from(u32::MAX) - 1);
    if last_second.is_some() {
        [&mut sums.sets.start, &mut sums.sets.touched, &mut sums.sets.pages]
            .into_iter()
            .for_each(|set| set.reach(last as u32));
    }
    let since: Vec<u64> = windows.iter().map(|d| last / d * d).collect();
    let mut recent = vec![SetSizes::<u64>::default(); windows.len()];
    for device in devices {
        for (sum, sizes) in recent.iter_mut().zip(device.close(sums, &since, last)) {
            sum.start += sizes.start;
            sum.touched += sizes.touched;
            sum.pages += sizes.pages;
        }
    }
    let sets = &sums.sets;
    let step_s = 1 << sets.pages.shift();
    let of = |f: &dyn Fn(&Sliding) -> Vec<u64>| match last_second {
        None => SetSeries::default(),
        Some(_) => SetSizes { start: f(&sets.start), touched: f(&sets.touched), pages: f(&sets.pages) },
    };
    let finite = windows.iter().enumerate().map(|(i, d)| {
        let sliding = of(&|set| set.sizes(i, last));
        let tells = d.is_multiple_of(step_s) && last_second.is_some();
        let consecutive = tells.then(|| consecutive(devices, i, &sliding, *d, step_s, last, &recent[i]));
        WindowSeries { window_s: Some(*d), step_s, sliding, consecutive }
    });
    let mut series: Vec<WindowSeries> = finite.collect();
    let sliding = of(&|set| set.infinite(last));
    series.push(WindowSeries { window_s: None, step_s, sliding, consecutive: None });
    series
}

fn page_frequency(devices: &[Device]) -> ByOp<Frequency> {
    let mut by_op = ByOp { all: Frequency::new(), read: Frequency::new(), write: Frequency::new() };
    for device in devices {
        let log_rate = device.table.log_rate();
        for entry in device.table.entries() {
            let [read, write] = entry.uses.map(u64::from);
            by_op.all.add(device.id, entry, read + write, log_rate);
            by_op.read.add(device.id, entry, read, log_rate);
            by_op.write.add(device.id, entry, write, log_rate);
        }
    }
    by_op
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn wider(width: u64, shift: u32) -> u64 {
    width.saturating_mul(1 << shift)
}

/// Consecutive windows from the sliding ones: window k is the one that ends at (k + 1)·d. The last one may end after the
/// last request: its sizes count everything used since it began.
fn consecutive(
    devices: &[Device],
    window: usize,
    sliding: &SetSeries,
    window_s: u64,
    step_s: u64,
    last: u64,
    recent: &SetSizes<u64>,
) -> ConsecutiveSeries {
    let windows = (last / window_s + 1) as usize;
    let of = |sizes: &[u64], recent: u64| -> Vec<u64> {
        let end = |k: u64| ((k + 1) * (window_s / step_s) - 1) as usize;
        (0..windows as u64).map(|k| sizes.get(end(k)).copied().unwrap_or(recent)).collect()
    };
    let sets = SetSizes {
        start: of(&sliding.start, recent.start),
        touched: of(&sliding.touched, recent.touched),
        pages: of(&sliding.pages, recent.pages),
    };
    let (mut sum_dist, mut used) = (vec![0u64; windows], vec![0u64; windows]);
    for device in devices {
        for (k, span) in device.spans.of(window).enumerate().take(windows) {
            sum_dist[k] += span.unwrap_or(0);
            used[k] += u64::from(span.is_some());
        }
    }
    let ratio = |span: u64, by: u64| if by == 0 { 0.0 } else { span as f64 / by as f64 };
    let avg = sum_dist.iter().zip(&sets.start).map(|(span, size)| ratio(*span, *size));
    let gaps = sets.start.iter().zip(&used).map(|(size, devices)| size.saturating_sub(*devices));
    let mean_gap = sum_dist.iter().zip(gaps).map(|(span, gaps)| ratio(*span, gaps));
    ConsecutiveSeries { avg_dist: avg.collect(), mean_gap: mean_gap.collect(), sets, sum_dist }
}

fn extremes(series: &SetSeries) -> SetSizes<Extremes> {
    let of = |sizes: &Vec<u64>| Extremes::of(sizes.iter().copied());
    SetSizes { start: of(&series.start), touched: of(&series.touched), pages: of(&series.pages) }
}

fn window_facts(series: &WindowSeries) -> WindowFacts {
    let consecutive = series.consecutive.as_ref();
    let fractions = |numbers: &[f64]| FractionExtremes::of(numbers.iter().copied());
    WindowFacts {
        window_s: series.window_s,
        step_s: series.step_s,
        sliding: extremes(&series.sliding),
        consecutive: consecutive.map(|c| extremes(&c.sets)),
        sum_dist: consecutive.map(|c| Extremes::of(c.sum_dist.iter().copied())),
        avg_dist: consecutive.map(|c| fractions(&c.avg_dist)),
        mean_gap: consecutive
            .map(|c| FractionExtremes::of(c.mean_gap.iter().copied().filter(|gap| *gap > 0.0))),
    }
}

fn growth(infinite: Option<&WindowSeries>) -> Growth {
    let Some(infinite) = infinite else { return Growth::default() };
    let sizes = &infinite.sliding;
    let steps = sizes.pages.len() as u64;
    let at = |seconds: u64| {
        let step = (seconds / infinite.step_s) as usize - 1;
        let sets =
            SetSizes { start: sizes.start[step], touched: sizes.touched[step], pages: sizes.pages[step] };
        GrowthPoint { seconds, sets }
    };
    let end = steps * infinite.step_s;
    let told = |s: &u64| s.is_multiple_of(infinite.step_s) && *s < end;
    let mut after: Vec<GrowthPoint> = GROWTH_S.into_iter().filter(told).map(at).collect();
    let Some(last) = sizes.pages.last() else { return Growth::default() };
    after.push(at(end));
    let tenth = steps.div_ceil(10);
    let before = (steps - tenth).checked_sub(1).map_or(0, |step| sizes.pages[step as usize]);
    let bytes = (last - before) as f64 * PAGE_BYTES as f64;
    Growth { after, last_tenth_bytes_per_s: bytes / (tenth * infinite.step_s) as f64 }
}

fn throughput_facts(series: &RateSeries) -> DemandThroughput {
    let seconds = series.width_ns as f64 / SECOND_NS as f64;
    let of =
        |numbers: &mut dyn Iterator<Item = u64>| FractionExtremes::of(numbers.map(|n| n as f64 / seconds));
    let by_op = |reads: &[u64], writes: &[u64]| ByOp {
        all: of(&mut reads.iter().zip(writes).map(|(r, w)| r + w)),
        read: of(&mut reads.iter().copied()),
        write: of(&mut writes.iter().copied()),
    };
    DemandThroughput {
        window_ns: series.width_ns,
        iops: by_op(&series.reads, &series.writes),
        sectors_per_s: by_op(&series.read_sectors, &series.write_sectors),
    }
}

fn frequency_facts(
    frequency: ByOp<Frequency>,
    groups: &ByOp<Vec<FrequencyGroup>>,
    [reads, writes]: [u64; 2],
) -> ByOp<FrequencyFacts> {
    ByOp {
        all: frequency.all.facts(&Curve::of(&groups.all), reads + writes),
        read: frequency.read.facts(&Curve::of(&groups.read), reads),
        write: frequency.write.facts(&Curve::of(&groups.write), writes),
    }
}
