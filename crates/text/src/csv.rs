//! Comma-separated values: the one writer of all tables.
//!
//! A cell that holds a comma, a quote or a line end is quoted, as in RFC 4180. Words are escaped like all foreign names (see
//! [`one_line`]). With [`Form::safe`] a word that a spreadsheet would take for a formula begins with an apostrophe.

use crate::one_line;
use std::borrow::Cow;
use std::io::{self, Write};

/// Format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// Whether to defuse words that begin a formula.
    pub safe: bool,
    /// Whether lines end with CR and LF instead of LF.
    pub crlf: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'c> {
    /// A whole number.
    Number(u64),
    /// One that may be negative.
    Signed(i64),
    /// A number, with the shortest digits that read back as the same number.
    Fraction(f64),
    /// A number with given digits, or `true` and `false`.
    Digits(String),
    /// A word, quoted only if needed.
    Word(Cow<'c, str>),
    /// A word that is always quoted.
    Quoted(Cow<'c, str>),
    /// An empty cell.
    Absent,
}

impl From<u64> for Cell<'_> {
    fn from(n: u64) -> Self {
        Cell::Number(n)
    }
}

impl From<usize> for Cell<'_> {
    fn from(n: usize) -> Self {
        Cell::Number(n as u64)
    }
}

impl From<u32> for Cell<'_> {
    fn from(n: u32) -> Self {
        Cell::Number(n.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(n: f64) -> Self {
        Cell::Fraction(n)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Cell::Digits(flag.to_string())
    }
}

impl<'c> From<&'c str> for Cell<'c> {
    fn from(word: &'c str) -> Cell<'c> {
        Cell::Word(Cow::Borrowed(word))
    }
}

impl<'c, T: Into<Cell<'c>>> From<Option<T>> for Cell<'c> {
    fn from(cell: Option<T>) -> Cell<'c> {
        cell.map_or(Cell::Absent, Into::into)
    }
}

/// Whether a spreadsheet takes a text for a formula. A plain number is not a formula.
fn is_formula(text: &str) -> bool {
    let start = text.trim_start();
    // Escapes stand for the tab and the line ends that a cell could begin with.
    let begins = start.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '−', '﹢', '﹣', '﹦', '﹫'])
        || text.starts_with(['\t', '\r', '\n']);
    let is_digit = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    begins && !(start.chars().all(is_digit) && start.parse::<f64>().is_ok())
}

impl Form {
    fn put_word(self, line: &mut Vec<u8>, text: &str, always: bool) {
        let apostrophe = if self.safe && is_formula(text) { "'" } else { "" };
        let text = one_line(text);
        let is_quoted = always || text.contains([',', '"', ';', '\n', '\r']);
        let quote = if is_quoted { "\"" } else { "" };
        let text = if text.contains('"') { Cow::Owned(text.replace('"', "\"\"")) } else { text };
        for part in [quote, apostrophe, &text, quote] {
            line.extend_from_slice(part.as_bytes());
        }
    }

    fn put(self, line: &mut Vec<u8>, cell: &Cell<'_>) -> io::Result<()> {
        match cell {
            Cell::Number(n) => write!(line, "{n}"),
            Cell::Signed(n) => write!(line, "{n}"),
            Cell::Fraction(n) => write!(line, "{n}"),
            Cell::Digits(digits) => line.write_all(digits.as_bytes()),
            Cell::Word(text) => {
                self.put_word(line, text, false);
                Ok(())
            }
            Cell::Quoted(text) => {
                self.put_word(line, text, true);
                Ok(())
            }
            Cell::Absent => Ok(()),
        }
    }
}

/// Writes a table line by line, without holding a whole one.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    form: Form,
    /// Reused between lines, so that a line of numbers costs no allocation.
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A table with these names of columns. `out` should be buffered: each line is one write.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new<N: AsRef<str>>(
        out: W,
        form: Form,
        names: impl IntoIterator<Item = N>,
    ) -> io::Result<Writer<W>> {
        let mut table = Writer { out, form, line: Vec::with_capacity(512) };
        let names: Vec<N> = names.into_iter().collect();
        table.row(names.iter().map(|name| Cell::from(name.as_ref())))?;
        Ok(table)
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn row<'c>(&mut self, cells: impl IntoIterator<Item = Cell<'c>>) -> io::Result<()> {
        self.line.clear();
        for (number, cell) in cells.into_iter().enumerate() {
            if number > 0 {
                self.line.push(b',');
            }
            self.form.put(&mut self.line, &cell)?;
        }
        self.line.extend_from_slice(if self.form.crlf { b"\r\n" } else { b"\n" });
        self.out.write_all(&self.line)
    }

    /// Flushes, and returns the output.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A small table as text.
pub fn table<'c, N: AsRef<str>, R: IntoIterator<Item = Cell<'c>>>(
    form: Form,
    names: impl IntoIterator<Item = N>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let write = || {
        let mut table = Writer::new(Vec::new(), form, names)?;
        rows.into_iter().try_for_each(|row| table.row(row))?;
        table.finish()
    };
    // Writing to memory does not fail, and cells are text.
    let bytes: io::Result<Vec<u8>> = write();
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(safe: bool, cell: Cell<'_>) -> String {
        let text = table(Form { safe, crlf: false }, ["h"], [[cell]]);
        text.strip_prefix("h\n").unwrap().strip_suffix('\n').unwrap().to_string()
    }

    #[test]
    fn names_never_break_out_of_their_cell() {
        for (name, want) in [
            ("a", "a"),
            ("a,b", "\"a,b\""),
            ("a;b", "\"a;b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "a\\nb"),
            ("a\r\n,b", "\"a\\r\\n,b\""),
            ("\u{1b}]0;x", "\"\\u{1b}]0;x\""),
            ("", ""),
        ] {
            assert_eq!(cell(false, name.into()), want);
        }
        assert_eq!(cell(false, Cell::Quoted("a".into())), "\"a\"");
    }

    #[test]
    fn defuses_formulas_on_request_but_not_numbers() {
        for name in [
            "=1+1", "+1+1", "-1+1", "@SUM(A1)", "＝1", "＋1", "－1", "＠x", "=", " =1", "-2,3", "\t=1",
            "\r=1", "\n=1",
        ] {
            let (plain, safe) = (cell(false, name.into()), cell(true, name.into()));
            assert_eq!(safe.replacen('\'', "", 1), plain, "{name:?}");
            assert!(safe.trim_start_matches('"').starts_with('\''), "{safe}");
        }
        for name in ["-5", "+5.5", "-1e9", "a=b", "x-1", "'=1", ""] {
            assert_eq!(cell(true, name.into()), cell(false, name.into()), "{name:?}");
        }
        assert_eq!(cell(true, Cell::Signed(-28)), "-28");
        assert_eq!(cell(true, Cell::Fraction(-0.5)), "-0.5");
        assert_eq!(cell(true, Cell::Digits("-1.50".into())), "-1.50");
        assert_eq!(cell(true, Cell::Quoted("=1".into())), "\"'=1\"");
    }

    #[test]
    fn line_endings_follow_the_format() {
        let form = Form { safe: false, crlf: true };
        assert_eq!(table(form, ["a", "b"], [[Cell::from(1u64), Cell::Absent]]), "a,b\r\n1,\r\n");
        assert_eq!(table(Form::default(), ["a"], Vec::<[Cell<'_>; 1]>::new()), "a\n");
    }
}
