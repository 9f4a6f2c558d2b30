//! Properties of all patterns, and the figures of single ones.

use super::*;
use crate::IssuedHash;
use crate::statistics::{SIGMAS, chi_square_is_plausible, correlation, moments};
use iosonar_plan::{
    BlockSizes, ByteSize, Decimal, Pace, Process, Rising, RisingShape, SizeRange, SizeShare, Stop, Zone,
};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn pattern(order: Order, pace: Pace, read_percent: u8) -> PatternSource {
    PatternSource {
        order,
        block_size: ByteSize(4096).into(),
        write_block_size: None,
        read_percent,
        offset: ByteSize(8192),
        region: None,
        jobs: 1,
        pace,
        stop: Stop { requests: Some(1000), ..Stop::default() },
    }
}

fn items(p: &PatternSource, seed: u64) -> Vec<Item> {
    part(p, seed, 0, 1)
}

fn part(p: &PatternSource, seed: u64, job: u32, jobs: u32) -> Vec<Item> {
    let mut source = Pattern::new(p, MIB, seed, 0).unwrap().part(job, jobs);
    std::iter::from_fn(|| source.next(Nanos(5)).unwrap()).collect()
}

fn split(shares: &[(u64, u8)]) -> BlockSizes {
    let share = |(size, percent): &(u64, u8)| SizeShare { size: ByteSize(*size), percent: *percent };
    BlockSizes::Split(shares.iter().map(share).collect())
}

fn range(least: u64, most: u64) -> BlockSizes {
    BlockSizes::Range(SizeRange { least: ByteSize(least), most: ByteSize(most) })
}

fn zones(zones: &[(u8, &str)]) -> Order {
    let zone = |(percent, space): &(u8, &str)| Zone { percent: *percent, space: space.parse().unwrap() };
    Order::Zoned(zones.iter().map(zone).collect())
}

fn number(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn iops(iops: u64, process: Process) -> Pace {
    Pace::Rate { iops, process }
}

fn bandwidth(bytes: u64, process: Process) -> Pace {
    Pace::Bandwidth { bytes_per_second: ByteSize(bytes), process }
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        Just(Order::Random),
        Just(Order::Shuffled),
        (1u64..4000).prop_map(|theta| Order::Zipf { theta: number(&format!("{}", theta as f64 / 1000.0)) }),
        (1u64..1000).prop_map(|h| Order::Pareto { h: number(&format!("{}", h as f64 / 1000.0)) }),
        (1u64..=100).prop_map(|deviation| Order::Normal { deviation: Decimal::whole(deviation) }),
        (1u8..100, 1u8..100).prop_map(|(a, s)| {
            let space = |percent| format!("{percent}%");
            zones(&[(a, &space(s)), (0, "1%"), (100 - a, &space(99 - s.min(98)))])
        }),
        Just(zones(&[(30, "128KiB"), (70, "5KiB")])),
    ]
}

fn sizes() -> impl Strategy<Value = BlockSizes> {
    prop_oneof![
        (1u64..=16).prop_map(|n| ByteSize(n * 512).into()),
        (1u64..=8, 1u64..=16).prop_map(|(least, n)| range(least * 512, least * n * 512)),
        (1u64..=32, 1u64..=32, 1u8..100).prop_map(|(a, b, p)| split(&[(a * 512, p), (b * 512, 100 - p)])),
    ]
}

fn paces() -> impl Strategy<Value = Pace> {
    let process = || prop_oneof![Just(Process::Constant), Just(Process::Poisson)];
    prop_oneof![
        Just(Pace::Closed),
        (1u64..5_000_000, process()).prop_map(|(n, process)| iops(n, process)),
        (1u64..5_000_000_000, process()).prop_map(|(n, process)| bandwidth(n, process)),
    ]
}

prop_compose! {
    fn patterns()(
        order in orders(), reads in sizes(), writes in prop::option::of(sizes()), pace in paces(),
        read_percent in prop_oneof![Just(0u8), Just(100), Just(50), 0u8..=100], offset in 0u64..100,
        region in prop::option::of(1u64..400), requests in 1u64..400, ramp in 0u64..1_000_000_000,
        runtime in prop::option::of(1u64..10_000_000_000),
    ) -> PatternSource {
        let mut p = PatternSource {
            order, block_size: reads, write_block_size: writes, read_percent, pace, jobs: 1,
            offset: ByteSize(offset * 512),
            region: region.map(|blocks| Space::Bytes(ByteSize(300_000 + blocks * 512))),
            stop: Stop { requests: Some(requests), bytes: None, runtime: runtime.map(Nanos), ramp: Nanos(ramp) },
        };
        if p.fixed_size().is_none() && p.order == Order::Shuffled {
            p.order = Order::Random;
        }
        p
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Inside the region, aligned, of a size that was asked for, in order of time.
    #[test]
    fn every_request_is_what_the_plan_says(p in patterns(), seed: u64) {
        let all = items(&p, seed);
        let end = p.region.map_or(MIB, |r| MIB.min(p.offset.0 + r.of(MIB)));
        let limit = p.stop.end().unwrap_or(Nanos(u64::MAX));
        prop_assert!(all.len() as u64 == p.stop.requests.unwrap() || p.stop.runtime.is_some());
        for (i, item) in all.iter().enumerate() {
            prop_assert_eq!(item.sequence, i as u64);
            prop_assert!(item.extent.offset >= p.offset.0 && item.extent.end() <= end);
            prop_assert!((item.extent.offset - p.offset.0).is_multiple_of(512));
            let sizes = p.sizes(item.op);
            prop_assert!((sizes.least()..=sizes.most()).contains(&item.extent.length));
            prop_assert!(item.extent.length.is_multiple_of(512));
            if p.order != Order::Sequential {
                prop_assert!((item.extent.offset - p.offset.0).is_multiple_of(p.smallest()));
            }
            let time = item.due.unwrap_or(Nanos(5));
            prop_assert_eq!(item.due.is_none(), p.pace == Pace::Closed);
            prop_assert!(time < limit && item.load_time == time);
            prop_assert_eq!(item.ramp, time < p.stop.ramp);
        }
        prop_assert!(all.windows(2).all(|w| w[0].due <= w[1].due));
    }

    /// The parts of all jobs are the whole, item by item, and each part is in order.
    #[test]
    fn jobs_share_one_sequence(p in patterns(), seed: u64, jobs in 1u32..9) {
        let whole = items(&p, seed);
        let mut parts = Vec::new();
        for job in 0..jobs {
            let part = part(&p, seed, job, jobs);
            prop_assert!(part.windows(2).all(|w| w[0].sequence < w[1].sequence));
            parts.extend(part);
        }
        parts.sort_by_key(|item| item.sequence);
        prop_assert_eq!(parts, whole);
    }

    /// A request does not depend on when those before it were asked for.
    #[test]
    fn requests_do_not_depend_on_the_clock(p in patterns(), seed: u64, step in 0u64..1_000_000) {
        prop_assume!(p.stop.runtime.is_none());
        let mut source = Pattern::new(&p, MIB, seed, 0).unwrap();
        for item in items(&p, seed) {
            let later = source.next_item(Nanos(item.sequence * step)).unwrap();
            prop_assert_eq!((later.sequence, later.due, later.op, later.extent), (item.sequence, item.due, item.op, item.extent));
        }
    }
}

#[test]
fn the_mix_is_exact_and_even() {
    for percent in [0, 1, 33, 50, 70, 99, 100] {
        for hundred in items(&pattern(Order::Random, Pace::Closed, percent), 1).chunks(100) {
            assert_eq!(hundred.iter().filter(|i| i.op == Op::Read).count(), usize::from(percent));
        }
    }
}

/// Whatever part of the requests a job has, it has the mix: or a job that only reads would run ahead of one that only
/// writes, and what is issued in a given time would not have the mix either.
#[test]
fn every_job_has_the_mix() {
    for percent in [0u8, 1, 25, 50, 90, 100] {
        for jobs in [2, 4, 5, 10, 50] {
            let mut p = pattern(Order::Random, Pace::Closed, percent);
            p.stop.requests = Some(20_000);
            let share = f64::from(percent) / 100.0;
            let deviation = (20_000.0 / f64::from(jobs) * share * (1.0 - share)).sqrt();
            for job in 0..jobs {
                let all = part(&p, 1, job, jobs);
                let reads = all.iter().filter(|i| i.op == Op::Read).count() as f64;
                let off = reads - all.len() as f64 * share;
                assert!(off.abs() <= SIGMAS * deviation, "{percent} %, job {job} of {jobs}: {reads}");
            }
        }
    }
}

#[test]
fn the_hash_is_that_of_the_requests_whoever_issues_them() {
    let hash = |p: &PatternSource, seed: u64, jobs: u32| {
        let mut merged = IssuedHash::default();
        for job in 0..jobs {
            let mut hash = IssuedHash::default();
            part(p, seed, job, jobs).iter().for_each(|i| hash.add(0, i.sequence, i.op, i.extent));
            merged.merge(hash);
        }
        assert_eq!(merged.count(), 1000);
        merged.value()
    };
    for order in [Order::Sequential, Order::Random, Order::Shuffled, Order::Zipf { theta: number("1.2") }] {
        let p = pattern(order, iops(1000, Process::Poisson), 70);
        let one = hash(&p, 1, 1);
        for jobs in [2, 3, 7, 64] {
            assert_eq!(hash(&p, 1, jobs), one);
        }
        assert_eq!(hash(&p, 2, 1) == one, p.order == Order::Sequential, "another seed");
        assert_ne!(hash(&PatternSource { block_size: ByteSize(8192).into(), ..p.clone() }, 1, 1), one);
        assert_ne!(hash(&PatternSource { read_percent: 71, ..p.clone() }, 1, 1), one);
        // The pace is no part of what is asked for.
        assert_eq!(hash(&PatternSource { pace: Pace::Closed, ..p.clone() }, 1, 3), one);
    }
}

#[test]
fn blocks_stay_inside_the_region() {
    let sequential = items(&pattern(Order::Sequential, Pace::Closed, 100), 1);
    assert_eq!(sequential[0].extent.offset, 8192);
    assert_eq!(sequential[254].extent, Extent { offset: 8192, length: 4096 });
    let random = items(&pattern(Order::Random, Pace::Closed, 100), 1);
    assert!(random.iter().all(|i| i.extent.offset >= 8192 && i.extent.end() <= MIB));
    assert_ne!(random, items(&pattern(Order::Random, Pace::Closed, 100), 2));
    assert_eq!(random, items(&pattern(Order::Random, Pace::Closed, 100), 1));
}

// The counts are those of fio 3.33 with size, io_size and offset on a file of 1 MiB, but for the offset of 8 KiB.
#[test]
fn a_pass_ends_after_its_bytes() {
    let percent = |p| Some(Space::Percent(p));
    let bytes = |b| Some(Space::Bytes(ByteSize(b)));
    for (region, amount, requests) in [
        (percent(50), percent(100), 128),
        (percent(33), percent(100), 84),
        (percent(50), percent(50), 64),
        (percent(100), percent(100), 254),
        (bytes(65536), bytes(3 * 65536), 48),
        (None, bytes(10_000), 3),
        (None, percent(50), 127),
    ] {
        let mut p = pattern(Order::Sequential, Pace::Closed, 100);
        (p.region, p.stop) = (region, Stop { bytes: amount, ..Stop::default() });
        assert_eq!(items(&p, 1).len(), requests, "{region:?} {amount:?}");
        assert_eq!(p.requests_on(MIB), Some(requests as u64));
        let end = items(&p, 1).iter().map(|i| i.extent.end()).max().unwrap();
        assert!(end <= 8192 + p.region_on(MIB), "{region:?}");
    }
}

#[test]
fn different_lengths_are_added_up_by_every_job_alike() {
    for seed in 0..20 {
        let mut p = pattern(Order::Random, Pace::Closed, 60);
        p.block_size = split(&[(4096, 50), (65536, 50)]);
        p.stop = Stop { bytes: Some(Space::Bytes(ByteSize(3 * MIB))), ..Stop::default() };
        let all = items(&p, seed);
        let sum: u64 = all.iter().map(|i| i.extent.length).sum();
        let last = all.last().unwrap().extent.length;
        assert!(sum >= 3 * MIB && sum - last < 3 * MIB, "{sum}");
        let parts: usize = (0..3).map(|job| part(&p, seed, job, 3).len()).sum();
        assert_eq!(parts, all.len());
    }
}

#[test]
fn without_repeats_each_lap_visits_every_block_once() {
    for seed in 0..20 {
        let mut p = pattern(Order::Shuffled, Pace::Closed, 100);
        p.region = Some(Space::Bytes(ByteSize(100 * 4096 + 77)));
        let all = items(&p, seed);
        let laps: Vec<Vec<u64>> = all
            .chunks(100)
            .map(|lap| lap.iter().map(|i| (i.extent.offset - 8192) / 4096).collect())
            .collect();
        for lap in &laps {
            let mut sorted = lap.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
        assert!(laps.windows(2).all(|w| w[0] != w[1]), "each lap has an order of its own");
    }
}

#[test]
fn random_addresses_are_uniform_and_independent() {
    for seed in 0..5 {
        let mut p = pattern(Order::Random, Pace::Closed, 100);
        (p.region, p.stop.requests) = (Some(Space::Bytes(ByteSize(32 * 4096))), Some(100_000));
        let blocks: Vec<usize> =
            items(&p, seed).iter().map(|i| ((i.extent.offset - 8192) / 4096) as usize).collect();
        let mut pairs = vec![0; 1024];
        blocks.chunks(2).for_each(|pair| pairs[pair[0] * 32 + pair[1]] += 1);
        chi_square_is_plausible(&pairs, &[50_000.0 / 1024.0; 1024]);
    }
}

#[test]
fn sizes_follow_their_shares_and_do_not_depend_on_addresses() {
    for seed in 0..5 {
        let mut p = pattern(Order::Random, Pace::Closed, 50);
        p.block_size = split(&[(4096, 60), (65_536, 30), (8192, 10)]);
        p.write_block_size = Some(range(4096, 16_384));
        p.stop.requests = Some(60_000);
        let all = items(&p, seed);
        let count = |op, size| all.iter().filter(|i| i.op == op && i.extent.length == size).count() as u64;
        let reads = [4096, 65_536, 8192].map(|size| count(Op::Read, size));
        chi_square_is_plausible(&reads, &[18_000.0, 9_000.0, 3_000.0]);
        let writes = [4096, 8192, 12_288, 16_384].map(|size| count(Op::Write, size));
        chi_square_is_plausible(&writes, &[7_500.0; 4]);
        let number = |f: fn(&Item) -> u64| all.iter().map(|i| f(i) as f64).collect::<Vec<_>>();
        let related = correlation(&number(|i| i.extent.length), &number(|i| i.extent.offset));
        assert!(related.abs() < SIGMAS / 60_000f64.sqrt(), "{related}");
    }
}

#[test]
fn sequential_requests_of_different_lengths_follow_each_other() {
    let mut p = pattern(Order::Sequential, Pace::Closed, 100);
    p.block_size = range(512, 8192);
    let all = items(&p, 3);
    let mut wraps = 0;
    for pair in all.windows(2) {
        if pair[1].extent.offset == 8192 {
            wraps += 1;
            assert!(pair[0].extent.end() + pair[1].extent.length > MIB);
        } else {
            assert_eq!(pair[0].extent.end(), pair[1].extent.offset);
        }
    }
    assert_eq!(all[0].extent.offset, 8192);
    assert!(wraps >= 3, "{wraps}");
}

#[test]
fn zones_get_their_shares() {
    for order in
        [zones(&[(60, "10%"), (30, "20%"), (8, "30%"), (2, "40%")]), zones(&[(60, "100KiB"), (40, "200KiB")])]
    {
        let Order::Zoned(wanted) = &order else { unreachable!() };
        let mut p = pattern(order.clone(), Pace::Closed, 100);
        (p.region, p.stop.requests) = (Some(Space::Bytes(ByteSize(200 * 4096))), Some(50_000));
        let mut seen = vec![0; 200];
        items(&p, 1).iter().for_each(|i| seen[((i.extent.offset - 8192) / 4096) as usize] += 1);
        let (mut expected, mut next) = (vec![0.0; 200], 0);
        for zone in wanted {
            let blocks = match zone.space {
                Space::Percent(percent) => usize::from(percent) * 2,
                Space::Bytes(bytes) => (bytes.0 / 4096) as usize,
            };
            let each = 500.0 * f64::from(zone.percent) / blocks as f64;
            expected[next..next + blocks].fill(each);
            next += blocks;
        }
        assert!(seen[next..].iter().all(|n| *n == 0));
        chi_square_is_plausible(&seen[..next], &expected[..next]);
    }
}

#[test]
fn hot_blocks_lie_scattered_and_keep_their_heat() {
    let mut p = pattern(Order::Zipf { theta: number("1.2") }, Pace::Closed, 100);
    (p.region, p.stop.requests) = (Some(Space::Bytes(ByteSize(200 * 4096))), Some(50_000));
    let mut seen = vec![0u64; 200];
    items(&p, 1).iter().for_each(|i| seen[((i.extent.offset - 8192) / 4096) as usize] += 1);
    let hot: Vec<usize> = {
        let mut blocks: Vec<usize> = (0..200).collect();
        blocks.sort_by_key(|b| std::cmp::Reverse(seen[*b]));
        blocks
    };
    assert!(hot[..5].windows(2).all(|w| w[0].abs_diff(w[1]) > 1), "{:?}", &hot[..5]);
    let sum: f64 = (1..=200).map(|k| f64::from(k).powf(-1.2)).sum();
    let p_hottest = 1.0 / sum;
    let deviation = (50_000.0 * p_hottest * (1.0 - p_hottest)).sqrt();
    assert!((seen[hot[0]] as f64 - 50_000.0 * p_hottest).abs() < SIGMAS * deviation);
}

#[test]
fn constant_rates_are_exact() {
    let constant = items(&pattern(Order::Random, iops(3, Process::Constant), 100), 1);
    assert_eq!(constant[1].due, Some(Nanos(333_333_333)));
    assert_eq!(constant[999].due, Some(Nanos::from_secs(333)));
    let bytes = items(&pattern(Order::Random, bandwidth(3 * 4096, Process::Constant), 100), 1);
    assert_eq!(bytes, constant);
    for rate in [1, 7, 333, 1_000_000_000] {
        let all = items(&pattern(Order::Random, iops(rate, Process::Constant), 100), 1);
        assert!(all.iter().all(|i| i.due == Some(Nanos(i.sequence * 1_000_000_000 / rate))));
    }
}

#[test]
fn a_bandwidth_follows_the_bytes_asked_for() {
    let mut p = pattern(Order::Random, bandwidth(10 * MIB, Process::Constant), 50);
    p.block_size = split(&[(4096, 90), (131_072, 10)]);
    let mut bytes = 0u128;
    for item in items(&p, 1) {
        assert_eq!(u128::from(item.due.unwrap().0), bytes * 1_000_000_000 / u128::from(10 * MIB));
        bytes += u128::from(item.extent.length);
    }
}

/// Poisson whatever the sizes: the distances have mean and variance of an exponential distribution and its shape,
/// they depend neither on each other nor on the lengths of the requests on either side.
#[test]
fn poisson_arrivals_are_poisson_whatever_the_size_mix() {
    const N: u64 = 50_000;
    for (seed, pace) in [
        (1, iops(20_000, Process::Poisson)),
        (2, bandwidth(100 * MIB, Process::Poisson)),
        (3, bandwidth(1_000_000, Process::Poisson)),
    ] {
        let mut p = pattern(Order::Random, pace, 50);
        p.block_size = split(&[(512, 70), (131_072, 30)]);
        p.write_block_size = Some(range(4096, 65_536));
        p.stop.requests = Some(N);
        let all = items(&p, seed);
        let rate = p.mean_iops().unwrap();
        let due: Vec<f64> = all.iter().map(|i| i.due.unwrap().0 as f64).collect();
        let distances: Vec<f64> = due.windows(2).map(|w| (w[1] - w[0]) * rate / 1e9).collect();
        let lengths: Vec<f64> = all.iter().map(|i| i.extent.length as f64).collect();
        let n = N as f64;
        let (mean, variance) = moments(&distances);
        // An exponential distribution has mean 1, variance 1, and a sample's variance has variance 8/n.
        assert!((mean - 1.0).abs() < SIGMAS / n.sqrt(), "mean {mean}");
        assert!((variance.sqrt() - 1.0).abs() < SIGMAS * (2.0 / n).sqrt(), "variation {}", variance.sqrt());
        let mut seen = vec![0; 50];
        distances.iter().for_each(|d| seen[((1.0 - (-d).exp()) * 50.0) as usize % 50] += 1);
        chi_square_is_plausible(&seen, &[(n - 1.0) / 50.0; 50]);
        let bound = SIGMAS / n.sqrt();
        assert!(correlation(&distances, &lengths[1..]).abs() < bound);
        assert!(correlation(&distances, &lengths[..lengths.len() - 1]).abs() < bound);
        assert!(correlation(&distances[1..], &distances[..distances.len() - 1]).abs() < bound);
        // Requests of each size are as many as their share says in every part of the time.
        let span = due[due.len() - 1];
        let small = |half: bool| {
            let of = |i: &&Item| (i.due.unwrap().0 as f64 > span / 2.0) == half;
            let part: Vec<&Item> = all.iter().filter(of).collect();
            let small = part.iter().filter(|i| i.extent.length == 512).count();
            small as f64 / part.len() as f64
        };
        assert!((small(false) - small(true)).abs() < SIGMAS / n.sqrt());
    }
}

#[test]
fn a_rising_rate_is_shared_by_jobs() {
    let rising = Rising { from: 100, to: 5000, over: Nanos::SECOND, shape: RisingShape::Exponential };
    let mut p = pattern(Order::Random, Pace::Rising(rising), 100);
    p.stop.requests = Some(3000);
    let alone = items(&p, 1);
    let due: Vec<_> = alone.iter().map(|i| i.due.unwrap()).collect();
    assert_eq!(due, (0..3000).map(|n| rising.due(n)).collect::<Vec<_>>());
    // Once it has risen, it stays.
    assert!(due[2999].0 - due[2998].0 >= 199_999 && due[2999].0 - due[2998].0 <= 200_001);
    p.jobs = 3;
    let mut together: Vec<Item> = (0..3).flat_map(|job| part(&p, 1, job, 3)).collect();
    together.sort_by_key(|i| i.sequence);
    assert_eq!(together, alone);
}

#[test]
fn the_ramp_is_marked_and_nothing_begins_anew_at_its_end() {
    for process in [Process::Constant, Process::Poisson] {
        let mut p = pattern(Order::Random, iops(1000, process), 70);
        p.stop = Stop { runtime: Some(Nanos::from_secs(2)), ramp: Nanos::SECOND, ..Stop::default() };
        let with_ramp = items(&p, 1);
        p.stop = Stop { runtime: Some(Nanos::from_secs(3)), ramp: Nanos(0), ..Stop::default() };
        let without: Vec<Item> = items(&p, 1);
        assert_eq!(with_ramp.len(), without.len());
        for (a, b) in with_ramp.iter().zip(&without) {
            assert_eq!(a.ramp, a.due.unwrap() < Nanos::SECOND);
            assert_eq!(Item { ramp: false, ..*a }, *b);
        }
        // No spike: a Poisson count in each tenth of a second around the end of the ramp.
        for tenth in 5..15 {
            let inside = |i: &&Item| i.due.unwrap().0 / 100_000_000 == tenth;
            let count = with_ramp.iter().filter(inside).count() as f64;
            assert!((count - 100.0).abs() <= SIGMAS * 10.0, "{count}");
        }
    }
    // In a closed loop the time of asking counts.
    let mut p = pattern(Order::Random, Pace::Closed, 70);
    p.stop = Stop { runtime: Some(Nanos(10)), ramp: Nanos(5), ..Stop::default() };
    let mut source = Pattern::new(&p, MIB, 1, 0).unwrap();
    let mut ramp = |now| source.next_item(Nanos(now)).map(|i| i.ramp);
    assert_eq!(
        [ramp(0), ramp(4), ramp(5), ramp(14), ramp(15)],
        [Some(true), Some(true), Some(false), Some(false), None]
    );
}

#[test]
fn a_pass_ends_by_time_too() {
    let mut p = pattern(Order::Random, iops(10, Process::Constant), 100);
    p.stop = Stop { runtime: Some(Nanos::SECOND), ..Stop::default() };
    assert_eq!(items(&p, 1).len(), 10);
    p.pace = Pace::Closed;
    let mut source = Pattern::new(&p, MIB, 1, 0).unwrap();
    assert!(source.next(Nanos(999_999_999)).unwrap().is_some());
    assert!(source.next(Nanos::SECOND).unwrap().is_none());
}

#[test]
fn what_does_not_fit_is_refused() {
    let unfit = |p: &PatternSource, size| Pattern::new(p, size, 1, 0).unwrap_err();
    let p = pattern(Order::Random, Pace::Closed, 1);
    assert_eq!(unfit(&p, 8192 + 4095), Unfit::Region { length: 4096 });
    assert_eq!(unfit(&p, 100), Unfit::Region { length: 4096 });
    let p = PatternSource { block_size: range(512, 4096), ..p };
    assert_eq!(unfit(&p, 8192 + 4095), Unfit::Region { length: 4096 });
    let p = PatternSource { order: zones(&[(100, "1g")]), ..p };
    assert_eq!(unfit(&p, 8192 + 4096), Unfit::Zones { zones: 1 << 30, region: 4096 });
}

/// Nanoseconds per request of each order. Not a test: `cargo test --release -- --ignored --nocapture cost`.
#[test]
#[ignore = "measures"]
fn cost() {
    let orders = [
        Order::Random,
        Order::Shuffled,
        Order::Sequential,
        Order::Zipf { theta: number("1.1") },
        Order::Pareto { h: number("0.2") },
        Order::Normal { deviation: number("20") },
        zones(&[(60, "10%"), (40, "90%")]),
    ];
    let measure = |name: &str, p: &PatternSource, jobs: u32| {
        let mut source = Pattern::new(p, 1 << 40, 1, 0).unwrap().part(0, jobs);
        let (mut hash, mut sum) = (IssuedHash::default(), 0u64);
        const N: u64 = 200_000;
        // The least of many short spans: what others do on the machine does not count.
        let mut least = |mut each: Box<dyn FnMut(&mut Pattern)>| {
            let span = |_| {
                let begun = std::time::Instant::now();
                each(&mut source);
                begun.elapsed().as_nanos() as f64 / N as f64
            };
            (0..40).map(span).fold(f64::MAX, f64::min)
        };
        let plain = least(Box::new(move |source| {
            for i in 0..N {
                let item = source.next(Nanos(i)).unwrap().unwrap();
                sum = sum.wrapping_add(item.extent.offset ^ item.extent.length);
            }
            std::hint::black_box(sum);
        }));
        let hashed = least(Box::new(move |source| {
            for i in 0..N {
                let item = source.next(Nanos(i)).unwrap().unwrap();
                hash.add(0, item.sequence, item.op, item.extent);
            }
            std::hint::black_box(hash);
        }));
        println!("{name:40} {plain:6.1} ns, with hash {hashed:6.1} ns");
    };
    for order in orders {
        let mut p = pattern(order, Pace::Closed, 100);
        p.stop = Stop { runtime: Some(Nanos::from_secs(1_000_000)), ramp: Nanos(0), ..Stop::default() };
        measure(&format!("closed {}", p.order), &p, 1);
        if p.order == Order::Random {
            measure("closed random, job 0 of 4", &p, 4);
            p.read_percent = 70;
            measure("closed random, 70 % read", &p, 1);
            p.block_size = split(&[(4096, 60), (65_536, 40)]);
            measure("closed random, split", &p, 1);
            p.pace = iops(1000, Process::Constant);
            measure("constant random, split", &p, 1);
            p.pace = iops(1_000_000, Process::Poisson);
            measure("poisson random, split", &p, 1);
            measure("poisson random, split, job 0 of 4", &p, 4);
        }
    }
}
