//! Single left-to-right pass over a line of the usual form. Each step returns `None` on anything unusual; the format's
//! full parser then reads the line.

use iosonar_plan::Nanos;

/// A number of this many digits always fits into 64 bits.
const DIGITS: usize = 18;
const FRACTION: u32 = 9;
const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Bytes examined at once, without a branch for each.
const WORD: usize = 8;
const BLANKS: u64 = u64::from_ne_bytes([b' '; WORD]);
const ZEROS: u64 = u64::from_ne_bytes([b'0'; WORD]);

/// The digits at the start of eight bytes, as a number, and how many.
#[inline(always)]
fn leading_digits(bytes: [u8; WORD]) -> (u64, usize) {
    let digits = u64::from_le_bytes(bytes) ^ ZEROS;
    // The highest bit of a byte that is above nine. A byte above it may be wrong by a carry, but only the lowest counts.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // Zeros before them make eight; then pairs are joined, pairs of pairs, and the two halves.
    let eight = digits << (8 * (WORD - count));
    let pairs = eight.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000 << 32 | 1) >> 32, count)
}

/// A place in a line.
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Cursor<'a> {
        Cursor { input, at: 0 }
    }

    /// Current position.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// Remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while let Some(word) = self.rest().first_chunk() {
            let others = u64::from_le_bytes(*word) ^ BLANKS;
            let count = others.trailing_zeros() as usize / 8;
            self.at += count;
            if count < WORD {
                break;
            }
        }
        self.at += self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    }

    /// Consumes this character.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Consumes blanks and this character.
    #[inline(always)]
    pub(crate) fn sign(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        self.byte(byte)
    }

    /// Consumes at least one blank.
    #[inline(always)]
    pub(crate) fn gap(&mut self) -> Option<()> {
        matches!(self.peek()?, b' ' | b'\t').then(|| self.blanks())
    }

    /// Consumes digits; returns their value and count.
    #[inline(always)]
    pub(crate) fn digits(&mut self) -> (u64, usize) {
        let (mut value, mut digits) = (0u64, 0);
        while let Some(word) = self.rest().first_chunk() {
            let (some, count) = leading_digits(*word);
            value = value.wrapping_mul(POWERS[count]).wrapping_add(some);
            (self.at, digits) = (self.at + count, digits + count);
            if count < WORD {
                return (value, digits);
            }
        }
        let before = digits;
        for digit in self.rest().iter().map(|b| b.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            digits += 1;
        }
        self.at += digits - before;
        (value, digits)
    }

    /// Consumes a number.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Option<u64> {
        let (value, digits) = self.digits();
        (1..=DIGITS).contains(&digits).then_some(value)
    }

    /// Consumes blanks and a number.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.blanks();
        self.value()
    }

    /// Consumes seconds, with or without a fraction.
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

    /// Consumes a word, up to a blank; `None` if empty.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().take_while(|b| !matches!(b, b' ' | b'\t')).count();
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parses_leading_digits(text in "[0-9]{0,30}[ -~\\x80-\\xff]{0,12}") {
            let mut cursor = Cursor::new(text.as_bytes());
            let (value, count) = cursor.digits();
            let told: String = text.chars().take_while(char::is_ascii_digit).collect();
            prop_assert_eq!((count, cursor.at()), (told.len(), told.len()));
            if count <= DIGITS {
                prop_assert_eq!(value, told.parse().unwrap_or(0));
            }
        }

        #[test]
        fn parses_digits_of_arbitrary_bytes(bytes: [u8; WORD]) {
            let (value, count) = leading_digits(bytes);
            let told: Vec<u8> = bytes.iter().copied().take_while(u8::is_ascii_digit).collect();
            prop_assert_eq!(count, told.len());
            prop_assert_eq!(value, told.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0')));
        }

        #[test]
        fn skips_blanks(text in "[ \t]{0,20}x?[ -~]{0,9}") {
            let mut cursor = Cursor::new(text.as_bytes());
            cursor.blanks();
            prop_assert_eq!(cursor.at(), text.len() - text.trim_start_matches([' ', '\t']).len());
        }
    }
}
