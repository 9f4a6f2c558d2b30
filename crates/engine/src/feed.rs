//! Where a pass gets its requests from.

use iosonar_load::{LoadError, Next, ReadAhead, Source};
use iosonar_plan::Nanos;
use std::time::Duration;

/// How long a pass waits at a time for the first request of its source.
const PRIME: Duration = Duration::from_millis(50);

/// Where a pass gets its requests from.
pub(crate) enum Feed {
    /// At once, in the issuing loop: patterns, and everything on a simulated clock, which must not go on alone.
    Direct(Box<dyn Source>),
    /// From a thread that reads ahead.
    Ahead(ReadAhead),
}

impl Feed {
    pub(crate) fn next(&mut self, now: Nanos) -> Result<Next, LoadError> {
        match self {
            Feed::Direct(source) => Ok(source.next(now)?.map_or(Next::End, Next::Item)),
            Feed::Ahead(ahead) => ahead.poll(),
        }
    }

    pub(crate) fn lines(&self) -> u64 {
        match self {
            Feed::Direct(source) => source.lines(),
            Feed::Ahead(ahead) => ahead.lines(),
        }
    }

    /// Waits for the first request, so that reading and sorting count as preparation, not as delay.
    /// `is_stopped` ends the waiting; so does a producer that takes its time, if it may.
    pub(crate) fn prime(&mut self, may_be_late: bool, is_stopped: impl Fn() -> bool) {
        let Feed::Ahead(ahead) = self else { return };
        while !ahead.prime(PRIME) && !may_be_late && !is_stopped() {}
    }
}
