//! A picture made of characters: rows of cells over one time axis.

use crate::lines::Lines;
use iosonar_text::units::{self, Charset};

/// Cells of a picture from left to right.
pub(super) const WIDTH: usize = 60;
/// Room for the labels of rows, before the frame.
pub(super) const LABELS: usize = 8;
/// From nothing to the most.
const RAMP: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// The character of a count, on a logarithmic scale. A single request is visible.
pub fn shade(count: u64, most: u64) -> char {
    match (count, most) {
        (0, _) => ' ',
        (_, 0 | 1) => RAMP[RAMP.len() - 1],
        (n, most) => {
            let share = (n.min(most) as f64).ln() / (most as f64).ln();
            RAMP[(share * (RAMP.len() - 1) as f64).round() as usize]
        }
    }
}

/// Two cells of a column as one character: the upper and the lower one.
pub(super) fn half_blocks(above: bool, below: bool) -> char {
    match (above, below) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

/// Writes one row: a label, the cells, and the text after the frame.
pub(super) fn row(out: &mut Lines, label: &str, cells: &str, behind: &str) {
    out.drawn(&format!("{label:>LABELS$}|{cells}{behind}"));
}

/// The time axis below the rows, with ticks at round times.
pub(super) fn time_axis(out: &mut Lines, end_ns: u64) {
    let mut line = vec!['-'; WIDTH];
    let mut labels = String::new();
    let step = round_step(end_ns, 6);
    let mut tick = 0u64;
    while tick < end_ns.max(1) {
        let column = (u128::from(tick) * WIDTH as u128 / u128::from(end_ns.max(1))) as usize;
        line[column.min(WIDTH - 1)] = '+';
        let text = if tick == 0 { "0".to_string() } else { units::limit(tick) };
        let room = LABELS + 1 + column;
        if room >= labels.len() + usize::from(!labels.is_empty()) && room + text.len() <= super::COLUMNS {
            labels += &" ".repeat(room - labels.len());
            labels += &text;
        }
        let Some(next) = tick.checked_add(step) else { break };
        tick = next;
    }
    row(out, "", &line.iter().collect::<String>(), "");
    out.line(&labels);
}

/// 1, 2 or 5 times a power of ten nanoseconds, so that there are at most `most` steps up to the end.
fn round_step(end_ns: u64, most: u64) -> u64 {
    let least = end_ns.div_ceil(most).max(1);
    let power = 10u64.pow(least.ilog10());
    [1, 2, 5, 10].into_iter().filter_map(|n| power.checked_mul(n)).find(|s| *s >= least).unwrap_or(u64::MAX)
}

/// A row of cells from counts.
pub(super) fn cells(counts: &[u64], most: u64) -> String {
    counts.iter().map(|n| shade(*n, most)).collect()
}

/// Explains the meaning of the shades.
pub(super) fn key(most: u64, per: &str) -> String {
    let ramp: String = RAMP.iter().collect();
    format!("{ramp}  1 to {} requests per {per}, log", units::grouped(most))
}

/// A round duration as label: `10 ms`.
pub(super) fn duration(ns: u64) -> String {
    units::duration(ns, Charset::Ascii).replace(".00 ", " ").replace("0.0 ", "0 ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_count_is_visible_and_maximum_fills_the_bar() {
        assert_eq!((shade(0, 9), shade(1, 9), shade(9, 9), shade(1, 1)), (' ', '.', '@', '@'));
        assert_eq!(cells(&[0, 1, 30, 1000], 1000), " .+@");
    }

    #[test]
    fn ticks_are_round_and_within_the_text() {
        for end in [0, 1, 59, 1_000, 1_340_000_000_000, u64::MAX] {
            let mut out = Lines::new(super::super::COLUMNS);
            time_axis(&mut out, end);
            let text = out.finish();
            assert!(text.lines().all(|l| l.len() <= super::super::COLUMNS), "{end}: {text}");
            assert!(text.lines().nth(1).is_some_and(|l| l.trim_start().starts_with('0')), "{end}: {text}");
        }
    }

    #[test]
    fn labels_of_decades_have_no_digits_after_the_point() {
        let labels = [1_000, 10_000, 100_000, 1_000_000, 10_000_000_000].map(duration);
        assert_eq!(labels, ["1 us", "10 us", "100 us", "1 ms", "10 s"]);
    }
}
