//! `iosonar compare` on matrices of file operations: cell by cell, test by test.

use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use anyhow::{Context, anyhow};
use iosonar_analyze::compare::Judgement;
use iosonar_campaign::{
    ComparedGrid, MatrixComparison, MatrixCondition, Table, Verdict, compare_tables, compared_grids,
    comparison_csv, comparison_text,
};
use iosonar_host::output::open_new;
use iosonar_os::bounded::{ARCHIVE_LIMIT, read_text};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use iosonar_view::{ComparedMaps, MatrixComparisonPart, MatrixGrid, matrix_comparison_page};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Cells in the directory of a matrix.
const CELLS: &str = "cells.json";

/// A table with its path as typed.
type Named = (String, Table);

/// Returns the tables if all inputs are matrices; `None` if no input is.
pub fn tables(paths: &[PathBuf]) -> Result<Option<Vec<Named>>, Failure> {
    let files: Vec<Option<PathBuf>> = paths.iter().map(|path| cells_of(path)).collect();
    let is_there = |file: &Option<PathBuf>| file.is_some();
    if !files.iter().any(is_there) {
        return Ok(None);
    }
    if let Some(other) = files.iter().position(|file| file.is_none()) {
        let matrix = files.iter().position(is_there).unwrap_or(0);
        return Err(Failure::refused(anyhow!(
            "{} is no matrix, and {} is one: compare matrices with matrices, and runs with runs",
            shown(&paths[other]),
            shown(&paths[matrix])
        )));
    }
    let read = |(path, file): (&PathBuf, PathBuf)| {
        let text = read_text(&file, ARCHIVE_LIMIT).with_context(|| shown(&file).to_string());
        let table =
            text.and_then(|text| Table::from_json(&text).map_err(|why| anyhow!("{}: {why}", shown(&file))));
        let table = table.map_err(Failure::refused)?;
        if table.missing_cells > 0 {
            let (name, missing) = (shown(path), table.missing_cells);
            print_message(format_args!(
                "iosonar: {name}: the measurement did not end in order, {missing} cells are missing"
            ));
        }
        Ok((path.display().to_string(), table))
    };
    paths.iter().zip(files.into_iter().flatten()).map(read).collect::<Result<_, _>>().map(Some)
}

/// The file with the cells of a matrix: in its directory, or the JSON file itself.
fn cells_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(CELLS)).filter(|cells| cells.exists());
    }
    let mut head = [0; 64];
    let read = File::open(path).ok().filter(|_| path.is_file())?.read(&mut head).ok()?;
    let first = head[..read].iter().find(|byte| !byte.is_ascii_whitespace());
    (first == Some(&b'{')).then(|| path.to_path_buf())
}

/// Compares each table after the first with the first.
pub fn compare(args: &CompareArgs, tables: &[Named]) -> Result<Exit, Failure> {
    if args.markdown {
        return Err(Failure::refused(anyhow!("--markdown: matrices have text, --csv, --json and --html")));
    }
    let parse = |text: &String| {
        MatrixCondition::parse(text).map_err(|error| Failure::refused(anyhow!("--fail-if '{text}': {error}")))
    };
    let conditions: Vec<MatrixCondition> = args.fail_if.iter().map(parse).collect::<Result<_, _>>()?;
    let (name_a, a) = &tables[0];
    let compared: Vec<MatrixComparison> =
        tables[1..].iter().map(|(name, b)| compare_tables((name_a, a), (name, b))).collect();
    print(&match (args.json, args.csv) {
        (true, _) => json(&compared, &conditions)?,
        (_, true) => comparison_csv(&compared, Form { safe: args.csv_safe, crlf: false }),
        _ => text(&compared, &conditions),
    })?;
    if let Some(path) = &args.html {
        write_page(path, tables, &compared)?;
    }
    exit(&compared, &conditions)
}

fn json(compared: &[MatrixComparison], conditions: &[MatrixCondition]) -> Result<String, Failure> {
    let of = |comparison: &MatrixComparison| serde_json::from_str(&comparison.to_json(conditions));
    let all: Vec<serde_json::Value> =
        compared.iter().map(of).collect::<Result<_, _>>().map_err(anyhow::Error::from)?;
    let document =
        serde_json::json!({ "version": iosonar_campaign::MATRIX_COMPARE_VERSION, "comparisons": all });
    Ok(format!("{document:#}\n"))
}

fn text(compared: &[MatrixComparison], conditions: &[MatrixCondition]) -> String {
    let mut text = String::new();
    for comparison in compared {
        if !text.is_empty() {
            text += "\n";
        }
        text += &comparison_text(comparison);
        for condition in conditions {
            let told = match condition.judge(comparison) {
                Judgement::Failed => "SHOWN, the condition FAILED",
                Judgement::Holds => "not shown, the condition holds",
                Judgement::Unknown => "cannot be judged",
            };
            text += &format!("{}: {told}\n", condition.text);
        }
    }
    text
}

fn write_page(path: &Path, tables: &[Named], compared: &[MatrixComparison]) -> Result<(), Failure> {
    let part = |(comparison, (_, b)): (&MatrixComparison, &Named)| MatrixComparisonPart {
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

/// A condition that failed takes precedence over one that cannot be judged.
fn exit(compared: &[MatrixComparison], conditions: &[MatrixCondition]) -> Result<Exit, Failure> {
    let judged = || {
        compared.iter().flat_map(|c| conditions.iter().map(move |condition| (condition, condition.judge(c))))
    };
    if judged().any(|(_, judgement)| judgement == Judgement::Failed) {
        return Ok(Exit::Failed);
    }
    if let Some((condition, _)) = judged().find(|(_, judgement)| *judgement == Judgement::Unknown) {
        return Err(Failure::refused(anyhow!(
            "--fail-if '{}' cannot be judged: no such cell is in both matrices, or one has fewer than 2 repetitions: measure \
             with --repeat 3",
            condition.text
        )));
    }
    Ok(if compared.iter().any(|c| c.cells.is_empty()) { Exit::Failed } else { Exit::Fine })
}
