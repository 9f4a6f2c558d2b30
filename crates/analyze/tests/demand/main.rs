//! The static analysis against numbers that were made independently of it, against slow and obvious ways to compute the
//! same, and against input that no real load has.

mod bad_input;
mod model;
mod recorded;
mod sampling;
mod speed;

use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use iosonar_plan::Op;
use iosonar_testkit::SplitMix;

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
