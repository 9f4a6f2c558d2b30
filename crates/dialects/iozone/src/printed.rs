//! The text for standard output.

use crate::{Settings, banner, text_report, text_table, throughput, throughput_report};
use iosonar_cells::{Matrix, Table};
use iosonar_text::shown;

/// The banner, the table of a matrix, or the figures of throughput mode, and the report of `-R`. `tool` names the program.
pub fn printed(settings: &Settings, matrix: &Matrix, table: &Table, tool: &str, machine: &str) -> String {
    let mut text = banner(settings, matrix, tool, machine);
    text += &match settings.is_throughput() {
        true => throughput(settings, matrix, table),
        false => text_table(settings, matrix, table),
    };
    if settings.report {
        text += "\n";
        text += &match settings.is_throughput() {
            true => throughput_report(settings, matrix, table),
            false => text_report(settings, matrix, table),
        };
    }
    if let Some(file) = &settings.workbook {
        text += &format!("\nWorkbook: {}\n", shown(file));
    }
    text +=
        if table.missing_cells == 0 { "\niozone test complete.\n" } else { "\niozone test not complete.\n" };
    text
}
