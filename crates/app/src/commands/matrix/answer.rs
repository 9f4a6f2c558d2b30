//! The result of a matrix: text, JSON, CSV.

use super::pictures::PAGE;
use crate::args::matrix::MatrixArgs;
use crate::exit::Failure;
use crate::output::print;
use iosonar_cells::{Matrix, Unit, table_text};
use iosonar_plaintext::statement;
use iosonar_studies::matrix::{Answer, CELLS};
use iosonar_text::shown;

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
pub fn show(args: &MatrixArgs, answer: &Answer) -> Result<(), Failure> {
    let text = match (args.result.json, args.result.csv) {
        (true, _) => answer.json(),
        (_, true) => answer.table.csv(args.result.csv_form()),
        _ => text(answer),
    };
    Ok(print(&text)?)
}

fn text(answer: &Answer) -> String {
    let story = answer.table.story.as_ref().map_or(String::new(), |story| statement(story) + "\n");
    let text = story + &table_text(&answer.table, Some(&answer.matrix));
    let page = answer.dir.join(PAGE);
    format!(
        "{text}pictures and page: {}\nresult: {} ({CELLS}: every cell and repetition)\n",
        shown(&page),
        shown(&answer.dir)
    )
}
