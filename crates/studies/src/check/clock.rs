//! The clocks of a run and of a recording.

use iosonar_archive::Archive;
use iosonar_plan::Nanos;
use iosonar_runner::Error;
use std::path::Path;

/// From the time zero of a run to its end, on the clock of a recording.
pub(super) type Span = (Nanos, Nanos);

/// Whether the times of a run and of a recording can be compared. Requests before a run are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// One of them has no times of a clock that both could share.
    Apart,
    /// Both are of one boot of one machine.
    Same(Span),
    /// Both are of one boot, and the recording had ended before the run started. It has not seen the run: it is taken for its load.
    Later,
    /// They are of different boots or machines.
    Different,
    /// The boot of one of them is unknown.
    Untold(Span),
}

impl Clock {
    pub(super) fn of(replay: &Path, recording: &Path) -> Result<Clock, Error> {
        let (Ok(ran), Ok(seen)) = (Archive::open(replay), Archive::open(recording)) else {
            return Ok(Clock::Apart);
        };
        let origin = |archive: &Archive| Some(archive.run().origin_monotonic_ns).filter(|ns| *ns > 0);
        let (Some(from), Some(zero)) = (origin(&ran), origin(&seen)) else { return Ok(Clock::Apart) };
        let boot = |archive: &Archive| archive.environment().clock.boot_id.known().cloned();
        let boots = (boot(&ran), boot(&seen));
        if matches!(&boots, (Some(one), Some(other)) if one != other) {
            return Ok(Clock::Different);
        }
        let Some(begin) = from.checked_sub(zero) else { return Ok(Clock::Apart) };
        let mut end = Nanos(0);
        ran.for_each_record(&mut |record| end = end.max(record.completed.unwrap_or_default()))
            .map_err(Error::refused)?;
        let span = (Nanos(begin), Nanos(begin.saturating_add(end.0)));
        let has_one_boot = boots.0.is_some() && boots.1.is_some();
        let ended = seen.run().recorded.map(|recorded| recorded.duration_ns).filter(|ns| *ns > 0);
        Ok(match has_one_boot {
            true if ended.is_some_and(|ended| ended < begin) => Clock::Later,
            true => Clock::Same(span),
            false => Clock::Untold(span),
        })
    }

    pub(super) fn span(&self) -> Option<Span> {
        match self {
            Clock::Same(span) | Clock::Untold(span) => Some(*span),
            Clock::Apart | Clock::Later | Clock::Different => None,
        }
    }

    pub(super) fn word(&self) -> Option<&'static str> {
        match self {
            Clock::Apart => None,
            Clock::Same(_) | Clock::Later => Some("same"),
            Clock::Different => Some("different"),
            Clock::Untold(_) => Some("unknown"),
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        match self {
            Clock::Apart | Clock::Same(_) => None,
            Clock::Later => Some(
                "the recording had ended before the run began: it is taken for the load of the replay, and all of it is compared"
                    .into(),
            ),
            Clock::Different => Some(
                "they are of different starts of a machine, or of two machines: their times cannot be compared, and all that \
                 was recorded counts"
                    .into(),
            ),
            Clock::Untold(_) => Some(
                "whether they are of one start of one machine is not known: it is taken \
                 for granted, and only what was recorded during the run counts"
                    .into(),
            ),
        }
    }
}
