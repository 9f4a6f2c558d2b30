//! Recorded requests and events that are not compared.

use super::seen::TracedRequests;
use iosonar_host::guard::SIGNATURES_THREAD;
use iosonar_inputs::traces::{OTHERS, Trace};
use iosonar_trace::kernel::RETRIED;

/// Recorded requests and events that are not compared.
pub(super) struct NotCompared {
    /// Events that the recording lost.
    pub(super) lost: u64,
    /// Requests that were recorded before and after the run.
    pub(super) outside: u64,
    /// Reads of this tool that look for signatures.
    pub(super) own: u64,
    /// Requests that the kernel issued again.
    pub(super) retried: u64,
    /// Processes that were chosen, and how many requests of others were skipped.
    chosen: Vec<String>,
    pub(super) others: u64,
}

impl NotCompared {
    pub(super) fn of(chosen: &[String], recording: &Trace, seen: &TracedRequests) -> NotCompared {
        let besides = recording.requests.extra_counts();
        let count =
            |is: &dyn Fn(&str) -> bool| besides.iter().filter(|(what, _)| is(what)).map(|(_, n)| n).sum();
        NotCompared {
            lost: count(&|what| what.starts_with("lost")),
            outside: seen.outside,
            own: seen.own,
            retried: count(&|what| what == RETRIED),
            chosen: chosen.to_vec(),
            others: count(&|what| what == OTHERS),
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.retried > 0 {
            notes.push(format!("of the recording {} {RETRIED}", self.retried));
        }
        if self.own > 0 {
            notes.push(format!(
                "{} reads of this tool, which looks for signatures before it writes, are ignored (thread '{SIGNATURES_THREAD}')",
                self.own
            ));
        }
        if !self.chosen.is_empty() {
            notes.push(format!(
                "--process {} applies to the recording only, because a replay names no processes: {} of its requests are ignored",
                self.chosen.join(" --process "),
                self.others
            ));
        }
        if self.lost > 0 {
            notes.push(format!(
                "the recording lost {} events: what is missing may have been among them",
                self.lost
            ));
        }
        notes
    }
}
