//! Printing of messages, and names of results, for several commands.

use crate::{ranks, screen};
use iosonar_host::output::unused;
use iosonar_text::{lines, lines_or_json, one_line};
use jiff::Timestamp;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Prints to standard output. A reader that closes the pipe (`| head`) is no failure, and does not stop the command. Names in the text are
/// escaped by the callers; this escapes the rest, except line ends and tabs.
pub fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(lines_or_json(text).as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a message to standard error, on one line: line ends in names or in another program's output are escaped. While the live view is
/// shown there, the message waits until the view ends. A closed terminal must not end a run.
pub fn print_message(text: impl Display) {
    keep_or_print(one_line(&text.to_string()).into_owned());
}

/// Like [`print_message`], for text that contains line ends and tabs.
pub fn print_lines(text: impl Display) {
    keep_or_print(lines(&text.to_string()).into_owned());
}

/// Like [`print_message`], for JSON, whose meaning the escaping keeps.
pub fn print_json(value: &serde_json::Value) {
    keep_or_print(lines_or_json(&value.to_string()).into_owned());
}

fn keep_or_print(escaped: String) {
    // Several ranks have the same to say.
    if !ranks::prints() {
        return;
    }
    if let Some(text) = screen::keep(escaped) {
        write_message(&text);
    }
}

/// Like [`print_lines`], on any rank.
pub fn print_of_rank(text: impl Display) {
    write_message(&lines(&text.to_string()));
}

fn write_message(escaped: &str) {
    let _ = writeln!(std::io::stderr(), "{escaped}");
}

/// Formats an error, which may have several lines: continuation lines start with a blank, or quote a numbered line of a file, as TOML
/// errors do. Any other line end is part of a quotation, and is escaped.
pub fn error_lines(text: &str) -> String {
    let is_numbered = |line: &str| line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" | ");
    let is_pointer = |line: &str| line.trim_start().starts_with('|') && line.ends_with('^');
    let mut before = "";
    let mut shown = String::new();
    for (number, line) in text.trim_end().split('\n').enumerate() {
        shown += match line {
            _ if number == 0 => "",
            line if line.is_empty() || line.starts_with(' ') || is_numbered(line) => "\n",
            _ if is_pointer(before) => "\n  ",
            _ => "\\n",
        };
        shown += &line.replace('\t', "\\t");
        before = line;
    }
    shown
}

/// `20261121-023000` in UTC.
pub fn utc_stamp(unix_ns: u64) -> String {
    let time = Timestamp::from_nanosecond(unix_ns.into()).unwrap_or(Timestamp::MAX);
    time.strftime("%Y%m%d-%H%M%S").to_string()
}

/// `NAME.iosonar`, with a number where that exists.
pub fn unused_name(name: &str) -> PathBuf {
    unused(name, ".iosonar")
}

/// `WHAT-DATE-TIME` in UTC, with a number where that exists.
pub fn unused_dated(what: &str) -> PathBuf {
    unused(&format!("{what}-{}", utc_stamp(iosonar_os::realtime_ns())), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_of_quoted_text_are_escaped_in_errors() {
        assert_eq!(error_lines("a\nverdict: trustworthy\n"), "a\\nverdict: trustworthy");
        let toml = "TOML parse error at line 1, column 3\n  |\n1 | a b\n  |   ^\nexpected .";
        assert_eq!(
            error_lines(toml),
            "TOML parse error at line 1, column 3\n  |\n1 | a b\n  |   ^\n  expected ."
        );
        assert_eq!(error_lines("there is no >\n  p99\n     ^"), "there is no >\n  p99\n     ^");
    }
}
