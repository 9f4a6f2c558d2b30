//! The workbook of `-b`: a sheet for each test, with colours and a chart.

use crate::columns::{Column, columns};
use crate::report::sides;
use crate::settings::Settings;
use iosonar_cells::{Matrix, Table};
use iosonar_plan::ByteSize;
use iosonar_text::one_line;
use rust_xlsxwriter::{
    Chart, ChartType, ConditionalFormat3ColorScale, Format, Workbook, Worksheet, XlsxError,
};

/// Row of the record sizes; file sizes follow below it.
const HEAD: u32 = 3;

/// Builds the workbook (Office Open XML). Cells without results are blank.
///
/// # Errors
/// More rows or columns than a sheet can hold.
pub fn workbook(settings: &Settings, matrix: &Matrix, table: &Table) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let is_selected = |test: &str| matrix.tests.iter().any(|selected| selected.name == test);
    match settings.is_throughput() {
        true => streams(&mut workbook, settings, matrix, table)?,
        false => {
            for column in columns(is_selected).into_iter().filter(|column| is_selected(column.test)) {
                sheet_of(workbook.add_worksheet(), settings, matrix, table, column)?;
            }
        }
    }
    workbook.save_to_buffer()
}

/// A sheet for one test: record sizes to the right, file sizes down.
fn sheet_of(
    sheet: &mut Worksheet,
    settings: &Settings,
    matrix: &Matrix,
    table: &Table,
    column: &Column,
) -> Result<(), XlsxError> {
    let (files, records) = sides(matrix);
    let (bold, unit) = (Format::new().set_bold(), settings.unit());
    sheet.set_name(column.test)?;
    sheet.write_with_format(0, 0, format!("{}, {}", column.title, unit.name()), &bold)?;
    sheet.write(1, 0, format!("iozone {}", one_line(&settings.typed)))?;
    sheet.write_with_format(HEAD, 0, "file kB \\ record kB", &bold)?;
    for (place, record) in (1u16..).zip(&records) {
        sheet.write_with_format(HEAD, place, (record.0 >> 10) as f64, &bold)?;
    }
    for (row, file) in (HEAD + 1..).zip(&files) {
        sheet.write_with_format(row, 0, (file.0 >> 10) as f64, &bold)?;
        for (place, record) in (1u16..).zip(&records) {
            if let Some(result) = table.find(column.test, *file, *record, 1) {
                sheet.write(row, place, unit.whole(result) as f64)?;
            }
        }
    }
    sheet.set_column_width(0, 20)?;
    let (last_row, last_column) = (HEAD + files.len() as u32, records.len() as u16);
    sheet.add_conditional_format(HEAD + 1, 1, last_row, last_column, &ConditionalFormat3ColorScale::new())?;
    sheet.insert_chart(last_row + 2, 0, &lines(column, &files, last_column, unit.name()))?;
    Ok(())
}

/// A line for each file size, over the record sizes.
fn lines(column: &Column, files: &[ByteSize], last_column: u16, unit: &str) -> Chart {
    let mut chart = Chart::new(ChartType::Line);
    for row in (HEAD + 1..).take(files.len()) {
        chart
            .add_series()
            .set_name((column.test, row, 0))
            .set_categories((column.test, HEAD, 1, HEAD, last_column))
            .set_values((column.test, row, 1, row, last_column));
    }
    chart.title().set_name(column.title);
    chart.x_axis().set_name("record size in kB");
    chart.y_axis().set_name(unit);
    chart.set_width(900).set_height(420);
    chart
}

/// A sheet for each pair of sizes: numbers of streams to the right, tests down.
fn streams(
    workbook: &mut Workbook,
    settings: &Settings,
    matrix: &Matrix,
    table: &Table,
) -> Result<(), XlsxError> {
    let (bold, unit) = (Format::new().set_bold(), settings.unit());
    for pair in &matrix.pairs {
        let sheet = workbook.add_worksheet();
        let name = format!("{} by {}", pair.file.0 >> 10, pair.record.0 >> 10);
        sheet.set_name(&name)?;
        let title = format!(
            "Files of {} kB, records of {} kB, {}",
            pair.file.0 >> 10,
            pair.record.0 >> 10,
            unit.name()
        );
        sheet.write_with_format(0, 0, title, &bold)?;
        sheet.write(1, 0, format!("iozone {}", one_line(&settings.typed)))?;
        sheet.write_with_format(HEAD, 0, "test \\ streams", &bold)?;
        for (place, streams) in (1u16..).zip(&matrix.streams) {
            sheet.write_with_format(HEAD, place, *streams, &bold)?;
        }
        for (row, test) in (HEAD + 1..).zip(&matrix.tests) {
            sheet.write_with_format(row, 0, test.name, &bold)?;
            for (place, streams) in (1u16..).zip(&matrix.streams) {
                if let Some(result) = table.find(test.name, pair.file, pair.record, *streams) {
                    sheet.write(row, place, unit.value(result))?;
                }
            }
        }
        sheet.set_column_width(0, 20)?;
    }
    Ok(())
}
