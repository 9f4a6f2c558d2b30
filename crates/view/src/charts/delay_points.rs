//! Delay over the number of the request: equal room for each request.

use super::band::{self, Overlay, Panel};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, page, single};
use crate::scene::Scene;
use iosonar_analyze::Detail;

pub(super) static CHART: Chart = Chart {
    stem: "g05.delay.points",
    keywords: &["delay.points"],
    title: "Delay of every request, one after the other in order of completion",
    message: Message::Figures(message::delay),
    draw: Draw::Run(Detail::Full, draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        page::time_legend(scene, view, "delay", &view.summary.delay, y);
        page::counts_and_marks(scene, view, y);
    };
    let panel = Panel {
        grid: &view.diagrams.delay_by_number,
        failed: Some(&view.diagrams.failed.delay_by_number),
        limit: Some(("delay", &view.summary.limits.delay)),
        under: "on time",
        always_under: true,
        by_number: true,
        with_p99: false,
        overlay: Overlay::Nothing,
        x_label: "Number of the request in order of completion",
        y_label: "Delay (due → submission), log",
    };
    single(view, &CHART, legend, |scene, area| {
        if band::or_nothing_at_all(scene, view, area) {
            scene.counted = Some(band::draw(scene, view, &panel, area, true));
        }
    })
}
