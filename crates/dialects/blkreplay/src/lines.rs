//! Lines of a text, one at a time, in a buffer of bounded size.
//!
//! The codec of loads drops the text between requests; here the text matters, too.

use iosonar_trace::blkreplay::ReadError;
use std::borrow::Cow;
use std::io::{BufRead, Read};

/// Maximum line length; longer lines are not text.
const MAX_LINE: usize = 1 << 16;

pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    bytes: Vec<u8>,
}

/// One line.
pub(crate) struct TextLine<'a> {
    /// Line number, from 1.
    pub number: u64,
    /// Trimmed text; invalid UTF-8 is replaced.
    pub text: Cow<'a, str>,
    /// Whether it ends in a newline; the last line of a killed program often does not.
    pub is_whole: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, bytes: Vec::with_capacity(256) }
    }

    /// Returns the next line; `None` at EOF.
    pub(crate) fn next_line(&mut self) -> Result<Option<TextLine<'_>>, ReadError> {
        self.bytes.clear();
        let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.bytes);
        if read.map_err(|error| ReadError::Io { line: self.number, error })? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.bytes.len() > MAX_LINE {
            return Err(ReadError::Long(self.number));
        }
        if self.bytes.contains(&0) {
            return Err(ReadError::Binary(self.number));
        }
        let is_whole = self.bytes.ends_with(b"\n");
        let text = String::from_utf8_lossy(self.bytes.trim_ascii());
        Ok(Some(TextLine { number: self.number, text, is_whole }))
    }
}
