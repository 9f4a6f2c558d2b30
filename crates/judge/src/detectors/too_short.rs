//! Runs that are too short for a verdict on their level.

use crate::detector::Most;
use crate::thresholds::{LEAST_REQUESTS, LEAST_SECONDS};
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::TooShort,
    channel: Channel::Schedule,
    most: Most::always(Level::Info),
    explains: &[],
    about: "Caches, free blocks of a drive and dirty pages change the level after seconds or minutes. A run that ends before does not meet them; \
            the blkreplay manual (3.1.2, 3.1.3) wants ten times the time to the first steady level, and an hour of a natural load.",
    detect,
};

const SOURCE: &str = "first and last times of the records";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let seconds = case.summary.span.duration_ns()? as f64 / 1e9;
    let is_enough = case.summary.counts.all.completed >= LEAST_REQUESTS;
    Some(if seconds >= LEAST_SECONDS && is_enough {
        Seen::ok(format!("{seconds:.0} s were measured."), SOURCE).with("seconds", seconds)
    } else {
        let text = format!(
            "{seconds:.1} s with {} requests are too short to tell whether the level stays.",
            case.summary.counts.all.completed
        );
        Seen::info(text, SOURCE)
            .remedy(format!("Run for {LEAST_SECONDS} s or longer."))
            .with("seconds", seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn a_short_run_is_information_and_a_long_one_fine() {
        let short = Lab::new().latency_ns(100_000).reads(12_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(short.level, Level::Info);
        let long = Lab::new().latency_ns(10_000_000).reads(4_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(long.level, Level::Ok);
    }
}
