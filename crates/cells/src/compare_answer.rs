//! Answer of a comparison of tables in one sentence.

use crate::{Change, MatrixComparison, Verdict};
use iosonar_analyze::compare::signed_text;
use std::collections::BTreeSet;

/// Maximum number of tests named.
const NAMED: usize = 3;

/// Formats the sentence.
pub(crate) fn answer(comparison: &MatrixComparison) -> String {
    let cells = &comparison.cells;
    let (all, count) = (cells.len(), |verdict| cells.iter().filter(|c| c.change.verdict == verdict).count());
    if all == 0 {
        return no_cell(comparison);
    }
    let (faster, slower) = (count(Verdict::Faster), count(Verdict::Slower));
    let unknown = count(Verdict::CannotBeTold);
    let tests = tests(comparison);
    if unknown == all && tests.is_empty() {
        return too_few(comparison);
    }
    let mut text = match (slower, faster) {
        (0, 0) if tests.is_empty() => format!("no difference shown in {}", cells_text(all - unknown)),
        (0, 0) => {
            format!("no difference shown in a single cell of {all}, but in all cells of a test together")
        }
        (0, faster) => format!("B is faster in {faster} of {} and slower in none", cells_text(all)),
        (slower, 0) => format!("B is slower in {slower} of {} and faster in none", cells_text(all)),
        (slower, faster) => format!("B is slower in {slower} and faster in {faster} of {}", cells_text(all)),
    };
    if unknown > 0 {
        text += &format!(" ({} cannot be told: they need 2 repetitions or more)", cells_text(unknown));
    }
    if !tests.is_empty() {
        text += &format!("; {tests}");
    }
    text
}

fn cells_text(count: usize) -> String {
    format!("{count} cell{}", if count == 1 { "" } else { "s" })
}

/// Names the tests that differ, the largest change first.
fn tests(comparison: &MatrixComparison) -> String {
    let mut shown: Vec<_> = comparison.tests.iter().filter(|row| row.change.verdict.is_shown()).collect();
    shown.sort_by(|x, y| size(&y.change).total_cmp(&size(&x.change)));
    let text = |row: &&crate::TestRow| format!("{}: {}", row.test, change_text(&row.change));
    let mut texts: Vec<String> = shown.iter().take(NAMED).map(text).collect();
    if shown.len() > NAMED {
        texts.push(format!("{} more", shown.len() - NAMED));
    }
    texts.join(", ")
}

/// Size of a change: halving is as large as doubling.
pub(crate) fn size(change: &Change) -> f64 {
    (1.0 + change.change_percent / 100.0).max(f64::MIN_POSITIVE).ln().abs()
}

/// Formats `-12.0 % (-15.0 % to -9.0 %)`.
fn change_text(change: &Change) -> String {
    let (low, high) = (change.low_percent, change.high_percent);
    match low.is_some() && high.is_some() {
        true => format!("{} ({} to {})", percent(change.change_percent), of(low), of(high)),
        false => percent(change.change_percent),
    }
}

fn of(value: Option<f64>) -> String {
    value.map_or_else(|| "?".into(), percent)
}

/// Formats a change with its sign and unit. A very large one is a factor without a unit.
pub(crate) fn percent(value: f64) -> String {
    let text = signed_text(Some(value));
    if text.starts_with('x') { text } else { text + " %" }
}

fn no_cell(comparison: &MatrixComparison) -> String {
    let methods = |keys: &[crate::CellKey]| {
        let methods: BTreeSet<&str> = keys.iter().map(|key| key.method.as_str()).collect();
        methods.into_iter().filter(|method| !method.is_empty()).collect::<Vec<_>>().join(", ")
    };
    let (a, b) = (methods(&comparison.only_in_a), methods(&comparison.only_in_b));
    let why = match a != b && !a.is_empty() && !b.is_empty() {
        true => format!("; methods of A are {a}, those of B are {b}"),
        false => String::new(),
    };
    format!("cannot be told: no cell is in both tables{why}")
}

/// Answer if no cell has repetitions on both sides.
fn too_few(comparison: &MatrixComparison) -> String {
    let changes = || comparison.cells.iter().map(|cell| cell.change.change_percent);
    let (least, most) =
        (changes().fold(f64::INFINITY, f64::min), changes().fold(f64::NEG_INFINITY, f64::max));
    let range = match (least, most) {
        (0.0, 0.0) => "all figures are equal".to_string(),
        _ if least == most => format!("every change is {}", percent(least)),
        _ => format!("changes are {} to {}", percent(least), percent(most)),
    };
    format!("cannot be told: both need 2 repetitions or more; give --repeat 3 ({range})")
}
