//! Going over the bytes of a usual line once, from left to right. Every step says none where the line is not usual;
//! what is read then is left to the careful reader of the form.

use iosonar_plan::Nanos;

/// A number of so many digits fits into 64 bits whatever they are.
const DIGITS: usize = 18;
const FRACTION: u32 = 9;
const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// A place in a line.
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Cursor<'a> {
        Cursor { input, at: 0 }
    }

    /// Bytes that are behind.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    }

    /// This character, here.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// This character, behind any number of blanks.
    #[inline(always)]
    pub(crate) fn sign(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        self.byte(byte)
    }

    /// At least one blank.
    #[inline(always)]
    pub(crate) fn gap(&mut self) -> Option<()> {
        matches!(self.peek()?, b' ' | b'\t').then(|| self.blanks())
    }

    /// Digits as they stand here, and how many.
    #[inline(always)]
    pub(crate) fn digits(&mut self) -> (u64, usize) {
        let (mut value, mut digits) = (0u64, 0);
        for digit in self.rest().iter().map(|b| b.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            digits += 1;
        }
        self.at += digits;
        (value, digits)
    }

    /// A number, here.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Option<u64> {
        let (value, digits) = self.digits();
        (1..=DIGITS).contains(&digits).then_some(value)
    }

    /// A number, behind any number of blanks.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.blanks();
        self.value()
    }

    /// Seconds, with a fraction or without.
    #[inline(always)]
    pub(crate) fn time(&mut self) -> Option<Nanos> {
        let seconds = self.number().filter(|seconds| *seconds < 1 << 33)?;
        if self.peek()? != b'.' {
            return Some(Nanos(seconds * 1_000_000_000));
        }
        self.at += 1;
        let (fraction, digits) = self.digits();
        let missing = FRACTION.checked_sub(digits as u32)?;
        Some(Nanos(seconds * 1_000_000_000 + fraction * POWERS[missing as usize]))
    }

    /// What stands here up to a blank; none if that is nothing.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().take_while(|b| !matches!(b, b' ' | b'\t')).count();
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }
}
