//! Target rates that were not reached.

use crate::detector::Most;
use crate::thresholds::{BEHIND, WAITING_SHARE};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::findings::{Overload, overloads_of};
use iosonar_analyze::waiting::{cause_of_waiting, obstacle};
use iosonar_analyze::{Caution, CautionId, Channel, DetectorId, During, Level, Severity, Story, Summary};
use iosonar_plan::Plan;
use iosonar_text::units::{Charset, duration, grouped, number};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::CannotKeepUp,
    channel: Channel::Schedule,
    most: Most::always(Level::Fail),
    explains: &[],
    about: "Where requests have times of their own, a run that falls behind measures the capacity of something, and not how the device answers \
            this load. Latency alone does not show it: a request that waited seconds for its turn may be answered at once.",
    is_witness: false,
    says: Some(says),
    predict: None,
    detect,
};

const SOURCE: &str = "due times, submissions and completions of the records";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let share = case.summary.throughput.delivered_share?;
    let behind = (1.0 - share).max(0.0);
    let level = BEHIND.level(behind);
    if level == Level::Ok {
        let seen = overloaded(case).unwrap_or_else(|| {
            Finding::ok(format!("{} of the demanded rate was delivered.", percent(share)), SOURCE)
        });
        return Some(seen.with("share", share));
    }
    let (cause, remedy) = cause(case);
    let seen =
        Finding::at(level, format!("{} of the demanded rate was delivered{cause}.", percent(share)), SOURCE)
            .remedy(remedy);
    Some(seen.with("share", share).effect(1.0 / share.max(1e-3)))
}

/// Overloads although everything was delivered in the end: an idle end makes up for any of them.
fn overloaded(case: &Case<'_>) -> Option<Finding> {
    let all = overloads_of(case.tally.traffic(), case.summary, &case.samples.without_cpu);
    let worst = Overload::worst(&all)?;
    let lasted: u64 = all.iter().map(|one| one.range.length_ns()).sum();
    let of_time = lasted as f64 / case.summary.span.duration_ns()?.max(1) as f64;
    let more = match all.len() {
        1 => String::new(),
        count => format!(" ({} more such times)", count - 1),
    };
    let level = BEHIND.level(of_time).clamp(Level::Info, Level::Caution);
    let seen = Finding::at(level, format!("The load: {}{more}.", worst.sentence()), SOURCE)
        .remedy("Look at the latencies of that time apart from the others; raise --depth, or replay the load more slowly.");
    let during = During { from_ns: worst.range.from_ns, to_ns: worst.range.to_ns };
    Some(seen.with("overloaded_share_of_time", of_time).during(Some(during)))
}

/// The cause that delayed requests: the depth, the CPU, or the device.
fn cause(case: &Case<'_>) -> (&'static str, &'static str) {
    let Some(held) = case.summary.health.held else {
        return ("", "Give it more requests in flight (--depth), or a lower rate.");
    };
    let submitted = case.summary.counts.all.completed.max(1);
    if held.turn.requests * 2 > submitted {
        let text = ": requests waited because as many were in flight as the depth allows";
        return (text, "Raise --depth; where the device has reached its limit, lower the rate.");
    }
    if held.conflict.requests * 10 > submitted {
        return (
            ": requests waited for others that they conflict with",
            "See the overlap policy (--overlap).",
        );
    }
    ("", "See the delay of requests that nothing held: the CPU is too slow for this rate, or others use it.")
}

/// A run that did not keep up is reported with the cause of waiting; otherwise that alone is.
fn says(summary: &Summary, _: &Plan) -> Vec<Caution> {
    behind(summary).or_else(|| held_up(summary)).into_iter().collect()
}

fn behind(summary: &Summary) -> Option<Caution> {
    let share = summary.throughput.delivered_share?;
    let level = BEHIND.level(1.0 - share);
    if level == Level::Ok || catches_up(summary) {
        return None;
    }
    let cause = cause_of_waiting(summary).map_or(String::new(), |(why, remedy)| {
        format!(" Requests were due while {why}: {remedy}, or take this rate as the limit of this set-up.")
    });
    let text = format!(
        "Only {} % of the target rate was reached. Delays grow as long as that lasts: the figures show the \
         capacity of the target, of the generator, or what others left of them, not the response to this load. Slow the \
         load down to see its response.{cause}",
        number(share * 100.0)
    );
    // Far behind, the figures are those of a saturated target.
    let severity = if level == Level::Fail { Severity::Severe } else { Severity::Warning };
    Some(Caution { id: CautionId::BehindDemand, severity, text })
}

/// Whether the target kept up to the end although it delivered less: requests failed, or a single one ended late. In a run
/// that did not keep up, the typical request of its end is late, too.
fn catches_up(summary: &Summary) -> bool {
    let ends = summary.throughput.demanded.zip(summary.health.at_end).zip(summary.latency.all);
    ends.is_some_and(|((demanded, end), latency)| {
        let late = end.response_p50_ns.saturating_sub(latency.p50_ns) as f64;
        let duration = demanded.duration_ns as f64;
        BEHIND.level(1.0 - duration / (duration + late).max(1.0)) == Level::Ok
    })
}

fn held_up(summary: &Summary) -> Option<Caution> {
    let (turn, submitted) = (summary.health.held?.turn, summary.health.reap_lag?.count);
    if !summary.run.has_timetable || turn.requests as f64 <= submitted as f64 * WAITING_SHARE {
        return None;
    }
    let (why, remedy) = obstacle(summary);
    let story = summary.story.as_ref();
    let advice = match story.and_then(Story::main_cause).filter(|cause| cause.blocks_the_queue()) {
        Some(cause) => format!(
            "{cause}, and requests had to wait. Look at the response: the latency excludes that wait."
        ),
        None => format!(
            "the load wants more parallelism than it was given. {}{}, or look at the response.",
            remedy[..1].to_uppercase(),
            &remedy[1..]
        ),
    };
    let text = format!(
        "{} of {} requests were due while {why}, and were issued up to {} late: {advice}",
        grouped(turn.requests),
        grouped(submitted),
        duration(turn.delay_max_ns, Charset::Unicode),
    );
    Some(Caution::warning(CautionId::HeldUp, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_archive::Marks;

    #[test]
    fn reports_missed_target_rate() {
        let seen = Lab::new().reads(1_000, 4096).delivered_share(0.227).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.effect.map(|factor| factor.round())), (Level::Fail, Some(4.0)));
        assert!(seen.text.starts_with("22.7 % of the demanded rate"), "{}", seen.text);
    }

    #[test]
    fn reports_overload_hidden_by_idle_end() {
        // A thousand requests are due each second for ten seconds, and each takes 4 ms, one after the other; then one a second is due.
        let lab =
            Lab::new().timed().queued(10_000, 1_000_000, 4_000_000).queued(60, 1_000_000_000, 1_000_000);
        let seen = lab.delivered_share(1.0).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution, "{seen:?}");
        assert!(
            seen.text.contains("overloaded from 0.00 s to") && seen.text.contains("requests late"),
            "{}",
            seen.text
        );
        assert!(seen.during.is_some());
    }

    #[test]
    fn accepts_reached_rate_and_skips_closed_loop() {
        assert_eq!(
            Lab::new().reads(1_000, 4096).delivered_share(0.999).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
        assert_eq!(Lab::new().reads(1_000, 4096).detection(&DETECTOR), None);
    }

    fn said(lab: &Lab) -> (CautionId, Severity, String) {
        let caution = lab.said(&DETECTOR).pop().expect("it says something");
        (caution.id, caution.severity, caution.text)
    }

    #[test]
    fn missed_rate_is_reported_as_capacity() {
        let behind = |share: f64| Lab::new().steady(2_000, move |i| (i as f64 * 1e6 * share) as u64);
        let (id, severity, text) = said(&behind(0.25));
        assert_eq!((id, severity), (CautionId::BehindDemand, Severity::Severe));
        assert!(text.starts_with("Only 80.") && text.contains("capacity"), "{text}");
        assert_eq!(said(&behind(0.05)).1, Severity::Warning);
        assert_eq!(behind(0.01).said(&DETECTOR), []);
        // One request that ends late is no lack of speed.
        assert_eq!(Lab::new().steady(2_000, |_| 0).last_ends_at(9_000_000_000).said(&DETECTOR), []);
        let full = behind(0.25).slots(64, 64);
        assert!(said(&full.clone().marked(1, Marks::HELD)).2.contains("all 64 slots"));
        assert!(said(&full.marked(1, Marks::NO_BUFFER)).2.contains("--buffer-memory"));
    }

    #[test]
    fn requests_that_waited_for_their_turn_are_reported_with_the_remedy() {
        let steady = Lab::new().steady(2_000, |_| 5_000).slots(64, 7);
        assert_eq!(steady.clone().marked(100, Marks::HELD).said(&DETECTOR), []);
        let held = steady.marked(90, Marks::HELD);
        let (id, _, text) = said(&held);
        assert_eq!(id, CautionId::HeldUp);
        assert!(text.contains("an earlier one") && text.contains("Choose another --overlap"), "{text}");
        let (_, _, text) = said(&held.slots(64, 64));
        assert!(text.contains("all 64 slots") && text.contains("Raise --depth"), "{text}");
    }
}
