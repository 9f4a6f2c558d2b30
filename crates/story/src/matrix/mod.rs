//! The story of a matrix of file operations: whether its figures are those of memory, the fastest and the slowest cell, and whether they
//! differ by more than noise.
//!
//! It reads only what the table holds, so that each sentence has its evidence in the JSON of `iosonar matrix`.

mod remedies;
#[cfg(test)]
mod tests;

use crate::statement::statement;
use crate::words::{capitalized, fitting, rounded_rate, short_bytes};
use iosonar_analyze::{LEAST_REQUESTS, Reason, Statement};
use iosonar_cells::{CellResult, Extremes, Matrix, MeasuredCell, Table, TableState, half_widths};
use iosonar_text::units::{byte_rate, grouped, number};

/// A table, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct MatrixFacts<'a> {
    /// The cells.
    pub table: &'a Table,
    /// The matrix.
    pub matrix: &'a Matrix,
    /// The directory of the results.
    pub dir: &'a str,
}

/// The story of a matrix. Its evidence are paths in the JSON of the table.
pub fn matrix_story(facts: &MatrixFacts<'_>) -> Statement {
    let table = facts.table;
    let requests: u64 = table.results.iter().map(|result| result.ops).sum();
    let extremes = table.extremes(LEAST_REQUESTS);
    let memory = table.memory_results(facts.matrix);
    let missing = missing(facts);
    if let Some(refuted) = fake(table).or_else(|| failed(facts)) {
        return refuted;
    }
    let found = match &extremes {
        _ if requests < LEAST_REQUESTS => few(facts, requests),
        _ if !memory.is_empty() => of_memory(facts, &memory, extremes.as_ref()),
        Some(extremes) => of_cells(facts, extremes),
        None => single(facts),
    };
    let resumed = missing.as_ref().map(|_| remedies::resumed(facts));
    Statement {
        worth: Some(worth(table, extremes.as_ref().map_or(0, |extremes| extremes.left_out))),
        remedy: resumed.or(found.remedy),
        ..statement(found.headline, missing.into_iter().chain(found.because))
    }
}

/// Figures that are not what they claim to be.
fn fake(table: &Table) -> Option<Statement> {
    let sentence = table.fake.as_ref()?;
    let because = Reason::new("At least one part of the matrix was judged so.", &["fake"]);
    let remedy = "see the verdict of a part with 'iosonar explain DIR/part-1'";
    Some(Statement {
        remedy: Some(remedy.into()),
        ..statement(format!("{}.", capitalized(sentence.clone())), [because])
    })
}

/// Cells that failed, or data that was wrong.
fn failed(facts: &MatrixFacts<'_>) -> Option<Statement> {
    let (first, rest) = facts.table.errors.split_first()?;
    let count = facts.table.missing_cells;
    let cells = if count == 1 { "cell has" } else { "cells have" };
    let first = first.trim_end_matches('.');
    let text = match count {
        0 => format!("{}.", capitalized(first.into())),
        _ => format!("{} {cells} no figure: {first}.", grouped(count)),
    };
    let more = match rest.len() {
        0 => String::new(),
        n => format!(" {n} more like it."),
    };
    let because = Reason::new(format!("{}.{more}", capitalized(first.into())), &["errors.0"]);
    let remedy = (count > 0).then(|| remedies::resumed(facts));
    Some(Statement { remedy, ..statement(text, [because]) })
}

/// Cells that are missing because the measurement was stopped.
fn missing(facts: &MatrixFacts<'_>) -> Option<Reason> {
    let table = facts.table;
    let is_stopped = table.state == Some(TableState::Interrupted) || table.missing_cells > 0;
    let text = format!(
        "{} of {} cells are missing.",
        grouped(table.missing_cells),
        grouped(table.missing_cells + table.results.len() as u64)
    );
    (is_stopped && table.missing_cells > 0).then(|| Reason::new(text, &["missing_cells"]))
}

/// Too few requests for any statement.
fn few(facts: &MatrixFacts<'_>, requests: u64) -> Statement {
    let because = format!("A statement needs {LEAST_REQUESTS} requests of a cell.");
    let reason =
        Reason::new(because, if facts.table.results.is_empty() { &["results"] } else { &["results.0.ops"] });
    let text = match requests {
        0 => "Nothing was measured: no cell has a figure.".into(),
        n => format!("{n} requests: enough to see that it works, not how fast it is."),
    };
    Statement { remedy: remedies::larger(), ..statement(text, [reason]) }
}

/// No two cells have enough requests.
fn single(facts: &MatrixFacts<'_>) -> Statement {
    let text = "No two cells have enough requests to compare them.";
    let because =
        format!("A statement needs {LEAST_REQUESTS} requests of a cell, in all of its repetitions.");
    let path = format!("results.{}.ops", facts.table.results.len() - 1);
    Statement { remedy: remedies::larger(), ..statement(text.into(), [Reason::new(because, &[&path])]) }
}

/// Figures of the page cache.
fn of_memory(facts: &MatrixFacts<'_>, memory: &[usize], extremes: Option<&Extremes<'_>>) -> Statement {
    let (table, count) = (facts.table, memory.len());
    let results = || memory.iter().map(|number| &table.results[*number]);
    let all_fit = results().all(|result| table.fits_into_memory(result));
    let subject = if count == table.results.len() {
        "These".into()
    } else {
        format!("{} of {} cells", grouped(count as u64), grouped(table.results.len() as u64))
    };
    let why = match (all_fit, count == table.results.len()) {
        (true, true) => "every file fits into the page cache",
        (true, false) => "their files fit into the page cache",
        _ => "their time ends in the page cache",
    };
    let text = format!("{subject} are speeds of memory: {why}.");
    let caution = table.cautions(facts.matrix).into_iter().next();
    let because = caution.map(|caution| {
        let largest = results_of_largest(table, memory);
        let evidence = ["machine.memory_bytes".into(), format!("results.{largest}.file_bytes")];
        Reason { text: format!("{caution}."), evidence: evidence.into() }
    });
    let extremes = extremes.map(|extremes| reason(table, extremes));
    Statement { remedy: remedies::past_memory(facts), ..statement(text, because.into_iter().chain(extremes)) }
}

/// The number of the result with the largest file.
fn results_of_largest(table: &Table, numbers: &[usize]) -> usize {
    numbers.iter().copied().max_by_key(|number| table.results[*number].file_bytes).unwrap_or(0)
}

/// The fastest and the slowest cell.
fn of_cells(facts: &MatrixFacts<'_>, extremes: &Extremes<'_>) -> Statement {
    let table = facts.table;
    let text = match extremes.are_shown() {
        Some(false) => "No difference between the cells is shown: they vary more than they differ.".into(),
        _ => range(table, extremes),
    };
    let noise = extremes.interval.is_none().then(|| {
        let path = format!("results.{}.repeat", number_of(table, &extremes.fastest));
        Reason::new("No cell was measured twice, so that noise may exceed the difference.", &[&path])
    });
    let reasons = match extremes.are_shown() {
        Some(false) => vec![reason(table, extremes)],
        _ => noise.into_iter().chain(Some(reason(table, extremes))).collect(),
    };
    let remedy = (extremes.are_shown() != Some(true)).then(|| remedies::more_repetitions(facts)).flatten();
    Statement { remedy, ..statement(text, reasons) }
}

/// Both ends with their cells: `From 40.1 MB/s (random_write, 64 KiB by 4 KiB) to 2.10 GB/s (read, 512 MiB by 16 MiB).`
fn range(table: &Table, extremes: &Extremes<'_>) -> String {
    let [slow, fast] = [&extremes.slowest, &extremes.fastest].map(|cell| byte_rate(cell.rates.median));
    let [slow_cell, fast_cell] = [&extremes.slowest, &extremes.fastest].map(|cell| Named::of(table, cell));
    fitting([
        format!("From {slow} ({}) to {fast} ({}).", slow_cell.whole(), fast_cell.whole()),
        format!("From {slow} ({}) to {fast} ({}).", slow_cell.name, fast_cell.name),
        format!("From {slow} to {fast}: {} times.", times(extremes.ratio)),
    ])
}

/// Both ends, with the interval of their ratio.
fn reason(table: &Table, extremes: &Extremes<'_>) -> Reason {
    let ends = [("slowest", &extremes.slowest), ("fastest", &extremes.fastest)].map(|(word, cell)| {
        let (name, rates) = (Named::of(table, cell).whole(), &cell.rates);
        let spread = match rates.n {
            1 => byte_rate(rates.median),
            _ => format!(
                "{} ({} to {})",
                byte_rate(rates.median),
                byte_rate(rates.least),
                byte_rate(rates.most)
            ),
        };
        format!("{word} {name}: {spread}")
    });
    let ratio = match extremes.interval {
        Some((low, high)) => {
            format!("; {} times as fast (95 %: {} to {})", times(extremes.ratio), times(low), times(high))
        }
        None => String::new(),
    };
    let path = |cell: &MeasuredCell<'_>| format!("results.{}.bytes_per_second", number_of(table, cell));
    Reason {
        text: format!("{}; {}{ratio}.", capitalized(ends[0].clone()), ends[1]),
        evidence: vec![path(&extremes.slowest), path(&extremes.fastest)],
    }
}

/// A factor with two or three digits.
fn times(ratio: f64) -> String {
    match ratio {
        small if small < 9.95 => format!("{small:.1}"),
        large if large < 999.5 => format!("{large:.0}"),
        huge => rounded_rate(huge),
    }
}

/// A cell in words.
struct Named {
    /// The test, with streams and method where the table has several.
    name: String,
    /// Sizes of file and record.
    sizes: String,
}

impl Named {
    fn of(table: &Table, cell: &MeasuredCell<'_>) -> Named {
        let one = cell.results[0];
        let differs =
            |of: fn(&CellResult, &CellResult) -> bool| table.results.iter().any(|other| of(one, other));
        let mut name = one.test.clone();
        if differs(|a, b| a.streams != b.streams) {
            name += &format!(" of {} streams", one.streams);
        }
        if differs(|a, b| a.method != b.method) {
            name += &format!(" by {}", one.method);
        }
        Named { name, sizes: format!("{} by {}", short_bytes(one.file_bytes), short_bytes(one.record_bytes)) }
    }

    fn whole(&self) -> String {
        format!("{}, {}", self.name, self.sizes)
    }
}

/// The number of a cell's first repetition in the JSON.
fn number_of(table: &Table, cell: &MeasuredCell<'_>) -> usize {
    let is_first =
        |result: &CellResult| cell.results.first().is_some_and(|first| std::ptr::eq(*first, result));
    table.results.iter().position(is_first).unwrap_or(0)
}

/// How well the figures are known, and how many cells no sentence is about.
fn worth(table: &Table, left_out: usize) -> String {
    let few = match left_out {
        0 => String::new(),
        1 => format!("; a cell of fewer than {LEAST_REQUESTS} requests is not compared"),
        n => format!("; {n} cells of fewer than {LEAST_REQUESTS} requests are not compared"),
    };
    noise(table) + &few
}

fn noise(table: &Table) -> String {
    let percent = |half: f64| match half {
        wide if wide > 1000.0 => "more than 1 000 %".into(),
        half => format!("{} %", number(half)),
    };
    match half_widths(&table.grids()) {
        Some((middle, worst)) => format!(
            "95 % intervals of the means: {} to either side in the middle cell, {} in the worst",
            percent(middle),
            percent(worst)
        ),
        None => "each cell was measured once: its noise is not known".into(),
    }
}
