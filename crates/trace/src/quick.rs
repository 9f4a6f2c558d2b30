//! The usual line of a load, read in one go. Whatever is not quite usual is left to the careful reader, which knows
//! every variation and says what is wrong; where both read a line, they read the same.

use crate::TimedRequest;
use iosonar_plan::{Extent, Nanos, Op};

/// A number of so many digits fits into 64 bits whatever they are.
const DIGITS: usize = 18;
const FRACTION: u32 = 9;
const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The request of the line that `input` begins with, and the line's length with its end. None where the line is not
/// of the usual form, or not whole.
pub(crate) fn request(line: u64, input: &[u8]) -> Option<(TimedRequest, usize)> {
    let mut at = Cursor { input, at: 0 };
    let time = at.time()?;
    at.separator()?;
    let sector = at.number()?;
    at.separator()?;
    let length = at.number()?;
    at.separator()?;
    let (op, pushed) = at.operation()?;
    let (mut delay, mut latency) = (Nanos(0), Nanos(0));
    if at.separator().is_some() {
        delay = at.time()?;
        at.separator()?;
        latency = at.time()?;
    }
    at.end()?;
    let extent = Extent::from_sectors(sector, length).filter(|_| length > 0)?;
    Some((TimedRequest { line, time, op, extent, pushed, delay, latency }, at.at))
}

struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    #[inline(always)]
    fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    }

    #[inline(always)]
    fn separator(&mut self) -> Option<()> {
        self.blanks();
        (self.peek()? == b';').then(|| self.at += 1)
    }

    /// Digits as they stand here, and how many.
    #[inline(always)]
    fn digits(&mut self) -> (u64, usize) {
        let (mut value, mut digits) = (0u64, 0);
        for digit in self.rest().iter().map(|b| b.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            digits += 1;
        }
        self.at += digits;
        (value, digits)
    }

    #[inline(always)]
    fn number(&mut self) -> Option<u64> {
        self.blanks();
        let (value, digits) = self.digits();
        (1..=DIGITS).contains(&digits).then_some(value)
    }

    #[inline(always)]
    fn time(&mut self) -> Option<Nanos> {
        let seconds = self.number().filter(|seconds| *seconds < 1 << 33)?;
        if self.peek()? != b'.' {
            return Some(Nanos(seconds * 1_000_000_000));
        }
        self.at += 1;
        let (fraction, digits) = self.digits();
        let missing = FRACTION.checked_sub(digits as u32)?;
        Some(Nanos(seconds * 1_000_000_000 + fraction * POWERS[missing as usize]))
    }

    #[inline(always)]
    fn operation(&mut self) -> Option<(Op, bool)> {
        self.blanks();
        let operation = match self.peek()? {
            b'R' => (Op::Read, false),
            b'W' => (Op::Write, false),
            b'r' => (Op::Read, true),
            b'w' => (Op::Write, true),
            _ => return None,
        };
        while self.peek()?.is_ascii_alphabetic() {
            self.at += 1;
        }
        Some(operation)
    }

    fn end(&mut self) -> Option<()> {
        self.blanks();
        if self.peek()? == b'\r' {
            self.at += 1;
        }
        (self.peek()? == b'\n').then(|| self.at += 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blkreplay::{Line, parse_line};
    use proptest::prelude::*;

    #[test]
    fn the_usual_lines_are_read_here() {
        for text in [
            "     0.000000000 ;           16 ;    8 ; W ; 0.0 ; 0.0\r\n",
            "0.000000001;24;8;R\n",
            " 1.5 ; 32 ; 8 ;RA ; 0.25 ; 3 \nnext",
            "8 ; 0 ; 1 ; w ; 0.000000001 ; 12.5\n",
        ] {
            let (found, length) = request(3, text.as_bytes()).expect(text);
            assert_eq!(&text[length - 1..length], "\n");
            assert_eq!(parse_line(3, &text[..length]), Line::Request(found));
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "",
            "0.1 ; 16 ; 8 ; W",
            "0.1 ; 16 ; 0 ; W\n",
            "0.1234567890 ; 16 ; 8 ; W\n",
            "0.1 ; 16 ; 8 ; X\n",
            "0.1 ; 16 ; 8 ; W ; 0.0 ; 0.0 ; more\n",
            "0.1 ; -16 ; 8 ; W\n",
            "1234567890123456789012 ; 16 ; 8 ; W\n",
            "# text\n",
        ] {
            assert!(request(1, text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_here_is_what_the_careful_reader_reads(
            text in "[ ]{0,2}[0-9]{0,11}[.,]?[0-9]{0,10} ?;[ \t]?-?[0-9]{0,20} ; [0-9]{0,3} ;[ ]?[RWrwFDX][AS]?( ; ?[0-9.]{0,5} ; [0-9]{1,2}\\.[0-9]{0,9}[ ;]?)?\r?\n"
        ) {
            if let Some((found, length)) = request(1, text.as_bytes()) {
                prop_assert_eq!(length, text.len());
                prop_assert_eq!(parse_line(1, &text), Line::Request(found));
            }
        }
    }
}
