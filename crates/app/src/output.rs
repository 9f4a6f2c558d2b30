//! What several commands need to read an archive and to name results.

use iosonar_analyze::{Diagrams, Limits, Summary, Tally};
use iosonar_archive::{Archive, ArchiveError};
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
        let mut diagrams = Diagrams::new(&self.summary.span);
        archive.for_each_record(&mut |record| diagrams.add(record))?;
        Ok(diagrams)
    }
}

/// `20261121-023000` in UTC.
pub fn utc_stamp(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = civil_date(seconds / 86_400);
    let time = seconds % 86_400;
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", time / 3600, time / 60 % 60, time % 60)
}

/// Year, month and day of a day since 1970, in the Gregorian calendar. Months are counted from March, so that
/// the day that leap years add comes last.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// `NAME.iosonar`, with a number where that exists.
pub fn unused_name(name: &str) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{name}-{n}.iosonar")));
    let mut names = std::iter::once(PathBuf::from(format!("{name}.iosonar"))).chain(numbered);
    names.find(|path| !path.exists()).expect("names do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        for (seconds, want) in [
            (0, "19700101-000000"),
            (951_782_399, "20000228-235959"),
            (951_782_400, "20000229-000000"),
            (1_709_251_200, "20240301-000000"),
            (4_102_444_799, "20991231-235959"),
        ] {
            assert_eq!(utc_stamp(seconds * 1_000_000_000), want);
        }
    }
}
