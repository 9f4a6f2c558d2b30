//! The text report for spreadsheets (`-R`).

use crate::columns::{Column, columns};
use crate::settings::Settings;
use crate::text::kib;
use iosonar_campaign::{Matrix, Table};
use iosonar_plan::ByteSize;
use std::fmt::Write;

/// One block for each test: record sizes to the right, file sizes down. A cell that was not measured is `""`; a line ends with its
/// last figure.
pub fn text_report(settings: &Settings, matrix: &Matrix, table: &Table) -> String {
    let mut text = String::from("Excel output is below:\n");
    let is_selected = |test: &str| matrix.tests.iter().any(|selected| selected.name == test);
    for column in columns(is_selected).into_iter().filter(|column| is_selected(column.test)) {
        text += &format!("\n{}", block(settings, matrix, table, column));
    }
    text
}

fn block(settings: &Settings, matrix: &Matrix, table: &Table, column: &Column) -> String {
    let (files, records) = sides(matrix);
    let mut text = format!("\"{} report\"\n        ", column.title);
    records.iter().for_each(|record| _ = write!(text, "\"{}\"  ", kib(record.0)));
    text = text.trim_end().into();
    for file in files {
        let figure = |record: &ByteSize| {
            table.find(column.test, file, *record, 1).map(|result| settings.unit().whole(result))
        };
        let mut figures: Vec<Option<u64>> = records.iter().map(figure).collect();
        while figures.last().is_some_and(Option::is_none) {
            figures.pop();
        }
        let _ = write!(text, "\n\"{}\" ", kib(file.0));
        for figure in figures {
            let _ = match figure {
                Some(figure) => write!(text, "  {figure}"),
                None => write!(text, "  \"\""),
            };
        }
    }
    text + "\n"
}

/// File sizes and record sizes, each once, ascending.
pub(crate) fn sides(matrix: &Matrix) -> (Vec<ByteSize>, Vec<ByteSize>) {
    let sorted = |mut sizes: Vec<ByteSize>| {
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let pairs = || matrix.pairs.iter();
    (sorted(pairs().map(|pair| pair.file).collect()), sorted(pairs().map(|pair| pair.record).collect()))
}

#[cfg(test)]
mod tests {
    use crate::text::tests::{matrix, settings, table};

    #[test]
    fn cells_that_were_not_measured_are_no_zeros() {
        let settings = settings("-R -i 1 -s 64 -s 1m -r 32 -r 64 -r 128");
        let matrix = matrix(&settings);
        let table = table(&matrix, |test, record| (test == "read" && record != 64).then_some(record));
        let text = super::text_report(&settings, &matrix, &table);
        let want = "Excel output is below:\n\n\"Reader report\"\n        \"32\"  \"64\"  \"128\"\n\"64\"   32\n\"1024\"   32  \"\"  \
                    128\n\n\"Re-Reader report\"\n";
        assert!(text.starts_with(want), "{text}");
    }
}
