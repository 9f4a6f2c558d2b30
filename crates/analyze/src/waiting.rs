//! Why requests waited when they were due.

use crate::Summary;

/// Share of the requests, or of the time, above which waiting changes the figures: that of the 99th percentile.
pub const WAITING_SHARE: f64 = 0.01;

/// The cause that made many requests wait when due, and the remedy; `None` if few waited.
pub fn cause_of_waiting(summary: &Summary) -> Option<(String, &'static str)> {
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
pub fn obstacle(summary: &Summary) -> (String, &'static str) {
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
