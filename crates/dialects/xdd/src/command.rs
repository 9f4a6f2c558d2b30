//! The action of a command line, and why one is refused.

use crate::settings::Settings;
use iosonar_text::one_line;

/// Action of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A run.
    Run(Box<Settings>),
    /// Print [`crate::full_help`] only.
    FullHelp,
    /// Print the program's version only.
    Version,
}

/// An invalid command line. The text is one line: the option as typed, the problem, the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    pub(crate) fn new(option: &str, problem: &str) -> UsageError {
        UsageError(one_line(&format!("{option}: {problem}")).into_owned())
    }
}

/// Quotes a word for messages, truncated.
pub(crate) fn shown(word: &str) -> String {
    let start: String = word.chars().take(60).collect();
    if start.len() < word.len() { format!("'{start}…'") } else { format!("'{word}'") }
}
