//! Recordings that lack requests, or parts of them.

use crate::detector::Most;
use crate::thresholds::{AMBIGUOUS, IDLE_PER_SECOND, LEAST_IDLE_SECONDS, LOST_EVENTS, WITHOUT_END};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_archive::Recorded;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::TraceIncomplete,
    channel: Channel::Schedule,
    most: Most::always(Level::Fail),
    explains: &[],
    about: "A recorder whose buffer is full loses events: requests are missing, and others have no end. A replay of such a recording asks for less than \
            the application did, mostly where it asked for much. Of a machine that was idle there is nothing to replay.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "events of the recording, and how they were paired";

type Assessment = (Level, String, &'static str);

fn detect(case: &Case<'_>) -> Option<Finding> {
    let recorded = case.run.recorded?;
    let findings = [lost(&recorded), damaged(&recorded), unpaired(&recorded), idle(case, &recorded)];
    let worst = findings.into_iter().flatten().rev().max_by_key(|(level, ..)| *level);
    let seen = match worst {
        Some((level, text, remedy)) => Finding::at(level, text, SOURCE).remedy(remedy),
        None => Finding::ok(format!("All events of {} requests were recorded.", recorded.requests), SOURCE),
    };
    let numbers = [
        ("events", recorded.events),
        ("lost_events", recorded.lost),
        ("ambiguous_ends", recorded.ambiguous),
        ("without_end", recorded.no_end),
    ];
    Some(numbers.into_iter().fold(seen, |seen, (name, value)| seen.with(name, value as f64)))
}

fn damaged(recorded: &Recorded) -> Option<Assessment> {
    let text = format!("{} places of the events cannot be read.", recorded.damaged);
    let remedy = "Record again; look at the disk that holds the recording.";
    (recorded.damaged > 0).then_some((Level::Caution, text, remedy))
}

fn lost(recorded: &Recorded) -> Option<Assessment> {
    let share = recorded.lost as f64 / (recorded.events + recorded.lost).max(1) as f64;
    let (level, text) = match recorded.lost_at_most {
        false => {
            let text =
                format!("{} events were lost ({}): requests are missing.", recorded.lost, percent(share));
            (LOST_EVENTS.level(share), text)
        }
        true => {
            let text = format!("Up to {} events were lost: requests may be missing.", recorded.lost);
            (LOST_EVENTS.level(share).min(Level::Caution), text)
        }
    };
    if level > Level::Ok {
        return Some((level, text, "Record again with a larger --buffer."));
    }
    let text = format!("The oldest {} events were removed to limit the size.", recorded.removed);
    (recorded.removed > 0).then_some((Level::Info, text, "Record with a larger --max-size."))
}

fn unpaired(recorded: &Recorded) -> Option<Assessment> {
    let share = |count: u64| count as f64 / recorded.requests.max(1) as f64;
    let (open, ambiguous) = (share(recorded.no_end + recorded.no_begin), share(recorded.ambiguous));
    // Requests in flight at the start and at the end of a recording count: their number is not kept.
    let level = WITHOUT_END.level(open);
    if level > Level::Ok {
        let text = format!("{} of the requests lack their start or their end.", percent(open));
        return Some((level, text, "Record for longer, with a larger --buffer."));
    }
    let text = format!(
        "The ends of {} of the requests may be those of others: their latencies are guessed.",
        percent(ambiguous)
    );
    let level = AMBIGUOUS.level(ambiguous);
    (level > Level::Ok).then_some((level, text, "Replay it for its demand; do not quote its latencies."))
}

fn idle(case: &Case<'_>, recorded: &Recorded) -> Option<Assessment> {
    let recorded_ns = Some(recorded.duration_ns).filter(|ns| *ns > 0);
    let seconds = recorded_ns.or(case.summary.span.duration_ns()).map_or(0.0, |ns| ns as f64 / 1e9);
    let is_idle = recorded.requests == 0
        || seconds > LEAST_IDLE_SECONDS && (recorded.requests as f64) < IDLE_PER_SECOND * seconds;
    let text = format!("The system was idle: {} requests in {seconds:.0} s.", recorded.requests);
    is_idle.then_some((Level::Caution, text, "Record while the application works."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_analyze::Verdict;

    fn whole() -> Recorded {
        Recorded { events: 20_000, requests: 10_000, ..Recorded::default() }
    }

    fn lab(recorded: Recorded) -> Lab {
        Lab::new().reads(10_000, 4096).on_disk("vda").recording(recorded)
    }

    #[test]
    fn reports_lost_events_open_requests_and_idle_system() {
        let lost = lab(Recorded { lost: 10_902, ..whole() });
        let seen = lost.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Fail);
        assert!(seen.text.starts_with("10902 events were lost (35.3 %)"), "{}", seen.text);
        assert_eq!(
            (lost.judgement().verdict, lost.judgement().sentence.as_str()),
            (Verdict::Care, "read with care: trace-incomplete")
        );
        for recorded in [
            Recorded { lost: 1, ..whole() },
            Recorded { lost: 10_902, lost_at_most: true, ..whole() },
            Recorded { no_end: 200, ..whole() },
            Recorded { ambiguous: 200, ..whole() },
            Recorded { damaged: 1, ..whole() },
        ] {
            assert_eq!(lab(recorded).detection(&DETECTOR).unwrap().level, Level::Caution, "{recorded:?}");
        }
        let idle = Lab::new().latency_ns(20_000_000_000).reads(5, 4096);
        let seen =
            idle.recording(Recorded { events: 10, requests: 5, ..whole() }).detection(&DETECTOR).unwrap();
        assert!(seen.text.starts_with("The system was idle: 5 requests in 100 s"), "{}", seen.text);
    }

    #[test]
    fn accepts_complete_recording_and_skips_runs() {
        let whole = lab(Recorded { no_end: 3, no_begin: 2, ..whole() });
        assert_eq!(whole.detection(&DETECTOR).unwrap().level, Level::Ok);
        let judgement = whole.judgement();
        assert_eq!(judgement.sentence, "trustworthy: All events of 10000 requests were recorded");
        assert_eq!(Lab::new().reads(1_000, 4096).detection(&DETECTOR), None);
    }
}
