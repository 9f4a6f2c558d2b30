//! `iosonar compare` on matrices of file operations: cell by cell, test by test.

use super::matrix::comparison_page;
use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use anyhow::anyhow;
use iosonar_analyze::compare::Judgement;
use iosonar_cells::{MatrixComparison, MatrixCondition, compare_tables, comparison_csv, comparison_text};
use iosonar_studies::answers::{NamedTable, matrices};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::path::PathBuf;

/// Returns the tables if all inputs are matrices; `None` if no input is.
pub fn tables(paths: &[PathBuf]) -> Result<Option<Vec<NamedTable>>, Failure> {
    let tables = matrices(paths)?;
    for (name, table) in tables.iter().flatten().filter(|(_, table)| table.missing_cells > 0) {
        let (name, missing) = (shown(name), table.missing_cells);
        print_message(format_args!(
            "iosonar: {name}: the measurement did not end in order, {missing} cells are missing"
        ));
    }
    Ok(tables)
}

/// Compares each table after the first with the first.
pub fn compare(args: &CompareArgs, tables: &[NamedTable]) -> Result<Exit, Failure> {
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
        comparison_page::write(path, tables, &compared)?;
    }
    exit(&compared, &conditions)
}

fn json(compared: &[MatrixComparison], conditions: &[MatrixCondition]) -> Result<String, Failure> {
    let of = |comparison: &MatrixComparison| serde_json::from_str(&comparison.to_json(conditions));
    let all: Vec<serde_json::Value> =
        compared.iter().map(of).collect::<Result<_, _>>().map_err(anyhow::Error::from)?;
    let document =
        serde_json::json!({ "version": iosonar_cells::MATRIX_COMPARE_VERSION, "comparisons": all });
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
