//! The density panel of latency and delay: image, limit line, histogram at the right on the same scale.

use super::axes::{self, LogScale, PixelRow, TimeScale, words};
use super::{BELOW, RunView, SIDE_LEFT, SIDE_WIDTH, limit_words, page, plot_area};
use crate::density::{Density, Shades};
use crate::fonts;
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Image, Mark, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{Cell, CountGrid, LimitResult, LimitVerdict, ROWS};

/// What distinguishes the two panels.
pub(super) struct Panel<'a> {
    pub(super) grid: &'a CountGrid,
    pub(super) verdict: &'a LimitVerdict,
    /// Name of the strip for times below 1 µs.
    pub(super) under: &'static str,
    /// Whether that strip is shown even if empty.
    pub(super) always_under: bool,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
}

/// Counts of a slot.
const SLOTS: usize = ROWS + 2;

pub(super) fn draw(scene: &mut Scene, view: &RunView<'_>, panel: &Panel<'_>, area: Rect, time_labels: bool) {
    let p = view.palette;
    let plot = if time_labels { plot_area(area) } else { Rect { h: area.h - 12, ..plot_area(area) } };
    let sums = panel.grid.marginal();
    let lit = |slot: usize| sums[slot].iter().sum::<u64>() > 0;
    let limit = (panel.verdict.result != LimitResult::NotApplicable).then_some(panel.verdict.limit_ns);
    let scale = LogScale::new(plot, lit, panel.always_under, limit);
    let time = TimeScale { end_ns: panel.grid.axis().end_ns(), area: plot };
    time.draw(scene, p, time_labels.then_some(panel.x_label));
    scale.draw(scene, p, panel.under, panel.y_label);
    let density = density(panel.grid, &scale, plot);
    scene.marks.push(Mark::Image(density.image(p, plot.x, plot.y)));
    axes::frame(scene, p, plot);
    marginal(scene, view, &sums, &scale, plot, time_labels);
    limit_line(scene, view, panel.verdict, &scale, &time, plot);
    if time_labels {
        key(scene, view, density.most(), plot.bottom() + BELOW - 10);
    }
}

fn density(grid: &CountGrid, scale: &LogScale, plot: Rect) -> Density {
    let parts = grid.parts(plot.w as usize);
    let mut cells = Vec::with_capacity((plot.w * plot.h) as usize);
    for y in 0..plot.h {
        let row = scale.pixel_row(y);
        cells.extend((0..plot.w as usize).map(|x| match row {
            PixelRow::Slot(slot) => parts[x * SLOTS + slot],
            PixelRow::Gap => [0; 4],
        }));
    }
    Density { width: plot.w as usize, height: plot.h as usize, cells }
}

/// Histogram on the same vertical scale: a bar for each row and operation, counts logarithmic.
fn marginal(
    scene: &mut Scene,
    view: &RunView<'_>,
    sums: &[Cell],
    scale: &LogScale,
    plot: Rect,
    labels: bool,
) {
    let p = view.palette;
    let most = sums.iter().map(|c| (c[0] + c[2]).max(c[1] + c[3])).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    // One request is a visible bar, so the scale begins below one.
    let length = |n: u64| match n {
        0 => 0,
        n => ((1.0 + (n as f64).log10()) / (1.0 + (most as f64).log10()) * f64::from(SIDE_WIDTH)).round()
            as usize,
    };
    let (width, height) = (SIDE_WIDTH as usize, plot.h as usize);
    let mut pixels = vec![0u8; width * height];
    for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
        let PixelRow::Slot(slot) = scale.pixel_row(y as i32) else { continue };
        let cell = sums[slot];
        bar(row, length(cell[0] + cell[2]), length(cell[1] + cell[3]));
    }
    let tint = |color: Rgb| p.background.mix(color, 0.3);
    let palette =
        vec![p.background, tint(p.read.mix(p.write, 0.5)), tint(p.read), tint(p.write), p.read, p.write];
    let (width, height) = (width as u32, height as u32);
    scene.marks.push(Mark::Image(Image { x: SIDE_LEFT, y: plot.y, width, height, pixels, palette }));
    axes::frame(scene, p, Rect { x: SIDE_LEFT, w: SIDE_WIDTH, ..plot });
    if labels {
        let text = format!("requests per row of 3.7 %, log: 1 … {}", units::grouped(most));
        let mut text = words(text, SIDE_LEFT, plot.bottom() + 18, axes::TICK_SIZE, p, Anchor::Start);
        text.color = p.faint_text;
        scene.text(text);
    }
}

/// One row of the histogram: light where both operations reach, lighter in the colour of the longer one behind
/// it, and the end of each in full colour.
fn bar(row: &mut [u8], read: usize, write: usize) {
    let both = read.min(write);
    row[..both].fill(1);
    row[both..read].fill(2);
    if write > both {
        row[both..write].fill(3);
    }
    row[read.saturating_sub(2)..read].fill(4);
    row[write.saturating_sub(2)..write].fill(5);
}

/// The limit in the plot, its verdict at the right end, and where it was exceeded first.
fn limit_line(
    scene: &mut Scene,
    view: &RunView<'_>,
    verdict: &LimitVerdict,
    scale: &LogScale,
    time: &TimeScale,
    plot: Rect,
) {
    let p = view.palette;
    let color = match verdict.result {
        LimitResult::Passed => p.ok,
        LimitResult::Failed => p.bad,
        LimitResult::NotApplicable => return does_not_apply(scene, view, verdict, plot),
    };
    if let (Some(first), LimitResult::Failed) = (verdict.first_due_ns, verdict.result) {
        scene.vertical(time.x(first), (plot.y, plot.bottom() - 1), Stroke::dashed(color, 2));
    }
    let Some(y) = scale.y(verdict.limit_ns) else { return };
    scene.horizontal(y, (plot.x, SIDE_LEFT + SIDE_WIDTH), Stroke::solid(color, 2));
    let lines = limit_words(verdict);
    for (i, line) in lines.iter().enumerate() {
        let fitted = fonts::fit(line, 13.0, fonts::Weight::Bold, f64::from(SIDE_WIDTH));
        let base = y - 6 - 17 * (lines.len() - 1 - i) as i32;
        let mut text = words(fitted, SIDE_LEFT + 4, base, 13.0, p, Anchor::Start);
        text.weight = fonts::Weight::Bold;
        // Teal is a colour for lines; as small words it would be too faint.
        text.color = if verdict.result == LimitResult::Failed { p.bad } else { p.text };
        let b = text.bounds();
        scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
        scene.text(text);
    }
}

/// In place of a limit line.
fn does_not_apply(scene: &mut Scene, view: &RunView<'_>, verdict: &LimitVerdict, plot: Rect) {
    let text = format!("{}: no timetable", limit_words(verdict).join(" "));
    let fitted = fonts::fit(&text, axes::TICK_SIZE, fonts::Weight::Regular, f64::from(SIDE_WIDTH));
    let mut text = words(fitted, SIDE_LEFT + 4, plot.y - 6, axes::TICK_SIZE, view.palette, Anchor::Start);
    text.color = view.palette.faint_text;
    scene.text(text);
}

/// What a shade means, in real counts.
fn key(scene: &mut Scene, view: &RunView<'_>, most: u64, y: i32) {
    if most == 0 {
        return;
    }
    let p = view.palette;
    let shades = Shades::new(p, most);
    let mut x = SIDE_LEFT;
    // Reads, then writes.
    for mix in [0.0, 1.0] {
        for color in shades.scale(mix) {
            scene.area(Rect { x, y: y - 10, w: 7, h: 11 }, Fill::Solid(*color));
            x += 7;
        }
        x += 6;
    }
    let text = match most {
        1 => "1 request per pixel".to_string(),
        n => format!("1 … {} per pixel", units::grouped(n)),
    };
    scene.text(words(text, x + 2, y, axes::TICK_SIZE, p, Anchor::Start));
}

/// Whether there is anything to show; if not, the reason is written.
pub(super) fn or_nothing(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> bool {
    let any = view.summary.counts.all.completed > 0;
    if !any {
        let why = match view.summary.counts.all.total {
            0 => "Nothing to show: the run has no requests.",
            _ => "Nothing to show: no request completed.",
        };
        page::nothing(scene, view, plot_area(area), why);
    }
    any
}
