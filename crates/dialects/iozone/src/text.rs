//! IOzone's table.

use crate::columns::{Column, columns};
use crate::settings::Settings;
use iosonar_cells::{Matrix, Table};
use iosonar_text::one_line;
use std::fmt::Write;

/// Widths of the two columns of sizes.
const FILE: usize = 16;
const RECORD: usize = 8;
/// Lines above the table. `machine` is that of `-M`.
pub fn banner(settings: &Settings, matrix: &Matrix, tool: &str, machine: &str) -> String {
    let mut text = format!("\t{tool}, IOzone's command line\n\n");
    if settings.machine {
        let _ = writeln!(text, "\tMachine = {}", one_line(machine));
    }
    let _ = writeln!(text, "\tCommand line used: iozone {}", one_line(&settings.typed));
    let _ = writeln!(text, "\tOutput is in {}, of the kernel's monotonic clock", settings.unit().name());
    let timed = settings.timed();
    let counted = match (timed.fsync, timed.close) {
        (true, true) => "fsync and close are part of the time",
        (true, false) => "fsync is part of the time, close is not",
        (false, true) => "close is part of the time, fsync is not",
        (false, false) => "neither fsync nor close is part of the time",
    };
    let _ = writeln!(text, "\tOf each test {counted}.");
    let _ = writeln!(text, "\tFile stride size set to {} * record size.", matrix.stride);
    text
}

/// Table of single streams: a line for each pair of sizes. Figures are at IOzone's positions, unless one is too long:
/// columns never touch. Cells without results are blank.
pub fn text_table(settings: &Settings, matrix: &Matrix, table: &Table) -> String {
    let unit = settings.unit();
    let columns = columns(|test| matrix.tests.iter().any(|selected| selected.name == test));
    let rows: Vec<Vec<String>> = matrix
        .pairs
        .iter()
        .map(|pair| {
            let figure = |column: &&Column| {
                let result = table.find(column.test, pair.file, pair.record, 1);
                result.map(|result| unit.whole(result).to_string()).unwrap_or_default()
            };
            columns.iter().map(figure).collect()
        })
        .collect();
    let width = |place: usize| {
        let longest = rows.iter().map(|row| row[place].len()).max().unwrap_or(0);
        columns[place].width().max(longest.max(columns[place].head.len()) + 1)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let is_iozones = columns.iter().zip(&widths).all(|(column, width)| column.width() == *width);
    let line = |file: &str, record: &str, cells: &mut dyn Iterator<Item = String>| {
        let mut line = format!("{file:>FILE$}{record:>RECORD$}");
        cells.zip(&widths).for_each(|(cell, width)| _ = write!(line, "{cell:>width$}"));
        format!("{}\n", line.trim_end())
    };
    let head = |column: &&Column, text: &str| {
        let blank = if is_iozones && column.is_head_before() { " " } else { "" };
        format!("{text}{blank}")
    };
    let mut text = line("", "", &mut columns.iter().map(|column| head(column, column.over)));
    text += &line("kB", "reclen", &mut columns.iter().map(|column| head(column, column.head)));
    let has_figures = |row: &Vec<String>| row.iter().any(|cell| !cell.is_empty());
    for (pair, row) in matrix.pairs.iter().zip(&rows).filter(|(_, row)| has_figures(row)) {
        let (file, record) = (kib(pair.file.0), kib(pair.record.0));
        text += &line(&file, &record, &mut row.iter().cloned());
    }
    text
}

/// A size in KiB.
pub(crate) fn kib(bytes: u64) -> String {
    (bytes >> 10).to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::parse::{Command, parse};
    use iosonar_cells::CellResult;

    pub(crate) fn settings(line: &str) -> Settings {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        match parse(&args).unwrap() {
            Command::Run(settings) => *settings,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn matrix(settings: &Settings) -> Matrix {
        settings.matrix(1).unwrap()
    }

    /// Table with a rate in KiB per second for each cell.
    pub(crate) fn table(matrix: &Matrix, kib_per_second: impl Fn(&str, u64) -> Option<u64>) -> Table {
        let mut results = Vec::new();
        for unit in matrix.units() {
            for test in &matrix.tests {
                let Some(rate) = kib_per_second(test.name, unit.pair.record.0 >> 10) else { continue };
                results.push(CellResult {
                    test: test.name.into(),
                    file_bytes: unit.pair.file.0,
                    record_bytes: unit.pair.record.0,
                    streams: unit.streams,
                    bytes: unit.pair.bytes().0,
                    ops: unit.pair.records(),
                    elapsed_ns: 1_000_000_000,
                    bytes_per_second: rate as f64 * 1024.0,
                    kib_per_second: rate,
                    ops_per_second: 1.0,
                    ..CellResult::default()
                });
            }
        }
        Table { results, ..Table::default() }
    }

    /// The sample of the specification, printed by IOzone 3.471.
    #[test]
    fn figures_match_iozone_positions() {
        let settings = settings("-a -n 1m -g 1m -r 64");
        let matrix = matrix(&settings);
        let text = text_table(&settings, &matrix, &table(&matrix, |_, _| Some(12_345_678)));
        let wanted = concat!(
            "                                                              random    random     bkwd    record    stride\n",
            "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite \
             frewrite    fread  freread\n",
            "            1024      64 12345678 12345678 12345678 12345678 12345678 12345678 12345678  12345678  12345678 12345678 \
             12345678 12345678 12345678\n",
        );
        assert_eq!(text, wanted);
    }

    #[test]
    fn figures_align_below_headings() {
        let settings = settings("-i 0 -i 3 -i 9 -s 1m -r 64 -r 128");
        let matrix = matrix(&settings);
        let table = table(&matrix, |test, record| match (test, record) {
            ("rewrite", 64) => Some(123_456_789_012),
            ("repwrite", 128) => None,
            ("write", _) => Some(327_041),
            _ => Some(7),
        });
        let text = text_table(&settings, &matrix, &table);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].starts_with("              kB  reclen    write      rewrite     read"), "{text}");
        assert!(lines[2].starts_with("            1024      64   327041 123456789012 "), "{text}");
        let end = |head: &str| lines[1].find(head).unwrap() + head.len();
        assert_eq!(&lines[2][end(" pwrite") - 2..end(" pwrite")], " 7", "{text}");
        assert_eq!(lines[0].split_whitespace().count(), 5);
        // The pwrite column of the second line is the last: repwrite has no result.
        assert_eq!(lines[3].len(), end(" pwrite"), "{text}");
    }
}
