//! The density panel of latency and delay: image, limit line, findings, histogram at the right on the same scale.

use super::axes::{self, LogScale, TimeScale, words};
use super::{BELOW, RunView, SIDE_LEFT, SIDE_WIDTH, View, limit_words, overlay, page, plot_area, shares};
use crate::density::{Density, Shades, Strips};
use crate::fonts;
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Image, Mark, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::SLOTS;
use iosonar_analyze::{Cell, Class, CountGrid, LimitResult, LimitVerdict, ROWS, Scope, row_lower_edge};

/// What distinguishes the panels.
pub(super) struct Panel<'a> {
    pub(super) grid: &'a CountGrid,
    /// The limit, if one holds for this quantity.
    pub(super) verdict: Option<&'a LimitVerdict>,
    /// Name of the strip for times below 1 µs.
    pub(super) under: &'static str,
    /// Whether that strip is shown even if empty.
    pub(super) always_under: bool,
    /// Whether the axis counts requests instead of nanoseconds.
    pub(super) by_number: bool,
    /// Whether the 99th percentile of each step is drawn.
    pub(super) with_p99: bool,
    /// What of the findings belongs here.
    pub(super) overlay: Overlay,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
}

impl Panel<'_> {
    /// Pixels between the plot and its time axis: the shares of the bands.
    fn strips_below(&self, view: &RunView<'_>) -> i32 {
        if self.overlay == Overlay::TimesAndBands { shares::height(view) } else { 0 }
    }
}

/// Which findings a panel shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlay {
    /// None: the x axis is no time.
    Nothing,
    /// What lies in time: stalls and collapse.
    Times,
    /// Those, and the bands of the latency.
    TimesAndBands,
}

/// Lanes of a panel: all classes together, or reads above writes where colours cannot tell them apart.
pub(super) fn lanes(view: &View<'_>) -> &'static [Scope] {
    if view.palette.is_gray { &[Scope::Read, Scope::Write] } else { &[Scope::All] }
}

/// Pixels between two lanes.
pub(super) const LANE_GAP: i32 = 20;

/// The label of an axis, shorter where a lane has less room.
pub(super) fn lane_label(scope: Scope, label: &str) -> String {
    match (scope, label.split_once(" (")) {
        (Scope::All, _) => label.to_string(),
        (scope, Some((quantity, _))) => format!("{}: {quantity}, log", page::scope_name(scope)),
        (scope, None) => format!("{}: {label}", page::scope_name(scope)),
    }
}

/// Draws it; returns how many requests it is drawn from. Ticks and their labels only with `time_labels`.
pub(super) fn draw(
    scene: &mut Scene,
    view: &RunView<'_>,
    panel: &Panel<'_>,
    area: Rect,
    time_labels: bool,
) -> u64 {
    let plot = if time_labels { plot_area(area) } else { Rect { h: area.h - 12, ..plot_area(area) } };
    let time = if panel.by_number { number_scale(panel.grid, plot) } else { view.time(plot) };
    let with_times = panel.overlay != Overlay::Nothing;
    let strips_below = panel.strips_below(view);
    let plot = Rect { h: plot.h - strips_below, ..plot };
    let (plot, strip) =
        if with_times { overlay::reserve(view, &time, plot) } else { (plot, Rect { h: 0, ..plot }) };
    let all = strips(panel.grid, &time);
    let sums = all.marginal();
    let lanes = lanes(view);
    let height = plot.h / lanes.len() as i32;
    let mut most = 0;
    for (i, scope) in lanes.iter().enumerate() {
        let gap = if i + 1 < lanes.len() { LANE_GAP } else { 0 };
        let lane = Rect { y: plot.y + height * i as i32, h: height - gap, ..plot };
        let lane = Lane { plot: lane, time: time.within(lane), scope: *scope };
        most = most.max(draw_lane(scene, view, panel, (&all, &sums), &lane));
    }
    if with_times {
        overlay::above(scene, view, &time, strip, plot);
    }
    if panel.overlay == Overlay::TimesAndBands {
        shares::draw(scene, view, &time, Rect { y: plot.bottom(), h: strips_below, ..plot });
    }
    if time_labels {
        let plot = Rect { h: plot.h + strips_below, ..plot };
        let (x, y) = (plot.x + plot.w / 2, plot.bottom() + 36);
        scene.text(words(panel.x_label, x, y, axes::LABEL_SIZE, view.palette, Anchor::Middle));
        time.within(plot).draw_labels(scene, view.palette);
        if lanes.len() == 1 {
            key(scene, view, most, plot.bottom() + BELOW - 10);
        }
    }
    sums.iter().flatten().sum()
}

struct Lane {
    plot: Rect,
    time: TimeScale,
    scope: Scope,
}

/// Returns the most requests in one cell.
fn draw_lane(
    scene: &mut Scene,
    view: &RunView<'_>,
    panel: &Panel<'_>,
    (strips, sums): (&Strips, &[Cell]),
    lane: &Lane,
) -> u64 {
    let (p, plot) = (view.palette, lane.plot);
    // Lanes have one scale.
    let lit = |slot: usize| sums[slot].iter().sum::<u64>() > 0;
    let judged = panel.verdict.filter(|v| v.result != LimitResult::NotApplicable);
    let scale = LogScale::new(plot, lit, panel.always_under, judged.map(|v| v.limit_ns));
    lane.time.draw_grid(scene, p);
    scale.draw(scene, p, panel.under, &lane_label(lane.scope, panel.y_label));
    if panel.overlay != Overlay::Nothing {
        overlay::behind(scene, view, &lane.time, plot);
    }
    let density = Density::of(strips, &scale.pixel_rows(), lane.scope);
    scene.marks.push(Mark::Image(density.image(p, plot.x, plot.y)));
    if panel.with_p99 {
        p99_line(scene, view, strips, lane.scope, &scale, plot);
    }
    axes::frame(scene, p, plot);
    marginal(scene, view, panel, sums, lane, &scale);
    let mut taken = Vec::new();
    if let Some(verdict) = panel.verdict {
        limit_line(scene, view, verdict, &scale, lane, &mut taken);
    }
    if panel.overlay == Overlay::TimesAndBands {
        overlay::held(scene, view, &lane.time, &scale, lane.scope);
        overlay::bands(scene, view, &scale, lane.scope, plot, taken);
    }
    density.most()
}

/// Least width of a step of the line at the 99th percentile, and the least requests in it.
const P99_PIXELS: usize = 8;
const P99_REQUESTS: u64 = 100;

/// The 99th percentile of each step; interrupted where there are too few requests.
fn p99_line(scene: &mut Scene, view: &View<'_>, strips: &Strips, scope: Scope, scale: &LogScale, plot: Rect) {
    let stroke = Stroke::solid(view.palette.text, 2);
    let mut points: Vec<(i32, i32)> = Vec::new();
    let (mut first, mut end) = (0, plot.x);
    while first < strips.pixels.len() {
        let begin = strips.pixels[first].start;
        let more = strips.pixels[first..].iter().take_while(|p| p.start < begin + P99_PIXELS).count();
        let last = first + more.max(1);
        let mut sums = vec![[0; 4]; SLOTS];
        for strip in strips.cells[first * SLOTS..last * SLOTS].chunks_exact(SLOTS) {
            for (sum, cell) in sums.iter_mut().zip(strip) {
                sum.iter_mut().zip(cell).for_each(|(s, n)| *s += n);
            }
        }
        match quantile_of(&sums, scope, 0.99, P99_REQUESTS) {
            Some(ns) => points.push((plot.x + begin as i32, scale.y_clamped(ns))),
            None => scene.steps(std::mem::take(&mut points), end, stroke),
        }
        end = plot.x + strips.pixels[last - 1].end as i32;
        first = last;
    }
    scene.steps(points, end, stroke);
}

/// The middle of the slot that holds a quantile of the requests of a scope; `None` with fewer than `least`.
pub(super) fn quantile_of(cells: &[Cell], scope: Scope, quantile: f64, least: u64) -> Option<u64> {
    let of = |cell: &Cell| -> u64 {
        Class::ALL.into_iter().filter(|c| scope.contains(*c)).map(|c| cell[c.index()]).sum()
    };
    let total: u64 = cells.iter().map(of).sum();
    if total < least.max(1) {
        return None;
    }
    let rank = ((total as f64 * quantile).ceil() as u64).clamp(1, total);
    let mut seen = 0;
    let slot = (0..SLOTS).find(|slot| {
        seen += of(&cells[*slot]);
        seen >= rank
    })?;
    let edge = |row: usize| row_lower_edge(row.min(ROWS));
    Some(match slot {
        0 => 0,
        slot => (edge(slot - 1) + edge(slot)) / 2,
    })
}

/// The numbers of all requests of a grid.
fn number_scale(grid: &CountGrid, area: Rect) -> TimeScale {
    TimeScale { begin: 0, end: grid.axis().end_ns(), is_number: true, area }
}

/// The columns of a grid that are shown, in their pixels.
pub(super) fn strips(grid: &CountGrid, time: &TimeScale) -> Strips {
    let axis = grid.axis();
    let mut strips = Strips::new(time.area.w as usize);
    for column in 0..axis.columns() {
        let begin = (column as u64).saturating_mul(axis.width_ns());
        let end = begin.saturating_add(axis.width_ns());
        if (time.begin..time.end).contains(&begin) {
            let pixel = |at| (time.x(at) - time.area.x) as usize;
            grid.add_column(column, strips.column(pixel(begin), pixel(end)));
        }
    }
    strips
}

/// Histogram on the same vertical scale: a bar for each row and operation, counts logarithmic.
fn marginal(
    scene: &mut Scene,
    view: &RunView<'_>,
    panel: &Panel<'_>,
    sums: &[Cell],
    lane: &Lane,
    scale: &LogScale,
) {
    let (p, plot) = (view.palette, lane.plot);
    let rows = scale.pixel_rows();
    let of = |slots: &std::ops::Range<usize>, scope: Scope| -> u64 {
        let classes = Class::ALL.into_iter().filter(|c| scope.contains(*c) && lane.scope.contains(*c));
        classes.map(|c| sums[slots.clone()].iter().map(|cell| cell[c.index()]).sum::<u64>()).sum()
    };
    let counts: Vec<[u64; 2]> = rows
        .iter()
        .map(|row| row.as_ref().map_or([0; 2], |s| [of(s, Scope::Read), of(s, Scope::Write)]))
        .collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
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
    for (row, [read, write]) in pixels.chunks_exact_mut(width).zip(&counts) {
        bar(row, length(*read), length(*write));
    }
    let tint = |color: Rgb| p.background.mix(color, 0.3);
    let palette =
        vec![p.background, tint(p.read.mix(p.write, 0.5)), tint(p.read), tint(p.write), p.read, p.write];
    let (width, height) = (width as u32, height as u32);
    scene.marks.push(Mark::Image(Image { x: SIDE_LEFT, y: plot.y, width, height, pixels, palette }));
    axes::frame(scene, p, Rect { x: SIDE_LEFT, w: SIDE_WIDTH, ..plot });
    if lanes(view).len() == 1 && plot.h > 300 {
        let below = plot.bottom() + panel.strips_below(view);
        let text = format!("requests per row, log: 1 … {}", units::grouped(most));
        let mut text = words(text, SIDE_LEFT, below + 18, axes::TICK_SIZE, p, Anchor::Start);
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

/// The limit in the plot, its words at the right end, and where it was exceeded first. `taken`: gets the words.
fn limit_line(
    scene: &mut Scene,
    view: &RunView<'_>,
    verdict: &LimitVerdict,
    scale: &LogScale,
    lane: &Lane,
    taken: &mut Vec<Rect>,
) {
    let (p, plot) = (view.palette, lane.plot);
    let color = match verdict.result {
        LimitResult::Passed => p.ok,
        LimitResult::Failed => p.bad,
        LimitResult::NotApplicable => return does_not_apply(scene, view, verdict, plot),
    };
    if let (Some(first), LimitResult::Failed, false) =
        (verdict.first_due_ns, verdict.result, lane.time.is_number)
        && lane.time.shows(first..first + 1)
    {
        scene.vertical(lane.time.x(first), (plot.y, plot.bottom() - 1), Stroke::dashed(color, 2));
    }
    let Some(y) = scale.y(verdict.limit_ns) else { return };
    scene.horizontal(y, (plot.x, SIDE_LEFT + SIDE_WIDTH), Stroke::solid(color, 2));
    if lane.scope == Scope::Write {
        return;
    }
    let lines = limit_words(verdict);
    // Above the line, or below it where the plot ends too soon.
    let above = y - 6 - 17 * (lines.len() as i32 - 1);
    let first = if above - 12 >= plot.y { above } else { y + 16 };
    for (i, line) in lines.iter().enumerate() {
        let fitted = fonts::fit(line, 13.0, fonts::Weight::Bold, f64::from(SIDE_WIDTH));
        let base = first + 17 * i as i32;
        let mut text = words(fitted, SIDE_LEFT + 4, base, 13.0, p, Anchor::Start);
        text.weight = fonts::Weight::Bold;
        // Teal is a colour for lines; as small words it would be too faint.
        text.color = if verdict.result == LimitResult::Failed { p.bad } else { p.text };
        let b = text.bounds();
        scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
        scene.text(text);
        taken.push(b);
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
pub(super) fn key(scene: &mut Scene, view: &View<'_>, most: u64, y: i32) {
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
        1 => "1 request per cell".to_string(),
        n => format!("1 … {} per cell", units::grouped(n)),
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
