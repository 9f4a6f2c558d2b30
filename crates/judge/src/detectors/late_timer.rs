//! Requests that were issued late although nothing held them.

use crate::detector::Most;
use crate::thresholds::{LATE_FLOOR_NS, LATE_OF_GAP, LATE_OF_LATENCY, LEAST_UNHELD, LEAST_UNHELD_SHARE};
use crate::{Case, Detector, Seen};
use iosonar_analyze::{CautionId, Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::LateTimer,
    channel: Channel::Schedule,
    most: Most::always(Level::Caution),
    explains: &[],
    about: "An open loop sleeps until a request is due, and a timer wakes it up late: by the timer slack of the process, by a CPU that sleeps \
            deeply, or because another program has the CPU. Requests then bunch, and the device sees another load than was asked for.",
    is_witness: false,
    replaces: &[],
    repeats: &[CautionId::IssuedLate],
    predict: None,
    detect,
};

const SOURCE: &str = "due times and submissions of the requests that nothing held";

fn detect(case: &Case<'_>) -> Option<Seen> {
    if !case.is_real() {
        return None;
    }
    // If a run is always late, nearly every request is held, and the few others say nothing about the timer.
    let unheld = case.summary.health.issue_error?;
    let share = unheld.count as f64 / case.summary.counts.all.completed as f64;
    if unheld.count < LEAST_UNHELD || share < LEAST_UNHELD_SHARE {
        return None;
    }
    let late = unheld.p50_ns as f64;
    let latency = case.summary.latency.all?.p50_ns.max(1) as f64;
    let demanded = case.summary.throughput.demanded?.requests_per_second;
    // Each loop has a separate timetable.
    let gap = 1e9 * case.plan.loops() as f64 / demanded;
    // Compared with a long time to the next request, lateness changes the response time and bunches nothing.
    let is_late = match LATE_OF_GAP.level(late / gap) {
        Level::Ok => LATE_OF_LATENCY.level(late / latency).min(Level::Info),
        level => level,
    };
    let (late_us, gap_us, latency_us) = (late / 1e3, gap / 1e3, latency / 1e3);
    let seen = if late < LATE_FLOOR_NS || is_late < Level::Info {
        Seen::ok(
            format!("Half of the requests that nothing held went within {late_us:.1} us of their due time."),
            SOURCE,
        )
    } else {
        let text = format!(
            "Half of the requests that nothing held went late by {late_us:.1} us or more; they are due {gap_us:.1} us after each other, and take {latency_us:.1} us."
        );
        Seen::at(is_late, text, SOURCE)
            .remedy("Let the threads wait without sleeping (--spin), pin them to CPUs of their own (--pin), or read the response column.")
    };
    Some(seen.with("late_ns", late).with("gap_ns", gap).effect(1.0 + late / latency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn a_timer_that_wakes_late_is_told() {
        let lab = Lab::new().timed().latency_ns(70_000).late_ns(85_000).reads(4_000, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("went late by 85."), "{}", seen.text);
    }

    #[test]
    fn a_timer_in_time_is_fine_and_a_closed_loop_has_none() {
        let exact = Lab::new().timed().latency_ns(70_000).late_ns(1_500).reads(4_000, 4096);
        assert_eq!(exact.detection(&DETECTOR).unwrap().level, Level::Ok);
        let slow = Lab::new().timed().latency_ns(9_000_000).late_ns(85_000).reads(4_000, 4096);
        assert_eq!(
            slow.detection(&DETECTOR).unwrap().level,
            Level::Ok,
            "the device takes a hundred times as long"
        );
        assert_eq!(Lab::new().latency_ns(70_000).reads(4_000, 4096).detection(&DETECTOR), None);
        let few = Lab::new().timed().latency_ns(70_000).late_ns(85_000).reads(30, 4096);
        assert_eq!(few.detection(&DETECTOR), None, "30 requests are no evidence");
    }
}
