//! Demanded and delivered throughput, as requests and as bytes per second.

use super::axes::{self, LinearScale, TimeScale, words};
use super::{Chart, Draw, PLOT_WIDTH, RunView, SIDE_LEFT, demand, page, plot_area, single};
use crate::fonts::Weight;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{CountSeries, Rate, TimeAxis};

/// One step of the lines is at least this many pixels wide, so that single requests do not become spikes.
const STEP_PIXELS: usize = 3;

pub(super) static REQUESTS: Chart = Chart {
    stem: "g000.overview.thrp",
    keywords: &["throughput", "thrp"],
    title: "Demanded and delivered requests per second over time",
    draw: Draw::Either(
        |view| draw(view, &REQUESTS, Unit::Requests),
        |view| demand::throughput::overview(view, &REQUESTS, Unit::Requests),
    ),
};

pub(super) static BYTES: Chart = Chart {
    stem: "g000.overview.thrs",
    keywords: &["bandwidth", "thrs"],
    title: "Demanded and delivered bytes per second over time",
    draw: Draw::Either(
        |view| draw(view, &BYTES, Unit::Bytes),
        |view| demand::throughput::overview(view, &BYTES, Unit::Bytes),
    ),
};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Requests,
    /// Shown as millions.
    Bytes,
}

impl Unit {
    pub(super) fn label(self) -> &'static str {
        match self {
            Unit::Requests => "Requests per second",
            Unit::Bytes => "MB per second",
        }
    }

    pub(super) fn factor(self) -> f64 {
        match self {
            Unit::Requests => 1.0,
            Unit::Bytes => 1e-6,
        }
    }

    fn of(self, series: &CountSeries) -> &[u64] {
        match self {
            Unit::Requests => &series.requests,
            Unit::Bytes => &series.bytes,
        }
    }
}

fn draw(view: &RunView<'_>, chart: &Chart, unit: Unit) -> Scene {
    let legend = |scene: &mut Scene, y| {
        rates(scene, view, y);
        page::counts_note(scene, view, y);
    };
    single(view, chart, legend, |scene, area| body(scene, view, area, unit))
}

fn rates(scene: &mut Scene, view: &RunView<'_>, y: i32) {
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

pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect, unit: Unit) {
    let d = view.diagrams;
    let plot = plot_area(area);
    if view.summary.counts.all.total == 0 {
        page::nothing(scene, view, plot, "Nothing to show: the run has no requests.");
        return;
    }
    let axis = d.demanded.axis();
    let both = unit.of(&d.delivered_reads).iter().zip(unit.of(&d.delivered_writes));
    let delivered: Vec<u64> = both.map(|(a, b)| a + b).collect();
    let lines = Lines {
        demanded: view
            .summary
            .run
            .has_timetable
            .then(|| per_second(unit.of(&d.demanded), axis, unit.factor())),
        delivered: per_second(&delivered, axis, unit.factor()),
        step_ns: axis.width_ns() * group(axis) as u64,
    };
    panel(scene, view, &lines, plot, axis, unit.label());
    side(scene, view, plot, axis);
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

fn panel(scene: &mut Scene, view: &RunView<'_>, lines: &Lines, plot: Rect, axis: TimeAxis, y_label: &str) {
    let p = view.palette;
    let values = lines.delivered.iter().chain(lines.demanded.iter().flatten());
    let scale = LinearScale::new(values.copied().fold(0.0, f64::max), plot);
    let time = TimeScale { end_ns: axis.end_ns(), area: plot };
    time.draw(scene, p, Some("Time since the start of the run"));
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
fn side(scene: &mut Scene, view: &RunView<'_>, area: Rect, axis: TimeAxis) {
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
