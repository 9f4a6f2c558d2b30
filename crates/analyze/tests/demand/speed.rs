//! Cost of a request.

use super::{S, SplitMix, demand};
use iosonar_analyze::demand::{Demand, DemandOptions, DemandTally};
use iosonar_plan::Op;

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let stat =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the time of a thread");
    stat.split(' ').next().and_then(|n| n.parse().ok()).expect("its first number is the time on a CPU")
}

fn measure(name: &str, requests: u64, mut next: impl FnMut(u64) -> Demand) {
    let mut tally = DemandTally::new(&DemandOptions::default());
    let load: Vec<Demand> = (0..requests.min(1 << 20)).map(&mut next).collect();
    let mut cpu = 0;
    let mut count = 0;
    while count < requests {
        let part: Vec<Demand> = if count == 0 {
            load.clone()
        } else {
            (count..requests.min(count + (1 << 20))).map(&mut next).collect()
        };
        let begin = cpu_ns();
        part.iter().for_each(|d| tally.add(d));
        cpu += cpu_ns() - begin;
        count += part.len() as u64;
    }
    let begin = cpu_ns();
    let facts = tally.finish().facts;
    let finish = cpu_ns() - begin;
    println!(
        "{name}: {:.1} ns per request, {:.1} ms in all, {:.1} ms of them at the end; {:?}; {} page accesses",
        (cpu + finish) as f64 / requests as f64,
        (cpu + finish) as f64 / 1e6,
        finish as f64 / 1e6,
        facts.sampling,
        facts.frequency.all.accesses,
    );
    assert_eq!(facts.counts.all.requests, requests);
}

/// `cargo test --release -p iosonar-analyze --test demand -- --ignored --nocapture per_request`
#[test]
#[ignore = "a measurement"]
fn time_per_request() {
    let mut random = SplitMix(1);
    // An hour; skewed pages of some GiB, mostly 4 to 16 KiB, sometimes long sequential reads.
    let web = |i: u64| {
        let page = (2_000_000.0 * random.fraction().powi(4)) as u64 * 4;
        let pages = if random.below(20) == 0 { 32 } else { 1 + random.below(4) };
        let op = if random.below(4) == 0 { Op::Write } else { Op::Read };
        demand(i * (3600 * S / 270_000), page * 8, pages * 8, op)
    };
    measure("web, 270 000", 270_000, web);
    let mut random = SplitMix(2);
    let wide = |i: u64| {
        let skew = if random.below(2) == 0 { 4 } else { 1 };
        let page = (268_435_456.0 * random.fraction().powi(skew)) as u64;
        demand(i * 100_000, page * 8, 8, Op::Read)
    };
    let millions = std::env::var("MILLIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(10u64);
    measure("1 TiB", millions * 1_000_000, wide);
    let peak = std::fs::read_to_string("/proc/self/status").expect("Linux tells the memory");
    println!("{}", peak.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default());
}
