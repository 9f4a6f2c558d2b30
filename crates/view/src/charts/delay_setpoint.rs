//! Delay over due time, and below it the number of waiting requests.

use super::axes::{self, CountScale, words};
use super::band::{self, Overlay, Panel};
use super::in_flight::seen_bands;
use super::message::{self, Message};
use super::{Chart, Draw, RunView, SIDE_LEFT, figures, page, plot_area, single};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene};
use crate::units;
use iosonar_analyze::{Detail, Scope};

/// Share of the height for the waiting requests.
const WAITING_SHARE: f64 = 0.26;

pub(super) static CHART: Chart = Chart {
    stem: "g04.delay.setpoint",
    keywords: &["delay"],
    title: "Delay of every request over the time when it was due",
    message: Message::Figures(message::delay),
    draw: Draw::Run(Detail::Full, draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        page::time_legend(scene, view, "delay", &view.summary.delay, y);
        page::counts_and_marks(scene, view, y);
    };
    single(view, &CHART, legend, |scene, area| scene.counted = body(scene, view, area))
}

/// Returns the number of requests drawn.
pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> Option<u64> {
    if !band::or_nothing_at_all(scene, view, area) {
        return None;
    }
    let waiting_height = (f64::from(area.h) * WAITING_SHARE) as i32 + super::BELOW;
    let upper = Rect { h: area.h - waiting_height, ..area };
    let lower = Rect { y: upper.bottom() + 8, h: waiting_height - 8, ..area };
    let panel = Panel {
        grid: &view.diagrams.delay,
        failed: Some(&view.diagrams.failed.delay),
        limit: Some(("delay", &view.summary.limits.delay)),
        under: "on time",
        always_under: true,
        by_number: false,
        with_p99: false,
        overlay: Overlay::Times,
        x_label: "",
        y_label: "Delay (due → submission), log",
    };
    let counted = band::draw(scene, view, &panel, upper, false);
    waiting(scene, view, lower);
    Some(counted)
}

fn mean_of_run(view: &RunView<'_>) -> Caption {
    let mean = view.summary.waiting.mean_time_weighted;
    let shown = |mean| Caption::figure(units::request_rate(mean), "waiting.mean_time_weighted", mean);
    figures::joined(["mean of the run: ".into(), mean.map_or("–".into(), shown)])
}

fn most_of_run(view: &RunView<'_>) -> Caption {
    let most = view.summary.waiting.max.map_or("–".into(), |most| figures::count("waiting.max", most));
    figures::joined(["max: ".into(), most])
}

/// Requests that were due and not submitted: the backlog.
fn waiting(scene: &mut Scene, view: &RunView<'_>, area: Rect) {
    let p = view.palette;
    let plot = plot_area(area);
    let time = view.time(plot);
    let (bands, step) = seen_bands(&view.diagrams.waiting.scope(Scope::All), &time, 1);
    let most = bands.iter().map(|b| b.band.max).max().unwrap_or(0);
    // The mean is exact, and does not exaggerate waits of a microsecond as the greatest number would.
    let scale = CountScale::new(most, plot);
    time.draw(scene, p, Some("Time when the request was due, since the start of the run"));
    scale.draw(scene, p, "Requests waiting, log");
    for seen in &bands {
        let (x, end) = (time.x(seen.begin_ns), time.x(seen.end_ns));
        let top = scale.y(seen.band.mean);
        let bar = Rect { x, y: top, w: (end - x).max(1).min(plot.right() - x), h: plot.bottom() - top };
        if bar.h > 0 {
            scene.area(bar, Fill::Solid(p.background.mix(p.axis, 0.6)));
        }
    }
    axes::frame(scene, p, plot);
    if most == 0 {
        let (x, y) = (plot.x + plot.w / 2, plot.y + plot.h / 2);
        let mut text = words("No request waited.", x, y, 15.0, p, Anchor::Middle);
        text.color = p.faint_text;
        scene.text(text);
    }
    let lines = [
        "requests due but not submitted:".into(),
        format!("mean in each step of {}", axes::time(step)).into(),
        mean_of_run(view),
        most_of_run(view),
    ];
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(words(line, SIDE_LEFT, plot.y + 14 + 18 * i as i32, 13.0, p, Anchor::Start));
    }
}
