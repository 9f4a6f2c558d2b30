//! Steps of the requests in the kernel: a row for each group of requests with similar responses.

use super::csv::{Csv, Out, row};
use iosonar_analyze::PathFacts;
use std::io;

/// Means of the steps by group, the fastest first.
pub(super) fn groups(path: &PathFacts, out: &mut Out<'_>) -> io::Result<()> {
    let columns = [
        "requests",
        "delay_ns",
        "submit_to_queue_ns",
        "queue_to_issue_ns",
        "issue_to_complete_ns",
        "complete_to_seen_ns",
    ];
    let mut csv = Csv::new(out, &columns)?;
    for group in &path.groups {
        let [delay, submit_to_queue, queue_to_issue, issue_to_complete, complete_to_seen] = group.mean.each();
        row!(
            csv,
            group.requests,
            delay,
            submit_to_queue,
            queue_to_issue,
            issue_to_complete,
            complete_to_seen
        )?;
    }
    Ok(())
}
