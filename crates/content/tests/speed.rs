//! What a sector costs.

use iosonar_content::{SectorHeader, fill};
use iosonar_plan::Fill;
use std::hint::black_box;
use std::time::Instant;

const SECTORS: usize = 32;

/// Prints nanoseconds for each sector: the best of some rounds.
fn measure(name: &str, mut round: impl FnMut()) {
    let times = (0..200).map(|_| {
        let start = Instant::now();
        (0..200).for_each(|_| round());
        start.elapsed().as_nanos() as f64 / (200 * SECTORS) as f64
    });
    println!("{name}: {:.1} ns", times.fold(f64::INFINITY, f64::min));
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let mut buffer = vec![0; SECTORS * 512];
    for random_percent in [100, 50, 0] {
        let mut sequence = 0;
        measure(&format!("fill, {random_percent} % random"), || {
            sequence += 1;
            let first = SectorHeader {
                run_id: 5,
                target: 1,
                phase: 3,
                pass: 2,
                sector: 8 * sequence,
                sequence,
                due_ns: 99,
            };
            fill(black_box(&mut buffer), first, Fill { random_percent });
        });
    }
}
