//! Target rates that were not reached.

use crate::detector::Most;
use crate::thresholds::BEHIND;
use crate::words::percent;
use crate::{Case, Detector, Seen};
use iosonar_analyze::findings::{Overload, overloads_of};
use iosonar_analyze::{CautionId, Channel, DetectorId, During, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::CannotKeepUp,
    channel: Channel::Schedule,
    most: Most::always(Level::Fail),
    explains: &[],
    about: "Where requests have times of their own, a run that falls behind measures the capacity of something, and not how the device answers \
            this load. Latency alone does not show it: a request that waited seconds for its turn may be answered at once.",
    is_witness: false,
    replaces: &[],
    repeats: &[CautionId::BehindDemand, CautionId::HeldUp, CautionId::IssuedLate],
    predict: None,
    detect,
};

const SOURCE: &str = "due times, submissions and completions of the records";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let share = case.summary.throughput.delivered_share?;
    let behind = (1.0 - share).max(0.0);
    let level = BEHIND.level(behind);
    if level == Level::Ok {
        let seen = overloaded(case).unwrap_or_else(|| {
            Seen::ok(format!("{} of the demanded rate was delivered.", percent(share)), SOURCE)
        });
        return Some(seen.with("share", share));
    }
    let (cause, remedy) = cause(case);
    let seen =
        Seen::at(level, format!("{} of the demanded rate was delivered{cause}.", percent(share)), SOURCE)
            .remedy(remedy);
    Some(seen.with("share", share).effect(1.0 / share.max(1e-3)))
}

/// Overloads although everything was delivered in the end: an idle end makes up for any of them.
fn overloaded(case: &Case<'_>) -> Option<Seen> {
    let all = overloads_of(case.tally.traffic(), case.summary, &case.samples.without_cpu);
    let worst = Overload::worst(&all)?;
    let lasted: u64 = all.iter().map(|one| one.range.length_ns()).sum();
    let of_time = lasted as f64 / case.summary.span.duration_ns()?.max(1) as f64;
    let more = match all.len() {
        1 => String::new(),
        count => format!(" ({} more such times)", count - 1),
    };
    let level = BEHIND.level(of_time).clamp(Level::Info, Level::Caution);
    let seen = Seen::at(level, format!("The load: {}{more}.", worst.sentence()), SOURCE)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn a_rate_that_is_not_reached_is_told() {
        let seen = Lab::new().reads(1_000, 4096).delivered_share(0.227).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.effect.map(|factor| factor.round())), (Level::Fail, Some(4.0)));
        assert!(seen.text.starts_with("22.7 % of the demanded rate"), "{}", seen.text);
    }

    #[test]
    fn an_overload_that_an_idle_end_makes_up_for_is_told() {
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
    fn a_rate_that_is_reached_is_fine_and_a_closed_loop_has_none() {
        assert_eq!(
            Lab::new().reads(1_000, 4096).delivered_share(0.999).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
        assert_eq!(Lab::new().reads(1_000, 4096).detection(&DETECTOR), None);
    }
}
