//! What several commands need to read an archive and to name results.

use iosonar_analyze::{Detail, Diagrams, Limits, Ordered, Step, Summary, Tally};
use iosonar_archive::{Archive, ArchiveError};
use jiff::Timestamp;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Prints to standard output. A reader that has seen enough (`| head`) is no failure, and does not end what else
/// there is to do.
pub fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Tells something on standard error. A terminal that is gone must not end a run.
pub fn tell(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// An archive, summed up.
pub struct Analysis {
    pub tally: Tally,
    pub summary: Summary,
    /// Bytes at the end of the log of a killed run that no longer were a record.
    pub lost_bytes: u64,
}

impl Analysis {
    /// Reads all records once.
    pub fn of(archive: &Archive, limits: &Limits) -> Result<Analysis, ArchiveError> {
        let mut tally = Tally::new(archive.plan().targets.len(), limits);
        let end = archive.for_each_record(&mut |record| tally.add(record))?;
        let summary = Summary::new(&tally, archive.plan(), archive.run());
        Ok(Analysis { tally, summary, lost_bytes: end.lost_bytes })
    }

    /// Reads all records a second time, for the counts behind the pictures.
    pub fn diagrams(&self, archive: &Archive) -> Result<Diagrams, ArchiveError> {
        let mut diagrams = Diagrams::new(self.summary.span.end_ns(), Detail::Full);
        let (mut ordered, mut number) = (Ordered::new(), 0);
        archive.for_each_record(&mut |record| {
            diagrams.add(number, record);
            ordered.add(&Step::of(record));
            number += 1;
        })?;
        diagrams.finish(ordered);
        Ok(diagrams)
    }
}

/// `20261121-023000` in UTC.
pub fn utc_stamp(unix_ns: u64) -> String {
    let time = Timestamp::from_nanosecond(unix_ns.into()).unwrap_or(Timestamp::MAX);
    time.strftime("%Y%m%d-%H%M%S").to_string()
}

/// `NAME.iosonar`, with a number where that exists.
pub fn unused_name(name: &str) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{name}-{n}.iosonar")));
    let mut names = std::iter::once(PathBuf::from(format!("{name}.iosonar"))).chain(numbered);
    names.find(|path| !path.exists()).expect("names do not end")
}
