//! The result of a matrix: text, JSON, CSV.

use super::mib;
use super::pictures::PAGE;
use super::study::{CELLS, Study};
use crate::exit::Failure;
use crate::matrix_args::MatrixArgs;
use crate::output::print;
use anyhow::anyhow;
use iosonar_campaign::{Grid, Matrix, Repeated, Table, Unit, rates};
use iosonar_plan::ByteSize;
use iosonar_text::{one_line, shown};
use iosonar_view::units;
use std::path::Path;

/// Lists the cells to be measured, a line for each part.
pub fn listing(matrix: &Matrix, units: &[Unit]) -> String {
    let tests: Vec<&str> = matrix.tests.iter().map(|test| test.name).collect();
    let mut text = String::from("repetition  streams  method         file      record  tests\n");
    for unit in units {
        let (file, record) = (unit.pair.file.to_string(), unit.pair.record.to_string());
        let method = matrix.methods[unit.method].name();
        text += &format!(
            "{:>10}  {:>7}  {method:<9}  {file:>8}  {record:>10}  {}\n",
            unit.repeat + 1,
            unit.streams,
            tests.join(" ")
        );
    }
    text + &format!("{} cells\n", units.len() * tests.len())
}

/// Prints the requested forms.
pub fn show(args: &MatrixArgs, study: &Study, matrix: &Matrix) -> Result<(), Failure> {
    let text = match (args.result.json, args.result.csv) {
        (true, _) => study.table.to_json(),
        (_, true) => study.table.csv(args.result.csv_form()),
        _ => text(study, matrix),
    };
    Ok(print(&text)?)
}

fn text(study: &Study, matrix: &Matrix) -> String {
    let text = figures_and_cautions(&study.table, Some(matrix));
    let page = study.dir.join(PAGE);
    format!(
        "{text}pictures and page: {}\nresult: {} ({CELLS}: every cell and repetition)\n",
        shown(&page),
        shown(&study.dir)
    )
}

/// The answer in a directory, from the text of its cells. The question determines the cautions.
pub fn answer_of(dir: &Path, cells: &str) -> Result<String, Failure> {
    let path = dir.join(CELLS);
    let table =
        Table::from_json(cells).map_err(|why| Failure::refused(anyhow!("{}: {why}", shown(&path))))?;
    let matrix = Study::asked(dir).and_then(|question| question.matrix(0).ok());
    let mut text = figures_and_cautions(&table, matrix.as_ref());
    if matrix.is_none() {
        text += "What to know of these figures is not told: matrix.json, the question, cannot be read.\n";
    }
    if table.missing_cells > 0 {
        let (missing, dir) = (table.missing_cells, shown(&dir));
        text +=
            &format!("Cells that are missing: {missing}; to measure them: iosonar matrix --resume {dir}\n");
    }
    Ok(text)
}

fn figures_and_cautions(table: &Table, matrix: Option<&Matrix>) -> String {
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

/// Precision of the figures: half widths of the 95 % intervals, of the median cell and of the worst one.
fn precision(grid: &Grid) -> String {
    let cells = grid.cells.iter().flatten();
    let halves = cells.filter_map(|cell| rates(cell)).filter_map(|found: Repeated| found.half_percent());
    let mut halves: Vec<f64> = halves.collect();
    halves.sort_by(f64::total_cmp);
    match (halves.get(halves.len() / 2), halves.last()) {
        (Some(middle), Some(worst)) => format!(
            "95 % intervals of the mean: {} in the middle, {} in the worst cell\n",
            half_width(*middle),
            half_width(*worst)
        ),
        _ => String::new(),
    }
}

/// Half of an interval in percent of the mean, if it is meaningful.
fn half_width(percent: f64) -> String {
    match percent {
        wide if wide > 1000.0 => "above ±1000 % (use more repetitions)".into(),
        _ => format!("±{} %", units::number(percent)),
    }
}
