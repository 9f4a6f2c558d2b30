//! Statistics of an output.

use iosonar_archive::Recorded;
use iosonar_trace::{Kind, Pairing};

/// Statistics of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Requests that the form cannot represent, by kind.
    pub left_out: [u64; Kind::ALL.len()],
    /// Requests that were widened to whole sectors, or skipped because a list has whole blocks only.
    pub uneven: u64,
    /// Writes with a flush before or after them, written as plain ones because the form lacks such flags.
    pub plain_writes: u64,
    /// Requests whose completion is ambiguous or unknown, or whose start is unknown: by [`Pairing`].
    pub pairings: [u64; 5],
}

impl Written {
    pub(super) fn add(&mut self, other: &Written) {
        self.requests += other.requests;
        self.uneven += other.uneven;
        self.plain_writes += other.plain_writes;
        self.left_out.iter_mut().zip(other.left_out).for_each(|(a, b)| *a += b);
        self.pairings.iter_mut().zip(other.pairings).for_each(|(a, b)| *a += b);
    }

    /// Adds the pairing counts to the statistics of the kernel's events.
    pub(super) fn recorded(&self, events: Recorded) -> Recorded {
        let [_, _, ambiguous, no_end, faked] = self.pairings;
        Recorded { requests: self.requests, ambiguous, no_end, no_begin: events.no_begin + faked, ..events }
    }

    /// Remarks for the reader, as sentences; `unstarted` completions have no request in the trace.
    pub fn remarks(&self, unstarted: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        let kinds = Kind::ALL.iter().zip(self.left_out).filter(|(_, n)| *n > 0);
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {}", kind.name())).collect();
        if !kinds.is_empty() {
            remarks.push(format!("skipped, because this form has no word for them: {}", kinds.join(", ")));
        }
        if self.uneven > 0 {
            remarks.push(format!("{} requests do not lie on whole sectors or blocks", self.uneven));
        }
        if self.plain_writes > 0 {
            remarks.push(format!(
                "{} writes had FUA or a preflush, for which this form has no word: they are plain writes here",
                self.plain_writes
            ));
        }
        let count = |p: Pairing| self.pairings[p as usize];
        let (exact, ambiguous) = (count(Pairing::Exact), count(Pairing::Ambiguous));
        let (no_end, no_begin) = (count(Pairing::NoEnd), count(Pairing::NoBegin) + unstarted);
        if ambiguous + no_end + no_begin > 0 {
            remarks.push(format!(
                "ends: {exact} exact, {ambiguous} of several alike (the oldest was taken), {no_end} requests without an end, \
                 {no_begin} ends without a start"
            ));
        }
        remarks
    }
}
