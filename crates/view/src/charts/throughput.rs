//! Demanded and delivered throughput, as requests and as bytes per second.

use super::axes::{self, LinearScale, TimeScale, words};
use super::{BELOW, PLOT_WIDTH, Picture, SIDE_LEFT, View, page, plot_area, single};
use crate::fonts::Weight;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{Rate, Scope, TimeAxis};

/// One step of the lines is at least this many pixels wide, so that single requests do not become spikes.
const STEP_PIXELS: usize = 3;

pub(super) fn draw(view: &View<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        rates(scene, view, y);
        page::counts_note(scene, view, y);
    };
    single(view, Picture::Throughput, legend, |scene, area| body(scene, view, area))
}

fn rates(scene: &mut Scene, view: &View<'_>, y: i32) {
    let p = view.palette;
    let t = &view.summary.throughput;
    for (name, x) in [("requests", 470), ("bytes", 590), ("over", 700), ("requests/s", 810), ("bytes/s", 940)]
    {
        let mut text = words(name, x, y, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let rows = [
        ("demanded, by due time", t.demanded, p.demanded),
        ("delivered, by completion", t.delivered, p.actual),
    ];
    for (i, (name, rate, color)) in rows.into_iter().enumerate() {
        let base = y + 20 + 20 * i as i32;
        page::swatch(scene, color, 110, base);
        scene.text(words(name, 130, base, 13.0, p, Anchor::Start));
        let Some(Rate { requests, bytes, duration_ns, requests_per_second, bytes_per_second }) = rate else {
            let why = if view.summary.run.has_timetable { "nothing" } else { "no timetable of its own" };
            scene.text(words(why, 470, base, 13.0, p, Anchor::End));
            continue;
        };
        let cells = [
            (units::grouped(requests), 470),
            (units::bytes(bytes), 590),
            (axes::time(duration_ns), 700),
            (units::request_rate(requests_per_second), 810),
            (units::byte_rate(bytes_per_second), 940),
        ];
        cells.into_iter().for_each(|(cell, x)| scene.text(words(cell, x, base, 13.0, p, Anchor::End)));
    }
    if let (Some(demanded), Some(delivered)) = (t.demanded, t.delivered) {
        let ratio = delivered.requests_per_second / demanded.requests_per_second * 100.0;
        let text = format!("delivered / demanded: {} % of the requests per second", units::number(ratio));
        scene.text(words(text, 130, y + 62, 13.0, p, Anchor::Start));
    }
}

/// One quantity over time.
struct Lines {
    demanded: Option<Vec<f64>>,
    delivered: Vec<f64>,
    step_ns: u64,
}

pub(super) fn body(scene: &mut Scene, view: &View<'_>, area: Rect) {
    let d = view.diagrams;
    if view.summary.counts.all.total == 0 {
        page::nothing(scene, view, plot_area(area), "Nothing to show: the run has no requests.");
        return;
    }
    let (demanded, delivered) = (d.demanded.scope(Scope::All), d.delivered.scope(Scope::All));
    let axis = d.demanded.axis();
    let lines = |demanded: &[u64], delivered: &[u64], factor: f64| Lines {
        demanded: view.summary.run.has_timetable.then(|| per_second(demanded, axis, factor)),
        delivered: per_second(delivered, axis, factor),
        step_ns: axis.width_ns() * group(axis) as u64,
    };
    let half = (area.h - BELOW) / 2;
    let upper = Rect { h: half - 6, ..area };
    let lower = Rect { y: area.y + half + 6, h: half - 6 + BELOW, ..area };
    panel(
        scene,
        view,
        &lines(&demanded.requests, &delivered.requests, 1.0),
        upper,
        axis,
        "Requests per second",
        None,
    );
    let label = Some("Time since the start of the run");
    panel(scene, view, &lines(&demanded.bytes, &delivered.bytes, 1e-6), lower, axis, "MB per second", label);
    side(scene, view, upper, axis);
}

/// Stored columns of each step.
fn group(axis: TimeAxis) -> usize {
    axis.columns().div_ceil(PLOT_WIDTH as usize / STEP_PIXELS)
}

fn per_second(columns: &[u64], axis: TimeAxis, factor: f64) -> Vec<f64> {
    let rate = |part: &[u64]| {
        let seconds = part.len() as f64 * axis.width_ns() as f64 / 1e9;
        part.iter().sum::<u64>() as f64 * factor / seconds
    };
    columns.chunks(group(axis)).map(rate).collect()
}

fn panel(
    scene: &mut Scene,
    view: &View<'_>,
    lines: &Lines,
    area: Rect,
    axis: TimeAxis,
    y_label: &str,
    x_label: Option<&str>,
) {
    let p = view.palette;
    let plot = if x_label.is_some() { plot_area(area) } else { Rect { h: area.h, ..plot_area(area) } };
    let values = lines.delivered.iter().chain(lines.demanded.iter().flatten());
    let scale = LinearScale::new(values.copied().fold(0.0, f64::max), plot);
    let time = TimeScale { end_ns: axis.end_ns(), area: plot };
    time.draw(scene, p, x_label);
    scale.draw(scene, p, y_label, units::plain);
    let edges = |i: usize| {
        let x = time.x(i as u64 * lines.step_ns);
        (x, time.x((i as u64 + 1) * lines.step_ns).min(plot.right()))
    };
    for (i, delivered) in lines.delivered.iter().enumerate() {
        let (x, end) = edges(i);
        let top = scale.y(*delivered);
        let filled = Rect { x, y: top, w: end - x, h: plot.bottom() - top };
        if *delivered > 0.0 {
            scene.area(filled, Fill::Solid(p.actual));
        }
        let demanded = lines.demanded.as_ref().map_or(0.0, |d| d[i]);
        if demanded > *delivered {
            let unmet = scale.y(demanded);
            scene.area(Rect { x, y: unmet, w: end - x, h: top - unmet }, Fill::Hatch(p.demanded));
        }
    }
    if let Some(demanded) = &lines.demanded {
        let points = demanded.iter().enumerate().map(|(i, v)| (edges(i).0, scale.y(*v))).collect();
        scene.steps(points, plot.right(), Stroke::dashed(p.demanded, 2));
    }
    axes::frame(scene, p, plot);
}

/// What the marks mean.
fn side(scene: &mut Scene, view: &View<'_>, area: Rect, axis: TimeAxis) {
    let p = view.palette;
    let mut y = area.y + 14;
    let mut line = |scene: &mut Scene, text: String, fill: Option<Fill>| {
        if let Some(fill) = fill {
            scene.area(Rect { x: SIDE_LEFT, y: y - 10, w: 24, h: 12 }, fill);
        }
        let x = SIDE_LEFT + if fill.is_some() { 32 } else { 0 };
        let fitted =
            crate::fonts::fit(&text, 13.0, Weight::Regular, f64::from(super::SIDE_WIDTH - (x - SIDE_LEFT)));
        scene.text(words(fitted, x, y, 13.0, p, Anchor::Start));
        y += 20;
    };
    line(scene, "delivered (completions)".into(), Some(Fill::Solid(p.actual)));
    if view.summary.run.has_timetable {
        line(scene, "demanded and not met then".into(), Some(Fill::Hatch(p.demanded)));
        scene.horizontal(area.y + 49, (SIDE_LEFT, SIDE_LEFT + 24), Stroke::dashed(p.demanded, 2));
        let x = SIDE_LEFT + 32;
        scene.text(words("demanded (due times)", x, area.y + 54, 13.0, p, Anchor::Start));
        y += 20;
    }
    let step = axis.width_ns() * group(axis) as u64;
    let mut text = words(format!("one step is {}", axes::time(step)), SIDE_LEFT, y, 13.0, p, Anchor::Start);
    text.color = p.faint_text;
    scene.text(text);
}
