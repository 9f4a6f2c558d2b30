//! Formats the figures of a table as text: a grid for each test.

use crate::{Grid, Matrix, Repeated, Table, rates};
use iosonar_plan::ByteSize;
use iosonar_text::{one_line, units};

/// Formats the medians of all cells, and cautions. The matrix determines the cautions; `None` omits them.
pub fn table_text(table: &Table, matrix: Option<&Matrix>) -> String {
    let figures: String = table.grids().iter().map(grid_text).collect();
    let cautions = matrix.map(|matrix| table.cautions(matrix)).unwrap_or_default();
    figures + &cautions.iter().map(|caution| format!("CAUTION: {}\n", one_line(caution))).collect::<String>()
}

/// A table of medians: a row for each file size, a column for each record size.
fn grid_text(grid: &Grid) -> String {
    let repeats = grid.cells.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let title = grid.title();
    let title = one_line(&title);
    let mut text = format!("{title}: median of {repeats} in MiB/s, file size by record size\n");
    text += &format!("{:>10}", "");
    for record in &grid.records {
        text += &format!(" {:>9}", ByteSize(*record).to_string());
    }
    text += "\n";
    for (file, row) in grid.files.iter().zip(grid.medians()) {
        text += &format!("{:>10}", ByteSize(*file).to_string());
        for value in row {
            let figure = value.map(mib).unwrap_or_default();
            text += &format!(" {figure:>9}");
        }
        text = text.trim_end().to_string() + "\n";
    }
    text + &precision(grid) + "\n"
}

/// Formats a rate in MiB/s.
pub fn mib(bytes_per_second: f64) -> String {
    units::number(bytes_per_second / f64::from(1 << 20))
}

/// Precision of the figures of a grid.
fn precision(grid: &Grid) -> String {
    half_widths(std::slice::from_ref(grid)).map_or(String::new(), |(middle, worst)| {
        format!(
            "95 % intervals of the mean: {} in the middle, {} in the worst cell\n",
            half_width(middle),
            half_width(worst)
        )
    })
}

/// Half widths of the 95 % intervals in percent of the mean, of the median cell and of the worst one; `None` if no cell was measured twice.
pub fn half_widths(grids: &[Grid<'_>]) -> Option<(f64, f64)> {
    let cells = grids.iter().flat_map(|grid| grid.cells.iter().flatten());
    let halves = cells.filter_map(|cell| rates(cell)).filter_map(|found: Repeated| found.half_percent());
    let mut halves: Vec<f64> = halves.collect();
    halves.sort_by(f64::total_cmp);
    Some((*halves.get(halves.len() / 2)?, *halves.last()?))
}

/// Half of an interval in percent of the mean, if it is meaningful.
fn half_width(percent: f64) -> String {
    match percent {
        wide if wide > 1000.0 => "above ±1000 % (use more repetitions)".into(),
        _ => format!("±{} %", units::number(percent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CellResult;

    #[test]
    fn a_grid_has_the_medians_of_its_cells() {
        let cell = |record_bytes: u64, repeat: u32, mib: u32| CellResult {
            test: "read".into(),
            file_bytes: 65536,
            record_bytes,
            streams: 1,
            method: "sync".into(),
            repeat,
            bytes_per_second: f64::from(mib << 20),
            ..CellResult::default()
        };
        let results = vec![cell(4096, 0, 10), cell(4096, 1, 30), cell(8192, 0, 40), cell(8192, 1, 40)];
        let text = table_text(&Table { results, ..Table::default() }, None);
        assert!(text.contains(": median of 2 in MiB/s, file size by record size\n"), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("64KiB")).unwrap();
        assert_eq!(row.split_whitespace().skip(1).collect::<Vec<_>>(), ["20.0", "40.0"], "{text}");
        assert!(text.contains("95 % intervals of the mean: "), "{text}");
    }
}
