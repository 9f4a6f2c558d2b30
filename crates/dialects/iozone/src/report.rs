//! The text report for spreadsheets (`-R`).

use crate::columns::{Column, columns};
use crate::settings::Settings;
use crate::text::kib;
use iosonar_cells::{CellResult, Matrix, Table};
use iosonar_plan::ByteSize;
use std::fmt::Write;

/// Formats one block per test: record sizes to the right, file sizes down. A cell without a result is `""`; a line ends
/// with its last figure.
pub fn text_report(settings: &Settings, matrix: &Matrix, table: &Table) -> String {
    let mut text = String::from("Excel output is below:\n");
    let is_selected = |test: &str| matrix.tests.iter().any(|selected| selected.name == test);
    for column in columns(is_selected).into_iter().filter(|column| is_selected(column.test)) {
        let title = format!("{} report", column.title);
        text +=
            &format!("\n{}", block(matrix, table, column, &title, &|result| settings.unit().whole(result)));
        if settings.cpu {
            let title = format!("{} CPU utilization report, in percent", column.title);
            text += &format!("\n{}", block(matrix, table, column, &title, &cpu_percent));
        }
    }
    text
}

/// CPU time of the workers, including making and checking data, in percent of their total time: from the first
/// submission of each to its last completion. Rounded.
pub(crate) fn cpu_percent(result: &CellResult) -> u64 {
    let spans: u64 = result.per_stream.iter().map(|stream| stream.all_span_ns).sum();
    (result.cpu_ns.unwrap_or(0) as f64 * 100.0 / spans.max(1) as f64).round() as u64
}

fn block(
    matrix: &Matrix,
    table: &Table,
    column: &Column,
    title: &str,
    figure: &dyn Fn(&CellResult) -> u64,
) -> String {
    let (files, records) = sides(matrix);
    let mut text = format!("\"{title}\"\n        ");
    records.iter().for_each(|record| _ = write!(text, "\"{}\"  ", kib(record.0)));
    text = text.trim_end().into();
    for file in files {
        let figure = |record: &ByteSize| table.find(column.test, file, *record, 1).map(figure);
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

/// File sizes and record sizes, deduplicated and ascending.
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
    use iosonar_cells::StreamResult;

    #[test]
    fn prints_cpu_use_as_separate_table() {
        let settings = settings("-R -+u -i 1 -+n -s 64 -r 64");
        let matrix = matrix(&settings);
        let mut table = table(&matrix, |_, _| Some(5));
        table.results[0].cpu_ns = Some(420);
        let stream = StreamResult {
            bytes: 1,
            read_bytes: 1,
            elapsed_ns: 9,
            bytes_per_second: 1.0,
            all_bytes: 1,
            all_span_ns: 1000,
        };
        table.results[0].per_stream = vec![stream];
        let text = super::text_report(&settings, &matrix, &table);
        assert!(
            text.ends_with("\"Reader CPU utilization report, in percent\"\n        \"64\"\n\"64\"   42\n"),
            "{text}"
        );
    }

    #[test]
    fn unmeasured_cells_are_blank() {
        let settings = settings("-R -i 1 -s 64 -s 1m -r 32 -r 64 -r 128");
        let matrix = matrix(&settings);
        let table = table(&matrix, |test, record| (test == "read" && record != 64).then_some(record));
        let text = super::text_report(&settings, &matrix, &table);
        let want = "Excel output is below:\n\n\"Reader report\"\n        \"32\"  \"64\"  \"128\"\n\"64\"   32\n\"1024\"   32  \"\"  \
                    128\n\n\"Re-Reader report\"\n";
        assert!(text.starts_with(want), "{text}");
    }
}
