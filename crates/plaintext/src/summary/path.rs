//! Where the time of the requests went in the kernel.

use super::time;
use crate::lines::Lines;
use iosonar_analyze::{PathFacts, StepTimes, Summary, TimeStats};
use iosonar_text::units;

/// Steps of the requests, how many of them are known, and what that cost. Nothing if they were not traced.
pub(super) fn path(out: &mut Lines, s: &Summary) {
    let Some(path) = &s.path else { return };
    let heads = ["mean", "p50", "p95", "p99", "max"].map(|head| format!("{head:>10}")).concat();
    out.heading(&format!("{:22}{heads}", "Path in the kernel"));
    for (name, times) in steps(path) {
        out.line(&format!("  {name:20}{}", cells(times)));
    }
    out.paragraph("  ", &known(path));
    out.paragraph("  ", &cost(path));
    path.broken.iter().for_each(|why| out.paragraph("  ", &format!("the recording ended early: {why}")));
}

fn steps(path: &PathFacts) -> impl Iterator<Item = (&'static str, &TimeStats)> {
    let steps = [
        &path.delay,
        &path.submit_to_queue,
        &path.queue_to_issue,
        &path.issue_to_complete,
        &path.complete_to_seen,
    ];
    StepTimes::NAMES.into_iter().zip(steps).filter_map(|(name, times)| Some((name, times.as_ref()?)))
}

fn cells(times: &TimeStats) -> String {
    let all = [Some(times.mean_ns), Some(times.p50_ns), times.p95_ns, times.p99_ns, Some(times.max_ns)];
    all.map(|ns| format!("{:>10}", ns.map_or("-".into(), time))).concat()
}

/// Requests with known steps, and the others.
fn known(path: &PathFacts) -> String {
    let all = path.joined + path.not_joined;
    let mut text = format!("known for {} of {} requests", units::grouped(path.joined), units::grouped(all));
    if path.without_place > 0 {
        text += &format!("; {} more have no place on the device", units::grouped(path.without_place));
    }
    if path.one_of > 1 {
        let others = units::grouped(path.not_sampled);
        text += &format!("; one of {} windows of time was traced, {others} requests were not", path.one_of);
    }
    text + &format!("; {} events lost", units::grouped(path.lost_events))
}

fn cost(path: &PathFacts) -> String {
    let cost = &path.cost;
    let share = cost
        .share_of_one
        .map_or(String::new(), |share| format!(" ({} % of one CPU)", units::number(share * 100.0)));
    let kernel = match &cost.latency {
        Some(latency) => format!(
            "; latency p50 {} while traced, {} otherwise",
            time(latency.traced_p50_ns),
            time(latency.untraced_p50_ns)
        ),
        None => ", beside the kernel's own part".into(),
    };
    format!(
        "cost: {} events, {}, {}{share} to read them{kernel}",
        units::grouped(cost.events),
        units::bytes(cost.bytes),
        time(cost.cpu_ns)
    )
}
