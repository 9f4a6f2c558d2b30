//! Converts the worksheet of `-b` (BIFF2) to the text of `-R` with the same cells.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Type and length of the first record of a BIFF2 sheet.
const BEGIN: [u8; 4] = [9, 0, 4, 0];
const END: u16 = 10;
const INTEGER: u16 = 2;
const NUMBER: u16 = 3;
const LABEL: u16 = 4;
/// Length of row, column and attributes, which precede the content of a cell.
const PLACE: usize = 7;

/// Why a sheet cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// A record exceeds the file.
    #[error("it ends inside of a record")]
    Cut,
    /// A cell without place or content.
    #[error("a cell is too short")]
    Cell,
}

/// Content of a cell.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Number(f64),
}

/// Cells of a sheet, by row and column.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    rows: BTreeMap<u16, BTreeMap<u16, Cell>>,
}

impl Sheet {
    /// Whether bytes are the start of a BIFF2 sheet.
    pub(crate) fn is_at_start(bytes: &[u8]) -> bool {
        bytes.starts_with(&BEGIN)
    }

    /// Reads records up to the end of the sheet; those of other kinds are skipped.
    pub(crate) fn read(bytes: &[u8]) -> Result<Sheet, SheetError> {
        let (mut sheet, mut rest) = (Sheet::default(), bytes);
        while let Some((head, after)) = rest.split_first_chunk::<4>() {
            let kind = u16::from_le_bytes([head[0], head[1]]);
            let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
            let (body, after) = after.split_at_checked(length).ok_or(SheetError::Cut)?;
            match kind {
                END => return Ok(sheet),
                INTEGER | NUMBER | LABEL => sheet.add(kind, body).ok_or(SheetError::Cell)?,
                _ => {}
            }
            rest = after;
        }
        Err(SheetError::Cut)
    }

    fn add(&mut self, kind: u16, body: &[u8]) -> Option<()> {
        let word = |at: usize| Some(u16::from_le_bytes(body.get(at..at + 2)?.try_into().ok()?));
        let content = body.get(PLACE..)?;
        let cell = match kind {
            LABEL => Cell::Text(label(content)?),
            INTEGER => Cell::Number(word(PLACE)?.into()),
            _ => Cell::Number(f64::from_le_bytes(content.get(..8)?.try_into().ok()?)),
        };
        self.rows.entry(word(0)?).or_default().insert(word(2)?, cell);
        Some(())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let cells = self.rows.values().flat_map(BTreeMap::values);
        cells.filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None })
    }

    /// Whether its figures are those of several streams.
    pub(crate) fn is_of_throughput(&self) -> bool {
        self.texts().any(|text| text.trim_start().starts_with("Throughput report"))
    }

    /// Formats the cells as IOzone prints them with `-R`.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (number, row) in &self.rows {
            match row.first_key_value() {
                Some((0, Cell::Text(command))) if *number == 0 => {
                    let _ = writeln!(text, "Command line used: {command}");
                }
                Some((0, Cell::Text(title))) => text += &report(title),
                Some((0, Cell::Number(file))) => {
                    let _ = writeln!(text, "\"{}\" {}", *file as u64, figures(row));
                }
                Some((_, Cell::Number(_))) => {
                    let numbers = row.values().filter_map(number_of);
                    let _ = writeln!(
                        text,
                        "{}",
                        numbers.map(|n| format!("\"{}\"", n as u64)).collect::<Vec<_>>().join(" ")
                    );
                }
                _ => {}
            }
        }
        text
    }
}

/// IOzone stores a larger length than it writes.
fn label(content: &[u8]) -> Option<String> {
    let (length, text) = content.split_first()?;
    let text = &text[..usize::from(*length).min(text.len())];
    let text = String::from_utf8_lossy(text);
    Some(
        text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
            .chars()
            .filter(|c| !c.is_control())
            .collect(),
    )
}

fn number_of(cell: &Cell) -> Option<f64> {
    if let Cell::Number(number) = cell { Some(*number) } else { None }
}

/// Title of a block. This program's titles include the unit.
fn report(title: &str) -> String {
    let (title, unit) =
        title.split_once(',').map_or((title, None), |(title, unit)| (title, Some(unit.trim())));
    let unit = unit.map_or(String::new(), |unit| format!("Output is in {unit}\n"));
    match title.to_ascii_lowercase().contains(" report") {
        true => format!("{unit}\"{}\"\n", title.replace('"', "")),
        false => String::new(),
    }
}

/// Figures of a row, from column 1 on; `""` for an absent cell.
fn figures(row: &BTreeMap<u16, Cell>) -> String {
    let last = row.keys().next_back().copied().unwrap_or(0);
    let figure = |column: u16| row.get(&column).and_then(number_of).map_or("\"\"".into(), |n| n.to_string());
    (1..=last).map(figure).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::biff2::worksheet;
    use crate::import::{ImportError, import_file};
    use crate::text::tests::{matrix, settings, table};
    use proptest::prelude::*;

    #[test]
    fn own_sheets_round_trip_in_their_unit() {
        for (unit, bytes) in [("", 327_041 << 10), ("-O", 1 << 16)] {
            let settings = settings(&format!("-a -n 1m -g 2m -r 64 -i 0 -i 1 -R -b x.xls {unit}"));
            let matrix = matrix(&settings);
            let wanted = table(&matrix, |test, _| (test != "reread").then_some(327_041));
            let imported = import_file(&worksheet(&settings, &matrix, &wanted)).unwrap();
            let results = &imported.table.results;
            assert_eq!(results.len(), wanted.results.len(), "{:?}", imported.notes);
            assert!(
                imported.notes.iter().all(|note| !note.contains("cannot be read")),
                "{:?}",
                imported.notes
            );
            assert!(results.iter().all(|r| r.bytes_per_second == f64::from(bytes)), "{results:?}");
            assert!(imported.table.command.contains("-a -n 1m"), "{}", imported.table.command);
        }
    }

    #[test]
    fn rejects_foreign_workbooks() {
        let throughput = settings("-t 2 -i 0 -b x.xls -F a b");
        let matrix = matrix(&throughput);
        let sheet = worksheet(&throughput, &matrix, &table(&matrix, |_, _| Some(5)));
        assert_eq!(import_file(&sheet), Err(ImportError::Streams));
        assert_eq!(import_file(&sheet[..sheet.len() / 2]), Err(ImportError::Sheet(SheetError::Cut)));
        assert!(matches!(import_file(b"PK\x03\x04..."), Err(ImportError::Workbook(_))));
        assert_eq!(import_file(b"a\0b"), Err(ImportError::NotText));
    }

    proptest! {
        #[test]
        fn no_sheet_causes_a_panic(body in prop::collection::vec(any::<u8>(), 0..400), cells in 0usize..6) {
            let mut sheet = vec![9, 0, 4, 0, 2, 0, 0x10, 0];
            for cell in 0..cells {
                sheet.extend([[2, 0, 9, 0], [3, 0, 15, 0], [4, 0, 40, 0]][cell % 3]);
                sheet.extend(body.iter().skip(cell * 7).take(15));
            }
            sheet.extend(&body);
            let _ = import_file(&sheet);
        }
    }
}
