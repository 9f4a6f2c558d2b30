//! The density panel of latency and delay: image, limit line, findings, histogram at the right on the same scale.

use super::axes::{self, LogScale, TimeScale, words};
use super::limit::{self, Limit};
use super::{BELOW, RunView, SIDE_LEFT, SIDE_WIDTH, View, overlay, page, plot_area, shares};
use crate::density::{Density, Shades, Strips};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Image, Mark, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::SLOTS;
use iosonar_analyze::{Cell, Class, CountGrid, ROWS, Scope, row_lower_edge};

/// Parameters that distinguish the panels.
pub(super) struct Panel<'a> {
    pub(super) grid: &'a CountGrid,
    /// Failed requests on the same axes, each marked with a cross.
    pub(super) failed: Option<&'a CountGrid>,
    /// The limit, if one holds for this quantity.
    pub(super) limit: Option<Limit<'a>>,
    /// Name of the strip for times below 1 µs.
    pub(super) under: &'static str,
    /// Whether that strip is shown even if empty.
    pub(super) always_under: bool,
    /// Whether the axis counts requests instead of nanoseconds.
    pub(super) by_number: bool,
    /// Whether the 99th percentile of each step is drawn.
    pub(super) with_p99: bool,
    /// Findings to show in this panel.
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
    /// None: the x axis is not a time.
    Nothing,
    /// Findings at a time: stalls and collapse.
    Times,
    /// Those, and the bands of the latency.
    TimesAndBands,
}

/// Lanes of a panel: all classes together, or reads above writes, and those above flushes if there are any, if colours
/// cannot distinguish them.
pub(super) fn lanes(view: &View<'_>, has_flushes: bool) -> &'static [Scope] {
    match (view.palette.is_gray, has_flushes) {
        (false, _) => &[Scope::All],
        (true, false) => &[Scope::Read, Scope::Write],
        (true, true) => &[Scope::Read, Scope::Write, Scope::Flush],
    }
}

/// Whether a class is in a lane. The lane of all has flushes, too, although the figures of all requests do not.
fn is_in(lane: Scope, class: Class) -> bool {
    lane == Scope::All || lane.contains(class)
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

/// Draws it; returns the number of requests drawn. Ticks and their labels only with `time_labels`.
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
    let failures = panel.failed.filter(|grid| Class::ALL.iter().any(|class| grid.total(*class) > 0));
    let failed = failures.map(|grid| strips(grid, &time));
    let shown = Shown { sums: all.marginal(), all, failed };
    let lanes = lanes(view, panel.grid.total(Class::Flush) > 0);
    let height = plot.h / lanes.len() as i32;
    let mut most = 0;
    for (i, scope) in lanes.iter().enumerate() {
        let gap = if i + 1 < lanes.len() { LANE_GAP } else { 0 };
        let lane = Rect { y: plot.y + height * i as i32, h: height - gap, ..plot };
        let lane = Lane { plot: lane, time: time.within(lane), scope: *scope };
        most = most.max(draw_lane(scene, view, panel, &shown, &lane));
    }
    if with_times {
        overlay::above(scene, view, &time, strip, plot);
    }
    if panel.overlay == Overlay::TimesAndBands {
        shares::draw(scene, view, &time, Rect { y: plot.bottom(), h: strips_below, ..plot });
    }
    if time_labels {
        let plot = Rect { h: plot.h + strips_below, ..plot };
        let (x, y) = (plot.x + plot.w / 2, plot.bottom() + axes::LABEL_BELOW);
        scene.text(words(panel.x_label, x, y, axes::LABEL_SIZE, view.palette, Anchor::Middle));
        time.within(plot).draw_labels(scene, view.palette);
        if lanes.len() == 1 {
            let has_flushes = shown.sums.iter().any(|cell| cell[Class::Flush.index()] > 0);
            key(scene, view, (most, has_flushes), plot.bottom() + BELOW - 10);
        }
    }
    shown.sums.iter().flatten().sum()
}

/// Counts in the visible part of the axis.
struct Shown {
    /// Completed requests.
    all: Strips,
    /// Their sums over the axis.
    sums: Vec<Cell>,
    failed: Option<Strips>,
}

struct Lane {
    plot: Rect,
    time: TimeScale,
    scope: Scope,
}

/// Returns the most requests in one cell.
fn draw_lane(scene: &mut Scene, view: &RunView<'_>, panel: &Panel<'_>, shown: &Shown, lane: &Lane) -> u64 {
    let (p, plot) = (view.palette, lane.plot);
    // Lanes have one scale.
    let failures = shown.failed.as_ref().map_or(vec![Cell::default(); SLOTS], Strips::marginal);
    let lit = |slot: usize| shown.sums[slot].iter().chain(&failures[slot]).sum::<u64>() > 0;
    let scale = LogScale::new(plot, lit, panel.always_under);
    lane.time.draw_grid(scene, p);
    scale.draw(scene, p, panel.under, &lane_label(lane.scope, panel.y_label));
    if panel.overlay != Overlay::Nothing {
        overlay::behind(scene, view, &lane.time, plot);
    }
    let density = Density::of(&shown.all, &scale.pixel_rows(), |class| is_in(lane.scope, class));
    scene.marks.push(Mark::Image(density.image(p, plot.x, plot.y)));
    if panel.with_p99 {
        p99_line(scene, view, &shown.all, lane.scope, &scale, plot);
    }
    if let Some(failed) = &shown.failed {
        scene.crosses(crosses(failed, lane, &scale), page::ARM, p.bad);
    }
    axes::frame(scene, p, plot);
    say_why_empty(scene, view, panel, shown, lane);
    marginal(scene, view, panel, &shown.sums, lane, &scale);
    let mut taken = Vec::new();
    // Limits are those of requests that transfer data.
    if let Some(limit) = panel.limit.filter(|_| lane.scope != Scope::Flush) {
        limit::draw(scene, view, limit, &scale, (&lane.time, lane.scope), &mut taken);
    }
    if panel.overlay == Overlay::TimesAndBands {
        overlay::held(scene, view, &lane.time, &scale, lane.scope);
        overlay::bands(scene, view, &scale, lane.scope, plot, taken);
    }
    density.most()
}

/// Minimum distance of crosses, so that they do not merge.
const APART: i32 = 6;

/// Where failed requests of a lane are marked.
fn crosses(failed: &Strips, lane: &Lane, scale: &LogScale) -> Vec<(i32, i32)> {
    let mut taken = std::collections::BTreeSet::new();
    let mut at = Vec::new();
    for (span, cells) in failed.pixels.iter().zip(failed.cells.chunks_exact(SLOTS)) {
        let x = lane.plot.x + (span.start + span.end) as i32 / 2;
        for (slot, _) in cells.iter().enumerate().filter(|(_, cell)| of_lane(cell, lane.scope) > 0) {
            let y = scale.slot_y(slot);
            if taken.insert((x / APART, y / APART)) {
                at.push((x, y));
            }
        }
    }
    at
}

/// Requests of a scope in a cell.
pub(super) fn of_scope(cell: &Cell, scope: Scope) -> u64 {
    Class::ALL.into_iter().filter(|c| scope.contains(*c)).map(|c| cell[c.index()]).sum()
}

/// Requests of a lane in a cell.
fn of_lane(cell: &Cell, lane: Scope) -> u64 {
    Class::ALL.into_iter().filter(|c| is_in(lane, *c)).map(|c| cell[c.index()]).sum()
}

/// Explains an empty plot, if no request has a row: it must not look like a broken one.
fn say_why_empty(scene: &mut Scene, view: &RunView<'_>, panel: &Panel<'_>, shown: &Shown, lane: &Lane) {
    let count = |slots: std::ops::Range<usize>| -> u64 {
        shown.sums[slots].iter().map(|cell| of_lane(cell, lane.scope)).sum()
    };
    let failed_above =
        |failed: &Strips| failed.marginal()[1..].iter().any(|cell| of_lane(cell, lane.scope) > 0);
    if count(1..SLOTS) > 0 || shown.failed.as_ref().is_some_and(failed_above) {
        return;
    }
    let who = match lane.scope {
        Scope::Read | Scope::ReadPushed => "read",
        Scope::Write | Scope::WritePushed => "write",
        Scope::Flush => "flush",
        Scope::All => "request",
    };
    let what =
        if panel.under == "on time" { "was on time (less than 1 µs late)" } else { "took less than 1 µs" };
    let why = match count(0..1) {
        0 if view.range.is_some() => format!("No {who} lies in this part of the time."),
        0 => format!("There is no completed {who}."),
        _ if panel.failed.is_none() => format!("Every {who} counted here is below 1 µs."),
        _ => format!("Every completed {who} {what}."),
    };
    let (x, y) = (lane.plot.x + lane.plot.w / 2, lane.plot.y + lane.plot.h / 2);
    let mut text = words(why, x, y, 15.0, view.palette, Anchor::Middle);
    text.color = view.palette.faint_text;
    scene.text(text);
}

/// Least width of a step of the line at the 99th percentile, and the least requests in it.
const P99_PIXELS: usize = 8;
const P99_REQUESTS: u64 = 100;

/// Draws the 99th percentile of each step; interrupted where there are too few requests.
fn p99_line(scene: &mut Scene, view: &View<'_>, strips: &Strips, scope: Scope, scale: &LogScale, plot: Rect) {
    let stroke = Stroke::solid(view.palette.text, 2);
    let mut points: Vec<(i32, i32)> = Vec::new();
    let (mut first, mut end) = (0, plot.x);
    while first < strips.pixels.len() {
        let begin = strips.pixels[first].start;
        let more = strips.pixels[first..].iter().take_while(|p| p.start < begin + P99_PIXELS).count();
        let last = first + more.max(1);
        let mut sums = vec![Cell::default(); SLOTS];
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
    let of = |cell: &Cell| of_scope(cell, scope);
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

/// The visible columns of a grid, in their pixels.
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
        let classes = Class::ALL.into_iter().filter(|c| scope.contains(*c) && is_in(lane.scope, *c));
        classes.map(|c| sums[slots.clone()].iter().map(|cell| cell[c.index()]).sum::<u64>()).sum()
    };
    let counts: Vec<[u64; 3]> =
        rows.iter().map(|row| row.as_ref().map_or([0; 3], |s| BARS.map(|scope| of(s, scope)))).collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    // One request is a visible bar, so the scale starts below one.
    let length = |n: u64| match n {
        0 => 0,
        n => ((1.0 + (n as f64).log10()) / (1.0 + (most as f64).log10()) * f64::from(SIDE_WIDTH)).round()
            as usize,
    };
    let (width, height) = (SIDE_WIDTH as usize, plot.h as usize);
    let mut pixels = vec![0u8; width * height];
    for (row, counts) in pixels.chunks_exact_mut(width).zip(&counts) {
        bar(row, counts.map(length));
    }
    let tint = |color: Rgb| p.background.mix(color, 0.3);
    let colors = [p.read, p.write, p.flush];
    let both = tint(p.read.mix(p.write, 0.5));
    let palette = [p.background, both].into_iter().chain(colors.map(tint)).chain(colors).collect();
    let (width, height) = (width as u32, height as u32);
    scene.marks.push(Mark::Image(Image { x: SIDE_LEFT, y: plot.y, width, height, pixels, palette }));
    axes::frame(scene, p, Rect { x: SIDE_LEFT, w: SIDE_WIDTH, ..plot });
    if lane.scope == Scope::All && plot.h > 300 {
        let below = plot.bottom() + panel.strips_below(view);
        let text = format!("requests per row, log: 1 … {}", units::grouped(most));
        let mut text = words(text, SIDE_LEFT, below + 18, axes::TICK_SIZE, p, Anchor::Start);
        text.color = p.faint_text;
        scene.text(text);
    }
}

/// Scopes with separate bars in the histogram.
const BARS: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Flush];
/// Colours of a bar: where reads and writes both reach, light and full ones in the order of [`BARS`].
const BOTH: u8 = 1;
const LIGHT: u8 = 2;
const FULL: u8 = LIGHT + BARS.len() as u8;

/// One row of the histogram: light in the colour of the longest bar that reaches there alone, of both where reads and writes do, and
/// the end of each in full colour.
fn bar(row: &mut [u8], lengths: [usize; 3]) {
    let mut by_length = [0, 1, 2];
    by_length.sort_by_key(|kind| std::cmp::Reverse(lengths[*kind]));
    by_length.iter().for_each(|kind| row[..lengths[*kind]].fill(LIGHT + *kind as u8));
    row[..lengths[0].min(lengths[1])].fill(BOTH);
    for (kind, length) in lengths.into_iter().enumerate() {
        row[length.saturating_sub(2)..length].fill(FULL + kind as u8);
    }
}

/// Draws the meaning of shades, in real counts; of flushes, too, if there are some.
pub(super) fn key(scene: &mut Scene, view: &View<'_>, (most, has_flushes): (u64, bool), y: i32) {
    if most == 0 {
        return;
    }
    let p = view.palette;
    let shades = Shades::new(p, most);
    let mut x = SIDE_LEFT;
    let scales =
        [Scope::Read, Scope::Write, Scope::Flush].into_iter().filter(|s| has_flushes || *s != Scope::Flush);
    let w = if has_flushes { 5 } else { 7 };
    for scope in scales {
        for color in shades.scale(scope) {
            scene.area(Rect { x, y: y - 10, w, h: 11 }, Fill::Solid(*color));
            x += w;
        }
        x += 6;
    }
    let text = match most {
        1 => "1 request per cell".to_string(),
        n => format!("1 … {} per cell", units::grouped(n)),
    };
    scene.text(words(text, x + 2, y, axes::TICK_SIZE, p, Anchor::Start));
}

/// Whether there are completed or failed requests to show; if not, draws the reason.
pub(super) fn or_nothing_at_all(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> bool {
    view.summary.counts.all.failed > 0 || or_nothing(scene, view, area)
}

/// Whether there is anything to show; if not, draws the reason.
pub(super) fn or_nothing(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> bool {
    let s = view.summary;
    let any = s.counts.all.completed > 0 || s.latency.flush.is_some();
    if !any {
        let why = match view.summary.counts.all.total {
            0 => "Nothing to show: the run has no requests.",
            _ => "Nothing to show: no request completed.",
        };
        page::nothing(scene, view, plot_area(area), why);
    }
    any
}
