//! Cost of a sector: `cargo test --release -p iosonar-content --test speed -- --ignored --nocapture`.

use iosonar_content::{SectorHeader, fill, inspect, intact, intact_each, regenerate};
use iosonar_plan::Fill;
use std::hint::black_box;
use std::time::Instant;

/// Sectors of a buffer.
const SECTORS: usize = 32;

/// Prints nanoseconds for each sector: the best of some rounds.
fn measure(name: &str, random_percent: u8, mut round: impl FnMut()) {
    let times = (0..200).map(|_| {
        let start = Instant::now();
        (0..200).for_each(|_| round());
        start.elapsed().as_nanos() as f64 / (200 * SECTORS) as f64
    });
    println!("{name}, {random_percent} % random: {:.1} ns", times.fold(f64::INFINITY, f64::min));
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    for random_percent in [100, 50, 0] {
        let kind = Fill { random_percent };
        let mut buffer = vec![0; SECTORS * 512];
        let header = SectorHeader { run_id: 5, target: 1, pass: 2, length: 8, ..SectorHeader::default() };
        let mut sequence = 0;
        measure("fill", random_percent, || {
            sequence += 1;
            fill(black_box(&mut buffer), SectorHeader { sequence, sector: 8 * sequence, ..header }, kind);
        });
        measure("regenerate", random_percent, || {
            for i in 0..SECTORS as u64 {
                black_box(regenerate(&black_box(header).after(i), kind));
            }
        });
        let sectors = || black_box(&buffer).as_chunks::<512>().0.iter();
        measure("intact", random_percent, || assert!(sectors().all(|sector| intact(sector, kind).is_some())));
        measure("intact_each", random_percent, || {
            intact_each(black_box(&buffer).as_chunks().0, kind, &mut |_, header| assert!(header.is_some()));
        });
        // Sectors of a request of 4 KiB each, from all over the target.
        let requests: Vec<Vec<u8>> = (0..1024)
            .map(|i: u64| {
                let mut buffer = vec![0; 8 * 512];
                let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                fill(&mut buffer, SectorHeader { sequence: i, sector, due_ns: i * 12_345, ..header }, kind);
                buffer
            })
            .collect();
        let mut next = 0;
        measure("intact, requests of 4 KiB in 4 MiB", random_percent, || {
            for _ in 0..SECTORS / 8 {
                next += 1;
                let sectors = requests[next % 1024].as_chunks::<512>().0;
                assert!(sectors.iter().all(|sector| intact(sector, kind).is_some()));
            }
        });
        measure("intact_each, the same", random_percent, || {
            for _ in 0..SECTORS / 8 {
                next += 1;
                let sectors = requests[next % 1024].as_chunks::<512>().0;
                intact_each(sectors, kind, &mut |_, header| assert!(header.is_some()));
            }
        });
    }
    let fill = Fill::default();
    let foreign = [0x5a; 512];
    measure("inspect of foreign data", 100, || {
        for _ in 0..SECTORS {
            black_box(inspect(black_box(&foreign), fill, 7));
        }
    });
    let mut damaged = regenerate(&SectorHeader { sequence: 5, ..SectorHeader::default() }, fill);
    damaged[100] ^= 1;
    measure("inspect of a damaged body", 100, || {
        for _ in 0..SECTORS {
            black_box(inspect(black_box(&damaged), fill, 7));
        }
    });
}
