//! Requests that a closed loop did not send while the target stood still (coordinated omission).

use crate::detector::Most;
use crate::thresholds::{HIDDEN, STALL_NS, STALL_TIMES};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::StallsHidden,
    channel: Channel::Schedule,
    most: Most { cache: Level::Info, ..Most::always(Level::Caution) },
    explains: &[],
    about: "A closed loop sends the next request when one has ended. While the target stands still it sends none, so a stall of a second is \
            one slow request, where an application with times of its own would have had a thousand. Percentiles understate it.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

/// The greatest latency.
pub(crate) const LONGEST_SECONDS: &str = "longest_seconds";

const SOURCE: &str = "the distribution of latencies";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let latency = case.tally.latency().all;
    let median = latency.stats()?.p50_ns.max(1);
    if case.plan.has_timetable() || latency.count() < 100 {
        return None;
    }
    let least = (median * STALL_TIMES).max(STALL_NS);
    let stalls = latency.histogram().iter_recorded().filter(|bucket| bucket.value_iterated_to() >= least);
    let (mut missed, mut count) = (0.0, 0);
    for bucket in stalls {
        count += bucket.count_since_last_iteration();
        missed +=
            bucket.count_since_last_iteration() as f64 * bucket.value_iterated_to() as f64 / median as f64;
    }
    let share = missed / (missed + latency.count() as f64);
    // One slow request may be anything.
    let is_single = count < 2 && share < 0.01;
    let seen = match HIDDEN.level(share) {
        _ if is_single => Finding::ok("No stall hides requests that were not sent.", SOURCE),
        Level::Ok => Finding::ok("No stall hides requests that were not sent.", SOURCE),
        level => Finding::at(
            level,
            format!(
                "A closed loop: about {missed:.0} requests were never sent ({} of all) while {count} others took {} times the median or \
                 longer. High percentiles understate what an application would have met.",
                percent(share),
                least / median
            ),
            SOURCE,
        )
        .remedy("Give requests times of their own (--rate), and read the response column.")
        .during(case.tally.traffic().longest_pause()),
    };
    let seen = seen.with("never_sent", missed).with("stalled", count as f64);
    Some(seen.with(LONGEST_SECONDS, latency.stats()?.max_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_closed_loop_stall() {
        let lab =
            Lab::new().latency_ns(1_000_000).reads(3_000, 4096).latency_ns(1_037_000_000).reads(1, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("about 1037 requests were never sent"), "{}", seen.text);
        let during = seen.during.unwrap();
        assert!(during.from_ns >= 3_000_000_000 && during.to_ns <= 4_037_000_000, "{during:?}");
    }

    #[test]
    fn accepts_open_loop_and_steady_closed_loop() {
        let lab = Lab::new().latency_ns(1_000_000).reads(3_000, 4096).latency_ns(60_000_000).reads(2, 4096);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
        let stalled = Lab::new().timed().latency_ns(1_000_000).reads(3_000, 4096);
        assert_eq!(stalled.latency_ns(1_037_000_000).reads(1, 4096).detection(&DETECTOR), None);
    }
}
