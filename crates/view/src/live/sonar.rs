//! The rolling sonar: latencies on a logarithmic scale, a column for each piece of time.

use super::Filter;
use super::cells::{Cell, Frame, Ink};
use super::history::{CLASSES, Column, LIVE_ROWS, ROWS_OF_DECADE};
use super::layout::{Area, Look};
use super::ramp::Ramp;
use crate::units::Charset;
use iosonar_plaintext::shade;
use std::ops::Range;

/// From one request to the most.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Minimum rows: latencies that are all alike must not fill the picture.
const LEAST_ROWS: usize = ROWS_OF_DECADE;
/// A decade of at least this many lines has a label at its middle, too.
const LINES_FOR_MIDDLE: usize = 5;

/// Rows of one line, the upper half and the lower; a row may be in several halves, and a half may hold several.
pub(super) type Halves = [Range<usize>; 2];

/// Assigns rows to lines, from above to below: only rows that ever held anything, so that the data fills the picture.
pub(super) fn lines(height: usize, lit: Option<(usize, usize)>) -> Vec<Halves> {
    let (low, end) = shown(lit);
    let (halves, rows) = (2 * height.max(1), end - low);
    let begin = |half: usize| low + half * rows / halves;
    let half = |half: usize| begin(half)..begin(half + 1).max(begin(half) + 1);
    (0..height.max(1)).rev().map(|line| [half(2 * line + 1), half(2 * line)]).collect()
}

/// The first visible row, and the one after the last.
fn shown(lit: Option<(usize, usize)>) -> (usize, usize) {
    // Before the first request: a decade around a millisecond.
    let (mut low, mut end) = lit.map_or((LIVE_ROWS / 2 - 8, LIVE_ROWS / 2), |(low, high)| (low, high + 1));
    while end - low < LEAST_ROWS {
        end = (end + 1).min(LIVE_ROWS);
        low = if end - low < LEAST_ROWS { low.saturating_sub(1) } else { low };
    }
    (low, end)
}

/// The latency at which a row starts, if it has a label: that of a decade, or of its middle.
fn label(row: usize, charset: Charset) -> Option<(String, bool)> {
    const MANTISSAS: [&str; 6] = ["1", "10", "100", "3.16", "31.6", "316"];
    let micro = if charset == Charset::Ascii { "us" } else { "µs" };
    if row == 0 {
        return Some((format!("<1{micro}"), true));
    }
    if row == LIVE_ROWS - 1 {
        return Some((">100s".to_string(), true));
    }
    let (decade, part) = ((row - 1) / ROWS_OF_DECADE, (row - 1) % ROWS_OF_DECADE);
    let unit = [micro, "ms", "s"][decade / 3];
    match part {
        0 => Some((format!("{}{unit}", MANTISSAS[decade % 3]), true)),
        p if 2 * p == ROWS_OF_DECADE => Some((format!("{}{unit}", MANTISSAS[3 + decade % 3]), false)),
        _ => None,
    }
}

/// The label before a line: the latency of a row that starts in it. `below`: the line below.
fn line_label(halves: &Halves, below: Option<&Halves>, with_middle: bool, charset: Charset) -> String {
    let known = below.map_or(0, |[upper, _]| upper.end);
    let [upper, lower] = halves;
    let rows = lower.start.max(known)..upper.end;
    let labels = rows.filter_map(|row| label(row, charset));
    // Whole decades have priority.
    let mut labels: Vec<(String, bool)> = labels.filter(|(_, whole)| *whole || with_middle).collect();
    labels.sort_by_key(|(_, whole)| !whole);
    labels.into_iter().next().map_or(String::new(), |(text, _)| text)
}

/// Draws `columns` into an area, and its scale before it.
pub(super) fn draw(
    frame: &mut Frame,
    area: Area,
    columns: &[Column],
    lit: Option<(usize, usize)>,
    filter: Filter,
    look: Look,
) {
    let lines = lines(area.height, lit);
    let (low, end) = shown(lit);
    let with_middle = area.height * ROWS_OF_DECADE / (end - low) >= LINES_FOR_MIDDLE;
    let counts = |column: &Column, rows: Range<usize>| -> [u64; CLASSES] {
        let of = |class: usize| column.latencies[class][rows.clone()].iter().sum();
        match filter {
            Filter::All => [of(0), of(1), of(2)],
            Filter::Reads => [of(0), 0, 0],
            Filter::Writes => [0, of(1), 0],
        }
    };
    let sum = |c: [u64; CLASSES]| c.iter().sum::<u64>();
    let halves = || lines.iter().flatten();
    let most =
        columns.iter().flat_map(|c| halves().map(|rows| sum(counts(c, rows.clone())))).max().unwrap_or(0);
    for (i, [upper, lower]) in lines.iter().enumerate() {
        let label = line_label(&lines[i], lines.get(i + 1), with_middle, look.charset);
        look.label(frame, area, i, &label, look.faint());
        for (x, column) in columns.iter().enumerate() {
            let cell = match (look.charset, look.ramp) {
                (Charset::Unicode, Ramp::Mono) | (Charset::Ascii, _) => {
                    one(sum(counts(column, lower.start..upper.end)), 2 * most, look)
                }
                _ => two(counts(column, upper.clone()), counts(column, lower.clone()), most, look.ramp),
            };
            frame.set(area.left + x, area.top + i, cell);
        }
    }
}

/// Draws both halves as one character, without colours.
fn one(count: u64, most: u64, look: Look) -> Cell {
    let glyph = match (count, look.charset) {
        (0, _) => ' ',
        (n, Charset::Ascii) => shade(n, most),
        (n, Charset::Unicode) => LEVELS[(share(n, most) * 7.0).round() as usize],
    };
    Cell { glyph, ..Cell::default() }
}

/// Draws each half in its colour.
fn two(upper: [u64; CLASSES], lower: [u64; CLASSES], most: u64, ramp: Ramp) -> Cell {
    let ink = |counts: [u64; CLASSES]| ramp.sonar(counts, share(counts.iter().sum(), most));
    match (ink(upper), ink(lower)) {
        (None, None) => Cell::default(),
        (Some(ink), None) => Cell { glyph: '▀', ink, ground: Ink::Plain },
        (None, Some(ink)) => Cell { glyph: '▄', ink, ground: Ink::Plain },
        (Some(upper), Some(lower)) if upper == lower => Cell { glyph: '█', ink: upper, ground: Ink::Plain },
        (Some(ink), Some(ground)) => Cell { glyph: '▀', ink, ground },
    }
}

/// A count relative to the most, on a logarithmic scale.
fn share(count: u64, most: u64) -> f64 {
    if most <= 1 { 1.0 } else { (count.clamp(1, most) as f64).ln() / (most as f64).ln() }
}
