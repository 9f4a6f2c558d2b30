//! Comma-separated values per RFC 4180: one record for each line, lines end with CR and LF.

use iosonar_text::csv::{Cell, Form, Writer};
use std::io::{self, Write};

/// Destination of a table, and its form.
pub(super) struct Out<'a> {
    pub(super) out: &'a mut dyn Write,
    /// Whether to defuse words that begin a formula.
    pub(super) safe: bool,
}

/// Writes a table.
pub(super) struct Csv<'a>(Writer<&'a mut dyn Write>);

impl<'a> Csv<'a> {
    /// A table with these names of columns, units included.
    pub(super) fn new(out: &'a mut Out<'_>, names: &[&str]) -> io::Result<Csv<'a>> {
        let form = Form { safe: out.safe, crlf: true };
        Writer::new(&mut *out.out as &mut dyn Write, form, names).map(Csv)
    }

    /// Writes one record.
    pub(super) fn row<const N: usize>(&mut self, fields: [Cell<'_>; N]) -> io::Result<()> {
        self.0.row(fields)
    }
}

/// Writes a record of anything that is a cell.
macro_rules! row {
    ($csv:expr, $($field:expr),+ $(,)?) => {
        $csv.row([$(iosonar_text::csv::Cell::from($field)),+])
    };
}
pub(super) use row;
