//! Requests that were issued late although nothing held them.

use crate::detector::Most;
use crate::thresholds::{
    ISSUED_LATE_NS, LATE_FLOOR_NS, LATE_OF_GAP, LATE_OF_LATENCY, LEAST_UNHELD, LEAST_UNHELD_SHARE,
};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Caution, CautionId, Channel, DetectorId, Level, Summary, TimeStats};
use iosonar_plan::{Plan, Stamp};
use iosonar_text::units::{Charset, duration};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::LateTimer,
    channel: Channel::Schedule,
    most: Most::always(Level::Caution),
    explains: &[],
    about: "An open loop sleeps until a request is due, and a timer wakes it up late: by the timer slack of the process, by a CPU that sleeps \
            deeply, or because another program has the CPU. Requests then bunch, and the device sees another load than was asked for.",
    is_witness: false,
    says: Some(says),
    predict: None,
    detect,
};

const SOURCE: &str = "due times and submissions of the requests that nothing held";

fn detect(case: &Case<'_>) -> Option<Finding> {
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
        Finding::ok(
            format!("Half of the requests that nothing held went within {late_us:.1} us of their due time."),
            SOURCE,
        )
    } else {
        let text = format!(
            "Half of the requests that nothing held went late by {late_us:.1} us or more; they are due {gap_us:.1} us after each other, and take {latency_us:.1} us."
        );
        Finding::at(is_late, text, SOURCE)
            .remedy("Let the threads wait without sleeping (--spin), pin them to CPUs of their own (--pin), or read the response column.")
    };
    Some(seen.with("late_ns", late).with("gap_ns", gap).effect(1.0 + late / latency))
}

/// Issue delays beyond the latency of a few requests, which the median does not show.
fn says(summary: &Summary, _: &Plan) -> Vec<Caution> {
    issued_late(summary).into_iter().collect()
}

fn issued_late(summary: &Summary) -> Option<Caution> {
    let ((error, what), latency) = lateness(summary).zip(summary.latency.all)?;
    let late = error.p99_ns.unwrap_or(error.max_ns);
    // Without I/O there are no latencies to compare with.
    if summary.stamps.contains(&Stamp::DryRun) || late <= latency.p50_ns.max(ISSUED_LATE_NS) {
        return None;
    }
    let which = if error.p99_ns.is_some() { "1 % of them" } else { "the latest" };
    let remedy = if summary.health.setup.is_some() {
        " The generator was busy or had no CPU: leave it CPUs of its own, or spread the load over fewer targets."
    } else {
        ""
    };
    let text = format!(
        "{what}: {which} by {} or more, while half of the latencies are below {}. The load was not replayed at its \
         target rate; look at delay and response, not at latency alone.{remedy}",
        duration(late, Charset::Unicode),
        duration(latency.p50_ns, Charset::Unicode)
    );
    Some(Caution::warning(CautionId::IssuedLate, text))
}

/// The issue delay of the generator; all delay if the result does not record why requests waited.
fn lateness(summary: &Summary) -> Option<(TimeStats, &'static str)> {
    match (&summary.health.setup, summary.run.has_timetable) {
        (_, false) => None,
        (Some(_), true) => {
            summary.health.issue_error.map(|s| (s, "Requests that nothing held were issued late"))
        }
        (None, true) => summary.delay.all.map(|s| (s, "Requests were issued late, for an unknown reason")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_archive::Marks;
    use iosonar_plan::Engine;

    #[test]
    fn reports_late_timer() {
        let lab = Lab::new().timed().latency_ns(70_000).late_ns(85_000).reads(4_000, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("went late by 85."), "{}", seen.text);
    }

    #[test]
    fn accepts_punctual_timer_and_skips_closed_loop() {
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

    #[test]
    fn late_issuing_counts_requests_that_nothing_held() {
        let late = |i: u64| if i.is_multiple_of(50) { 2_000_000 } else { 1_000 };
        let text = |lab: &Lab| lab.said(&DETECTOR).pop().map_or(String::new(), |caution| caution.text);
        let steady = Lab::new().steady(2_000, late);
        assert!(
            text(&steady).starts_with("Requests that nothing held were issued late: 1 % of them by 2.00 ms")
        );
        let held = steady.clone().marked(50, Marks::PUSHED);
        assert_eq!(text(&held), "");
        assert_eq!(text(&Lab::new().steady(2_000, |i| late(i) / 4)), "");
        // An imported result does not record why its requests waited.
        assert!(text(&held.without_setup()).contains("unknown reason"));
        assert!(text(&Lab::new().steady(1, |_| 2_000_000_000)).contains("the latest by"));
        assert_eq!(text(&steady.on_engine(Engine::Null)), "");
    }
}
