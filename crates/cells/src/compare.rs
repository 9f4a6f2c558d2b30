//! Compares two tables: which cells differ, by how much, and whether the difference exceeds noise.
//!
//! Rates of repetitions are compared by Welch's t test on their logarithms: each cell individually, and all cells of a
//! test together. The intervals of all cells are simultaneous, and so are those of all tests (Bonferroni).

use crate::matrix_condition::MatrixCondition;
use crate::spread::{Logs, is_rate};
use crate::welch::{Critical, welch};
use crate::{CellKey, CellResult, Change, Table};
use iosonar_analyze::compare::Judgement;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Version of the comparison's JSON format.
pub const MATRIX_COMPARE_VERSION: u32 = 1;

/// Error probability of all tests together, and that of all cells together. The sum is below 5 %, because the degrees
/// of freedom are an estimate.
const ERROR: f64 = 0.02;

/// A table of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Name, e.g. its file.
    pub name: String,
    /// Program that measured it.
    pub tool: String,
    /// Command as typed.
    pub command: String,
    /// Number of cells.
    pub cells: usize,
}

/// A cell in both tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellRow {
    /// Its key.
    #[serde(flatten)]
    pub key: CellKey,
    /// Its change.
    #[serde(flatten)]
    pub change: Change,
}

/// All cells of a test that are in both tables, combined: the geometric mean of their rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestRow {
    /// Test name.
    pub test: String,
    /// Number of cells.
    pub cells: usize,
    /// Their change. Only repetitions with every cell count.
    #[serde(flatten)]
    pub change: Change,
}

/// Two tables compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixComparison {
    /// Version of the JSON format.
    pub version: u32,
    /// The answer in one sentence.
    pub answer: String,
    /// The baseline.
    pub a: Side,
    /// The table compared with it.
    pub b: Side,
    /// Cautions about the figures.
    pub cautions: Vec<String>,
    /// Rows by test, in the order of A.
    pub tests: Vec<TestRow>,
    /// Rows by cell, in the order of A.
    pub cells: Vec<CellRow>,
    /// Cells that B lacks.
    pub only_in_a: Vec<CellKey>,
    /// Cells that A lacks.
    pub only_in_b: Vec<CellKey>,
}

/// A comparison with judgements of conditions, for JSON.
#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    comparison: &'a MatrixComparison,
    conditions: Vec<JudgedCondition<'a>>,
}

#[derive(Serialize)]
struct JudgedCondition<'a> {
    #[serde(flatten)]
    condition: &'a MatrixCondition,
    result: Judgement,
}

impl MatrixComparison {
    /// Formats as indented JSON with a final newline, with the result of each condition.
    pub fn to_json(&self, conditions: &[MatrixCondition]) -> String {
        let judge =
            |condition| JudgedCondition { condition, result: MatrixCondition::judge(condition, self) };
        let judged = Judged { comparison: self, conditions: conditions.iter().map(judge).collect() };
        // Numbers and texts can always be serialized.
        serde_json::to_string_pretty(&judged).expect("a comparison is JSON") + "\n"
    }
}

/// A cell and its repetitions with a rate.
type Cell<'a> = (CellKey, Vec<&'a CellResult>);

/// A cell in both tables.
struct Both<'a> {
    key: CellKey,
    a: Vec<&'a CellResult>,
    b: Vec<&'a CellResult>,
}

/// Cells by the tables that have them.
#[derive(Default)]
struct Matched<'a> {
    both: Vec<Both<'a>>,
    only_in_a: Vec<CellKey>,
    only_in_b: Vec<CellKey>,
}

/// Compares table B with the baseline A.
pub fn compare_tables(a: (&str, &Table), b: (&str, &Table)) -> MatrixComparison {
    compare_with(a, b, &mut Critical::default())
}

fn compare_with(
    (name_a, a): (&str, &Table),
    (name_b, b): (&str, &Table),
    critical: &mut Critical,
) -> MatrixComparison {
    let (cells_a, cells_b) = (cells_of(a), cells_of(b));
    let side = |name: &str, table: &Table, cells: &[Cell]| Side {
        name: name.into(),
        tool: table.tool.clone(),
        command: table.command.clone(),
        cells: cells.len(),
    };
    let (side_a, side_b) = (side(name_a, a, &cells_a), side(name_b, b, &cells_b));
    let matched = matched(cells_a, cells_b);
    let mut names: Vec<&str> = Vec::new();
    for cell in &matched.both {
        if !names.contains(&cell.key.test.as_str()) {
            names.push(&cell.key.test);
        }
    }
    let share = |count: usize| ERROR / count.max(1) as f64;
    let (of_tests, of_cells) = (share(names.len()), share(matched.both.len()));
    let tests = names.iter().map(|test| test_row(test, &matched.both, of_tests, critical)).collect();
    let cells = matched.both.iter().map(|cell| cell_row(cell, of_cells, critical)).collect();
    let mut comparison = MatrixComparison {
        version: MATRIX_COMPARE_VERSION,
        answer: String::new(),
        a: side_a,
        b: side_b,
        cautions: cautions(&matched),
        tests,
        cells,
        only_in_a: matched.only_in_a,
        only_in_b: matched.only_in_b,
    };
    comparison.answer = crate::compare_answer::answer(&comparison);
    comparison
}

/// Cells of a table with a rate.
fn cells_of(table: &Table) -> Vec<Cell<'_>> {
    let mut cells = table.cells();
    cells.iter_mut().for_each(|(_, results)| results.retain(|result| is_rate(result.bytes_per_second)));
    cells.retain(|(_, results)| !results.is_empty());
    cells
}

/// Cell key without the method.
fn question(key: &CellKey) -> (&str, u64, u64, u32) {
    (&key.test, key.file_bytes, key.record_bytes, key.streams)
}

/// Matches cells with the same key. A cell without method, of old results or another program, matches the only cell of
/// the other table with the same key otherwise.
fn matched<'a>(cells_a: Vec<Cell<'a>>, cells_b: Vec<Cell<'a>>) -> Matched<'a> {
    let places: HashMap<&CellKey, usize> = cells_b.iter().enumerate().map(|(n, (key, _))| (key, n)).collect();
    let mut alike: HashMap<_, [Vec<usize>; 2]> = HashMap::new();
    for (side, cells) in [&cells_a, &cells_b].into_iter().enumerate() {
        for (place, (key, _)) in cells.iter().enumerate() {
            alike.entry(question(key)).or_default()[side].push(place);
        }
    }
    let partner = |key: &CellKey| {
        places.get(key).copied().or_else(|| match alike.get(&question(key))? {
            [a, b] if a.len() == 1 && b.len() == 1 => {
                let other = &cells_b[b[0]].0;
                (key.method.is_empty() || other.method.is_empty()).then_some(b[0])
            }
            _ => None,
        })
    };
    let partners: Vec<Option<usize>> = cells_a.iter().map(|(key, _)| partner(key)).collect();
    let mut of_b: Vec<Option<Cell>> = cells_b.into_iter().map(Some).collect();
    let mut matched = Matched::default();
    for ((key, a), partner) in cells_a.into_iter().zip(partners) {
        match partner.and_then(|place| of_b[place].take()) {
            Some((other, b)) => {
                let key = if key.method.is_empty() { other } else { key };
                matched.both.push(Both { key, a, b });
            }
            None => matched.only_in_a.push(key),
        }
    }
    matched.only_in_b = of_b.into_iter().flatten().map(|(key, _)| key).collect();
    matched
}

fn cell_row(cell: &Both, alpha: f64, critical: &mut Critical) -> CellRow {
    let logs = |results: &[&CellResult]| Logs::of(results.iter().map(|result| result.bytes_per_second));
    CellRow { key: cell.key.clone(), change: welch(logs(&cell.a), logs(&cell.b), alpha, critical) }
}

fn test_row(test: &str, cells: &[Both], alpha: f64, critical: &mut Critical) -> TestRow {
    let cells: Vec<&Both> = cells.iter().filter(|cell| cell.key.test == test).collect();
    let (of_a, of_b): (Vec<_>, Vec<_>) = cells.iter().map(|cell| (&cell.a[..], &cell.b[..])).unzip();
    let (a, b) = (by_repetition(&of_a), by_repetition(&of_b));
    let change = match a.n > 0 && b.n > 0 {
        true => welch(a, b, alpha, critical),
        // No repetition has every cell: the mean is that of all results, without an interval.
        false => {
            let change = welch(mean_of_cells(&of_a), mean_of_cells(&of_b), alpha, critical);
            Change { n_a: a.n, n_b: b.n, ..change }
        }
    };
    TestRow { test: test.into(), cells: cells.len(), change }
}

/// Returns one value per repetition that has all of these cells: the mean of their logarithms.
fn by_repetition(cells: &[&[&CellResult]]) -> Logs {
    // Per repetition: sum of the logarithms, and number of cells.
    let mut sums: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
    for results in cells {
        let mut seen = BTreeSet::new();
        for result in results.iter().filter(|result| seen.insert(result.repeat)) {
            let sum = sums.entry(result.repeat).or_default();
            *sum = (sum.0 + result.bytes_per_second.ln(), sum.1 + 1);
        }
    }
    let complete = sums.values().filter(|(_, count)| *count == cells.len());
    Logs::of_logs(&complete.map(|(sum, count)| sum / *count as f64).collect::<Vec<_>>())
}

fn mean_of_cells(cells: &[&[&CellResult]]) -> Logs {
    let mean = |results: &&[&CellResult]| Logs::of(results.iter().map(|r| r.bytes_per_second)).mean;
    let mean = cells.iter().map(mean).sum::<f64>() / cells.len().max(1) as f64;
    Logs { n: 1, mean, variance: 0.0 }
}

fn cautions(matched: &Matched) -> Vec<String> {
    let known =
        || matched.both.iter().filter(|cell| [&cell.a, &cell.b].iter().all(|r| !r[0].method.is_empty()));
    let differ = |of: fn(&CellResult) -> bool| known().filter(|cell| of(cell.a[0]) != of(cell.b[0])).count();
    let mut cautions = Vec::new();
    for (what, count) in [("fsync", differ(|r| r.fsync_timed)), ("close", differ(|r| r.close_timed))] {
        if count > 0 {
            cautions.push(format!(
                "in {count} cells only one side counts {what} as part of the time: a difference may come from that"
            ));
        }
    }
    let warm =
        |results: &[&CellResult]| results.iter().any(|r| r.cached_before.is_some_and(|bytes| bytes > 0));
    let unequal = matched.both.iter().filter(|cell| warm(&cell.a) != warm(&cell.b)).count();
    if unequal > 0 {
        cautions.push(format!(
            "in {unequal} cells only one side began with data in the page cache: a difference may come from that"
        ));
    }
    cautions
}

#[cfg(test)]
mod tests;
