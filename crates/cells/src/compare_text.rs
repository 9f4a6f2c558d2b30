//! Formats comparisons of tables as text and as comma-separated values.

use crate::aligned::aligned;
use crate::compare_answer::{percent, size};
use crate::{CellKey, CellRow, Change, MatrixComparison, Side, Verdict};
use iosonar_text::csv::{self, Cell, Form};
use std::fmt::Write;

/// Maximum number of cells named.
const NAMED_CELLS: usize = 40;
/// Maximum number of missing cells of a side named.
const NAMED_MISSING: usize = 10;

/// Formats the comparison as text: the answer, each test, the cells that differ, and missing cells of each side.
pub fn comparison_text(comparison: &MatrixComparison) -> String {
    let mut text = side('A', &comparison.a) + &side('B', &comparison.b);
    let _ = writeln!(text, "\n{}", clean(&comparison.answer));
    comparison.cautions.iter().for_each(|caution| _ = writeln!(text, "caution: {}", clean(caution)));
    if !comparison.cells.is_empty() {
        text += "\nAll cells of a test together\n";
        let rows = comparison.tests.iter().map(|row| {
            let name = format!("{} ({} cell{})", row.test, row.cells, if row.cells == 1 { "" } else { "s" });
            (name, &row.change)
        });
        text += &rows_text("test", rows.collect());
        text += &cells_text(comparison);
    }
    text + &missing('A', &comparison.only_in_a) + &missing('B', &comparison.only_in_b)
}

/// Sanitises names from files, which must not control a terminal.
fn clean(text: &str) -> String {
    iosonar_text::one_line(text).into_owned()
}

fn side(letter: char, side: &Side) -> String {
    let mut text = format!("{letter}: {}, {} cells", clean(&side.name), side.cells);
    for (before, told) in [(", ", &side.tool), ("\n   ", &side.command)] {
        if !told.is_empty() {
            text += &format!("{before}{}", clean(told));
        }
    }
    text + "\n"
}

/// Lists cells that differ, and the number of others. Without any interval: all cells.
fn cells_text(comparison: &MatrixComparison) -> String {
    let cells = &comparison.cells;
    let is_unknown = |row: &&CellRow| row.change.verdict == Verdict::CannotBeTold;
    let unknown = cells.iter().filter(is_unknown).count();
    let all_unknown = unknown == cells.len();
    let mut told: Vec<&CellRow> =
        cells.iter().filter(|row| row.change.verdict.is_shown() || all_unknown).collect();
    told.sort_by(|x, y| size(&y.change).total_cmp(&size(&x.change)));
    let mut text = String::new();
    if !told.is_empty() {
        text += if all_unknown { "\nCells\n" } else { "\nCells that differ\n" };
        let rows = told.iter().take(NAMED_CELLS).map(|row| (row.key.to_string(), &row.change));
        text += &rows_text("cell", rows.collect());
    }
    if told.len() > NAMED_CELLS {
        let _ = writeln!(text, "and {} more with smaller changes", told.len() - NAMED_CELLS);
    }
    let same = cells.iter().filter(|row| row.change.verdict == Verdict::NoDifferenceShown).count();
    if same > 0 {
        let _ = writeln!(text, "\n{same} of {} cells show no difference.", cells.len());
        text += &visible(comparison);
    }
    if unknown > 0 && !all_unknown {
        let _ = writeln!(
            text,
            "{unknown} of {} cells cannot be told: they need 2 repetitions or more.",
            cells.len()
        );
    }
    text
}

/// Changes by a larger factor are not of interest.
const MOST_VISIBLE: f64 = 100.0;

/// Smallest change that would have been detected, without which "no difference" has no meaning.
fn visible(comparison: &MatrixComparison) -> String {
    let width =
        |row: &CellRow| Some((row.change.high_percent? + 100.0) / (row.change.change_percent + 100.0));
    let mut widths: Vec<f64> = comparison.cells.iter().filter_map(width).collect();
    widths.sort_by(f64::total_cmp);
    match widths.get(widths.len() / 2) {
        Some(factor) if *factor > MOST_VISIBLE => {
            "No change would show in half of the cells: measure more repetitions.\n".into()
        }
        Some(factor) if *factor > 1.0 => format!(
            "A change of {} would show in half of the cells; more repetitions show smaller changes.\n",
            percent((factor - 1.0) * 100.0)
        ),
        _ => String::new(),
    }
}

fn rows_text(head: &str, rows: Vec<(String, &Change)>) -> String {
    let mut lines =
        vec![[head, "n A", "n B", "A KiB/s", "B KiB/s", "change", "interval", "verdict"].map(String::from)];
    lines.extend(rows.into_iter().map(|(name, change)| {
        [
            clean(&name),
            change.n_a.to_string(),
            change.n_b.to_string(),
            kib(change.a_bytes_per_second),
            kib(change.b_bytes_per_second),
            percent(change.change_percent),
            interval(change),
            change.verdict.text().into(),
        ]
    }));
    // Names and verdicts are left-aligned, numbers right-aligned.
    aligned(&lines, &[0, 7]).iter().map(|line| format!("  {line}\n")).collect()
}

/// Formats KiB/s; slow rates have a fraction.
fn kib(bytes_per_second: f64) -> String {
    let kib = bytes_per_second / 1024.0;
    if kib < 100.0 { format!("{kib:.2}") } else { format!("{kib:.0}") }
}

fn interval(change: &Change) -> String {
    match (change.low_percent, change.high_percent) {
        // Ends of an interval wider than a factor of a hundred are not useful.
        (Some(low), Some(high)) if !change.verdict.is_shown() && high + 100.0 > 100.0 * (low + 100.0) => {
            "too noisy".into()
        }
        (Some(low), Some(high)) => format!("{} to {}", percent(low), percent(high)),
        _ => "-".into(),
    }
}

/// Lists missing cells briefly: all of them if they are few.
fn missing(letter: char, keys: &[CellKey]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let names: Vec<String> = keys.iter().take(NAMED_MISSING).map(|key| clean(&key.to_string())).collect();
    let more = match keys.len().saturating_sub(NAMED_MISSING) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("\nOnly in {letter} ({}): {}{more}\n", keys.len(), names.join(", "))
}

/// Column names of [`comparison_rows`].
const COLUMNS: [&str; 15] = [
    "row",
    "test",
    "file_bytes",
    "record_bytes",
    "streams",
    "method",
    "cells",
    "n_a",
    "n_b",
    "a_bytes_per_second",
    "b_bytes_per_second",
    "change_percent",
    "low_percent",
    "high_percent",
    "verdict",
];

/// Formats comparisons as comma-separated values: a line for each test, each cell, and each cell that only one side
/// has. With several comparisons the first column is the number of the comparison.
pub fn comparison_csv(comparisons: &[MatrixComparison], form: Form) -> String {
    let is_numbered = comparisons.len() != 1;
    let names = is_numbered.then_some("matrix").into_iter().chain(COLUMNS);
    let rows = comparisons.iter().zip(1u64..).flat_map(|(comparison, number)| {
        let number = is_numbered.then_some(Cell::Number(number));
        comparison_rows(comparison).map(move |row| number.clone().into_iter().chain(row))
    });
    csv::table(form, names, rows)
}

fn comparison_rows(comparison: &MatrixComparison) -> impl Iterator<Item = Vec<Cell<'_>>> {
    let empty = |count: usize| std::iter::repeat_n(Cell::Absent, count);
    let tests = comparison.tests.iter().map(move |row| {
        let mut cells = vec![Cell::from("test"), row.test.as_str().into()];
        cells.extend(empty(4).chain([row.cells.into()]).chain(figures(&row.change)));
        cells
    });
    let cells = comparison.cells.iter().map(|row| place(&row.key).chain(figures(&row.change)).collect());
    let sides = [(&comparison.only_in_a, "only-in-a"), (&comparison.only_in_b, "only-in-b")];
    let alone = sides.into_iter().flat_map(move |(keys, word)| {
        keys.iter().map(move |key| place(key).chain(empty(7)).chain([word.into()]).collect())
    });
    tests.chain(cells).chain(alone)
}

fn place(key: &CellKey) -> impl Iterator<Item = Cell<'_>> {
    [
        Cell::from("cell"),
        key.test.as_str().into(),
        key.file_bytes.into(),
        key.record_bytes.into(),
        key.streams.into(),
        key.method.as_str().into(),
        Cell::Number(1),
    ]
    .into_iter()
}

fn figures(change: &Change) -> [Cell<'static>; 8] {
    let some = |value: Option<f64>| value.map_or(Cell::Absent, |value| Cell::Digits(format!("{value:.4}")));
    [
        change.n_a.into(),
        change.n_b.into(),
        Cell::Digits(format!("{:.3}", change.a_bytes_per_second)),
        Cell::Digits(format!("{:.3}", change.b_bytes_per_second)),
        some(Some(change.change_percent)),
        some(change.low_percent),
        some(change.high_percent),
        Cell::Word(change.verdict.text().replace(' ', "-").into()),
    ]
}
