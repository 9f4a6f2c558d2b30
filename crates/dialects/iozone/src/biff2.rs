//! The old format of `-b`: one BIFF2 worksheet, as IOzone 3 writes it. Records are little-endian: type, length, body.

use crate::columns::{Column, columns};
use crate::report::sides;
use crate::settings::Settings;
use iosonar_cells::{Matrix, Table};

/// Start of a sheet: version 2, a worksheet.
const BEGIN: [u8; 8] = [9, 0, 4, 0, 2, 0, 0x10, 0];
const END: [u8; 4] = [10, 0, 0, 0];
const LABEL: u16 = 4;
const NUMBER: u16 = 3;
/// Maximum length of a label.
const TEXT: usize = 255;

/// Builds the worksheet. In matrix mode each test is a block of rows: a title, record sizes, and a row for each file
/// size; in throughput mode each test is a row. Cells without a result are absent.
pub fn worksheet(settings: &Settings, matrix: &Matrix, table: &Table) -> Vec<u8> {
    let mut sheet = Sheet { bytes: BEGIN.to_vec(), row: 0 };
    sheet.line(&format!("iozone {}", settings.typed));
    match settings.is_throughput() {
        true => sheet.streams(settings, matrix, table),
        false => sheet.blocks(settings, matrix, table),
    }
    sheet.bytes.extend(END);
    sheet.bytes
}

struct Sheet {
    bytes: Vec<u8>,
    row: u16,
}

impl Sheet {
    fn blocks(&mut self, settings: &Settings, matrix: &Matrix, table: &Table) {
        self.line(" ");
        self.line("The top row is record sizes, the left column is file sizes, both in kB");
        let (files, records) = sides(matrix);
        let is_selected = |test: &str| matrix.tests.iter().any(|selected| selected.name == test);
        for column in columns(is_selected).into_iter().filter(|column| is_selected(column.test)) {
            self.line(&format!("{} Report, {}", column.title, settings.unit().name()));
            (1u16..).zip(&records).for_each(|(place, record)| self.number(place, (record.0 >> 10) as f64));
            self.row += 1;
            for file in &files {
                self.number(0, (file.0 >> 10) as f64);
                for (place, record) in (1u16..).zip(&records) {
                    if let Some(result) = table.find(column.test, *file, *record, 1) {
                        self.number(place, settings.unit().whole(result) as f64);
                    }
                }
                self.row += 1;
            }
        }
    }

    /// Figures start in column 2, as in IOzone.
    fn streams(&mut self, settings: &Settings, matrix: &Matrix, table: &Table) {
        self.line("Throughput report Y-axis is type of test X-axis is number of threads");
        for pair in &matrix.pairs {
            self.line(&format!("Record size = {} kBytes", pair.record.0 >> 10));
            self.line(&format!("Output is in {}", settings.unit().name()));
            for test in &matrix.tests {
                let label = Column::of(test.name).map_or(test.name, |column| column.line);
                self.label(&format!("{label:>15}"));
                for (place, streams) in (2u16..).zip(&matrix.streams) {
                    if let Some(result) = table.find(test.name, pair.file, pair.record, *streams) {
                        self.number(place, settings.unit().value(result));
                    }
                }
                self.row += 1;
            }
        }
    }

    /// Writes a text in a separate row.
    fn line(&mut self, text: &str) {
        self.label(text);
        self.row += 1;
    }

    fn label(&mut self, text: &str) {
        let ascii = text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' });
        let text: Vec<u8> = ascii.take(TEXT).collect();
        self.head(LABEL, 8 + TEXT + 1, 0);
        self.bytes.push(text.len() as u8);
        self.bytes.extend(&text);
        self.bytes.resize(self.bytes.len() + TEXT + 1 - text.len(), 0);
    }

    fn number(&mut self, column: u16, value: f64) {
        self.head(NUMBER, 15, column);
        self.bytes.extend(value.to_le_bytes());
    }

    /// Writes type, length, place and three bytes of attributes.
    fn head(&mut self, kind: u16, length: usize, column: u16) {
        for word in [kind, length as u16, self.row, column] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend([0; 3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::{matrix, settings, table};

    /// Records of a sheet: type and body.
    fn records(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut found = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
            let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
            found.push((u16::from_le_bytes([head[0], head[1]]), rest[..length].to_vec()));
            bytes = &rest[length..];
        }
        assert!(bytes.is_empty());
        found
    }

    /// The manual's command: the sample of the specification has 64 in row 4, column 1 and the figure of 1024 kB in row 5.
    #[test]
    fn sheet_cells_match_iozone_positions() {
        let settings = settings("-azR -i 0 -i 1 -i 2 -n 1M -g 10M -r 64K -b x.xls");
        let matrix = matrix(&settings);
        let table = table(&matrix, |test, _| (test != "reread").then_some(327_041));
        let records = records(&worksheet(&settings, &matrix, &table));
        assert_eq!((records[0].0, records.last().unwrap().0), (9, 10));
        assert!(records.iter().filter(|(kind, _)| *kind == LABEL).all(|(_, body)| body.len() == 264));
        let numbers: Vec<(u16, u16, f64)> = records
            .iter()
            .filter(|(kind, _)| *kind == NUMBER)
            .map(|(_, body)| {
                let word = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
                (word(0), word(2), f64::from_le_bytes(body[7..15].try_into().unwrap()))
            })
            .collect();
        assert_eq!(numbers[..3], [(4, 1, 64.0), (5, 0, 1024.0), (5, 1, 327_041.0)]);
        // Six tests of one record size and four file sizes; one of the tests has no results.
        assert_eq!(numbers.len(), 6 * (1 + 4) + 5 * 4);
    }
}
