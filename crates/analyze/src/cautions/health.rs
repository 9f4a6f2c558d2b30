//! Facts about the replayer itself: the engine that was used, and its own delays. The reason for each threshold stands with it.

use super::List;
use crate::caution::{CautionId, Severity};
use crate::numbers::span;
use crate::waiting::WAITING_SHARE;
use crate::{Stall, Summary};
use iosonar_plan::Stamp;
use iosonar_text::units::grouped;

/// Growth of the issue delay below this is scheduling noise of a machine that is busy with other things.
const DRIFT_FLOOR_NS: u64 = 100_000;
/// Growth of the issue delay by this factor is not noise.
const DRIFT_FACTOR: u64 = 10;
/// Completion poll delays above this come from a busy loop, not from reading the clock.
const REAP_LAG_FLOOR_NS: u64 = 50_000;
/// Delays above this are reported regardless of the latency: no tool should add that much.
const REAP_LAG_CEILING_NS: u64 = 1_000_000;

pub(super) fn setup(list: &mut List, summary: &Summary) {
    let Some(setup) = &summary.health.setup else { return };
    if let Some(why) = &setup.fallback {
        let text = format!(
            "Engine {} carried the requests out instead of {}: {}. Other engines cost other times; compare only with \
             runs of the same engine.",
            setup.engine,
            summary.run.engine.as_deref().unwrap_or("the plan's"),
            why.trim_end_matches('.')
        );
        list.push(CautionId::EngineFallback, Severity::Warning, text);
    }
    for notice in &setup.notices {
        list.push(CautionId::SetupNotice, Severity::Note, notice.clone());
    }
}

/// Without I/O, or with a model of a device, there are no latencies to compare with.
fn is_compared(summary: &Summary) -> bool {
    !summary.stamps.contains(&Stamp::DryRun)
}

pub(super) fn timing(list: &mut List, summary: &Summary) {
    drift(list, summary);
    reap_lag(list, summary);
}

fn drift(list: &mut List, summary: &Summary) {
    let Some(drift) = summary.health.issue_error_drift else { return };
    let (first, last) = (drift.first_tenth_p50_ns, drift.last_tenth_p50_ns);
    let allowed = DRIFT_FLOOR_NS.max(first.saturating_mul(DRIFT_FACTOR));
    if last.saturating_sub(first) > allowed && is_compared(summary) {
        let text = format!(
            "Requests were issued later and later: half of those in the first tenth of the time were late by {} or more, \
             half of those in the last tenth by {}. The generator does not keep up with this load for longer; slow \
             the load down, or leave it more CPU.",
            span(first),
            span(last)
        );
        list.push(CautionId::IssueDrift, Severity::Warning, text);
    }
}

fn reap_lag(list: &mut List, summary: &Summary) {
    let (Some(lag), Some(latency)) = (summary.health.reap_lag, summary.latency.all) else { return };
    let late = lag.p99_ns.unwrap_or(lag.max_ns);
    if late > latency.p50_ns.clamp(REAP_LAG_FLOOR_NS, REAP_LAG_CEILING_NS) && is_compared(summary) {
        let seen = summary.path.as_ref().and_then(|path| path.complete_to_seen?.p99_ns);
        let seen = seen.map_or(String::new(), |late| {
            format!(" By the kernel's events, 1 % of the ends were seen {} late or more.", span(late))
        });
        let text = format!(
            "Ends of requests may have been seen late: 1 % of the latencies may be too long by {} or more, up to {}, because \
             the issuing thread was busy; the time for which it waited for a CPU comes on top. Half of the latencies are below \
             {}.{seen} Leave it CPUs of its own, or slow the load down.",
            span(late),
            span(lag.max_ns),
            span(latency.p50_ns)
        );
        list.push(CautionId::ReapLag, Severity::Warning, text);
    }
}

pub(super) fn stalls(list: &mut List, summary: &Summary) {
    let stalls = &summary.health.stalls;
    // A simulated clock stands still meanwhile.
    let is_timed = !summary.stamps.contains(&Stamp::Simulated);
    if stalls.recorder.count > 0 && is_timed {
        let text = format!(
            "Issuing waited {} times for the recorder, {} in all: delays contain this tool's own waiting.",
            grouped(stalls.recorder.count),
            span(stalls.recorder.total_ns)
        );
        list.push(CautionId::RecorderStalls, Severity::Warning, text);
    }
    if stalls.push_back.count > 0 {
        let text = format!(
            "The push-back list was full {} times, {} in all: requests without a conflict waited too.",
            grouped(stalls.push_back.count),
            span(stalls.push_back.total_ns)
        );
        list.push(CautionId::PushBackStalls, Severity::Warning, text);
    }
    buffer_stalls(list, summary, stalls.buffer);
}

fn buffer_stalls(list: &mut List, summary: &Summary, stall: Stall) {
    let held = summary.health.held.unwrap_or_default().no_buffer;
    if stall.count == 0 && held.requests == 0 {
        return;
    }
    let share_of_time = match summary.span.duration_ns() {
        Some(duration) => stall.total_ns as f64 / duration as f64,
        None => 0.0,
    };
    let much = summary.health.share_without_buffer() > WAITING_SHARE || share_of_time > WAITING_SHARE;
    let severity = if much { Severity::Warning } else { Severity::Note };
    let text = format!(
        "{} requests waited for memory for their data, in {} waits of {} in all: these delays are this tool's own. \
         Raise --buffer-memory.",
        grouped(held.requests),
        grouped(stall.count),
        span(stall.total_ns)
    );
    list.push(CautionId::BufferStalls, severity, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use iosonar_archive::{Marks, Stalls};
    use iosonar_plan::{Engine, Nanos};

    fn found(f: &Fixture, id: CautionId) -> Option<(Severity, String)> {
        f.summary().cautions.into_iter().find(|c| c.id == id).map(|c| (c.severity, c.text))
    }

    /// `count` requests of 100 µs, one each millisecond, late by what `delay` says.
    fn steady(count: u64, delay: impl Fn(u64) -> u64) -> Fixture {
        let times = (0..count).map(|i| {
            let (due, late) = (i * 1_000_000, delay(i));
            (due, due + late, due + late + 100_000)
        });
        Fixture::from_times(&times.collect::<Vec<_>>())
    }

    #[test]
    fn a_steady_run_has_no_caution() {
        assert_eq!(steady(2_000, |i| i % 7 * 10_000).summary().cautions, []);
    }

    #[test]
    fn growing_issue_delay_is_drift() {
        let (_, text) = found(&steady(2_000, |i| i * 200), CautionId::IssueDrift).unwrap();
        assert!(text.contains("last tenth by 3"), "{text}");
        assert_eq!(found(&steady(2_000, |i| i * 40), CautionId::IssueDrift), None);
        assert_eq!(found(&steady(2_000, |i| 300_000 + i * 200), CautionId::IssueDrift), None);
    }

    #[test]
    fn reports_completion_poll_delay_above_latency() {
        let mut f = steady(2_000, |_| 0);
        f.records.iter_mut().step_by(50).for_each(|r| r.reap_lag = Nanos(90_000));
        assert_eq!(found(&f, CautionId::ReapLag), None);
        f.records.iter_mut().step_by(50).for_each(|r| r.reap_lag = Nanos(200_000));
        assert!(found(&f, CautionId::ReapLag).unwrap().1.contains("too long by 200 µs"));
    }

    #[test]
    fn memory_wait_is_a_note_until_significant() {
        let mut f = steady(2_000, |_| 0);
        f.info.buffer_stalls = Stalls { count: 1, total: Nanos(1_000_000) };
        f.records[3].marks = Marks::NO_BUFFER;
        let (severity, text) = found(&f, CautionId::BufferStalls).unwrap();
        assert!(severity == Severity::Note && text.contains("--buffer-memory"), "{text}");
        f.info.buffer_stalls.total = Nanos(30_000_000);
        assert_eq!(found(&f, CautionId::BufferStalls).unwrap().0, Severity::Warning);
        f.info.buffer_stalls = Stalls::default();
        f.records.iter_mut().step_by(50).for_each(|r| r.marks = Marks::NO_BUFFER);
        assert_eq!(found(&f, CautionId::BufferStalls).unwrap().0, Severity::Warning);
    }

    #[test]
    fn reports_engine_fallback_and_notices() {
        let mut f = steady(2_000, |_| 0);
        f.plan.engine = Engine::default();
        f.info.setup.fallback = Some("the kernel does not allow io_uring (EPERM)".into());
        f.info.setup.notices = vec!["Only 8 of 64 huge pages were free.".into()];
        let (severity, text) = found(&f, CautionId::EngineFallback).unwrap();
        assert_eq!(severity, Severity::Warning);
        assert!(
            text.starts_with("Engine threads carried the requests out instead of uring: the kernel"),
            "{text}"
        );
        let (severity, text) = found(&f, CautionId::SetupNotice).unwrap();
        assert_eq!((severity, text.as_str()), (Severity::Note, "Only 8 of 64 huge pages were free."));
    }
}
