//! Comma-separated values as RFC 4180 has them: one record for each line, lines end with CR and LF.

use std::io::{self, Write};

/// Writes a table.
pub(super) struct Csv<'a> {
    out: &'a mut dyn Write,
}

/// A field; what is absent is empty.
pub(super) enum Field {
    Number(u64),
    Fraction(f64),
    Word(&'static str),
    Absent,
}

impl From<u64> for Field {
    fn from(n: u64) -> Field {
        Field::Number(n)
    }
}

impl From<usize> for Field {
    fn from(n: usize) -> Field {
        Field::Number(n as u64)
    }
}

impl From<f64> for Field {
    fn from(n: f64) -> Field {
        Field::Fraction(n)
    }
}

impl From<&'static str> for Field {
    fn from(word: &'static str) -> Field {
        Field::Word(word)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(field: Option<T>) -> Field {
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
    pub(super) fn row<const N: usize>(&mut self, fields: [Field; N]) -> io::Result<()> {
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
