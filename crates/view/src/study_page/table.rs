//! A table of a page: units in its heads, numbers at the right. It scrolls in a box, so that a narrow screen does not.

use crate::escape;
use std::fmt::Write;

/// The figures of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StudyTable {
    /// Its title.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// Its rows.
    pub rows: Vec<TableRow>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: &'static str,
    /// The unit of its numbers; empty if they have none.
    pub unit: &'static str,
    /// Whether it has numbers, and no words.
    pub is_number: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableRow {
    /// Its cells, from left to right, without those that a cell of an earlier row covers.
    pub cells: Vec<TableCell>,
    /// Whether it differs from the others, as the reference does.
    pub is_marked: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCell {
    /// Its words.
    pub text: String,
    /// Whether it is a number.
    pub is_number: bool,
    /// Number of rows that it covers.
    pub rows: usize,
}

impl TableColumn {
    /// A column of words.
    pub fn words(name: &'static str) -> TableColumn {
        TableColumn { name, unit: "", is_number: false }
    }

    /// A column of numbers.
    pub fn numbers(name: &'static str, unit: &'static str) -> TableColumn {
        TableColumn { name, unit, is_number: true }
    }
}

impl TableCell {
    /// Words in one row.
    pub fn words(text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), is_number: false, rows: 1 }
    }

    /// A number in one row; a dash if it is absent.
    pub fn number(text: Option<String>) -> TableCell {
        TableCell { text: text.unwrap_or_else(|| "–".into()), is_number: true, rows: 1 }
    }

    /// The same cell over several rows.
    #[must_use]
    pub fn over(self, rows: usize) -> TableCell {
        TableCell { rows: rows.max(1), ..self }
    }
}

impl StudyTable {
    /// Writes the table.
    pub(super) fn write(&self, out: &mut String) {
        let heads: String = self.columns.iter().map(head).collect();
        let caption = escape(&self.caption);
        _ = writeln!(
            out,
            "<div class=\"table\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n\
             <caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
        );
        for row in &self.rows {
            let class = if row.is_marked { " class=\"marked\"" } else { "" };
            let cells: String = row.cells.iter().map(cell).collect();
            _ = writeln!(out, "<tr{class}>{cells}</tr>");
        }
        out.push_str("</tbody>\n</table>\n</div>\n");
    }
}

fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"number\"" } else { "" }
}

fn head(column: &TableColumn) -> String {
    let (class, name, unit) = (class(column.is_number), escape(column.name), escape(column.unit));
    let unit = if unit.is_empty() { unit } else { format!("<small>{unit}</small>") };
    format!("<th scope=\"col\"{class}>{name}{unit}</th>")
}

fn cell(cell: &TableCell) -> String {
    let rows = if cell.rows > 1 { format!(" rowspan=\"{}\"", cell.rows) } else { String::new() };
    format!("<td{}{rows}>{}</td>", class(cell.is_number), escape(&cell.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_have_units_and_cells_their_alignment() {
        let table = StudyTable {
            caption: "a & b".into(),
            columns: vec![TableColumn::words("method"), TableColumn::numbers("done", "requests/s")],
            rows: vec![
                TableRow {
                    cells: vec![TableCell::words("x < y").over(2), TableCell::number(Some("12".into()))],
                    is_marked: true,
                },
                TableRow { cells: vec![TableCell::number(None)], is_marked: false },
            ],
        };
        let mut out = String::new();
        table.write(&mut out);
        assert!(out.contains("<caption>a &amp; b</caption>"), "{out}");
        assert!(
            out.contains(
                "<th scope=\"col\">method</th><th scope=\"col\" class=\"number\">done<small>requests/s</small></th>"
            ),
            "{out}"
        );
        assert!(
            out.contains(
                "<tr class=\"marked\"><td rowspan=\"2\">x &lt; y</td><td class=\"number\">12</td></tr>\n\
                 <tr><td class=\"number\">–</td></tr>\n"
            ),
            "{out}"
        );
    }
}
