//! Cautions about the replayer itself: the engine that was used, and whether it kept to the timetable.
//!
//! The thresholds are those of the project's rules on validity (G1: cannot keep up, G7: clock) where such a rule exists;
//! the reason for each stands with it.

use super::List;
use crate::caution::{CautionId, Severity};
use crate::numbers::{span, three_digits};
use crate::{Stall, Summary, TimeStats};
use iosonar_plan::Stamp;
use iosonar_text::units::grouped;

/// G1: requests later than this, and than half of the latencies, count as issued late. Below it is the cost of the timer.
const LATE_FLOOR_NS: u64 = 1_000_000;
/// Growth of the issue delay below this is scheduling noise of a machine that is busy with other things.
const DRIFT_FLOOR_NS: u64 = 100_000;
/// Growth of the issue delay by this factor is not noise.
const DRIFT_FACTOR: u64 = 10;
/// G1: a run below this share of the target rate did not keep up.
const BEHIND: f64 = 0.98;
/// G1: below this share the figures are those of a saturated target.
const FAR_BEHIND: f64 = 0.90;
/// Share of the requests, or of the time, above which waiting changes the figures: that of the 99th percentile.
const WAITING_SHARE: f64 = 0.01;
/// Completion poll delays above this come from a busy loop, not from reading the clock.
const REAP_LAG_FLOOR_NS: u64 = 50_000;
/// Delays above this are reported regardless of the latency: no tool should add that much.
const REAP_LAG_CEILING_NS: u64 = 1_000_000;
/// G7: a clock whose reading costs more than this share of the median latency distorts it.
const CLOCK_SHARE: f64 = 0.01;

pub(super) fn means(list: &mut List, summary: &Summary) {
    let Some(means) = &summary.health.means else { return };
    if let Some(why) = &means.fallback {
        let text = format!(
            "Engine {} carried the requests out instead of {}: {}. Other engines cost other times; compare only with \
             runs of the same engine.",
            means.engine,
            summary.run.engine.as_deref().unwrap_or("the plan's"),
            why.trim_end_matches('.')
        );
        list.push(CautionId::EngineFallback, Severity::Warning, text);
    }
    for notice in &means.notices {
        list.push(CautionId::MeansNotice, Severity::Note, notice.clone());
    }
    let half = summary.latency.all.map_or(0, |l| l.p50_ns) as f64;
    let is_slow = means.clock_cost_ns > half * CLOCK_SHARE;
    if means.clock != "tsc" && !means.clock.is_empty() && is_slow && is_compared(summary) {
        let text = format!(
            "Reading the clock ({}) costs {:.0} ns, more than 1 % of half of the latencies ({}): each latency holds \
             one to two readings. Where the machine has a constant time stamp counter, let Linux use it \
             (clocksource=tsc).",
            means.clock,
            means.clock_cost_ns,
            span(half as u64)
        );
        list.push(CautionId::SlowClock, Severity::Note, text);
    }
}

/// Without I/O, or with a model of a device, there are no latencies to compare with.
fn is_compared(summary: &Summary) -> bool {
    !summary.stamps.contains(&Stamp::DryRun)
}

pub(super) fn timing(list: &mut List, summary: &Summary) {
    behind_demand(list, summary);
    issued_late(list, summary);
    drift(list, summary);
    held_up(list, summary);
    reap_lag(list, summary);
}

fn behind_demand(list: &mut List, summary: &Summary) {
    let Some(share) = summary.throughput.delivered_share.filter(|share| *share < BEHIND) else { return };
    if catches_up(summary) {
        return;
    }
    let cause = match cause_of_waiting(summary) {
        Some((why, remedy)) => {
            format!(
                " Requests were due while {why}: {remedy}, or take this rate as the limit of this set-up."
            )
        }
        None => String::new(),
    };
    let text = format!(
        "Only {} % of the target rate was reached. Delays grow as long as that lasts: the figures show the \
         capacity of the target, of the generator, or what others left of them, not the response to this load. Slow the \
         load down to see its response.{cause}",
        three_digits(share * 100.0)
    );
    let severity = if share < FAR_BEHIND { Severity::Severe } else { Severity::Warning };
    list.push(CautionId::BehindDemand, severity, text);
}

/// Whether the target kept up to the end although it delivered less: requests failed, or a single one ended late. In a run
/// that did not keep up, the typical request of its end is late, too.
fn catches_up(summary: &Summary) -> bool {
    let ends = summary.throughput.demanded.zip(summary.health.at_end).zip(summary.latency.all);
    ends.is_some_and(|((demanded, end), latency)| {
        let late = end.response_p50_ns.saturating_sub(latency.p50_ns) as f64;
        let duration = demanded.duration_ns as f64;
        duration / (duration + late) >= BEHIND
    })
}

/// The issue delay of the generator; all delay if the result does not record why requests waited.
fn lateness(summary: &Summary) -> Option<(TimeStats, &'static str)> {
    match (&summary.health.means, summary.run.has_timetable) {
        (_, false) => None,
        (Some(_), true) => {
            summary.health.issue_error.map(|s| (s, "Requests that nothing held were issued late"))
        }
        (None, true) => summary.delay.all.map(|s| (s, "Requests were issued late, for an unknown reason")),
    }
}

fn issued_late(list: &mut List, summary: &Summary) {
    let (Some((error, what)), Some(latency)) = (lateness(summary), summary.latency.all) else { return };
    let late = error.p99_ns.unwrap_or(error.max_ns);
    if !is_compared(summary) || late <= latency.p50_ns.max(LATE_FLOOR_NS) {
        return;
    }
    let which = if error.p99_ns.is_some() { "1 % of them" } else { "the latest" };
    let remedy = match summary.health.means {
        Some(_) => {
            " The generator was busy or had no CPU: leave it CPUs of its own, or spread the load over fewer targets."
        }
        None => "",
    };
    let text = format!(
        "{what}: {which} by {} or more, while half of the latencies are below {}. The load was not replayed at its \
         target rate; look at delay and response, not at latency alone.{remedy}",
        span(late),
        span(latency.p50_ns)
    );
    list.push(CautionId::IssuedLate, Severity::Warning, text);
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

/// The cause that made many requests wait when due, and the remedy; `None` if few waited.
pub(crate) fn cause_of_waiting(summary: &Summary) -> Option<(String, &'static str)> {
    let held = summary.health.held.unwrap_or_default();
    let all = summary.health.reap_lag.map_or(0, |s| s.count).max(1) as f64;
    let (turn, memory) = (held.turn.requests, held.no_buffer.requests);
    if turn.max(memory) as f64 / all <= WAITING_SHARE {
        return None;
    }
    let no_memory = || ("the memory for their data was in use".to_string(), "raise --buffer-memory");
    Some(if memory > turn { no_memory() } else { obstacle(summary) })
}

/// Why requests had to wait for their turn, and what helps.
fn obstacle(summary: &Summary) -> (String, &'static str) {
    // The number in flight is unknown without completion times.
    let (depth, most) = (summary.run.depth, summary.in_flight.max_on_one_target);
    let was_used_up = depth.zip(most).is_none_or(|(depth, most)| most >= depth.into());
    match depth {
        Some(1) if was_used_up => ("the only slot was in use".to_string(), "raise --depth"),
        Some(depth) if was_used_up => (format!("all {depth} slots were in use"), "raise --depth"),
        None => ("all slots were in use".to_string(), "raise --depth"),
        Some(_) => (
            "an earlier one waited for a conflict and held up all after it".to_string(),
            "choose another --overlap",
        ),
    }
}

fn held_up(list: &mut List, summary: &Summary) {
    let (Some(held), Some(lag)) = (summary.health.held, summary.health.reap_lag) else { return };
    let turn = held.turn;
    // A run that did not keep up has already been reported with this cause.
    let is_told = list.has(CautionId::BehindDemand);
    if is_told || !summary.run.has_timetable || turn.requests as f64 <= lag.count as f64 * WAITING_SHARE {
        return;
    }
    let (why, remedy) = obstacle(summary);
    let text = format!(
        "{} of {} requests were due while {why}, and were issued up to {} late: the load wants more parallelism than it \
         was given. {}{}, or look at the response.",
        grouped(turn.requests),
        grouped(lag.count),
        span(turn.delay_max_ns),
        remedy[..1].to_uppercase(),
        &remedy[1..]
    );
    list.push(CautionId::HeldUp, Severity::Warning, text);
}

fn reap_lag(list: &mut List, summary: &Summary) {
    let (Some(lag), Some(latency)) = (summary.health.reap_lag, summary.latency.all) else { return };
    let late = lag.p99_ns.unwrap_or(lag.max_ns);
    if late > latency.p50_ns.clamp(REAP_LAG_FLOOR_NS, REAP_LAG_CEILING_NS) && is_compared(summary) {
        let text = format!(
            "Ends of requests may have been seen late: 1 % of the latencies may be too long by {} or more, up to {}, because \
             the issuing thread was busy; the time for which it waited for a CPU comes on top. Half of the latencies are below \
             {}. Leave it CPUs of its own, or slow the load down.",
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
    fn late_issuing_counts_what_nothing_held() {
        let late = |i: u64| if i.is_multiple_of(50) { 2_000_000 } else { 1_000 };
        let (severity, text) = found(&steady(2_000, late), CautionId::IssuedLate).unwrap();
        assert!(
            severity == Severity::Warning && text.contains("nothing held") && text.contains("2.00 ms"),
            "{text}"
        );
        let mut held = steady(2_000, late);
        held.records.iter_mut().step_by(50).for_each(|r| r.marks = Marks::PUSHED);
        assert_eq!(found(&held, CautionId::IssuedLate), None);
        assert_eq!(found(&steady(2_000, |i| late(i) / 4), CautionId::IssuedLate), None);
        // An imported result does not record why its requests waited.
        held.info.means = Default::default();
        assert!(found(&held, CautionId::IssuedLate).unwrap().1.contains("unknown reason"));
        let alone = Fixture::from_times(&[(0, 2_000_000_000, 2_000_100_000)]);
        assert!(found(&alone, CautionId::IssuedLate).unwrap().1.contains("the latest by"));
        let mut dry = steady(2_000, late);
        dry.plan.engine = Engine::Null;
        assert_eq!(found(&dry, CautionId::IssuedLate), None);
    }

    #[test]
    fn a_growing_issue_error_is_a_drift() {
        let (_, text) = found(&steady(2_000, |i| i * 200), CautionId::IssueDrift).unwrap();
        assert!(text.contains("last tenth by 3"), "{text}");
        assert_eq!(found(&steady(2_000, |i| i * 40), CautionId::IssueDrift), None);
        assert_eq!(found(&steady(2_000, |i| 300_000 + i * 200), CautionId::IssueDrift), None);
    }

    #[test]
    fn a_rate_that_was_not_reached_is_capacity() {
        let behind = |share: f64| steady(2_000, move |i| (i as f64 * 1e6 * share) as u64);
        let (severity, text) = found(&behind(0.25), CautionId::BehindDemand).unwrap();
        assert!(
            severity == Severity::Severe && text.contains("Only 80.") && text.contains("capacity"),
            "{text}"
        );
        let (severity, _) = found(&behind(0.05), CautionId::BehindDemand).unwrap();
        assert_eq!(severity, Severity::Warning);
        assert_eq!(found(&behind(0.01), CautionId::BehindDemand), None);
        // One request that ends late is no lack of speed.
        let mut straggler = steady(2_000, |_| 0);
        straggler.records[1_999].completed = Some(Nanos(9_000_000_000));
        assert_eq!(found(&straggler, CautionId::BehindDemand), None);
        let mut full = behind(0.25);
        full.records.iter_mut().for_each(|r| r.marks = Marks::HELD);
        full.info.targets[0].max_in_flight = Some(64);
        assert!(found(&full, CautionId::BehindDemand).unwrap().1.contains("all 64 slots"));
        full.records.iter_mut().for_each(|r| r.marks = Marks::NO_BUFFER);
        assert!(found(&full, CautionId::BehindDemand).unwrap().1.contains("--buffer-memory"));
    }

    #[test]
    fn a_turn_is_told_with_the_remedy() {
        let mut f = steady(2_000, |_| 5_000);
        f.records.iter_mut().step_by(100).for_each(|r| r.marks = Marks::HELD);
        assert_eq!(found(&f, CautionId::HeldUp), None);
        f.records.iter_mut().step_by(90).for_each(|r| r.marks = Marks::HELD);
        let (_, text) = found(&f, CautionId::HeldUp).unwrap();
        assert!(text.contains("an earlier one") && text.contains("Choose another --overlap"), "{text}");
        f.info.targets[0].max_in_flight = Some(64);
        let (_, text) = found(&f, CautionId::HeldUp).unwrap();
        assert!(text.contains("all 64 slots") && text.contains("Raise --depth"), "{text}");
    }

    #[test]
    fn reap_lag_above_the_latency_is_told() {
        let mut f = steady(2_000, |_| 0);
        f.records.iter_mut().step_by(50).for_each(|r| r.reap_lag = Nanos(90_000));
        assert_eq!(found(&f, CautionId::ReapLag), None);
        f.records.iter_mut().step_by(50).for_each(|r| r.reap_lag = Nanos(200_000));
        assert!(found(&f, CautionId::ReapLag).unwrap().1.contains("too long by 200 µs"));
    }

    #[test]
    fn waiting_for_memory_is_a_note_until_it_matters() {
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
    fn fallback_and_notices_are_told() {
        let mut f = steady(2_000, |_| 0);
        f.plan.engine = Engine::default();
        f.info.means.fallback = Some("the kernel does not allow io_uring (EPERM)".into());
        f.info.means.notices = vec!["Only 8 of 64 huge pages were free.".into()];
        let (severity, text) = found(&f, CautionId::EngineFallback).unwrap();
        assert_eq!(severity, Severity::Warning);
        assert!(
            text.starts_with("Engine threads carried the requests out instead of uring: the kernel"),
            "{text}"
        );
        let (severity, text) = found(&f, CautionId::MeansNotice).unwrap();
        assert_eq!((severity, text.as_str()), (Severity::Note, "Only 8 of 64 huge pages were free."));
    }

    #[test]
    fn a_slow_clock_is_noted_where_it_matters() {
        let mut f = steady(2_000, |_| 0);
        f.info.means.clock.source = "clock_gettime".into();
        f.info.means.clock.cost_ps = 900_000;
        assert_eq!(found(&f, CautionId::SlowClock), None);
        f.info.means.clock.cost_ps = 1_100_000;
        assert_eq!(found(&f, CautionId::SlowClock).unwrap().0, Severity::Note);
        f.info.means.clock.source = "tsc".into();
        assert_eq!(found(&f, CautionId::SlowClock), None);
    }
}
