//! Cost of the calls while nothing overlaps: `cargo test --release -p iosonar-verify --test speed -- --ignored --nocapture`.

use iosonar_archive::WriteId;
use iosonar_verify::{Ended, Expected, Sectors, Tag};
use std::collections::VecDeque;
use std::time::Instant;

fn tag(sequence: u64) -> Tag {
    Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence })
}

/// The `n`th block of 4 KiB in 1 GiB: each once, in a scattered order.
fn block(n: u64) -> Sectors {
    Sectors::new(n.wrapping_mul(0x9E37_79B1) % (1 << 18) * 8, 8)
}

const PAIRS: u64 = 1 << 20;

/// Nanoseconds of each pair of calls with this many in flight.
fn measure<F>(
    expected: &mut Expected,
    depth: usize,
    mut begin: impl FnMut(&mut Expected, u64) -> F,
    mut end: impl FnMut(&mut Expected, F, u64),
) -> f64 {
    let mut flying = VecDeque::with_capacity(depth + 1);
    let start = Instant::now();
    for n in 0..PAIRS {
        flying.push_back((begin(expected, n), n));
        if flying.len() >= depth {
            let (flight, n) = flying.pop_front().unwrap();
            end(expected, flight, n);
        }
    }
    while let Some((flight, n)) = flying.pop_front() {
        end(expected, flight, n);
    }
    start.elapsed().as_nanos() as f64 / PAIRS as f64
}

#[test]
#[ignore = "a measurement"]
fn pairs_without_overlap() {
    for fine in [false, true] {
        let mut expected = Expected::new(1 << 30);
        let start = |n: u64| Sectors::new(block(n).start + u64::from(fine), 8 - u64::from(fine));
        for depth in [1, 32, 1024] {
            let write = measure(
                &mut expected,
                depth,
                |expected, n| expected.begin_write(start(n), tag(n % (1 << 18))),
                |expected, flight, _| expected.end_write(flight, Ended::Acknowledged),
            );
            let mut found = 0;
            let read = measure(
                &mut expected,
                depth,
                |expected, n| expected.begin_read(start(n)),
                |expected, flight, n| {
                    let content = tag(n % (1 << 18));
                    expected.end_read(flight, 8, |_, legal| {
                        found += u64::from(legal == iosonar_verify::Legal::One(content));
                        Some(content)
                    });
                },
            );
            assert_eq!(found, PAIRS * start(0).count);
            println!("fine {fine}, depth {depth}: write {write:.0} ns, read {read:.0} ns");
        }
        // Far from the others, so that only the search in the side table is added.
        for n in 0..10_000 {
            let flight = expected.begin_write(Sectors::new((1 << 21) + n * 16, 8), tag(n));
            expected.end_write(flight, Ended::Failed);
        }
        let read = measure(
            &mut expected,
            32,
            |expected, n| expected.begin_read(start(n)),
            |expected, flight, n| expected.end_read(flight, 8, |_, _| Some(tag(n % (1 << 18)))),
        );
        println!("fine {fine}, depth 32, 10 000 failed writes elsewhere: read {read:.0} ns");
        println!("{} bytes", expected.bytes());
        let now = Instant::now();
        println!("{} ranges touched, {:.1?}", expected.touched().count(), now.elapsed());
    }
}
