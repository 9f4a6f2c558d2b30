//! The sonar: latency of every request over the time when it was really started.

use super::band::{self, Panel};
use super::{Chart, Draw, RunView, page, single};
use crate::scene::{Rect, Scene};

pub(super) static CHART: Chart = Chart {
    stem: "g01.latency.realtime",
    keywords: &["sonar"],
    title: "Latency of every request over real start time",
    draw: Draw::Run(draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        page::time_legend(scene, view, &view.summary.latency, y);
        page::counts_note(scene, view, y);
    };
    single(view, &CHART, legend, |scene, area| body(scene, view, area))
}

pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) {
    if !band::or_nothing(scene, view, area) {
        return;
    }
    let panel = Panel {
        grid: &view.diagrams.latency,
        verdict: &view.summary.limits.latency,
        under: "< 1 µs",
        always_under: false,
        x_label: "Time of submission since the start of the run",
        y_label: "Latency (submission → completion), log",
    };
    band::draw(scene, view, &panel, area, true);
}
