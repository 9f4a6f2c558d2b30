//! Cells with more or fewer requests in B than in A: neighbouring cells are pooled until the counts suffice.

use super::super::SIDE_LEFT;
use super::super::axes::{self, words};
use super::{Chart, CompareView};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Fill, Image, Mark, Rect, Scene};
use iosonar_analyze::{Cell, CountGrid, ROWS};
use std::ops::Range;

pub(super) static CHART: Chart = Chart {
    stem: "compare.difference",
    title: "Where B has more or fewer requests than A: latency over time",
    draw,
};

/// Pixels of the smallest cell.
const CELL: usize = 6;
/// Cells are pooled until A and B together have this many requests in them.
const LEAST: u64 = 20;
/// Maximum columns of a pool; with fewer requests in them, it is grey.
const MOST_COLUMNS: usize = 12;
/// Steps of colour on each side.
const STEPS: usize = 8;
/// Logarithm (base 2) of the ratio that has the strongest colour.
const MOST_LOG2: f64 = 3.0;
/// Differences below this many standard errors are grey.
const LEAST_Z: f64 = 2.0;

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    if !super::or_nothing(view, scene, area) {
        return;
    }
    let (p, plot) = (view.view.palette, super::plot_area(area));
    let (time, scale) = (super::time_scale(view, plot), super::latency_scale(view, plot));
    let (a, b, x_label) = super::grids(view);
    time.draw(scene, p, Some(x_label));
    scale.draw(scene, p, "< 1 µs", "Latency, log");
    let rows = rows(&scale.pixel_rows());
    let columns = columns(&time, a.axis().width_ns().max(b.axis().width_ns()));
    let count = |grid| counts(grid, &time, &columns, &rows);
    let map = Map { counts: count(a).into_iter().zip(count(b)).collect(), width: columns.count };
    let shades = map.shades();
    let mut pixels = vec![0u8; (plot.w * plot.h) as usize];
    for (row, line) in rows.iter().zip(shades.chunks_exact(columns.count)) {
        for y in row.pixels.clone() {
            let begin = y * plot.w as usize;
            for (column, shade) in line.iter().enumerate() {
                let span = columns.pixels(&time, column);
                pixels[begin + span.start..begin + span.end].fill(*shade);
            }
        }
    }
    let (width, height) = (plot.w as u32, plot.h as u32);
    scene.marks.push(Mark::Image(Image { x: plot.x, y: plot.y, width, height, pixels, palette: colors(p) }));
    axes::frame(scene, p, plot);
    key(scene, p, plot);
}

/// A row of cells: slots of the grids, and pixels from the top of the plot.
struct Row {
    slots: Range<usize>,
    pixels: Range<usize>,
}

/// Rows of at least [`CELL`] pixels. No slot is in two of them.
fn rows(pixel_rows: &[Option<Range<usize>>]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (y, slots) in pixel_rows.iter().enumerate() {
        let Some(slots) = slots else { continue };
        let shared = |row: &Row| row.slots.start < slots.end && slots.start < row.slots.end;
        match rows.last_mut() {
            Some(last) if last.pixels.end == y && (last.pixels.len() < CELL || shared(last)) => {
                last.slots = last.slots.start.min(slots.start)..last.slots.end.max(slots.end);
                last.pixels.end = y + 1;
            }
            _ => rows.push(Row { slots: slots.clone(), pixels: y..y + 1 }),
        }
    }
    rows
}

/// Equal columns of cells, whole columns of both grids.
struct Columns {
    width_ns: u64,
    count: usize,
}

/// Columns of at least [`CELL`] pixels, multiples of `width_ns`.
fn columns(time: &axes::TimeScale, width_ns: u64) -> Columns {
    let span = time.end.saturating_sub(time.begin).max(1);
    let wanted = span.div_ceil((time.area.w as u64 / CELL as u64).max(1));
    let width_ns = wanted.div_ceil(width_ns).saturating_mul(width_ns).max(1);
    Columns { width_ns, count: span.div_ceil(width_ns) as usize }
}

impl Columns {
    /// Pixels of a column, from the left edge of the plot.
    fn pixels(&self, time: &axes::TimeScale, column: usize) -> Range<usize> {
        let at = |column: usize| {
            let ns = time.begin.saturating_add((column as u64).saturating_mul(self.width_ns));
            (time.x(ns) - time.area.x).clamp(0, time.area.w) as usize
        };
        at(column)..at(column + 1)
    }
}

/// Requests in each cell, row after row.
fn counts(grid: &CountGrid, time: &axes::TimeScale, columns: &Columns, rows: &[Row]) -> Vec<u64> {
    let mut counts = vec![0; columns.count * rows.len()];
    let width = grid.axis().width_ns();
    let mut cells = vec![Cell::default(); ROWS + 2];
    for column in 0..grid.axis().columns() {
        let begin = (column as u64).saturating_mul(width);
        if !(time.begin..time.end).contains(&begin) {
            continue;
        }
        cells.fill(Cell::default());
        grid.add_column(column, &mut cells);
        let x = ((begin - time.begin) / columns.width_ns) as usize;
        for (y, row) in rows.iter().enumerate() {
            counts[y * columns.count + x] +=
                cells[row.slots.clone()].iter().map(|c| c.iter().sum::<u64>()).sum::<u64>();
        }
    }
    counts
}

/// Counts of A and of B in each cell.
struct Map {
    counts: Vec<(u64, u64)>,
    width: usize,
}

impl Map {
    /// The colour of each cell; 0 where neither has a request.
    fn shades(&self) -> Vec<u8> {
        self.counts.chunks(self.width.max(1)).flat_map(row_shades).collect()
    }
}

/// The colours of a row. Neighbours in time are pooled, never neighbours in latency: requests that became slower must not
/// cancel out against the gap at their old latency.
fn row_shades(row: &[(u64, u64)]) -> Vec<u8> {
    let sum = |cells: &[(u64, u64)]| cells.iter().fold((0, 0), |(a, b), cell| (a + cell.0, b + cell.1));
    let mut begins = vec![0];
    let mut pooled = 0;
    for (x, cell) in row.iter().enumerate() {
        let begin = begins.last().copied().unwrap_or(0);
        // A pool that is too long would colour times without a difference.
        if pooled >= LEAST || x - begin >= MOST_COLUMNS {
            begins.push(x);
            pooled = 0;
        }
        pooled += cell.0 + cell.1;
    }
    let ends = begins.iter().skip(1).copied().chain([row.len()]);
    let mut shades = Vec::with_capacity(row.len());
    for (begin, end) in begins.iter().zip(ends) {
        let pool = &row[*begin..end];
        let (a, b) = sum(pool);
        let shade = shade(a, b);
        shades.extend(pool.iter().map(|cell| if *cell == (0, 0) { 0 } else { shade }));
    }
    shades
}

/// Index of the colour: grey, or a step of fewer (purple) or more (orange) requests in B.
fn shade(a: u64, b: u64) -> u8 {
    let (a, b) = (a as f64, b as f64);
    // Counts of equal rates differ by the root of their sum.
    let z = (b - a) / (a + b).max(1.0).sqrt();
    if z.abs() < LEAST_Z || a + b < LEAST as f64 {
        return 1;
    }
    let log2 = ((b + 0.5) / (a + 0.5)).log2();
    let step = ((log2.abs() / MOST_LOG2).min(1.0) * (STEPS - 1) as f64).round() as usize;
    let first = if log2 < 0.0 { 2 } else { 2 + STEPS };
    u8::try_from(first + step).unwrap_or(1)
}

/// Nothing, grey, fewer, more. The ends are those of the ColorBrewer scheme PuOr: blue and red mean operations.
fn colors(p: &Palette) -> Vec<Rgb> {
    let mut colors = vec![p.background, grey(p)];
    for (weak, strong) in
        [(Rgb(0xB2, 0xAB, 0xD2), Rgb(0x54, 0x27, 0x88)), (Rgb(0xFD, 0xC0, 0x7A), Rgb(0xB3, 0x58, 0x06))]
    {
        colors.extend((0..STEPS).map(|i| weak.mix(strong, i as f64 / (STEPS - 1) as f64)));
    }
    colors
}

fn grey(p: &Palette) -> Rgb {
    p.background.mix(p.axis, 0.25)
}

fn key(scene: &mut Scene, p: &Palette, plot: Rect) {
    let colors = colors(p);
    let mut y = plot.y + 14;
    let most = MOST_LOG2.exp2();
    let scales: [(&[Rgb], String); 3] = [
        (&colors[2 + STEPS..], format!("more in B, to {most} times and above")),
        (&colors[2..2 + STEPS], format!("fewer in B, to 1/{most} and below")),
        (&colors[1..2], format!("no difference shown (|z| < {LEAST_Z})")),
    ];
    for (shades, name) in scales {
        for (i, color) in shades.iter().enumerate() {
            scene.area(Rect { x: SIDE_LEFT + 12 * i as i32, y: y - 10, w: 12, h: 12 }, Fill::Solid(*color));
        }
        y += 18;
        scene.text(words(name, SIDE_LEFT, y, 13.0, p, Anchor::Start));
        y += 30;
    }
    let lines = [
        "Neighbours in time are pooled until".to_string(),
        format!("they have {LEAST} requests of A and B."),
        "Background: neither has a request there.".to_string(),
        "With 2 standard errors, one cell in 20".to_string(),
        "has a colour by chance alone.".to_string(),
    ];
    for line in lines {
        let mut text = words(line, SIDE_LEFT, y, 12.0, p, Anchor::Start);
        text.color = p.faint_text;
        scene.text(text);
        y += 17;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_differences_by_side_and_equal_counts_grey() {
        assert_eq!(shade(100, 104), 1);
        assert_eq!(shade(0, 5), 1, "too few to say anything");
        assert!((2..2 + STEPS as u8).contains(&shade(400, 100)));
        assert!(shade(100, 400) >= 2 + STEPS as u8);
        assert_eq!(usize::from(shade(0, 1_000_000)), 1 + 2 * STEPS);
        assert_eq!(colors(crate::Theme::Light.palette()).len(), 2 + 2 * STEPS);
    }

    #[test]
    fn pools_small_cells_and_keeps_empty_cells_empty() {
        let shades = row_shades(&[(15, 15), (0, 0), (2, 0), (0, 19), (0, 0), (0, 3)]);
        assert_eq!((shades[0], shades[1]), (1, 0));
        assert!(shades[2] > 1 && shades[3] == shades[2], "a few requests are pooled: {shades:?}");
        assert_eq!(shades[4..], [0, 1], "what is left over is too little");
        let mut far = vec![(1, 0); 2 * MOST_COLUMNS];
        far[2 * MOST_COLUMNS - 1] = (0, 90);
        let shades = row_shades(&far);
        assert!(shades[..MOST_COLUMNS].iter().all(|s| *s == 1) && shades[MOST_COLUMNS] > 1, "{shades:?}");
        assert_eq!(row_shades(&[(3, 0), (0, 9)]), [1, 1], "too few in the whole row");
        assert!(row_shades(&[]).is_empty());
    }

    #[test]
    fn every_slot_belongs_to_one_row() {
        let pixel_rows: Vec<_> = (0..50).map(|y| Some(40 - y / 4..41 - y / 4)).collect();
        let rows = rows(&pixel_rows);
        assert!(rows.windows(2).all(|r| r[1].slots.end <= r[0].slots.start), "slots go down");
        assert_eq!(rows.iter().map(|r| r.pixels.len()).sum::<usize>(), 50);
    }
}
