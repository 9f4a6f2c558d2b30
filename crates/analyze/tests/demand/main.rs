//! The static analysis against numbers that were made independently of it, against slow and obvious ways to compute
//! the same, and against input that no real load has.

mod bad_input;
mod model;
mod recorded;
mod sampling;
mod speed;

use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use iosonar_plan::Op;

/// One second in nanoseconds.
const S: u64 = 1_000_000_000;

fn analysis(demands: &[Demand], options: &DemandOptions) -> DemandAnalysis {
    let mut tally = DemandTally::new(options);
    demands.iter().for_each(|d| tally.add(d));
    tally.finish()
}

fn demand(time_ns: u64, sector: u64, sectors: u64, op: Op) -> Demand {
    Demand { time_ns, sector, sectors, device: 0, op }
}

/// Seeded numbers, the same on every machine (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// From 0 to below 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
