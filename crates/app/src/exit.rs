//! Exit codes: one page lists them for users (`docs/exit-codes.md`).

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: all is well.
    Fine,
    /// 1: requests failed, or the run broke.
    Failed,
    /// 2: the command line or an input was refused; nothing was touched.
    Refused,
    /// 3: only with `--strict`: there were cautions, or input was skipped.
    Cautioned,
    /// 5: data was not what it should be.
    Miscompared,
    /// 128 + n: signal n ended the run.
    Signal(i32),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Refused => 2,
            Exit::Cautioned => 3,
            Exit::Miscompared => 5,
            Exit::Signal(n) => 128u8.wrapping_add(n as u8),
        })
    }
}

/// An error and the code that it ends the program with.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    /// Something that was typed, or an input, was refused before anything was touched.
    pub fn refused(error: impl Into<anyhow::Error>) -> Failure {
        Failure { exit: Exit::Refused, error: error.into() }
    }

    /// The work broke.
    pub fn broke(error: impl Into<anyhow::Error>) -> Failure {
        Failure { exit: Exit::Failed, error: error.into() }
    }

    /// The error and its causes, each said once: some errors repeat their cause in their own words.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if !text.contains(cause.trim()) {
                let colon = if text.is_empty() { "" } else { ": " };
                text = text + colon + &cause;
            }
        }
        text
    }

    /// Whether a closed pipe is all that happened.
    pub fn is_broken_pipe(&self) -> bool {
        let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
        self.error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
    }
}

/// Errors without a better code of their own: the work broke.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::broke(error)
    }
}
