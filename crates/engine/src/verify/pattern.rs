//! Expected data that is a function of the place, and for random data of the request: what the plan puts there. No earlier write of
//! the run has to be remembered.

use crate::payload::DataSource;
use iosonar_archive::{Checks, Miscompare, Record};
use iosonar_content::named::{self, Bad};
use iosonar_plan::{Data, ExpectedData, JobVerification};

/// Compares the data of a loop's requests with what the plan puts at their places.
pub(super) struct Pattern {
    verify: JobVerification,
    source: DataSource,
    poison: u64,
    checks: Checks,
}

impl Pattern {
    pub(super) fn new(verify: JobVerification, source: DataSource, poison: u64) -> Pattern {
        Pattern { verify, source, poison, checks: Checks::default() }
    }

    /// Whether data that requests read is compared: a read cannot know which request wrote random data last.
    pub(super) fn compares_reads(&self) -> bool {
        !matches!(self.source.data, Some(Data::Random))
    }

    /// Whether each write is read back at once.
    pub(super) fn reads_back(&self) -> bool {
        self.verify.immediate
    }

    /// Compares data that was read from the place of a request; returns whether it is right.
    pub(super) fn compare(&mut self, data: &[u8], request: &Record) -> bool {
        self.checks.requests += 1;
        let bad = self.bad(data, request);
        if let Some(bad) = bad {
            self.note(bad, data, request);
        }
        bad.is_none()
    }

    fn bad(&self, data: &[u8], request: &Record) -> Option<Bad> {
        let DataSource { fill, data: by_name, .. } = &self.source;
        if self.verify.what == ExpectedData::Headers {
            return named::check_headers(data, *fill, request.executed.offset, self.poison);
        }
        let place = self.source.place(request.pass, request.executed, request.sequence);
        named::check(data, self.verify.what, by_name.as_ref(), place)
    }

    #[cold]
    fn note(&mut self, bad: Bad, data: &[u8], request: &Record) {
        self.checks.miscompared += 1;
        if self.checks.first.len() < Checks::MOST_TOLD {
            self.checks.first.push(Miscompare {
                phase: request.phase,
                pass: request.pass,
                sequence: request.sequence,
                offset: request.executed.offset,
                at: bad.at,
                expected: bad.expected,
                found: bad.found,
                bad_bytes: bad.bytes,
                untransferred: bad.is_untransferred(data, self.poison),
            });
        }
    }

    /// Takes the results.
    pub(super) fn take_checks(&mut self) -> Checks {
        std::mem::take(&mut self.checks)
    }
}
