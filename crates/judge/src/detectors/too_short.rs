//! Runs that are too short for a verdict on their level.

use crate::detector::Most;
use crate::thresholds::{LEAST_REQUESTS, LEAST_SECONDS, WHOLE};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::TooShort,
    channel: Channel::Schedule,
    most: Most::always(Level::Info),
    explains: &[],
    about: "Caches, free blocks of a drive and dirty pages change the level after seconds or minutes. A run that ends before does not meet them; \
            the blkreplay manual (3.1.2, 3.1.3) wants ten times the time to the first steady level, and an hour of a natural load.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "first and last times of the records";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let seconds = case.summary.span.duration_ns()? as f64 / 1e9;
    let requests = case.summary.counts.all.completed;
    let is_long = seconds >= LEAST_SECONDS * WHOLE;
    let seen = match (is_long, requests >= LEAST_REQUESTS) {
        (true, true) => Finding::ok(format!("{seconds:.0} s were measured."), SOURCE),
        (true, false) => {
            Finding::info(format!("{requests} requests are too few to tell whether the level stays."), SOURCE)
                .remedy(format!("Run until {LEAST_REQUESTS} requests are done."))
        }
        (false, is_many) => {
            let with = if is_many { String::new() } else { format!(" with {requests} requests") };
            Finding::info(
                format!("{seconds:.1} s{with} are too short to tell whether the level stays."),
                SOURCE,
            )
            .remedy(format!("Run for {LEAST_SECONDS} s or longer."))
        }
    };
    Some(seen.with("seconds", seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn short_run_is_info_and_long_run_is_ok() {
        let short = Lab::new().latency_ns(100_000).reads(12_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(short.level, Level::Info);
        let long = Lab::new().latency_ns(10_000_000).reads(4_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(long.level, Level::Ok);
        // --runtime 30.
        let asked = Lab::new().latency_ns(9_995_000).reads(3_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(asked.level, Level::Ok);
        let few = Lab::new().latency_ns(100_000_000).reads(400, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(
            (few.level, few.text.as_str()),
            (Level::Info, "400 requests are too few to tell whether the level stays.")
        );
    }
}
