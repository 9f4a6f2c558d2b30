//! Clocks that cost much compared with what they measure.

use crate::detector::Most;
use crate::thresholds::CLOCK_COST;
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::CoarseClock,
    channel: Channel::Environment,
    most: Most::always(Level::Caution),
    explains: &[],
    about: "Each latency contains the reading of the clock. Where the clock source is no counter of the CPU, reading it is a system call.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "readings of the clock, measured before the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let cost = case.summary.health.setup.as_ref()?.clock_cost_ns;
    let median = case.summary.latency.all?.p50_ns as f64;
    if !case.is_real() || cost <= 0.0 || median <= 0.0 {
        return None;
    }
    let share = cost / median;
    let seen = match CLOCK_COST.level(share) {
        Level::Ok => Finding::ok(format!("Reading the clock takes {cost:.0} ns."), SOURCE),
        level => Finding::at(
            level,
            format!("Reading the clock takes {cost:.0} ns, {} of the median latency.", percent(share)),
            SOURCE,
        )
        .remedy("See clocksource in /sys/devices/system/clocksource: tsc and kvm-clock cost little."),
    };
    Some(seen.with("clock_cost_ns", cost).effect(1.0 + share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_clock_cost_of_a_tenth_of_latency() {
        let seen =
            Lab::new().latency_ns(1_500).reads(1_000, 4096).clock_cost(154.0).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
    }

    #[test]
    fn accepts_clock_cost_of_a_thousandth() {
        let lab = Lab::new().latency_ns(60_000).reads(1_000, 4096).clock_cost(18.0);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
