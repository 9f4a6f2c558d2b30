//! The page of compared matrices.

use crate::exit::Failure;
use crate::output::print_message;
use anyhow::Context;
use iosonar_cells::{ComparedGrid, MatrixComparison, Verdict, compared_grids, comparison_text};
use iosonar_host::output::open_new;
use iosonar_studies::answers::NamedTable;
use iosonar_text::shown;
use iosonar_view::{ComparedMaps, MatrixComparisonPart, MatrixGrid, matrix_comparison_page};
use std::io::Write;
use std::path::Path;

/// Writes the page of all comparisons.
pub fn write(path: &Path, tables: &[NamedTable], compared: &[MatrixComparison]) -> Result<(), Failure> {
    let part = |(comparison, (_, b)): (&MatrixComparison, &NamedTable)| MatrixComparisonPart {
        title: format!("A: {}; B: {}", comparison.a.name, comparison.b.name),
        answer: comparison.answer.clone(),
        cautions: comparison.cautions.clone(),
        text: comparison_text(comparison),
        maps: compared_grids(comparison, &tables[0].1, b).into_iter().map(maps).collect(),
    };
    let parts: Vec<MatrixComparisonPart> = compared.iter().zip(&tables[1..]).map(part).collect();
    let page = matrix_comparison_page("Matrices of file operations, compared", &parts);
    let mut file = open_new("--html", path).map_err(Failure::refused)?;
    file.write_all(page.as_bytes())?;
    file.publish().with_context(|| format!("cannot write {}", shown(&path)))?;
    print_message(format_args!("page: {}", shown(&path)));
    Ok(())
}

fn maps(grid: ComparedGrid) -> ComparedMaps {
    let of = |values: Vec<Vec<Option<f64>>>| MatrixGrid {
        title: grid.title.clone(),
        files: grid.files.clone(),
        records: grid.records.clone(),
        values,
        ..MatrixGrid::default()
    };
    let each = |f: &dyn Fn(f64, Verdict) -> f64| {
        let row = |row: &Vec<Option<(f64, Verdict)>>| row.iter().map(|c| c.map(|(p, v)| f(p, v))).collect();
        grid.changes.iter().map(row).collect::<Vec<Vec<Option<f64>>>>()
    };
    let is_shown = |cell: &Option<(f64, Verdict)>| {
        // An undecided change is shown nevertheless.
        cell.is_some_and(|(_, verdict)| verdict != Verdict::NoDifferenceShown)
    };
    ComparedMaps {
        ratio: of(each(&|percent, _| 1.0 + percent / 100.0)),
        is_shown: grid.changes.iter().map(|row| row.iter().map(is_shown).collect()).collect(),
        a: of(grid.a.clone()),
        b: of(grid.b.clone()),
    }
}
