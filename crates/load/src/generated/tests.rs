//! Properties of all generated workloads, and the figures of single ones.

use super::*;
use crate::IssuedHash;
use crate::statistics::{SIGMAS, chi_square_is_plausible, correlation, moments};
use iosonar_plan::{
    BlockSizes, ByteSize, Decimal, Pace, Process, Rising, RisingShape, SizeRange, SizeShare, Stop, Zone,
};
use proptest::prelude::*;
use std::collections::HashSet;

const MIB: u64 = 1 << 20;

fn pattern(order: Order, pace: Pace, read_percent: u8) -> Generator {
    Generator {
        read_percent: Decimal::whole(read_percent.into()),
        offset: ByteSize(8192),
        pace,
        stop: Stop { requests: Some(1000), ..Stop::default() },
        ..Generator::new(order, ByteSize(4096))
    }
}

fn items(p: &Generator, seed: u64) -> Vec<SourceRequest> {
    part(p, seed, 0, 1)
}

fn part(p: &Generator, seed: u64, job: u32, jobs: u32) -> Vec<SourceRequest> {
    let mut source = Generated::new(p, &Setting::alone(MIB, seed), None).unwrap().part(job, jobs);
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
    Pace::Rate { iops: Decimal::whole(iops), process }
}

fn bandwidth(bytes: u64, process: Process) -> Pace {
    Pace::Bandwidth { bytes_per_second: ByteSize(bytes), process }
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        Just(Order::Random),
        Just(Order::Shuffled),
        Just(Order::MersenneShuffled),
        Just(Order::Fixed),
        Just(Order::Staggered),
        Just(Order::Backward),
        (1u32..9).prop_map(|every| Order::Strided { every }),
        (1u32..9).prop_map(|every| Order::Interleaved { every }),
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
        read_percent in prop_oneof![Just(0u8), Just(100), Just(50), 0u8..=100],
        discard_percent in prop_oneof![Just(0u8), 0u8..=100], offset in 0u64..100,
        region in prop::option::of(1u64..400), requests in 0u64..400, ramp in 0u64..1_000_000_000,
        runtime in prop::option::of(1u64..10_000_000_000),
    ) -> Generator {
        let mut p = Generator {
            block_size: reads, write_block_size: writes, read_percent: Decimal::whole(read_percent.into()), pace,
            discard_percent: Decimal::whole(discard_percent.min(100 - read_percent).into()),
            offset: ByteSize(offset * 512),
            region: region.map(|blocks| Space::Bytes(ByteSize(300_000 + blocks * 512))),
            stop: Stop {
                requests: Some(requests), runtime: runtime.map(Nanos), ramp: Nanos(ramp), ..Stop::default()
            },
            ..Generator::new(order, ByteSize(512))
        };
        let takes_one_size = matches!(
            p.order,
            Order::Shuffled | Order::MersenneShuffled | Order::Fixed | Order::Staggered | Order::Interleaved { .. }
        );
        if p.fixed_size().is_none() && takes_one_size {
            p.order = Order::Random;
        }
        p
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Inside the region, aligned, of a size that was requested, in order of time.
    #[test]
    fn every_request_conforms_to_the_plan(p in patterns(), seed: u64) {
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

    /// A request does not depend on when those before it were taken.
    #[test]
    fn requests_do_not_depend_on_the_clock(p in patterns(), seed: u64, step in 0u64..1_000_000) {
        prop_assume!(p.stop.runtime.is_none());
        let mut source = Generated::new(&p, &Setting::alone(MIB, seed), None).unwrap();
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

#[test]
fn discards_and_write_zeroes_have_their_shares_of_writes() {
    let mut p = pattern(Order::Random, Pace::Closed, 25);
    p.stop.requests = Some(40_000);
    let plain = items(&p, 3);
    (p.discard_percent, p.zeroes_percent) = (Decimal::whole(30), Decimal::whole(15));
    let all = items(&p, 3);
    // Reads, places and sizes are those of the plain mix.
    let is_read =
        |items: &[SourceRequest]| items.iter().map(|i| (i.op == Op::Read, i.extent)).collect::<Vec<_>>();
    assert_eq!(is_read(&all), is_read(&plain));
    let count = |op| all.iter().filter(|i| i.op == op).count() as u64;
    let counts = [Op::Write, Op::Discard, Op::WriteZeroes].map(count);
    chi_square_is_plausible(&counts, &[12_000.0, 12_000.0, 6_000.0]);
    (p.read_percent, p.discard_percent, p.zeroes_percent) =
        (Decimal::whole(0), Decimal::whole(100), Decimal::whole(0));
    assert!(items(&p, 3).iter().all(|i| i.op == Op::Discard));
}

/// Any job's part of the requests has the mix: or a job that only reads would run ahead of one that only writes, and the requests
/// issued in a given time would not have the mix either.
#[test]
fn every_job_keeps_the_mix() {
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
fn hash_does_not_depend_on_number_of_jobs() {
    let hash = |p: &Generator, seed: u64, jobs: u32| {
        let mut merged = IssuedHash::default();
        for job in 0..jobs {
            let mut hash = IssuedHash::default();
            part(p, seed, job, jobs)
                .iter()
                .for_each(|i| hash.add(0, i.sequence, i.op, i.durability, i.extent));
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
        assert_ne!(hash(&Generator { block_size: ByteSize(8192).into(), ..p.clone() }, 1, 1), one);
        assert_ne!(hash(&Generator { read_percent: Decimal::whole(71), ..p.clone() }, 1, 1), one);
        // The pace does not change the requests.
        assert_eq!(hash(&Generator { pace: Pace::Closed, ..p.clone() }, 1, 3), one);
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
fn all_jobs_count_mixed_lengths_equally() {
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
fn each_lap_without_repeats_visits_every_block_once() {
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
fn sizes_follow_shares_independently_of_addresses() {
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
        let number = |f: fn(&SourceRequest) -> u64| all.iter().map(|i| f(i) as f64).collect::<Vec<_>>();
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
fn zones_receive_their_shares() {
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
fn hot_blocks_are_scattered_with_correct_frequency() {
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
fn bandwidth_pace_follows_requested_bytes() {
    let mut p = pattern(Order::Random, bandwidth(10 * MIB, Process::Constant), 50);
    p.block_size = split(&[(4096, 90), (131_072, 10)]);
    let mut bytes = 0u128;
    for item in items(&p, 1) {
        assert_eq!(u128::from(item.due.unwrap().0), bytes * 1_000_000_000 / u128::from(10 * MIB));
        bytes += u128::from(item.extent.length);
    }
}

/// Poisson for any sizes: the distances have mean and variance of an exponential distribution and its shape, they depend neither on
/// each other nor on the lengths of the requests on either side.
#[test]
fn arrivals_are_poisson_for_any_size_mix() {
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
        // Requests of each size have their share in every part of the time.
        let span = due[due.len() - 1];
        let small = |half: bool| {
            let of = |i: &&SourceRequest| (i.due.unwrap().0 as f64 > span / 2.0) == half;
            let part: Vec<&SourceRequest> = all.iter().filter(of).collect();
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
    // After the rise, the rate is constant.
    assert!(due[2999].0 - due[2998].0 >= 199_999 && due[2999].0 - due[2998].0 <= 200_001);
    p.jobs = 3;
    let mut together: Vec<SourceRequest> = (0..3).flat_map(|job| part(&p, 1, job, 3)).collect();
    together.sort_by_key(|i| i.sequence);
    assert_eq!(together, alone);
}

#[test]
fn ramp_is_marked_and_does_not_restart_the_sequence() {
    for process in [Process::Constant, Process::Poisson] {
        let mut p = pattern(Order::Random, iops(1000, process), 70);
        p.stop = Stop { runtime: Some(Nanos::from_secs(2)), ramp: Nanos::SECOND, ..Stop::default() };
        let with_ramp = items(&p, 1);
        p.stop = Stop { runtime: Some(Nanos::from_secs(3)), ramp: Nanos(0), ..Stop::default() };
        let without: Vec<SourceRequest> = items(&p, 1);
        assert_eq!(with_ramp.len(), without.len());
        for (a, b) in with_ramp.iter().zip(&without) {
            assert_eq!(a.ramp, a.due.unwrap() < Nanos::SECOND);
            assert_eq!(SourceRequest { ramp: false, ..*a }, *b);
        }
        // No spike: a Poisson count in each tenth of a second around the end of the ramp.
        for tenth in 5..15 {
            let inside = |i: &&SourceRequest| i.due.unwrap().0 / 100_000_000 == tenth;
            let count = with_ramp.iter().filter(inside).count() as f64;
            assert!((count - 100.0).abs() <= SIGMAS * 10.0, "{count}");
        }
    }
    // In a closed loop the time of the call counts.
    let mut p = pattern(Order::Random, Pace::Closed, 70);
    p.stop = Stop { runtime: Some(Nanos(10)), ramp: Nanos(5), ..Stop::default() };
    let mut source = Generated::new(&p, &Setting::alone(MIB, 1), None).unwrap();
    let mut ramp = |now| source.next_item(Nanos(now)).map(|i| i.ramp);
    assert_eq!(
        [ramp(0), ramp(4), ramp(5), ramp(14), ramp(15)],
        [Some(true), Some(true), Some(false), Some(false), None]
    );
}

#[test]
fn pass_also_ends_by_time() {
    let mut p = pattern(Order::Random, iops(10, Process::Constant), 100);
    p.stop = Stop { runtime: Some(Nanos::SECOND), ..Stop::default() };
    assert_eq!(items(&p, 1).len(), 10);
    p.pace = Pace::Closed;
    let mut source = Generated::new(&p, &Setting::alone(MIB, 1), None).unwrap();
    assert!(source.next(Nanos(999_999_999)).unwrap().is_some());
    assert!(source.next(Nanos::SECOND).unwrap().is_none());
}

#[test]
fn rejects_region_smaller_than_request() {
    let unfit = |p: &Generator, size| Generated::new(p, &Setting::alone(size, 1), None).unwrap_err();
    let p = pattern(Order::Random, Pace::Closed, 1);
    assert_eq!(unfit(&p, 8192 + 4095), PatternError::Region { length: 4096 });
    assert_eq!(unfit(&p, 100), PatternError::Region { length: 4096 });
    let p = Generator { block_size: range(512, 4096), ..p };
    assert_eq!(unfit(&p, 8192 + 4095), PatternError::Region { length: 4096 });
    let p = Generator { order: zones(&[(100, "1g")]), ..p };
    assert_eq!(unfit(&p, 8192 + 4096), PatternError::Zones { zones: 1 << 30, region: 4096 });
}

/// Requests of 8 KiB in blocks of 1 KiB, at places that no target decides.
fn extended(order: Order, requests: u64) -> Generator {
    Generator {
        unit: Some(ByteSize(1024)),
        at_end: AtEnd::Extend,
        sharing: Sharing::Striped,
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Generator::new(order, ByteSize(8192))
    }
}

/// A generated workload on a file that grows.
fn growing(p: &Generator, pass: u32) -> Generated {
    Generated::new(p, &Setting { grows: true, pass, ..Setting::alone(0, 1) }, None).unwrap()
}

fn blocks(p: &Generator, pass: u32) -> Vec<u64> {
    let mut source = growing(p, pass);
    std::iter::from_fn(|| source.next_item(Nanos(0))).map(|item| item.extent.offset / 1024).collect()
}

#[test]
fn reproduces_examples_of_xdd_manual() {
    let interleaved = extended(Order::Interleaved { every: 4 }, 5);
    assert_eq!(blocks(&interleaved, 0), [0, 32, 64, 96, 128]);
    let staggered = |region: u64, requests| Generator {
        region: Some(Space::Bytes(ByteSize(region * 1024))),
        ..extended(Order::Staggered, requests)
    };
    assert_eq!(blocks(&staggered(4096, 5), 0), [0, 1020, 2040, 3060, 4080]);
    assert_eq!(blocks(&staggered(4096, 1), 0), [0]);
    // 256 MB over 2 GB: every 8th block (manual 4.8).
    let every_8th = Generator { block_size: ByteSize(1024).into(), ..staggered(2 << 20, 256 << 10) };
    assert_eq!(blocks(&every_8th, 0)[..3], [0, 8, 16]);
    let fixed = Generator { offset: ByteSize(100 * 1024), ..extended(Order::Fixed, 3) };
    assert_eq!(blocks(&fixed, 0), [100, 100, 100]);
    let moved = Generator { pass_offset: ByteSize(10 * 1024), ..fixed };
    assert_eq!(blocks(&moved, 1), [110, 110, 110]);
}

#[test]
fn trailing_requests_are_due_after_their_interval() {
    let rate = Pace::Rate { iops: number("0.5"), process: Process::Trailing };
    let slow = Generator { pace: rate, ..extended(Order::Fixed, 3) };
    let mut source = growing(&slow, 0).part(1, 2);
    assert_eq!(source.next_item(Nanos(0)).unwrap().due, Some(Nanos::from_secs(4)));
    let bytes = Generator { pace: bandwidth(1_000_000, Process::Trailing), ..slow };
    let due = growing(&bytes, 0).next_item(Nanos(0)).unwrap().due;
    assert_eq!(due, Some(Nanos(8_192_000)));
    let stop = Stop { time_limit: Some(Nanos(10_000_000)), ..bytes.stop };
    let mut source = growing(&Generator { stop, ..bytes }, 0);
    assert!(source.next_item(Nanos(0)).is_some() && source.next_item(Nanos(0)).is_none());
}

#[test]
fn time_limit_follows_the_clock() {
    let stop = Stop { time_limit: Some(Nanos::SECOND), ..Stop::default() };
    let p = Generator { stop, ..pattern(Order::Random, iops(10, Process::Constant), 100) };
    let mut source = Generated::new(&p, &Setting::alone(MIB, 1), None).unwrap();
    assert_eq!(source.next(Nanos(5)).unwrap().unwrap().due, Some(Nanos(0)));
    assert!(source.next(Nanos::SECOND).unwrap().is_none(), "what is due after 0.1 s is late");
}

#[test]
fn time_based_pass_wraps_at_end_of_target() {
    let endless = Generator { stop: Stop::default(), ..extended(Order::Sequential, 1) };
    let mut source = Generated::new(&endless, &Setting::alone(20_480, 1), None).unwrap();
    let offsets: Vec<u64> = (0..5).map(|_| source.next_item(Nanos(0)).unwrap().extent.offset).collect();
    assert_eq!(offsets, [0, 8192, 0, 8192, 0]);
}

#[test]
fn last_request_covers_the_remainder() {
    let stop = Stop { bytes: Some(Space::Bytes(ByteSize(20_480))), cut_last: true, ..Stop::default() };
    let lengths = |block_size: BlockSizes| {
        let p = Generator { block_size, stop, unit: None, ..extended(Order::Sequential, 1) };
        let mut source = growing(&p, 0);
        let all: Vec<Extent> =
            std::iter::from_fn(|| source.next_item(Nanos(0))).map(|item| item.extent).collect();
        assert!(all.windows(2).all(|pair| pair[0].end() == pair[1].offset), "{all:?}");
        all.iter().map(|extent| extent.length).collect::<Vec<u64>>()
    };
    assert_eq!(lengths(ByteSize(8192).into()), [8192, 8192, 4096]);
    assert_eq!(lengths(range(512, 8192)).iter().sum::<u64>(), 20_480);
}

#[test]
fn seek_list_is_issued_once() {
    let at = |offset| Listed { extent: Extent { offset, length: 4096 }, op: Op::Write, delay: Nanos(0) };
    let list: Arc<[Listed]> = vec![at(8192), at(0), at(4096)].into();
    let listed = extended(Order::List { file: "a".into() }, 5);
    let mut seen = Vec::new();
    for job in 0..2 {
        let setting = Setting::alone(MIB, 1);
        let mut source = Generated::new(&listed, &setting, Some(list.clone())).unwrap().part(job, 2);
        seen.extend(std::iter::from_fn(|| source.next_item(Nanos(0))));
    }
    let places: Vec<_> = seen.iter().map(|i| (i.sequence, i.extent.offset, i.op)).collect();
    assert_eq!(places, [(0, 8192, Op::Write), (2, 4096, Op::Write), (1, 0, Op::Write)]);
}

#[test]
fn passes_move_inside_the_region() {
    for order in [Order::Sequential, Order::Fixed, Order::Random, Order::Interleaved { every: 3 }] {
        let p = Generator { pass_offset: ByteSize(12_288), ..pattern(order.clone(), Pace::Closed, 100) };
        let of = |pass| {
            let setting = Setting { pass, ..Setting::alone(MIB, 1) };
            Generated::new(&p, &setting, None).unwrap().next_item(Nanos(0)).unwrap().extent
        };
        for pass in [0, 1, 84, 1000, u32::MAX] {
            assert!(of(pass).offset >= 8192 && of(pass).end() <= MIB, "{order} {pass}");
        }
        assert!(
            matches!(order, Order::Random | Order::Sequential | Order::Interleaved { .. })
                || of(1).offset == 20_480
        );
    }
    let p = Generator { pass_offset: ByteSize(4096), ..pattern(Order::Sequential, Pace::Closed, 100) };
    let setting = Setting { pass: 253, ..Setting::alone(MIB, 1) };
    let mut source = Generated::new(&p, &setting, None).unwrap();
    let two: Vec<u64> = (0..2).map(|_| source.next_item(Nanos(0)).unwrap().extent.offset).collect();
    assert_eq!(two, [MIB - 4096, 8192]);
}

#[test]
fn explicit_seed_yields_equal_addresses_on_all_targets() {
    let p = pattern(Order::Random, Pace::Closed, 100);
    let of = |p: &Generator, target, pass| {
        let setting = Setting { target, targets: 2, pass, ..Setting::alone(MIB, 1) };
        let mut source = Generated::new(p, &setting, None).unwrap();
        (0..20).map(|_| source.next_item(Nanos(0)).unwrap().extent.offset).collect::<Vec<u64>>()
    };
    assert_ne!(of(&p, 0, 0), of(&p, 1, 0));
    assert_ne!(of(&p, 0, 0), of(&p, 0, 1));
    let own = Generator { seed: Some(9), ..p.clone() };
    assert_eq!(of(&own, 0, 0), of(&own, 1, 0));
    assert_ne!(of(&own, 0, 0), of(&own, 0, 1));
    let same = Generator { same_each_pass: true, ..p };
    assert_eq!(of(&same, 1, 0), of(&same, 1, 7));
    assert_ne!(of(&same, 0, 0), of(&same, 1, 0));
}

proptest! {
    #[test]
    fn random_addresses_stay_in_region_and_jobs_share_them(
        seed in 0u64..1 << 63, region in 8u64..5_000, jobs in 1u32..9, pass in 0u32..3, same: bool,
    ) {
        let random = Generator {
            region: Some(Space::Bytes(ByteSize(region * 1024))),
            offset: ByteSize(3 * 1024),
            seed: Some(seed),
            same_each_pass: same,
            ..extended(Order::Random, 50)
        };
        let whole = blocks(&random, pass);
        prop_assert!(whole.iter().all(|b| (3..=3 + region - 8).contains(b)));
        if region >= 100 {
            prop_assert_eq!(same || pass == 0, blocks(&random, 0) == whole);
        }
        let mut shared = HashSet::new();
        for job in 0..jobs {
            let mut source = growing(&random, pass).part(job, jobs);
            while let Some(item) = source.next_item(Nanos(0)) {
                prop_assert_eq!(item.sequence % u64::from(jobs), u64::from(job));
                prop_assert!(shared.insert((item.sequence, item.extent.offset / 1024)));
            }
        }
        let all: HashSet<(u64, u64)> = (0u64..).zip(whole).collect();
        prop_assert_eq!(shared, all);
    }
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
    let measure = |name: &str, p: &Generator, jobs: u32| {
        let mut source = Generated::new(p, &Setting::alone(1 << 40, 1), None).unwrap().part(0, jobs);
        let (mut hash, mut sum) = (IssuedHash::default(), 0u64);
        const N: u64 = 200_000;
        // The least of many short spans: excludes other load on the machine.
        let mut least = |mut each: Box<dyn FnMut(&mut Generated)>| {
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
                hash.add(0, item.sequence, item.op, item.durability, item.extent);
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
            p.read_percent = Decimal::whole(70);
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

fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        Just(1),
        Just(512),
        Just(4096),
        Just(1 << 20),
        Just(1 << 30),
        Just((1 << 62) - 512),
        Just(1 << 62),
        Just(u64::MAX),
        0u64..1 << 20,
        any::<u64>(),
    ]
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![orders(), any::<u32>().prop_map(|every| Order::Interleaved { every })]
}

prop_compose! {
    fn anything()(
        order in any_order(), sizes in prop_oneof![sizes(), extreme().prop_map(|n| ByteSize(n).into())],
        percent in 0u64..=100, places in prop::array::uniform4(extreme()), stop in prop::array::uniform4(prop::option::of(extreme())),
        has_share: bool, share in 0u8..=100, pace in paces(), flags in prop::array::uniform4(any::<bool>()), jobs in 0u32..5,
    ) -> Generator {
        let share = |bytes: u64| if has_share { Space::Percent(share) } else { Space::Bytes(ByteSize(bytes)) };
        Generator {
            block_size: sizes,
            read_percent: Decimal::whole(percent),
            offset: ByteSize(places[0]),
            pass_offset: ByteSize(places[1]),
            region: flags[0].then(|| share(places[2])),
            unit: flags[1].then_some(ByteSize(places[3])),
            at_end: if flags[2] { AtEnd::Extend } else { AtEnd::Wrap },
            same_each_pass: flags[3],
            sharing: if flags[3] { Sharing::Striped } else { Sharing::Rounds },
            jobs,
            pace,
            stop: Stop {
                requests: stop[0],
                bytes: stop[1].map(share),
                cut_last: flags[0] ^ flags[2],
                runtime: stop[2].map(Nanos),
                time_limit: stop[3].map(Nanos),
                ramp: Nanos(0),
            },
            ..Generator::new(order, ByteSize(1))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    /// Any valid plan can be laid over any target, or is refused.
    #[test]
    fn valid_plans_never_panic(p in anything(), size in extreme(), pass in prop_oneof![Just(0u32), Just(1), any::<u32>()], grows: bool) {
        let text = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\noverlap = { policy = 'allow', strong = 1, max_waiting = 9 }\n\
                    [[target]]\npath = 'a'\nworkload = { kind = 'trace', file = 'a' }";
        let mut plan = iosonar_plan::Plan::from_toml(text).unwrap();
        plan.phases[0].passes = pass.max(1);
        plan.phases[0].jobs[0].workload = iosonar_plan::Workload::Generated(p.clone());
        if plan.validate().is_err() {
            return Ok(());
        }
        let setting = Setting { grows, pass: plan.phases[0].passes - 1, ..Setting::alone(size.min(1 << 63), 7) };
        let _ = (p.end(plan.phases[0].passes), p.amount(), p.is_aligned(512), p.due_until(Nanos::SECOND), p.to_string());
        for job in 0..p.jobs {
            let Ok(source) = Generated::new(&p, &setting, None) else { return Ok(()) };
            let mut source = source.part(job, p.jobs);
            for _ in 0..5 {
                let Some(item) = source.next_item(Nanos(1)) else { break };
                if p.at_end == AtEnd::Wrap {
                    prop_assert!(item.extent.end() <= setting.size, "{item:?}");
                }
                prop_assert!(item.extent.length > 0);
            }
        }
    }
}

#[test]
fn backward_and_strided_laps_visit_each_block_once() {
    let blocks = |order: Order, region: u64| -> Vec<u64> {
        let p = Generator {
            region: Some(Space::Bytes(ByteSize(region))),
            stop: Stop { bytes: Some(Space::Percent(100)), ..Stop::default() },
            ..Generator::new(order, ByteSize(4096))
        };
        items(&p, 1).iter().map(|item| item.extent.offset / 4096).collect()
    };
    assert_eq!(blocks(Order::Backward, 5 * 4096 + 100), [4, 3, 2, 1, 0]);
    assert_eq!(blocks(Order::Strided { every: 3 }, 8 * 4096), [0, 3, 6, 1, 4, 7, 2, 5]);
    // A stride that is as long as the region is the same as no stride.
    assert_eq!(blocks(Order::Strided { every: 17 }, 4 * 4096), [0, 1, 2, 3]);
    for (every, count) in [(1, 7), (2, 64), (17, 64), (17, 256), (64, 64)] {
        let mut seen = blocks(Order::Strided { every }, count * 4096);
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..count), "{every} of {count}");
    }
}
