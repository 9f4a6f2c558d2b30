//! The sonar in characters: latency on a logarithmic scale over the time of submission.

use super::chart::{self, LABELS, WIDTH};
use crate::lines::Lines;
use iosonar_analyze::SLOTS;
use iosonar_analyze::{
    Cell, CountGrid, LimitResult, LimitVerdict, ROWS, ROWS_PER_DECADE, Row, row_lower_edge, row_of,
};
use iosonar_text::units::{self, Charset};

/// Maximum rows between the strips for latencies without a row.
const HEIGHT: usize = 16;
/// Rows of characters, with the slots of the grid in each.
struct Rows {
    /// First slot of each row and the slot after it, from above to below.
    slots: Vec<std::ops::Range<usize>>,
}

impl Rows {
    /// The finest rows that hold everything from the first slot with requests to the last. The strips for times outside of
    /// the grid are separate rows, if needed.
    fn new(lit: impl Fn(usize) -> bool, lines: usize) -> Rows {
        let first = (1..=ROWS).find(|s| lit(*s)).map_or(0, |s| s - 1);
        let last = (1..=ROWS).rfind(|s| lit(*s)).map_or(0, |s| s - 1);
        let (per_decade, begin, end) = [16, 8, 6, 4, 3, 2]
            .into_iter()
            .map(|k| (k, first * k / ROWS_PER_DECADE, last * k / ROWS_PER_DECADE + 1))
            .find(|(k, begin, end)| end - begin <= lines || *k == 2)
            .unwrap_or((2, 0, 2 * ROWS / ROWS_PER_DECADE));
        let edge = |row: usize| (row * ROWS_PER_DECADE).div_ceil(per_decade) + 1;
        let mut slots: Vec<_> = (begin..end).rev().map(|row| edge(row)..edge(row + 1)).collect();
        if lit(ROWS + 1) {
            slots.insert(0, ROWS + 1..SLOTS);
        }
        if lit(0) {
            slots.push(0..1);
        }
        Rows { slots }
    }

    fn label(&self, row: usize) -> String {
        let slots = &self.slots[row];
        match slots.start {
            0 => "< 1 us ".to_string(),
            start if start == ROWS + 1 => "> 100 s ".to_string(),
            start if (start - 1).is_multiple_of(ROWS_PER_DECADE) => {
                chart::duration(row_lower_edge(start - 1)) + " "
            }
            _ => String::new(),
        }
    }
}

/// Draws it with its marginal, time ticks and the limit, if that lies among the latencies.
pub(super) fn draw(out: &mut Lines, grid: &CountGrid, limit: &LimitVerdict, pictures: Charset) {
    let sums = grid.marginal();
    let lit = |slot: usize| sums[slot].iter().sum::<u64>() > 0;
    if !(0..SLOTS).any(lit) {
        out.heading("No picture: no request completed.");
        return;
    }
    let parts = grid.parts(WIDTH);
    let halves = if pictures == Charset::Unicode { 2 } else { 1 };
    let rows = Rows::new(lit, HEIGHT * halves);
    out.heading(&format!("Latency over time of submission{:>width$}", "RW", width = LABELS + WIDTH - 28));
    let end = grid.axis().end_ns();
    match pictures {
        Charset::Ascii => shaded(out, &rows, (&parts, &sums), limit, end),
        Charset::Unicode => {
            half_blocks(out, &rows, &parts);
            chart::time_axis(out, end);
        }
    }
}

fn limit_slot(limit: &LimitVerdict) -> Option<usize> {
    let applies = limit.result != LimitResult::NotApplicable;
    applies.then(|| row_of(limit.limit_ns)).filter(|row| matches!(row, Row::In(_))).map(Row::slot)
}

fn shaded(
    out: &mut Lines,
    rows: &Rows,
    (parts, sums): (&[Cell], &[Cell]),
    limit: &LimitVerdict,
    end_ns: u64,
) {
    let in_slots = |cells: &[Cell], slots: &std::ops::Range<usize>| -> Cell {
        cells[slots.clone()].iter().fold(Cell::default(), |sum, c| std::array::from_fn(|i| sum[i] + c[i]))
    };
    let counts: Vec<Vec<u64>> = rows
        .slots
        .iter()
        .map(|slots| parts.chunks(SLOTS).map(|part| in_slots(part, slots).iter().sum()).collect())
        .collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    let ops: Vec<[u64; 2]> =
        rows.slots.iter().map(|slots| in_slots(sums, slots)).map(|c| [c[0] + c[2], c[1] + c[3]]).collect();
    let most_of_op = ops.iter().flatten().copied().max().unwrap_or(0);
    let limit_row = limit_slot(limit).and_then(|slot| rows.slots.iter().position(|s| s.contains(&slot)));
    for (i, (counts, ops)) in counts.iter().zip(ops).enumerate() {
        let mut cells = chart::cells(counts, most);
        let mut label = rows.label(i);
        if Some(i) == limit_row {
            cells = cells.replace(' ', "-");
            if label.is_empty() {
                label = "limit ".to_string();
            }
        }
        let behind: String = ['|'].into_iter().chain(ops.map(|n| chart::shade(n, most_of_op))).collect();
        chart::row(out, &label, &cells, &behind);
    }
    chart::time_axis(out, end_ns);
    key(out, most, most_of_op, limit_row.map(|_| limit));
}

/// Explains the characters.
fn key(out: &mut Lines, most: u64, most_of_op: u64, limit: Option<&LimitVerdict>) {
    let text = chart::key(most, "character");
    let side = format!("; R, W: to {}", units::grouped(most_of_op));
    let text = if text.len() + side.len() + LABELS < super::COLUMNS { text + &side } else { text };
    out.line(&format!("{:LABELS$} {text}", ""));
    if let Some(limit) = limit {
        let result = if limit.result == LimitResult::Passed { "passed" } else { "FAILED" };
        out.line(&format!("{:LABELS$} ---- limit {}: {result}", "", units::limit(limit.limit_ns)));
    }
}

fn half_blocks(out: &mut Lines, rows: &Rows, parts: &[Cell]) {
    let lit = |row: Option<&std::ops::Range<usize>>, column: usize| {
        row.is_some_and(|slots| {
            parts[column * SLOTS..][slots.clone()].iter().any(|c| c.iter().sum::<u64>() > 0)
        })
    };
    for i in (0..rows.slots.len()).step_by(2) {
        let below = rows.slots.get(i + 1);
        let cells = (0..WIDTH).map(|x| chart::half_blocks(lit(rows.slots.get(i), x), lit(below, x)));
        let label = Some(rows.label(i)).filter(|l| !l.is_empty());
        let label = label.unwrap_or_else(|| below.map_or(String::new(), |_| rows.label(i + 1)));
        chart::row(out, &label, &cells.collect::<String>(), "|");
    }
}
