//! A finished recording.

use iosonar_archive::RecordingFacts;
use iosonar_text::shown;
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
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { kinds, pairings, lost } = &self.counted;
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
