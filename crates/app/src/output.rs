//! What several commands need to print, and to name results.

use crate::screen;
use jiff::Timestamp;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Prints to standard output. A reader that has seen enough (`| head`) is no failure, and does not end what else
/// there is to do.
pub fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a message to standard error. While the live view is shown there, the message waits until the view ends. A
/// terminal that is gone must not end a run.
pub fn print_message(text: impl Display) {
    if let Some(text) = screen::keep(harmless(&text.to_string())) {
        print_message_now(text);
    }
}

/// Prints a message to standard error at once, even over the live view.
pub fn print_message_now(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(&text.to_string()));
}

/// `text` with its control characters escaped. Messages quote lines and names of files that others have written, and a
/// terminal would obey them.
fn harmless(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        match c.is_control() && !"\n\t".contains(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
        shown
    })
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

/// `NAME` with an ending, and a number before it where that exists.
pub fn unused_with(name: &str, ending: &str) -> PathBuf {
    unused(name, ending)
}

/// `WHAT-DATE-TIME` in UTC, with a number where that exists.
pub fn unused_dated(what: &str) -> PathBuf {
    unused(&format!("{what}-{}", utc_stamp(iosonar_os::realtime_ns())), "")
}

fn unused(name: &str, extension: &str) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{name}-{n}{extension}")));
    let mut names = std::iter::once(PathBuf::from(format!("{name}{extension}"))).chain(numbered);
    names.find(|path| !path.exists()).expect("names do not end")
}
