//! The records of a ramp: counted while they are converted, so that most ramps are not read again.

use iosonar_analyze::knee::{RampTally, RampedOverload, RampedOverloadFinder};
use iosonar_archive::{Archive, ArchiveError, Record};
use iosonar_plan::{Nanos, Rising};
use std::path::Path;

/// Intervals in which a ramp is judged.
pub(super) const ROWS: usize = 400;

/// Counts of records in their order, under the assumption that the ramp reached its end.
pub(super) struct Reading {
    rising: Rising,
    records: u64,
    last_due: Nanos,
    last_submitted: Nanos,
    tally: RampTally,
    overload: RampedOverloadFinder,
}

/// Figures of all records of a ramp.
pub(super) struct RampFigures {
    pub tally: RampTally,
    pub overload: RampedOverload,
    /// The load ended before the ramp.
    pub load_was_over: bool,
}

impl Reading {
    pub fn new(rising: Rising) -> Reading {
        Reading {
            rising,
            records: 0,
            last_due: Nanos(0),
            last_submitted: Nanos(0),
            tally: RampTally::new(rising.over.0, ROWS),
            overload: RampedOverloadFinder::default(),
        }
    }

    pub fn add(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.add_one(record));
    }

    fn add_one(&mut self, record: &Record) {
        self.records += 1;
        self.last_due = self.last_due.max(record.due);
        self.last_submitted = self.last_submitted.max(record.submitted.unwrap_or_default());
        self.tally.add(record);
        self.overload.add(record);
    }

    /// The result for a ramp of `records` records, kept in `dir`. They are read there if the conversion did not show all of them, if the
    /// ramp ended early, because its end sets the intervals, or if requests completed far out of order.
    pub fn complete(self, dir: &Path, records: u64, is_over: bool) -> Result<RampFigures, ArchiveError> {
        let shown = match self.records == records {
            true => self,
            false => Reading::of(&Archive::open(dir)?, self.rising)?,
        };
        let load_was_over = is_over && shown.records < shown.rising.requests();
        let end = shown.end(is_over, load_was_over);
        if end == shown.rising.over
            && let Some(overload) = shown.overload.result()
        {
            return Ok(RampFigures { tally: shown.tally, overload, load_was_over });
        }
        let (mut tally, mut overload) = (RampTally::new(end.0, ROWS), shown.overload.again());
        Archive::open(dir)?.for_each_record(&mut |record| {
            tally.add(record);
            overload.add(record);
        })?;
        Ok(RampFigures {
            tally,
            overload: overload.result().expect("it counts from the earliest late request on"),
            load_was_over,
        })
    }

    /// Reads the records of an archive.
    pub fn of(archive: &Archive, rising: Rising) -> Result<Reading, ArchiveError> {
        let mut reading = Reading::new(rising);
        archive.for_each_record(&mut |record| reading.add_one(record))?;
        Ok(reading)
    }

    /// When the demand ended.
    fn end(&self, is_over: bool, load_was_over: bool) -> Nanos {
        match is_over {
            true if load_was_over => self.last_due,
            true => self.rising.over,
            false => self.last_submitted.min(self.rising.over),
        }
    }
}
