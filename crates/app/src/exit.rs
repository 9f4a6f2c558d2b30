//! Exit codes: one page lists them for users (`docs/exit-codes.md`).

use iosonar_archive::ArchiveError;
use iosonar_inputs::{ComparisonError, FiguresError, OpenError};
use iosonar_os::temporary::is_explained;
use iosonar_runner::Error;
use iosonar_studies::Success;
use std::io::ErrorKind;
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: success.
    Fine,
    /// 1: requests failed, or the run aborted.
    Failed,
    /// 2: the command line or an input was refused; nothing was touched.
    Refused,
    /// 3: nothing was verified although requested; with `--strict` also: there were cautions, or input was skipped.
    Cautioned,
    /// 4: the figures are fake.
    Fake,
    /// 5: data differed from its expected content.
    Miscompared,
    /// 128 + n: signal n ended the run.
    Signal(i32),
}

impl Exit {
    /// The code, as the system has it.
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Refused => 2,
            Exit::Cautioned => 3,
            Exit::Fake => 4,
            Exit::Miscompared => 5,
            Exit::Signal(n) => 128u8.wrapping_add(n as u8),
        }
    }
}

impl Exit {
    /// That of a code of the same program.
    pub fn of_code(code: u8) -> Exit {
        let known = [Exit::Fine, Exit::Failed, Exit::Refused, Exit::Cautioned, Exit::Fake, Exit::Miscompared];
        let signal = Exit::Signal(i32::from(code.wrapping_sub(128)));
        known.get(usize::from(code)).copied().unwrap_or(signal)
    }

    /// Of several machines, the end that says most.
    pub fn of_all(ends: impl IntoIterator<Item = Exit>) -> Exit {
        let weight = |exit: &Exit| match exit {
            Exit::Fine => 0,
            Exit::Cautioned => 1,
            Exit::Fake => 2,
            Exit::Refused => 3,
            Exit::Failed => 4,
            Exit::Miscompared => 5,
            Exit::Signal(_) => 6,
        };
        ends.into_iter().max_by_key(weight).unwrap_or(Exit::Fine)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Of a verb that works on files.
impl From<Success> for Exit {
    fn from(success: Success) -> Exit {
        match success {
            Success::All => Exit::Fine,
            Success::Some => Exit::Failed,
            Success::None => Exit::Refused,
        }
    }
}

/// An error and its exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    /// Refuses the command line or an input before anything was touched. A full disk is never a refusal: whenever it is met, the work
    /// failed.
    pub fn refused(error: impl Into<anyhow::Error>) -> Failure {
        let error = error.into();
        let exit = if is_of_full_disk(&error) { Exit::Failed } else { Exit::Refused };
        Failure { exit, error }
    }

    /// The work failed.
    pub fn broke(error: impl Into<anyhow::Error>) -> Failure {
        Failure { exit: Exit::Failed, error: error.into() }
    }

    /// Converts an error of the library.
    fn of_verb(error: Error) -> Failure {
        use iosonar_runner::ErrorKind;
        match error.kind() {
            ErrorKind::Refused => Failure::refused(error.into_cause()),
            ErrorKind::Broke => Failure::broke(error.into_cause()),
            ErrorKind::Stopped(signal) => Failure { exit: Exit::Signal(signal.0), error: error.into_cause() },
        }
    }

    /// The error and its causes, each printed once: some errors repeat their cause in their own words. The remedy for a full disk, or a
    /// limit of file sizes, is appended here for all places.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if !text.contains(cause.trim()) {
                let colon = if text.is_empty() { "" } else { ": " };
                text = text + colon + &cause;
            }
        }
        text + remedy_of(&self.error).as_deref().unwrap_or_default()
    }

    /// Whether the only error is a closed pipe.
    pub fn is_broken_pipe(&self) -> bool {
        let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
        self.error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
    }
}

/// Remedy for a full disk, a limit of file sizes, or a damaged file.
fn remedy_of(error: &anyhow::Error) -> Option<String> {
    if let Some(ArchiveError::Damaged { .. }) = archive_error(error) {
        return Some(": restore that file from a copy, or repeat the run".into());
    }
    // An error about temporary files names its own remedy.
    let kind = kinds(error).find(|kind| is_full(*kind)).filter(|_| !is_of_temporary(error))?;
    Some(match (kind, iosonar_os::file_size_limit()) {
        (ErrorKind::FileTooLarge, Some(limit)) => format!(
            ": the limit of file sizes of this process is {limit} bytes; raise it (ulimit -f unlimited)"
        ),
        (ErrorKind::FileTooLarge, None) => {
            ": its file system holds no file of that size; use another one".into()
        }
        _ => ": make room there, or write to another disk".into(),
    })
}

/// Whether the error is that no temporary file can be created.
fn is_of_temporary(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(is_explained))
}

/// Whether a disk is full, or a quota or a limit of file sizes is reached.
fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

fn is_of_full_disk(error: &anyhow::Error) -> bool {
    kinds(error).any(is_full)
}

/// Kinds of the I/O errors among an error and its causes.
fn kinds(error: &anyhow::Error) -> impl Iterator<Item = ErrorKind> {
    error.chain().filter_map(|cause| match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Io { error, .. }) => Some(error.kind()),
        _ => cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind),
    })
}

/// Errors without an explicit exit code: where an input cannot be opened or is damaged, or no temporary file can be created, the command is
/// refused; otherwise the work failed.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        let error = match error.into().downcast::<Error>() {
            Ok(error) => return Failure::of_verb(error),
            Err(other) => other,
        };
        let is_refused = error.is::<OpenError>()
            || matches!(error.downcast_ref(), Some(FiguresError::Open(_) | FiguresError::Load(_)))
            || matches!(
                error.downcast_ref(),
                Some(ComparisonError::Load(_) | ComparisonError::NoLatencies(_))
            )
            || archive_error(&error).is_some_and(ArchiveError::is_damage)
            || is_of_temporary(&error);
        if is_refused { Failure::refused(error) } else { Failure::broke(error) }
    }
}

/// The error of a result, however deeply it is wrapped.
fn archive_error(error: &anyhow::Error) -> Option<&ArchiveError> {
    fn inner(error: &std::io::Error) -> Option<&ArchiveError> {
        error.get_ref()?.downcast_ref()
    }
    match error.downcast_ref() {
        Some(FiguresError::Records(error) | FiguresError::Load(error)) => return inner(error),
        Some(FiguresError::Archive(error)) => return Some(error),
        Some(FiguresError::Open(_)) | None => {}
    }
    if let Some(ComparisonError::Load(error) | ComparisonError::Records(error)) = error.downcast_ref() {
        return inner(error);
    }
    if let Some(OpenError::Archive(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.downcast_ref::<ArchiveError>().or_else(|| inner(error.downcast_ref::<std::io::Error>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enospc_always_fails_with_remedy() {
        let full = || std::io::Error::from(ErrorKind::StorageFull);
        let of_archive = ArchiveError::Io { path: "out/run.json".into(), error: full() };
        for failure in [
            Failure::refused(of_archive),
            Failure::refused(anyhow::Error::from(full()).context("cannot make x")),
            Failure::broke(full()),
        ] {
            assert_eq!(failure.exit, Exit::Failed);
            assert_eq!(failure.text().matches("make room").count(), 1, "{}", failure.text());
        }
        let too_large = Failure::refused(std::io::Error::from(ErrorKind::FileTooLarge));
        assert!(too_large.exit == Exit::Failed && !too_large.text().contains("make room"));
        let other = Failure::refused(std::io::Error::from(ErrorKind::NotFound));
        assert!(other.exit == Exit::Refused && !other.text().contains("make room"));
    }
}
