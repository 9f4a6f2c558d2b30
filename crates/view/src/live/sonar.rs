//! The rolling sonar: latencies on a logarithmic scale, a column for each piece of time.

use super::Filter;
use super::cells::{Cell, Frame, Ink};
use super::history::{CLASSES, Column, LIVE_ROWS};
use super::layout::{Area, Look};
use super::ramp::Ramp;
use crate::text_report::shade;
use crate::units::Charset;

/// From one request to the most.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Lines of two rows each that hold all rows: what is below, eight decades, what is above.
const ALL_LINES: usize = LIVE_ROWS / 2 + 1;

/// Rows of one line, the upper and the lower; several where they share a half.
type Halves = [Vec<usize>; 2];

/// Which rows stand in which line, from above to below.
pub(super) fn lines(height: usize, lit: Option<(usize, usize)>) -> Vec<Halves> {
    if height >= LIVE_ROWS {
        let line = |row: usize| [vec![row], vec![row]];
        return (0..LIVE_ROWS).rev().map(line).collect();
    }
    // Line n from below holds rows 2n - 1 and 2n; line 0 only what is below 1 µs.
    let line_of = |row: usize| row.div_ceil(2);
    let height = height.clamp(1, ALL_LINES);
    let (low, high) = lit.map_or((3, 6), |(low, high)| (line_of(low), line_of(high)));
    let (mut low, mut high) = (low.max((high + 1).saturating_sub(height)), high);
    while high + 1 - low < height {
        // What is missing is added in turn, above first.
        let missing = height - (high + 1 - low);
        if high + 1 < ALL_LINES && (missing.is_multiple_of(2) || low == 0) {
            high += 1;
        } else if low > 0 {
            low -= 1;
        } else {
            high += 1;
        }
    }
    let upper = |n: usize| vec![2 * n].into_iter().filter(|r| *r < LIVE_ROWS).collect::<Vec<_>>();
    let lower = |n: usize| if n == 0 { Vec::new() } else { vec![2 * n - 1] };
    let mut lines: Vec<Halves> = (low..=high).rev().map(|n| [upper(n), lower(n)]).collect();
    // What has no line of its own is not lost.
    let bottom = lines.len() - 1;
    lines[bottom][1].extend(0..(2 * low).saturating_sub(1));
    lines
}

/// The label of the decade that begins with a row.
fn label(row: usize, charset: Charset) -> &'static str {
    const ASCII: [&str; 9] = ["1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s", ">100s"];
    const UNICODE: [&str; 9] = ["1µs", "10µs", "100µs", "1ms", "10ms", "100ms", "1s", "10s", ">100s"];
    let texts = if charset == Charset::Ascii { ASCII } else { UNICODE };
    match row {
        0 => {
            if charset == Charset::Ascii {
                "<1us"
            } else {
                "<1µs"
            }
        }
        row if row % 2 == 1 => texts[row / 2],
        _ => "",
    }
}

fn line_label(halves: &Halves, charset: Charset) -> String {
    if halves[1].len() > 1 {
        // More than a decade: everything below the one above.
        let above = halves.iter().flatten().max().map_or(0, |row| row + 1);
        return format!("<{}", label(above | 1, charset));
    }
    let own = |half: &Vec<usize>| half.first().map_or("", |row| label(*row, charset));
    let (upper, lower) = (own(&halves[0]), own(&halves[1]));
    if lower.is_empty() { upper } else { lower }.to_string()
}

/// Draws `columns` into an area, and its scale in front of it.
pub(super) fn draw(
    frame: &mut Frame,
    area: Area,
    columns: &[Column],
    lit: Option<(usize, usize)>,
    filter: Filter,
    look: Look,
) {
    let lines = lines(area.height, lit);
    let counts = |column: &Column, rows: &[usize]| -> [u64; CLASSES] {
        let of = |class: usize| rows.iter().map(|row| column.latencies[class][*row]).sum();
        match filter {
            Filter::All => [of(0), of(1), of(2)],
            Filter::Reads => [of(0), 0, 0],
            Filter::Writes => [0, of(1), 0],
        }
    };
    let all: Vec<Vec<[[u64; CLASSES]; 2]>> = lines
        .iter()
        .map(|[upper, lower]| columns.iter().map(|c| [counts(c, upper), counts(c, lower)]).collect())
        .collect();
    let sum = |c: &[u64; CLASSES]| c.iter().sum::<u64>();
    let most = all.iter().flatten().flatten().map(sum).max().unwrap_or(0);
    let is_doubled = area.height >= LIVE_ROWS;
    for (i, (halves, counts)) in lines.iter().zip(&all).enumerate() {
        look.label(frame, area, i, &line_label(halves, look.charset), look.faint());
        for (x, [upper, lower]) in counts.iter().enumerate() {
            let cell = match (look.charset, look.ramp) {
                (Charset::Unicode, Ramp::Mono) | (Charset::Ascii, _) => {
                    let lower = if is_doubled { &[0; CLASSES] } else { lower };
                    one(sum(upper) + sum(lower), 2 * most, look)
                }
                _ => two(*upper, *lower, most, look.ramp),
            };
            frame.set(area.left + x, area.top + i, cell);
        }
    }
}

/// Both halves as one character, without colours.
fn one(count: u64, most: u64, look: Look) -> Cell {
    let glyph = match (count, look.charset) {
        (0, _) => ' ',
        (n, Charset::Ascii) => shade(n, most),
        (n, Charset::Unicode) => LEVELS[(share(n, most) * 7.0).round() as usize],
    };
    Cell { glyph, ..Cell::default() }
}

/// Each half in its colour.
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

/// How much a count is of the most, on a logarithmic scale.
fn share(count: u64, most: u64) -> f64 {
    if most <= 1 { 1.0 } else { (count.clamp(1, most) as f64).ln() / (most as f64).ln() }
}
