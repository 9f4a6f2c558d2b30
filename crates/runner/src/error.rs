//! Why a verb has no answer.

use iosonar_archive::{ArchiveError, Signal};
use iosonar_inputs::{FiguresError, OpenError};
use iosonar_os::temporary::is_explained;
use std::fmt;

/// How a verb ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The question, or an input of it, was refused. Nothing was changed.
    Refused,
    /// The work broke.
    Broke,
    /// A signal stopped the work, and what was made is removed.
    Stopped(Signal),
}

/// Why a verb has no answer: a kind and a cause. It displays its cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    cause: anyhow::Error,
}

impl Error {
    /// Refuses a question before anything was changed.
    pub fn refused(cause: impl Into<anyhow::Error>) -> Error {
        Error { kind: ErrorKind::Refused, cause: cause.into() }
    }

    /// Refuses a question for a reason in words.
    pub fn refused_because(reason: impl fmt::Display) -> Error {
        Error::refused(anyhow::anyhow!("{reason}"))
    }

    /// Reports that the work broke.
    pub fn broke(cause: impl Into<anyhow::Error>) -> Error {
        Error { kind: ErrorKind::Broke, cause: cause.into() }
    }

    /// Reports that the work broke, for a reason in words.
    pub fn broke_because(reason: impl fmt::Display) -> Error {
        Error::broke(anyhow::anyhow!("{reason}"))
    }

    /// Reports that a signal stopped the work, and that what was made is removed.
    pub fn stopped(signal: Signal) -> Error {
        let cause = anyhow::anyhow!("stopped by a signal; what was made is removed");
        Error::stopped_with(signal, cause)
    }

    /// Reports that a signal stopped the work, with another cause.
    pub fn stopped_with(signal: Signal, cause: impl Into<anyhow::Error>) -> Error {
        Error { kind: ErrorKind::Stopped(signal), cause: cause.into() }
    }

    /// The same, with words before the cause.
    #[must_use]
    pub fn context(self, words: impl fmt::Display + Send + Sync + 'static) -> Error {
        Error { cause: self.cause.context(words), ..self }
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The cause, with its own causes.
    pub fn into_cause(self) -> anyhow::Error {
        self.cause
    }
}

/// Without a place for temporary files, or with damaged records, a question is refused; any other error breaks the work.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        let archive = error.get_ref().and_then(|inner| inner.downcast_ref::<ArchiveError>());
        match is_explained(&error) || archive.is_some_and(ArchiveError::is_damage) {
            true => Error::refused(error),
            false => Error::broke(error),
        }
    }
}

/// An input that cannot be opened is refused.
impl From<OpenError> for Error {
    fn from(error: OpenError) -> Error {
        Error::refused(error)
    }
}

/// A damaged archive is refused; otherwise the work broke.
impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Error {
        if error.is_damage() { Error::refused(error) } else { Error::broke(error) }
    }
}

impl From<FiguresError> for Error {
    fn from(error: FiguresError) -> Error {
        match error {
            FiguresError::Open(error) => error.into(),
            FiguresError::Archive(error) => error.into(),
            FiguresError::Records(error) => error.into(),
            FiguresError::Load(error) => Error::refused(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_its_cause_and_keeps_the_chain() {
        let cause =
            anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound)).context("cannot open x");
        let error = Error::refused(cause);
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Refused, "cannot open x".to_string()));
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(Error::stopped(Signal::INTERRUPT).kind(), ErrorKind::Stopped(Signal::INTERRUPT));
    }
}
