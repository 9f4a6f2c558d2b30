//! Histograms of latency and delay: outlines by class, and below them the share of requests up to each time.

use super::axes::{self, CountScale, LinearScale, LogTimeScale, TICK_SIZE, words};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, SIDE_LEFT, SIDE_WIDTH, band, figures, page, plot_area, single};
use crate::fonts::Weight;
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::findings::LatencyBand;
use iosonar_analyze::{ByScope, Cell, CountGrid, Detail, ROWS, Scope, TimeStats};
use iosonar_plan::Op;

pub(super) static LATENCY: Chart = Chart {
    stem: "g06.latency.bins",
    keywords: &["latency.bins"],
    title: "How many requests had which latency",
    message: Message::Figures(message::latency),
    draw: Draw::Run(Detail::Sonar, |view| {
        let legend = |scene: &mut Scene, y| {
            page::time_legend(scene, view, "latency", &view.summary.latency, y);
            page::counts_and_marks(scene, view, y);
        };
        let bins = Bins {
            grid: &view.diagrams.latency,
            failed: &view.diagrams.failed.latency,
            under: "< 1 µs",
            x_label: "Latency (submission → completion), log",
            name: "latency",
            stats: &view.summary.latency,
            bands: view.findings.map_or(&[], |f| &f.bands),
        };
        single(view, &LATENCY, legend, |scene, area| body(scene, view, &bins, area))
    }),
};

pub(super) static DELAY: Chart = Chart {
    stem: "g07.delay.bins",
    keywords: &["delay.bins"],
    title: "How many requests had which delay",
    message: Message::Figures(message::delay),
    draw: Draw::Run(Detail::Full, |view| {
        let legend = |scene: &mut Scene, y| {
            page::time_legend(scene, view, "delay", &view.summary.delay, y);
            page::counts_and_marks(scene, view, y);
        };
        let bins = Bins {
            grid: &view.diagrams.delay,
            failed: &view.diagrams.failed.delay,
            under: "on time",
            x_label: "Delay (due → submission), log",
            name: "delay",
            stats: &view.summary.delay,
            bands: &[],
        };
        single(view, &DELAY, legend, |scene, area| body(scene, view, &bins, area))
    }),
};

/// Parameters that distinguish the two.
struct Bins<'a> {
    grid: &'a CountGrid,
    /// Failed requests on the same axis.
    failed: &'a CountGrid,
    /// Name of the strip below 1 µs.
    under: &'static str,
    x_label: &'static str,
    /// Its name in the summary, and its figures there.
    name: &'static str,
    stats: &'a ByScope<Option<TimeStats>>,
    bands: &'a [LatencyBand],
}

/// Outlines, in this order from back to front.
const OUTLINES: [Scope; 5] = [Scope::Read, Scope::Write, Scope::ReadPushed, Scope::WritePushed, Scope::Flush];

/// Height of a line of words on bands.
const LINE: i32 = 16;

fn body(scene: &mut Scene, view: &RunView<'_>, bins: &Bins<'_>, area: Rect) {
    if !band::or_nothing_at_all(scene, view, area) {
        return;
    }
    let whole = plot_area(area);
    let time = view.time(whole);
    scene.shown_ns = Some((time.begin, time.end));
    let sums = band::strips(bins.grid, &time).marginal();
    let total = sums.iter().flatten().sum::<u64>();
    scene.counted = Some(total);
    let failed = band::strips(bins.failed, &time).marginal();
    if total + failed.iter().flatten().sum::<u64>() == 0 {
        page::nothing(scene, view, whole, "Nothing to show in this part of the time.");
        return;
    }
    let room = LINE * 2 * i32::from(!bins.bands.is_empty());
    let height = (whole.h - room) * 68 / 100;
    let upper = Rect { y: whole.y + room, h: height, ..whole };
    let lower = Rect { y: upper.bottom() + 14, h: whole.bottom() - upper.bottom() - 14, ..whole };
    let scale = LogTimeScale::new(upper, |slot| sums[slot].iter().chain(&failed[slot]).sum::<u64>() > 0);
    scale.draw(scene, view.palette, bins.under, None);
    outlines(scene, view, (&sums, &failed), &scale, upper);
    brackets(scene, view, bins.bands, &scale, upper, room);
    let lower_scale = scale.within(lower);
    lower_scale.draw(scene, view.palette, bins.under, Some(bins.x_label));
    cumulative(scene, view, &sums, &lower_scale, lower);
    side(scene, view, bins, &sums, upper, lower);
}

fn outlines(
    scene: &mut Scene,
    view: &RunView<'_>,
    (sums, failed): (&[Cell], &[Cell]),
    scale: &LogTimeScale,
    plot: Rect,
) {
    let p = view.palette;
    let most =
        OUTLINES.iter().flat_map(|scope| sums.iter().map(|c| band::of_scope(c, *scope))).max().unwrap_or(0);
    let most = failed.iter().map(|cell| cell.iter().sum()).max().unwrap_or(0).max(most);
    let counts = CountScale::new(most, plot);
    counts.draw(scene, p, "Requests per row of 3.7 % (log)");
    let present = OUTLINES.into_iter().filter(|scope| sums.iter().any(|c| band::of_scope(c, *scope) > 0));
    for (i, scope) in present.enumerate() {
        let color = page::color(view, scope);
        let y = |slot: usize| counts.y(band::of_scope(&sums[slot], scope) as f64);
        edge_bars(scene, scale, sums, scope, &counts, color, i as i32);
        let pixels: Vec<(usize, (i32, i32))> =
            scale.slots().filter_map(|slot| Some((slot, scale.pixels(slot)?))).collect();
        let tint = Fill::Solid(p.background.mix(color, 0.18));
        for (slot, (x, end)) in
            pixels.iter().filter(|(slot, _)| i == 0 && band::of_scope(&sums[*slot], scope) > 0)
        {
            scene.area(Rect { x: *x, y: y(*slot), w: end - x, h: plot.bottom() - y(*slot) }, tint);
        }
        let points = pixels.iter().map(|(slot, (x, _))| (*x, y(*slot))).collect();
        let end = pixels.last().map_or(plot.x, |(_, (_, end))| *end);
        let stroke = line(view, scope, color);
        scene.steps(points, end, stroke);
    }
    let cross = |(slot, cell): (usize, &Cell)| {
        let n = cell.iter().sum::<u64>();
        let (x, end) = scale.pixels(slot).filter(|_| n > 0)?;
        Some(((x + end) / 2, counts.y(n as f64)))
    };
    scene.crosses(failed.iter().enumerate().filter_map(cross).collect(), page::ARM, p.bad);
    axes::frame(scene, p, plot);
}

/// Writes are dashed if colours do not distinguish them from reads.
fn line(view: &RunView<'_>, scope: Scope, color: Rgb) -> Stroke {
    let is_write = matches!(scope, Scope::Write | Scope::WritePushed);
    if view.palette.is_gray && is_write { Stroke::dashed(color, 2) } else { Stroke::solid(color, 2) }
}

/// Draws bars for times without a row: below 1 µs at the left, 100 s and more at the right.
fn edge_bars(
    scene: &mut Scene,
    scale: &LogTimeScale,
    sums: &[Cell],
    scope: Scope,
    counts: &CountScale,
    color: Rgb,
    place: i32,
) {
    for slot in [0, ROWS + 1] {
        let n = band::of_scope(&sums[slot], scope);
        let Some((x, _)) = scale.pixels(slot).filter(|_| n > 0) else { continue };
        let (top, low) = (counts.y(n as f64), counts.y(0.0));
        scene.area(Rect { x: x + 14 * place, y: top, w: 12, h: low - top + 1 }, Fill::Solid(color));
    }
}

/// Brackets of the bands above the histogram.
fn brackets(
    scene: &mut Scene,
    view: &RunView<'_>,
    bands: &[LatencyBand],
    scale: &LogTimeScale,
    plot: Rect,
    room: i32,
) {
    let mut taken: Vec<Rect> = Vec::new();
    for (index, band) in bands.iter().enumerate() {
        let (color, line) = (page::color_of(view, band.op), i32::from(band.op == Op::Write));
        let base = plot.y - room + LINE * (line + 1) - 4;
        let (x, end) = (scale.x(band.low_ns) + 1, scale.x(band.high_ns) - 1);
        let name = figures::band(index, band);
        let middle = (x + end) / 2;
        let mut text = words(name, middle, base - 2, TICK_SIZE, view.palette, Anchor::Middle);
        (text.color, text.weight) = (color, Weight::Bold);
        scene.horizontal(base + 2, (x, end), Stroke::solid(color, 1));
        for at in [x, end] {
            scene.vertical(at, (base + 2, base + 5), Stroke::solid(color, 1));
        }
        let b = text.bounds();
        let wide = Rect { x: b.x - 4, w: b.w + 8, ..b };
        let inside = b.x >= plot.x && b.right() <= SIDE_LEFT + SIDE_WIDTH;
        if inside && taken.iter().all(|t| !t.overlaps(&wide)) {
            taken.push(wide);
            scene.text(text);
        }
    }
}

/// Draws the share of the requests up to each latency.
fn cumulative(scene: &mut Scene, view: &RunView<'_>, sums: &[Cell], scale: &LogTimeScale, plot: Rect) {
    let p = view.palette;
    let percent = LinearScale::new(100.0, plot);
    percent.draw(scene, p, "Share up to here, %", units::plain);
    for scope in [Scope::Read, Scope::Write, Scope::Flush] {
        let total: u64 = sums.iter().map(|c| band::of_scope(c, scope)).sum();
        if total == 0 {
            continue;
        }
        let share = |n: u64| percent.y(n as f64 / total as f64 * 100.0);
        let mut seen = 0;
        let mut points = Vec::new();
        let mut right = plot.right();
        for (slot, cell) in sums.iter().enumerate() {
            seen += band::of_scope(cell, scope);
            if let Some((x, end)) = scale.pixels(slot) {
                points.push((x, share(seen)));
                right = end;
            }
        }
        scene.steps(points, right, line(view, scope, page::color(view, scope)));
    }
    axes::frame(scene, p, plot);
}

/// The number of requests of a scope: that of the summary, or of the visible part of the time.
fn of_scope(view: &RunView<'_>, bins: &Bins<'_>, scope: Scope, counted: u64) -> Caption {
    let key = figures::key(scope);
    match bins.stats.get(scope) {
        Some(stats) if view.range.is_none() => {
            figures::count(format!("{}.{key}.count", bins.name), stats.count)
        }
        _ => figures::count(format!("picture.{key}"), counted),
    }
}

fn side(scene: &mut Scene, view: &RunView<'_>, bins: &Bins<'_>, sums: &[Cell], upper: Rect, lower: Rect) {
    let p = view.palette;
    let mut y = upper.y + 14;
    let mut line = |text: Caption, color: Rgb, weight: Weight| {
        for text in text.wrapped(13.0, weight, f64::from(SIDE_WIDTH)) {
            let mut text = words(text, SIDE_LEFT, y, 13.0, p, Anchor::Start);
            (text.color, text.weight) = (color, weight);
            scene.text(text);
            y += 19;
        }
    };
    let total: u64 = sums.iter().flatten().sum();
    for scope in OUTLINES {
        let n: u64 = sums.iter().map(|c| band::of_scope(c, scope)).sum();
        if n > 0 {
            let name = page::scope_name(scope).trim_start_matches("of these, ");
            let told = figures::joined([format!("{name}: ").into(), of_scope(view, bins, scope, n)]);
            line(told, page::color(view, scope), Weight::Bold);
        }
    }
    for (slot, name) in [(0, bins.under), (ROWS + 1, "> 100 s")] {
        let n: u64 = sums[slot].iter().sum();
        if n > 0 {
            let share = units::share(n, total);
            let name = if slot == 0 && name == "on time" { "on time (< 1 µs late)" } else { name };
            let path = if slot == 0 { "picture.below_1us" } else { "picture.above_100s" };
            let told = [format!("{name}: ").into(), figures::count(path, n), format!(", {share}").into()];
            line(figures::joined(told), p.text, Weight::Regular);
        }
    }
    line("64 rows for each factor of ten".into(), p.faint_text, Weight::Regular);
    for (i, text) in ["share of each operation's requests", "that took at most so long"].iter().enumerate() {
        let y = lower.y + 14 + 19 * i as i32;
        let mut text = words(*text, SIDE_LEFT, y, 13.0, p, Anchor::Start);
        text.color = p.faint_text;
        scene.text(text);
    }
}
