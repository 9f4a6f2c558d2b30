//! Latency and response by percentile: measured from the submission, and from the time when the request was due, as a user
//! waits. No correction is needed, as the plan is known.

use super::axes::{self, LogScale, words};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, SIDE_LEFT, band, figures, page, plot_area, single};
use crate::fonts::Weight;
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke, Text};
use iosonar_analyze::{ByScope, Distribution, Scope, TimeStats, row_of};

pub(super) static CHART: Chart = Chart {
    stem: "g20.response.percentiles",
    keywords: &["percentiles"],
    title: "Latency and response by percentile",
    message: Message::Figures(message::response),
    draw: Draw::Figures(draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        table(scene, view, y);
        page::counts_note(scene, view, y);
    };
    single(view, &CHART, legend, |scene, area| scene.counted = body(scene, view, area))
}

/// A curve: its name, its stroke, its figures.
fn rows<'a>(view: &RunView<'a>) -> Vec<(Scope, bool, &'a TimeStats)> {
    let has_timetable = view.summary.run.has_timetable;
    let both = |scope| {
        let s = view.summary;
        let response = s.response.get(scope).as_ref().filter(|_| has_timetable);
        [(scope, false, s.latency.get(scope).as_ref()), (scope, true, response)]
    };
    let known =
        |(scope, response, stats): (Scope, bool, Option<&'a TimeStats>)| Some((scope, response, stats?));
    Scope::BY_OP.into_iter().flat_map(both).filter_map(known).collect()
}

fn table(scene: &mut Scene, view: &RunView<'_>, y: i32) {
    const COLUMNS: [(&str, &str, i32); 7] = [
        ("requests", "count", 400),
        ("avg", "mean_ns", 490),
        ("p50", "p50_ns", 580),
        ("p99", "p99_ns", 670),
        ("p99.9", "p99_9_ns", 760),
        ("p99.99", "p99_99_ns", 850),
        ("max", "max_ns", 950),
    ];
    let p = view.palette;
    for (name, _, x) in COLUMNS {
        let mut text = words(name, x, y, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let rows = rows(view);
    // With flushes there are eight rows, and room for six.
    let (pitch, size) = if rows.len() > 6 { (12, 11.0) } else { (16, 12.0) };
    for (i, (scope, is_response, s)) in rows.into_iter().enumerate() {
        let base = y + pitch * (i as i32 + 1);
        let stroke = Stroke { color: page::color(view, scope), width: 3, dashed: is_response };
        scene.horizontal(base - 4, (110, 133), stroke);
        let what = if is_response { "response" } else { "latency" };
        scene.text(words(format!("{}, {what}", page::scope_name(scope)), 142, base, size, p, Anchor::Start));
        let path = format!("{}.{}", if is_response { "response" } else { "latency" }, figures::key(scope));
        let cells = figures::of_times(&path, s, &COLUMNS.map(|(_, field, _)| field));
        for (cell, (_, _, x)) in cells.into_iter().zip(COLUMNS) {
            scene.text(words(cell, x, base, size, p, Anchor::End));
        }
    }
}

/// Share below as nines: 0 at 0 %, 1 at 90 %, 2 at 99 %.
#[derive(Clone, Copy)]
struct Nines {
    most: f64,
    area: Rect,
}

impl Nines {
    /// An axis that ends where ten of `count` requests remain.
    fn new(count: u64, area: Rect) -> Nines {
        Nines { most: (count as f64 / 10.0).log10().max(1.0), area }
    }

    fn x(&self, nines: f64) -> i32 {
        self.area.x + ((nines / self.most).clamp(0.0, 1.0) * f64::from(self.area.w)).round() as i32
    }

    fn draw(&self, scene: &mut Scene, view: &RunView<'_>) {
        let p = view.palette;
        let half = std::iter::once((0.5f64, "50 %".to_string()));
        let nines = (1..16).map(|n| {
            let digits = "9".repeat(n);
            let name = if n == 1 {
                "90".to_string()
            } else if n == 2 {
                digits
            } else {
                format!("{}.{}", &digits[..2], &digits[2..])
            };
            (1.0 - 10f64.powi(-(n as i32)), format!("{name} %"))
        });
        let zero = std::iter::once((0.0, "0 %".to_string()));
        for (share, name) in zero.chain(half).chain(nines) {
            let nines = -(1.0 - share).log10();
            if nines > self.most + 1e-9 {
                break;
            }
            let x = self.x(nines);
            let y = (self.area.y, self.area.bottom() - 1);
            scene.vertical(x, y, Stroke::solid(p.grid, 1));
            scene.vertical(x, (self.area.bottom(), self.area.bottom() + 5), Stroke::solid(p.axis, 1));
            scene.text(words(
                name,
                x,
                self.area.bottom() + axes::TICK_BELOW,
                axes::TICK_SIZE,
                p,
                Anchor::Middle,
            ));
        }
        let label = "Share of requests that took at most so long, in nines; ends where ten requests remain";
        let (x, y) = (self.area.x + self.area.w / 2, self.area.bottom() + axes::LABEL_BELOW);
        scene.text(words(label, x, y, axes::LABEL_SIZE, p, Anchor::Middle));
    }
}

/// A value at each position along the axis.
type Curve = Vec<(f64, u64)>;

/// The curve from the whole distribution if known, else from the percentiles of the summary.
fn curve(stats: &TimeStats, distribution: Option<&Distribution>, nines: &Nines) -> Curve {
    let most = (stats.count as f64 / 10.0).log10();
    if let Some(d) = distribution {
        let places =
            (0..nines.area.w).step_by(2).map(|x| f64::from(x) / f64::from(nines.area.w) * nines.most);
        let value = |n: f64| {
            let share = 1.0 - 10f64.powf(-n);
            d.histogram().value_at_quantile(share).clamp(stats.min_ns, stats.max_ns)
        };
        return places.take_while(|n| *n <= most).map(|n| (n, value(n))).collect();
    }
    of_summary(stats, most)
}

/// The percentiles that a summary knows, as nines and times, up to `most` nines.
pub(crate) fn of_summary(stats: &TimeStats, most: f64) -> Vec<(f64, u64)> {
    let known = [
        (0.0, Some(stats.min_ns)),
        (0.5, Some(stats.p50_ns)),
        (0.9, stats.p90_ns),
        (0.99, stats.p99_ns),
        (0.999, stats.p99_9_ns),
        (0.999_9, stats.p99_99_ns),
        (0.999_99, stats.p99_999_ns),
    ];
    let nines = |share: f64| -(1.0f64 - share).log10();
    known
        .into_iter()
        .filter_map(|(share, ns)| Some((nines(share), ns?)))
        .filter(|(n, _)| *n <= most)
        .collect()
}

/// Returns the number of requests drawn.
pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> Option<u64> {
    if !band::or_nothing(scene, view, area) {
        return None;
    }
    let plot = plot_area(area);
    let count = |scope: &Scope| view.summary.latency.get(*scope).map_or(0, |stats| stats.count);
    let all = Scope::BY_OP.iter().map(count).max().unwrap_or(0);
    if all < 20 {
        page::nothing(scene, view, plot, "Nothing to show: fewer than 20 requests have no percentiles.");
        return Some(all);
    }
    let nines = Nines::new(all, plot);
    let distributions: [Option<ByScope<Distribution>>; 2] =
        [view.tally.map(|t| t.latency()), view.tally.map(|t| t.response())];
    let curves: Vec<(Scope, bool, Curve)> = rows(view)
        .into_iter()
        .map(|(scope, is_response, stats)| {
            let distribution = distributions[usize::from(is_response)].as_ref().map(|d| d.get(scope));
            (scope, is_response, curve(stats, distribution, &nines))
        })
        .collect();
    let values: Vec<u64> = curves.iter().flat_map(|c| &c.2).map(|(_, ns)| *ns).collect();
    let scale = LogScale::new(plot, |slot| values.iter().any(|ns| row_of(*ns).slot() == slot), false);
    nines.draw(scene, view);
    scale.draw(scene, view.palette, "< 1 µs", "Time, log");
    hidden(scene, view, &curves, &nines, &scale);
    for (scope, is_response, curve) in &curves {
        let points: Vec<(i32, i32)> =
            curve.iter().map(|(n, ns)| (nines.x(*n), scale.y_clamped(*ns))).collect();
        let end = points.last().map_or(plot.x, |p| p.0 + 2);
        let width = if *scope == Scope::All { 3 } else { 2 };
        scene.steps(points, end, Stroke { color: page::color(view, *scope), width, dashed: *is_response });
    }
    axes::frame(scene, view.palette, plot);
    points(scene, view, &nines, &scale);
    side(scene, view, plot);
    Some(all)
}

/// Labelled points.
const POINTS: usize = 3;

/// Labels three points of the curve that matters: the response of all requests, or else their latency.
fn points(scene: &mut Scene, view: &RunView<'_>, nines: &Nines, scale: &LogScale) {
    const SIZE: f64 = 14.0;
    let (p, plot) = (view.palette, nines.area);
    let of_all = rows(view).into_iter().rfind(|(scope, ..)| *scope == Scope::All);
    let Some((_, is_response, stats)) = of_all else { return };
    let key = if is_response { "response" } else { "latency" };
    let all = [
        ("p99.9", 0.999f64, "p99_9_ns", stats.p99_9_ns),
        ("p99", 0.99, "p99_ns", stats.p99_ns),
        ("p90", 0.9, "p90_ns", stats.p90_ns),
        ("p50", 0.5, "p50_ns", Some(stats.p50_ns)),
    ];
    let place = |share: f64| -(1.0 - share).log10();
    let known = |(name, share, field, ns): (&'static str, f64, &'static str, Option<u64>)| {
        Some((name, place(share), field, ns?)).filter(|(_, at, ..)| *at <= nines.most)
    };
    let mut shown: Vec<_> = all.into_iter().filter_map(known).collect();
    // The median is one of the three.
    if shown.len() > POINTS {
        shown.remove(POINTS - 1);
    }
    let mut taken: Vec<Rect> = Vec::new();
    for (name, at, field, ns) in shown {
        let (x, y) = (nines.x(at), scale.y_clamped(ns));
        scene.area(Rect { x: x - 4, y: y - 4, w: 9, h: 9 }, Fill::Solid(p.background));
        scene.area(Rect { x: x - 3, y: y - 3, w: 7, h: 7 }, Fill::Solid(p.text));
        let label =
            figures::joined([format!("{name} ").into(), figures::time(format!("{key}.all.{field}"), ns)]);
        let places =
            [(-8, -8, Anchor::End), (8, 20, Anchor::Start), (8, -8, Anchor::Start), (-8, 20, Anchor::End)];
        let text = |(dx, dy, anchor)| Text {
            weight: Weight::Bold,
            ..words(label.clone(), x + dx, y + dy, SIZE, p, anchor)
        };
        let fits = |text: &Text| {
            let b = text.bounds();
            let is_inside =
                b.x >= plot.x && b.right() <= plot.right() && b.y >= plot.y && b.bottom() <= plot.bottom();
            is_inside && taken.iter().all(|t| !t.overlaps(&b))
        };
        let Some(text) = places.map(text).into_iter().find(fits) else { continue };
        let b = text.bounds();
        taken.push(b);
        scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
        scene.text(text);
    }
}

/// Fills the area between the two curves of all requests: delay that measuring from the submission misses.
fn hidden(
    scene: &mut Scene,
    view: &RunView<'_>,
    curves: &[(Scope, bool, Curve)],
    nines: &Nines,
    scale: &LogScale,
) {
    let find = |response: bool| curves.iter().find(|(scope, r, _)| *scope == Scope::All && *r == response);
    let (Some(service), Some(response)) = (find(false), find(true)) else { return };
    let color = hatch_color(view);
    let places: Vec<i32> = service.2.iter().map(|(n, _)| nines.x(*n)).collect();
    for (i, ((_, low), (_, high))) in service.2.iter().zip(&response.2).enumerate() {
        let end = places.get(i + 1).copied().unwrap_or(places[i] + 2);
        let (top, bottom) = (scale.y_clamped(*high), scale.y_clamped(*low));
        scene.area(Rect { x: places[i], y: top, w: end - places[i], h: bottom - top }, Fill::Hatch(color));
    }
}

fn hatch_color(view: &RunView<'_>) -> Rgb {
    view.palette.background.mix(view.palette.axis, 0.6)
}

fn side(scene: &mut Scene, view: &RunView<'_>, plot: Rect) {
    let p = view.palette;
    let mut lines: Vec<(Caption, Option<Fill>)> =
        vec![("solid: latency,".into(), None), ("submission → completion".into(), None)];
    if view.summary.run.has_timetable && view.summary.knows_delay() {
        lines.extend([
            ("dashed: response,".into(), None),
            ("due time → completion".into(), None),
            ("what a closed loop would hide".into(), Some(Fill::Hatch(hatch_color(view)))),
        ]);
    } else {
        let timetable = view.summary.run.has_timetable;
        lines.push((
            if timetable { "no due times: no response" } else { "no timetable: no response" }.into(),
            None,
        ));
    }
    lines.extend(page::failed_are_absent(view).map(|told| (told, None)));
    if view.range.is_some() {
        lines.push(("all requests of the run".into(), None));
    }
    for (i, (line, fill)) in lines.into_iter().enumerate() {
        let y = plot.y + 14 + 20 * i as i32;
        let x = SIDE_LEFT + if fill.is_some() { 32 } else { 0 };
        if let Some(fill) = fill {
            scene.area(Rect { x: SIDE_LEFT, y: y - 10, w: 24, h: 12 }, fill);
        }
        scene.text(words(line, x, y, 13.0, p, Anchor::Start));
    }
}
