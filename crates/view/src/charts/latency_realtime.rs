//! Latency of every request over its submission.

use super::band::{self, Overlay, Panel};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, page, single};
use crate::scene::Scene;
use iosonar_analyze::{CountGrid, Detail};

pub(super) static CHART: Chart = Chart {
    stem: "g01.latency.realtime",
    keywords: &["latency", "latency.realtime", "sonar"],
    title: "Latency of every request over the time of its submission",
    message: Message::Figures(message::latency),
    draw: Draw::Run(Detail::Sonar, |view| draw(view, &CHART, &panel(view))),
};

/// A single picture of latencies.
pub(super) fn draw(view: &RunView<'_>, chart: &Chart, panel: &Panel<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        page::time_legend(scene, view, "latency", &view.summary.latency, y);
        page::counts_and_marks(scene, view, y);
    };
    single(view, chart, legend, |scene, area| {
        if band::or_nothing_at_all(scene, view, area) {
            scene.counted = Some(band::draw(scene, view, panel, area, true));
        }
    })
}

/// Latencies over some axis.
pub(super) fn over<'a>(
    view: &RunView<'a>,
    grid: &'a CountGrid,
    failed: &'a CountGrid,
    x_label: &'static str,
) -> Panel<'a> {
    Panel {
        grid,
        failed: Some(failed),
        limit: Some(("latency", &view.summary.limits.latency)),
        under: "< 1 µs",
        always_under: false,
        by_number: false,
        with_p99: false,
        overlay: Overlay::Times,
        x_label,
        y_label: "Latency (submission → completion), log",
    }
}

pub(super) fn panel<'a>(view: &RunView<'a>) -> Panel<'a> {
    let panel = over(
        view,
        &view.diagrams.latency,
        &view.diagrams.failed.latency,
        "Time of submission since the start of the run",
    );
    Panel { overlay: Overlay::TimesAndBands, ..panel }
}
