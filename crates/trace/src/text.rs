//! Lines of a text trace.

use crate::input::{is_damage, is_trailing_garbage};
use crate::request::{TraceError, TracePosition};
use memchr::memchr;
use std::io::{BufRead, ErrorKind, Read};

/// Maximum line length; longer lines are not text.
const MAX_LINE: usize = 1 << 16;

/// Reads lines into a buffer of bounded size.
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    /// A line that cannot be returned from the input's own buffer.
    bytes: Vec<u8>,
    /// Length of the line lent from the input's buffer, consumed with the next one.
    lent: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, bytes: Vec::with_capacity(256), lent: 0 }
    }

    /// Number of the line read last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line without its end; `None` at EOF.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, TraceError> {
        self.input.consume(std::mem::take(&mut self.lent));
        match self.lend() {
            Some(length) => {
                self.number += 1;
                let buffer = self.input.fill_buf().unwrap_or_default();
                Ok(std::str::from_utf8(&buffer[..length]).ok())
            }
            None => self.copy(),
        }
    }

    /// Tries `read` on the next line and its number, if the line lies in the buffer. If it returns `None`, the line is
    /// not consumed.
    pub(crate) fn usual<T>(&mut self, read: impl FnOnce(u64, &[u8]) -> Option<T>) -> Option<T> {
        self.input.consume(std::mem::take(&mut self.lent));
        let buffer = self.input.fill_buf().ok()?;
        let line = &buffer[..memchr(b'\n', buffer)?];
        let found = read(self.number + 1, line)?;
        self.lent = line.len() + 1;
        self.number += 1;
        Some(found)
    }

    /// The length of the next line without its end, if it lies in the buffer and is plain text.
    fn lend(&mut self) -> Option<usize> {
        let buffer = self.input.fill_buf().ok()?;
        let line = &buffer[..memchr(b'\n', buffer)?];
        if line.len() >= MAX_LINE || line.ends_with(b"\r") || !line.is_ascii() || memchr(0, line).is_some() {
            return None;
        }
        self.lent = line.len() + 1;
        Some(line.len())
    }

    fn copy(&mut self) -> Result<Option<&str>, TraceError> {
        self.bytes.clear();
        let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let at = TracePosition::Line(self.number);
        if read.map_err(|error| TraceError::Io { at, error: explain(error) })? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let broken = |why: &str| TraceError::Broken { at: TracePosition::Line(self.number), why: why.into() };
        if self.bytes.len() > MAX_LINE {
            return Err(broken("it is longer than 65536 bytes: this is no trace"));
        }
        if self.bytes.contains(&0) {
            return Err(broken("it contains zero bytes: this is binary data, no text"));
        }
        while self.bytes.pop_if(|b| matches!(b, b'\n' | b'\r')).is_some() {}
        // Process names can be arbitrary bytes; everything parsed is ASCII.
        if std::str::from_utf8(&self.bytes).is_err() {
            self.bytes = String::from_utf8_lossy(&self.bytes).into_owned().into_bytes();
        }
        Ok(std::str::from_utf8(&self.bytes).ok())
    }
}

/// Explains the damage of a compressed input.
pub fn explain(error: std::io::Error) -> std::io::Error {
    match error.kind() {
        _ if !is_damage(&error) || is_trailing_garbage(&error) => error,
        ErrorKind::UnexpectedEof => {
            std::io::Error::new(error.kind(), "the gzip stream is cut off: copy or make the file again")
        }
        ErrorKind::InvalidData | ErrorKind::InvalidInput => std::io::Error::new(
            error.kind(),
            format!("the gzip stream is damaged ({error}): copy or make the file again"),
        ),
        _ => error,
    }
}

/// Splits a text into exactly `N` words; otherwise returns their number.
pub(crate) fn words<const N: usize>(text: &str) -> Result<[&str; N], usize> {
    let (mut found, mut count) = ([""; N], 0);
    for word in text.split_ascii_whitespace() {
        if let Some(place) = found.get_mut(count) {
            *place = word;
        }
        count += 1;
    }
    if count == N { Ok(found) } else { Err(count) }
}

/// Parses a list, one entry per line; empty lines and lines starting with `#` are skipped. `what` is the list's name in
/// the error for an empty one. Errors have the line number, from 1.
pub(crate) fn entries<T>(
    text: &str,
    what: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, (u64, String)> {
    let mut entries = Vec::new();
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        last = line;
        let text = text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            entries.push(read(text).map_err(|why| (line, why))?);
        }
    }
    if entries.is_empty() { Err((last, format!("{what} ends, and holds no request"))) } else { Ok(entries) }
}

/// Parses a whole number of digits only.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.len() > 20 {
        return None;
    }
    bytes.iter().try_fold(0u64, |n, b| {
        let digit = b.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        n.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Parses seconds with a fraction into nanoseconds; digits below a nanosecond are cut off.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    nanos(text, 1_000_000_000)
}

/// Parses microseconds with a fraction into nanoseconds, likewise.
pub(crate) fn micros(text: &str) -> Option<u64> {
    nanos(text, 1000)
}

/// Parses a number with a fraction, in units of `unit` (at most 10^9) nanoseconds. Digits after the ninth of the
/// fraction are cut off.
fn nanos(text: &str, unit: u64) -> Option<u64> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, ""));
    let kept = fraction.get(..fraction.len().min(9))?;
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = if kept.is_empty() { 0 } else { whole(kept)? * unit / 10u64.pow(kept.len() as u32) };
    // Half of the 64-bit range, so that later sums never overflow.
    whole(whole_part)?.checked_mul(unit)?.checked_add(part).filter(|n| *n < 1 << 63)
}
