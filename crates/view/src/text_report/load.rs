//! A load in characters: its figures, and what it demands over time.

use super::chart::{self, LABELS, WIDTH};
use crate::lines::Lines;
use crate::units::{self, Charset};
use iosonar_analyze::CountSeries;

/// Rows of the picture.
const HEIGHT: usize = 10;

/// A load without latencies.
#[derive(Debug, Clone)]
pub struct LoadText<'a> {
    /// Its static figures: what each is, and the figure with its unit.
    pub figures: Vec<(String, String)>,
    /// Every request by its time.
    pub demanded: &'a CountSeries,
}

pub(super) fn draw(out: &mut Lines, load: &LoadText<'_>, pictures: Charset) {
    if !load.figures.is_empty() {
        out.heading("Load");
    }
    for (name, figure) in &load.figures {
        out.paragraph(&format!("  {:22}", crate::lines::shorten(name, 21)), figure);
    }
    let axis = load.demanded.axis();
    let rates = rates(&load.demanded.requests, axis.width_ns());
    let most = rates.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        out.heading("No picture: the load has no requests.");
        return;
    }
    out.heading("Demanded requests per second over time");
    for row in (0..HEIGHT).rev() {
        let level = |half: usize| (2 * row + half) as f64 / (2 * HEIGHT) as f64 * most;
        let cells: String = rates
            .iter()
            .map(|rate| match pictures {
                Charset::Ascii => bar(*rate, level(0), level(1)),
                Charset::Unicode => chart::half_blocks(*rate > level(1), *rate > level(0)),
            })
            .collect();
        let label = match row {
            r if r == HEIGHT - 1 => units::request_rate(most) + " ",
            _ => String::new(),
        };
        chart::row(out, &label, &cells, "|");
    }
    chart::time_axis(out, axis.end_ns());
    let cell = super::time(axis.end_ns() / WIDTH as u64);
    out.line(&format!("{:LABELS$} one character is {cell}; . is less than half a row", ""));
}

/// A cell of a bar: full, or less than half.
fn bar(value: f64, bottom: f64, middle: f64) -> char {
    match value {
        v if v > middle => '#',
        v if v > bottom => '.',
        _ => ' ',
    }
}

/// Requests per second in each cell: the mean of its columns, or the column that it lies in.
fn rates(columns: &[u64], width_ns: u64) -> Vec<f64> {
    let count = columns.len();
    let rate = |cell: usize| {
        let begin = cell * count / WIDTH;
        let part = &columns[begin..((cell + 1) * count / WIDTH).clamp(begin + 1, count)];
        part.iter().sum::<u64>() as f64 / (part.len() as f64 * width_ns as f64 / 1e9)
    };
    (0..WIDTH).map(rate).collect()
}
