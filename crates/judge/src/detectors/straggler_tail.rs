//! Time at the start and at the end of a run in which some workers were idle.

use crate::detector::Most;
use crate::thresholds::TAIL;
use crate::words::{percent, size};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_archive::PassTimes;
use std::collections::BTreeMap;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::StragglerTail,
    channel: Channel::Schedule,
    most: Most::always(Level::Caution),
    explains: &[DetectorId::NotSteady, DetectorId::Noisy, DetectorId::QueueDepthNotReached],
    about: "Where jobs of equal size run at unequal speed, the fast ones end first, and the rest of the time measures the slow ones alone. The sum \
            of the jobs' rates is then too high, and bytes divided by the whole time too low. IOzone stops all when the first has ended.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "start and end of the passes of each issuing loop";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let [phase] = case.plan.phases.as_slice() else { return None };
    // Workers that wait for each other, or for due times, are idle as planned.
    if !case.is_real() || phase.coordination.is_coupled() || case.plan.has_timetable() {
        return None;
    }
    // A later start is as planned.
    if phase.jobs.iter().any(|job| job.options.start_delay.0 > 0) {
        return None;
    }
    let ends = begin_and_end(&case.run.passes);
    let all_begun = ends.iter().map(|(begin, _)| *begin).max()?;
    let first_end = ends.iter().map(|(_, end)| *end).min()?;
    let whole = ends.iter().map(|(_, end)| *end).max()? - ends.iter().map(|(begin, _)| *begin).min()?;
    if ends.len() < 2 || whole == 0 {
        return None;
    }
    let tail = 1.0 - first_end.saturating_sub(all_begun) as f64 / whole as f64;
    let level = TAIL.level(tail);
    if level == Level::Ok {
        let text =
            format!("All {} issuing loops were busy for {} of the time.", ends.len(), percent(1.0 - tail));
        return Some(Finding::ok(text, SOURCE).with("tail_share", tail));
    }
    let within = case.tally.traffic().rate_between(all_begun, first_end);
    let figure = match within {
        Some((requests, bytes)) => {
            format!(" While all were busy: {requests:.0} requests and {} per second.", size(bytes))
        }
        None => " There was hardly any time at which all were busy.".into(),
    };
    let text = format!(
        "Fewer than all {} issuing loops were busy for {} of the time.{figure}",
        ends.len(),
        percent(tail)
    );
    let seen = Finding::at(level, text, SOURCE)
        .remedy("Give the figure while all were busy; end the run by time (--runtime), or when the first has ended (ends = \"first\").")
        .with("tail_share", tail);
    Some(match within {
        Some((requests, bytes)) => {
            let whole_rate =
                case.summary.throughput.delivered.map_or(requests, |rate| rate.requests_per_second);
            seen.with("requests_per_second", requests)
                .with("bytes_per_second", bytes)
                .effect(requests / whole_rate)
        }
        None => seen,
    })
}

/// From the start of its first pass to the end of its last one, for each worker.
fn begin_and_end(passes: &[PassTimes]) -> Vec<(u64, u64)> {
    let mut loops: BTreeMap<(u16, u16), (u64, u64)> = BTreeMap::new();
    for pass in passes {
        let (begin, end) = loops.entry((pass.target, pass.job)).or_insert((pass.start.0, pass.end.0));
        (*begin, *end) = ((*begin).min(pass.start.0), (*end).max(pass.end.0));
    }
    loops.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn pair(fast_ns: u64, slow_ns: u64) -> Lab {
        let fast = Lab::new().latency_ns(fast_ns).reads(5_000, 65_536);
        fast.by_another_loop().latency_ns(slow_ns).reads(5_000, 65_536).on_disk("vda").with_passes()
    }

    #[test]
    fn reports_straggler_with_rate_of_all_jobs() {
        let seen = pair(100_000, 800_000).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(
            seen.text.starts_with("Fewer than all 2 issuing loops were busy for 87.5 % of the time."),
            "{}",
            seen.text
        );
        let rate = seen.evidence.iter().find(|one| one.name == "requests_per_second").unwrap().value;
        // The fast one has 10 000 a second, the slow one 1 250.
        assert!((rate - 11_250.0).abs() < 150.0, "{rate}");
    }

    #[test]
    fn accepts_jobs_ending_together_and_single_jobs() {
        assert_eq!(pair(100_000, 105_000).detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(Lab::new().reads(5_000, 65_536).with_passes().detection(&DETECTOR), None);
        assert_eq!(pair(100_000, 800_000).timed().detection(&DETECTOR), None);
    }
}
