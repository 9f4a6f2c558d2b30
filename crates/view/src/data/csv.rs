//! Comma-separated values as RFC 4180 has them: one record for each line, lines end with CR and LF.

use std::io::{self, Write};

/// Writes a table.
pub(super) struct Csv<'a> {
    out: &'a mut dyn Write,
}

/// A field; what is absent is empty.
pub(super) enum Field<'f> {
    Number(u64),
    Fraction(f64),
    /// Without commas and quotes: words of this program, and names of devices.
    Word(&'f str),
    Absent,
}

impl From<u64> for Field<'_> {
    fn from(n: u64) -> Self {
        Field::Number(n)
    }
}

impl From<usize> for Field<'_> {
    fn from(n: usize) -> Self {
        Field::Number(n as u64)
    }
}

impl From<f64> for Field<'_> {
    fn from(n: f64) -> Self {
        Field::Fraction(n)
    }
}

impl<'f> From<&'f str> for Field<'f> {
    fn from(word: &'f str) -> Field<'f> {
        Field::Word(word)
    }
}

impl<'f, T: Into<Field<'f>>> From<Option<T>> for Field<'f> {
    fn from(field: Option<T>) -> Field<'f> {
        field.map_or(Field::Absent, Into::into)
    }
}

impl<'a> Csv<'a> {
    /// A table with these names of columns, units included.
    pub(super) fn new(out: &'a mut dyn Write, names: &[&str]) -> io::Result<Csv<'a>> {
        write!(out, "{}\r\n", names.join(","))?;
        Ok(Csv { out })
    }

    /// One record.
    pub(super) fn row<const N: usize>(&mut self, fields: [Field<'_>; N]) -> io::Result<()> {
        for (i, field) in fields.into_iter().enumerate() {
            if i > 0 {
                self.out.write_all(b",")?;
            }
            match field {
                Field::Number(n) => write!(self.out, "{n}")?,
                // The shortest digits that are read back as the same number.
                Field::Fraction(f) => write!(self.out, "{f}")?,
                Field::Word(word) => self.out.write_all(word.as_bytes())?,
                Field::Absent => {}
            }
        }
        self.out.write_all(b"\r\n")
    }
}

/// A record of anything that is a field.
macro_rules! row {
    ($csv:expr, $($field:expr),+ $(,)?) => {
        $csv.row([$($crate::data::csv::Field::from($field)),+])
    };
}
pub(super) use row;
