//! Wanted and done throughput: requests per second, and bytes per second.

use super::axes::{self, LinearScale, TimeScale, words};
use super::message::Message;
use super::steps::{self, Step};
use super::{Chart, Draw, RunView, SIDE_LEFT, demand, figures, overlay, page, plot_area, single};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{CountSeries, Detail, Rate, Scope};

/// One step of the lines is at least this many pixels wide, so that single requests do not become spikes.
const STEP_PIXELS: i32 = 3;

pub(super) static REQUESTS: Chart = Chart {
    stem: "g000.overview.thrp",
    keywords: &["throughput", "thrp", "overview"],
    title: "Wanted and done requests per second over time",
    message: Message::Headline,
    draw: Draw::Either(
        Detail::Sonar,
        |view| draw(view, &REQUESTS, Unit::Requests),
        |view| demand::throughput::overview(view, &REQUESTS, Unit::Requests),
    ),
};

pub(super) static BYTES: Chart = Chart {
    stem: "g000.overview.thrs",
    keywords: &["bandwidth", "thrs"],
    title: "Wanted and done bytes per second over time",
    message: Message::Headline,
    draw: Draw::Either(
        Detail::Sonar,
        |view| draw(view, &BYTES, Unit::Bytes),
        |view| demand::throughput::overview(view, &BYTES, Unit::Bytes),
    ),
};

/// The counted unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    pub(super) fn of(self, series: &CountSeries) -> &[u64] {
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
        ("wanted, by due time", "demanded", t.demanded, p.demanded),
        ("done, by completion", "delivered", t.delivered, p.actual),
    ];
    for (i, (name, key, rate, color)) in rows.into_iter().enumerate() {
        let base = y + 20 + 20 * i as i32;
        page::swatch(scene, color, 110, base);
        scene.text(words(name, 130, base, 13.0, p, Anchor::Start));
        let Some(Rate { requests, bytes, duration_ns, requests_per_second, bytes_per_second }) = rate else {
            let why =
                if view.summary.has_target_rate() { "nothing" } else { view.summary.why_no_target_rate() };
            scene.text(words(why, 470, base, 13.0, p, Anchor::End));
            continue;
        };
        let path = |field: &str| format!("throughput.{key}.{field}");
        let (per_second, bytes_rate) =
            (units::request_rate(requests_per_second), units::byte_rate(bytes_per_second));
        let cells = [
            (figures::count(path("requests"), requests), 470),
            (figures::bytes(path("bytes"), bytes), 590),
            (figures::time(path("duration_ns"), duration_ns), 700),
            (Caption::figure(per_second, path("requests_per_second"), requests_per_second), 810),
            (Caption::figure(bytes_rate, path("bytes_per_second"), bytes_per_second), 940),
        ];
        cells.into_iter().for_each(|(cell, x)| scene.text(words(cell, x, base, 13.0, p, Anchor::End)));
    }
    if let (Some(demanded), Some(delivered)) = (t.demanded, t.delivered) {
        let ratio = delivered.requests_per_second / demanded.requests_per_second * 100.0;
        let text = format!("done / wanted: {} % of the requests per second", units::number(ratio));
        let path = |key: &str| format!("throughput.{key}.requests_per_second");
        let text = Caption::figure(text, path("delivered"), delivered.requests_per_second)
            .of(path("demanded"), demanded.requests_per_second);
        scene.text(words(text, 130, y + 62, 13.0, p, Anchor::Start));
    }
}

/// One quantity over time.
struct Lines {
    demanded: Option<Vec<Step>>,
    delivered: Vec<Step>,
    factor: f64,
}

pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect, unit: Unit) {
    let rates = view.diagrams.rates();
    let plot = plot_area(area);
    if view.summary.counts.all.total == 0 {
        page::nothing(scene, view, plot, "Nothing to show: the run has no requests.");
        return;
    }
    let time = view.time_in(rates.width_ns, plot);
    let (plot, strip) = overlay::reserve(view, &time, plot);
    let time = time.within(plot);
    let steps = |series: &CountSeries| steps::sums(unit.of(series), rates.width_ns, &time, STEP_PIXELS);
    let (demanded, delivered) = (rates.demanded.scope(Scope::All), rates.delivered.scope(Scope::All));
    let has_timetable = view.summary.has_target_rate();
    let lines = Lines {
        demanded: has_timetable.then(|| steps(&demanded)),
        delivered: steps(&delivered),
        factor: unit.factor(),
    };
    panel(scene, view, &lines, &time, unit.label());
    overlay::above(scene, view, &time, strip, plot);
    let group = steps::group(rates.width_ns, &time, STEP_PIXELS) as u64;
    side(scene, view, plot, rates.width_ns.saturating_mul(group));
    let counted = if has_timetable { &demanded } else { &delivered };
    let steps = steps::sums(&counted.requests, rates.width_ns, &time, STEP_PIXELS);
    scene.counted = Some(steps.iter().map(|s| s.sum).sum());
}

fn panel(scene: &mut Scene, view: &RunView<'_>, lines: &Lines, time: &TimeScale, y_label: &str) {
    let (p, plot) = (view.palette, time.area);
    let rate = |step: &Step| step.per_second() * lines.factor;
    let values = lines.delivered.iter().chain(lines.demanded.iter().flatten()).map(rate);
    let scale = LinearScale::new(values.fold(0.0, f64::max), plot);
    time.draw(scene, p, Some("Time since the start of the run"));
    scale.draw(scene, p, y_label, units::plain);
    overlay::behind(scene, view, time, plot);
    for (i, step) in lines.delivered.iter().enumerate() {
        let (x, end) = step.pixels(time);
        let top = scale.y(rate(step));
        if step.sum > 0 {
            scene.area(Rect { x, y: top, w: end - x, h: plot.bottom() - top }, Fill::Solid(p.actual));
        }
        let demanded = lines.demanded.as_ref().and_then(|d| d.get(i)).map_or(0.0, rate);
        if demanded > rate(step) {
            let unmet = scale.y(demanded);
            scene.area(Rect { x, y: unmet, w: end - x, h: top - unmet }, Fill::Hatch(p.demanded));
        }
    }
    if let Some(demanded) = &lines.demanded {
        let points = demanded.iter().map(|s| (s.pixels(time).0, scale.y(rate(s)))).collect();
        let end = demanded.last().map_or(plot.right(), |s| s.pixels(time).1);
        scene.steps(points, end, Stroke::dashed(p.demanded, 2));
    }
    axes::frame(scene, p, plot);
}

/// Draws the meaning of the marks.
fn side(scene: &mut Scene, view: &RunView<'_>, area: Rect, step_ns: u64) {
    let p = view.palette;
    let mut y = area.y + 14;
    let mut line = |scene: &mut Scene, text: String, fill: Option<Fill>| {
        if let Some(fill) = fill {
            scene.area(Rect { x: SIDE_LEFT, y: y - 10, w: 24, h: 12 }, fill);
        }
        let x = SIDE_LEFT + if fill.is_some() { 32 } else { 0 };
        scene.text(words(text, x, y, 13.0, p, Anchor::Start));
        y += 20;
    };
    line(scene, "done (completions)".into(), Some(Fill::Solid(p.actual)));
    if view.summary.has_target_rate() {
        line(scene, "wanted and not done then".into(), Some(Fill::Hatch(p.demanded)));
        scene.horizontal(area.y + 49, (SIDE_LEFT, SIDE_LEFT + 24), Stroke::dashed(p.demanded, 2));
        let x = SIDE_LEFT + 32;
        scene.text(words("wanted (due times)", x, area.y + 54, 13.0, p, Anchor::Start));
        y += 20;
    }
    let text = format!("one step is {}", axes::time(step_ns));
    let mut text = words(text, SIDE_LEFT, y, 13.0, p, Anchor::Start);
    text.color = p.faint_text;
    scene.text(text);
}
