//! A line of text assembled digit by digit. Formatting with `write!` costs more than the rest of the work per request,
//! and writes each part separately.

use std::io::Write;

/// Longer than any line made here: fewer than nine numbers of at most 24 digits, and separators.
const MOST: usize = 256;
const SECOND: u64 = 1_000_000_000;

/// The digits of all numbers below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// A line under construction, modified in place: passing it from call to call would copy it each time.
pub(crate) struct Line {
    bytes: [u8; MOST],
    used: usize,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line { bytes: [0; MOST], used: 0 }
    }

    /// Appends text.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) -> &mut Line {
        let end = self.used + text.len();
        self.bytes[self.used..end].copy_from_slice(text.as_bytes());
        self.used = end;
        self
    }

    /// Appends a character of ASCII.
    #[inline]
    pub(crate) fn letter(&mut self, letter: char) -> &mut Line {
        self.bytes[self.used] = letter as u8;
        self.used += 1;
        self
    }

    /// Appends a number, with blanks before it if it has fewer digits than `width`.
    #[inline]
    pub(crate) fn number(&mut self, number: u64, width: usize) -> &mut Line {
        self.filled(number, width, b' ')
    }

    /// Appends a number, with zeros before it if it has fewer digits than `width`.
    #[inline]
    pub(crate) fn zeros(&mut self, number: u64, width: usize) -> &mut Line {
        self.filled(number, width, b'0')
    }

    /// Appends nanoseconds as seconds with a fraction; blanks before it up to `width` digits of whole seconds.
    #[inline]
    pub(crate) fn seconds(&mut self, nanos: u64, width: usize) -> &mut Line {
        self.number(nanos / SECOND, width).letter('.').zeros(nanos % SECOND, 9)
    }

    fn filled(&mut self, mut number: u64, width: usize, fill: u8) -> &mut Line {
        let length = digits(number).max(width);
        let field = &mut self.bytes[self.used..self.used + length];
        let mut at = length;
        while number >= 10 {
            let pair = &PAIRS[(number % 100) as usize];
            number /= 100;
            at -= 2;
            field[at..at + 2].copy_from_slice(pair);
        }
        if number > 0 || at == length {
            at -= 1;
            field[at] = b'0' + number as u8;
        }
        field[..at].fill(fill);
        self.used += length;
        self
    }

    /// Ends the line and writes it at once.
    #[inline]
    pub(crate) fn end(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        self.letter('\n').write(out)
    }

    /// Writes the line so far.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(&self.bytes[..self.used])
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn formatting_matches_the_standard_library(number: u64, nanos: u64, width in 0usize..14) {
            let mut made = Vec::new();
            let mut line = Line::new();
            line.number(number, width).letter(';').zeros(number, width).text(" + ");
            line.seconds(nanos, width).end(&mut made).unwrap();
            let (whole, part) = (nanos / SECOND, nanos % SECOND);
            let want = format!("{number:width$};{number:0width$} + {whole:width$}.{part:09}\n");
            prop_assert_eq!(String::from_utf8(made).unwrap(), want);
        }
    }

    #[test]
    fn small_numbers_have_one_digit() {
        for number in [0, 1, 9, 10, 99, 100, u64::MAX] {
            assert_eq!(digits(number), number.to_string().len(), "{number}");
        }
    }
}
