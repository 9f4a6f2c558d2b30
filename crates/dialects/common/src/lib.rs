//! Errors of the command lines that the dialects read.

use iosonar_text::one_line;
use std::fmt::Display;

/// Maximum number of characters of an option as typed.
const LONGEST_OPTION: usize = 200;
/// Maximum number of characters of a quoted word.
const LONGEST_WORD: usize = 60;

/// An invalid command line. The text is one line: the option as typed, the problem, the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    /// An error with this text, escaped to one line.
    pub fn new(text: impl Display) -> UsageError {
        UsageError(one_line(&text.to_string()).into_owned())
    }

    /// An error of an option as typed, truncated: problem and remedy.
    pub fn of(typed: &str, problem: &str) -> UsageError {
        UsageError::new(format_args!("{}: {problem}", start(&one_line(typed), LONGEST_OPTION)))
    }
}

/// Quotes a word for messages, truncated.
pub fn quoted(word: &str) -> String {
    format!("'{}'", start(word, LONGEST_WORD))
}

/// The first characters of `text`, with a mark if it is truncated.
fn start(text: &str, most: usize) -> String {
    let start: String = text.chars().take(most).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_the_option_truncated() {
        assert_eq!(UsageError::new("a\nb").to_string(), "a\\nb");
        assert_eq!(UsageError::of("-\tx", "is\nno option").to_string(), "-\\tx: is\\nno option");
        let long = UsageError::of(&"é".repeat(201), "too long").to_string();
        assert_eq!(long, format!("{}…: too long", "é".repeat(200)));
    }

    #[test]
    fn long_words_are_truncated_with_ellipsis() {
        assert_eq!(quoted("word"), "'word'");
        assert_eq!(quoted(&"x".repeat(60)), format!("'{}'", "x".repeat(60)));
        assert_eq!(quoted(&"x".repeat(61)), format!("'{}…'", "x".repeat(60)));
    }
}
