//! A finished recording.

use iosonar_archive::RecordingFacts;
use iosonar_text::shown;
use iosonar_text::units::{grouped, number};
use iosonar_trace::{Kind, Pairing};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// A finished recording: an archive, and what was counted while it was made.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Directory of the archive.
    pub dir: PathBuf,
    /// Facts about the recording, and its cost.
    pub facts: RecordingFacts,
    /// Counts of the requests.
    pub counted: Counted,
    /// Remarks on requests that are missing or uncertain; stored with the archive, too.
    pub remarks: Vec<String>,
}

/// Counts of recorded requests.
#[derive(Debug, Clone, Serialize)]
pub struct Counted {
    /// Requests by [`Kind`].
    pub kinds: [u64; Kind::ALL.len()],
    /// Requests by [`Pairing`].
    pub pairings: [u64; 5],
    /// Events that the kernel could not keep.
    pub lost: u64,
}

impl Answer {
    /// Why the recording ended early, if it did.
    pub fn broken(&self) -> Option<&str> {
        self.facts.counts.as_ref()?.broken.as_deref()
    }

    /// The recorded requests, and the reason why some may be missing:
    /// `Recorded 5 026 requests in 10.0 s: 3 400 reads, 1 626 writes; no event was lost.`
    pub fn headline(&self) -> String {
        let kinds = Kind::ALL.iter().map(|kind| (self.counted.kinds[*kind as usize], kind.name()));
        let some: Vec<String> =
            kinds.filter(|(n, _)| *n > 0).map(|(n, name)| format!("{} {name}", grouped(n))).collect();
        let all: u64 = self.counted.kinds.iter().sum();
        let counts = self.facts.counts.as_ref();
        let during = counts.map_or(String::new(), |counts| format!(" in {} s", number(counts.seconds)));
        let of_kinds = if some.is_empty() { String::new() } else { format!(": {}", some.join(", ")) };
        let noun = if all == 1 { "request" } else { "requests" };
        format!("Recorded {} {noun}{during}{of_kinds}; {}.", grouped(all), self.missing())
    }

    /// The reason why requests may be missing, in a few words.
    fn missing(&self) -> String {
        let counts = self.facts.counts.as_ref();
        let removed = counts.map_or(0, |counts| counts.removed_events);
        match self.counted.lost {
            _ if self.broken().is_some() => "it ended early".into(),
            0 if removed > 0 => format!("{} events were removed to limit the size", grouped(removed)),
            0 if counts.is_some_and(|counts| counts.damaged_pages > 0) => {
                "some events were unreadable".into()
            }
            0 => "no event was lost".into(),
            1 => "1 event was lost".into(),
            lost => format!("{} events were lost", grouped(lost)),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { kinds, pairings, lost } = &self.counted;
        writeln!(f, "{}", self.headline())?;
        let some = Kind::ALL.iter().filter(|kind| kinds[**kind as usize] > 0);
        let some: Vec<String> =
            some.map(|kind| format!("{} {}", kinds[*kind as usize], kind.name())).collect();
        writeln!(f, "  requests           {} ({})", kinds.iter().sum::<u64>(), some.join(", "))?;
        let (exact, ambiguous) = (pairings[Pairing::Exact as usize], pairings[Pairing::Ambiguous as usize]);
        writeln!(f, "  ends               {exact} exact, {ambiguous} ambiguous")?;
        if let Some(counts) = &self.facts.counts {
            let mib = counts.bytes as f64 / f64::from(1 << 20);
            let (events, seconds) = (counts.events, counts.seconds);
            writeln!(f, "  events             {events} in {seconds:.1} s, {lost} lost, {mib:.1} MiB")?;
            writeln!(
                f,
                "  recorder           {:.3} s CPU ({:.2} % of one), {:.0} ns for an event",
                counts.cpu_seconds,
                100.0 * counts.cpu_seconds / seconds.max(1e-9),
                counts.cpu_ns_per_event
            )?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(f, "  note               {}", shown(remark)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::RecordingCounts;

    fn answer(kinds: [u64; 6], lost: u64, removed_events: u64, broken: Option<&str>) -> Answer {
        let counts = RecordingCounts {
            seconds: 10.0,
            events: 100,
            lost_events: lost,
            damaged_pages: 0,
            bytes: 1,
            removed_segments: 0,
            removed_events,
            cpu_seconds: 0.1,
            cpu_ns_per_event: 1.0,
            broken: broken.map(String::from),
            gone: Vec::new(),
        };
        let facts = RecordingFacts {
            at: "queue".into(),
            interface: String::new(),
            origin_monotonic_ns: 0,
            devices: Vec::new(),
            counts: Some(counts),
        };
        let counted = Counted { kinds, pairings: [0; 5], lost };
        Answer { dir: PathBuf::new(), facts, counted, remarks: Vec::new() }
    }

    #[test]
    fn headline_counts_kinds_and_states_what_is_missing() {
        let headline = |kinds, lost, removed, broken| answer(kinds, lost, removed, broken).headline();
        assert_eq!(
            headline([3_400, 1_626, 0, 20, 0, 0], 0, 0, None),
            "Recorded 5 046 requests in 10.0 s: 3 400 reads, 1 626 writes, 20 flushes; no event was lost."
        );
        assert_eq!(headline([0; 6], 0, 0, None), "Recorded 0 requests in 10.0 s; no event was lost.");
        assert!(headline([1, 0, 0, 0, 0, 0], 12, 0, None).ends_with(": 1 reads; 12 events were lost."));
        assert!(
            headline([2, 0, 0, 0, 0, 0], 0, 7, None).ends_with("7 events were removed to limit the size.")
        );
        assert!(headline([2, 0, 0, 0, 0, 0], 1, 7, Some("disk full")).ends_with("; it ended early."));
        let text = answer([2, 0, 0, 0, 0, 0], 0, 0, None).to_string();
        assert!(
            text.starts_with("Recorded 2 requests in 10.0 s: 2 reads; no event was lost.\n  requests "),
            "{text}"
        );
    }
}
