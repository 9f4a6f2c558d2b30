//! Source of a pass's requests.

use iosonar_load::{LoadError, Next, ReadAhead, Source, SourceRequest};
use iosonar_plan::Nanos;
use std::time::Duration;

/// Interval of checking for a stop while a pass waits for the first request of its source.
const PRIME: Duration = Duration::from_millis(50);

/// Source of a pass's requests.
pub(crate) enum Feed {
    /// At once, in the issuing loop: patterns, and everything on a simulated clock, which must not advance alone.
    Direct(Box<dyn Source>),
    /// From a thread that reads ahead.
    Ahead(ReadAhead),
}

/// Result of asking for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A request was shown.
    Seen,
    /// No request yet; ask again.
    NotYet,
    /// There are no more.
    End,
}

impl Feed {
    /// Shows the next request to `see`; otherwise returns the reason.
    ///
    /// It is shown and not given: a request that was just written costs more to copy than to make.
    #[inline]
    pub(crate) fn next(&mut self, now: Nanos, see: impl FnOnce(&SourceRequest)) -> Result<Answer, LoadError> {
        match self {
            Feed::Direct(source) => match source.next(now) {
                Ok(Some(ref item)) => see(item),
                Ok(None) => return Ok(Answer::End),
                Err(error) => return Err(error),
            },
            Feed::Ahead(ahead) => match ahead.poll() {
                Ok(Next::Request(ref item)) => see(item),
                Ok(Next::NotYet) => return Ok(Answer::NotYet),
                Ok(Next::End) => return Ok(Answer::End),
                Err(error) => return Err(error),
            },
        }
        Ok(Answer::Seen)
    }

    /// The next request, where it can be known without waiting; it stays the next, and may still not be issued.
    pub(crate) fn upcoming(&mut self, now: Nanos) -> Option<SourceRequest> {
        match self {
            Feed::Direct(source) => source.upcoming(now),
            Feed::Ahead(ahead) => ahead.peek().copied(),
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
        loop {
            if ahead.prime(PRIME) || may_be_late || is_stopped() {
                return;
            }
        }
    }
}
