//! IOzone's telemetry files: place, length and preceding think time of each request.

use crate::text::{entries, whole};
use iosonar_plan::{Extent, Nanos};
use std::fmt::Write;

/// A request of a telemetry file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelemetryEntry {
    /// Place and length.
    pub extent: Extent,
    /// Think time, from the end of the previous request; 0: none.
    pub delay: Nanos,
}

/// Why a text is not a telemetry file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TelemetryError {
    /// Line number, from 1.
    pub line: u64,
    /// Reason.
    pub why: String,
}

/// Maximum length of a request.
const MOST_BYTES: u64 = 1 << 30;
/// Maximum offset, beyond any file.
const FAR: u64 = 1 << 62;
const MOST_DELAY_MS: u64 = 86_400_000;

/// Reads lines `offset size [delay_ms]`, in bytes and milliseconds. Empty lines and lines starting with `#` are skipped.
///
/// # Errors
/// The first invalid line; or no request at all.
pub fn read_telemetry(text: &str) -> Result<Vec<TelemetryEntry>, TelemetryError> {
    entries(text, "the file", read_entry).map_err(|(line, why)| TelemetryError { line, why })
}

fn read_entry(text: &str) -> Result<TelemetryEntry, String> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let (offset, size, delay) = match fields.as_slice() {
        [offset, size] => (offset, size, &"0"),
        [offset, size, delay] => (offset, size, delay),
        _ => {
            return Err(format!(
                "'{text}' has {} fields: give an offset, a size and, if there is one, a delay in milliseconds",
                fields.len()
            ));
        }
    };
    let offset = number("offset", offset, 0, FAR)?;
    let length = number("size", size, 1, MOST_BYTES)?;
    let delay = number("delay", delay, 0, MOST_DELAY_MS)?;
    Ok(TelemetryEntry { extent: Extent { offset, length }, delay: Nanos(delay * 1_000_000) })
}

fn number(what: &str, word: &str, least: u64, most: u64) -> Result<u64, String> {
    whole(word)
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("the {what} '{word}' is no whole number from {least} to {most}"))
}

/// Formats the requests as text; [`read_telemetry`] returns the same ones.
pub fn write_telemetry(entries: &[TelemetryEntry]) -> String {
    let mut text = String::new();
    for TelemetryEntry { extent, delay } in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {} {}", extent.offset, extent.length, delay.0 / 1_000_000);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_written() {
        let entries = read_telemetry("# a comment\n0 4096\n\n 65536\t1000 25\n4096 512 0\n").unwrap();
        let entry = |offset, length, ms: u64| TelemetryEntry {
            extent: Extent { offset, length },
            delay: Nanos(ms * 1_000_000),
        };
        assert_eq!(entries, [entry(0, 4096, 0), entry(65_536, 1000, 25), entry(4096, 512, 0)]);
        assert_eq!(read_telemetry(&write_telemetry(&entries)).unwrap(), entries);
    }

    #[test]
    fn errors_name_malformed_lines() {
        for (text, line, why) in [
            ("0 4096\n4096\n", 2, "'4096' has 1 fields"),
            ("0 4096 1 1\n", 1, "has 4 fields"),
            ("# only a comment\n", 1, "holds no request"),
            ("", 0, "holds no request"),
            ("0 0\n", 1, "the size '0' is no whole number from 1"),
            ("-1 4096\n", 1, "the offset '-1'"),
            ("0 4k\n", 1, "the size '4k'"),
            ("0 4096 x\n", 1, "the delay 'x'"),
            ("99999999999999999999 1\n", 1, "the offset"),
        ] {
            let error = read_telemetry(text).unwrap_err();
            assert!(error.line == line && error.why.contains(why), "{text}: {error}");
        }
    }
}
