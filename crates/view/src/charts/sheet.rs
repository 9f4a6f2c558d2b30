//! The most informative pictures on one page.

use super::axes::words;
use super::overview::Unit;
use super::{
    Chart, Draw, PAGE_WIDTH, RunView, View, delay_setpoint, demand, latency_realtime, overview, page,
    percentiles, plot_area,
};
use crate::fonts::Weight;
use crate::scene::{Anchor, Rect, Scene};
use iosonar_analyze::Detail;

/// Height of the page.
const HEIGHT: u32 = 2000;
/// Height of the part with delays, which recordings do not know.
const DELAY_HEIGHT: i32 = 440;
/// Gap between two parts.
pub(super) const GAP: i32 = 6;

type Body = fn(&mut Scene, &RunView<'_>, Rect);

pub(super) static CHART: Chart = Chart {
    stem: "sheet",
    keywords: &["sheet"],
    title: "Overview of the run",
    draw: Draw::Either(Detail::Full, draw, |view| demand::sheet::draw(view, CHART.title)),
};

fn draw(view: &RunView<'_>) -> Scene {
    let knows_delay = view.summary.knows_delay();
    let height = if knows_delay { HEIGHT } else { HEIGHT - DELAY_HEIGHT as u32 - GAP as u32 };
    let mut scene = Scene::new(PAGE_WIDTH, height, view.palette.background);
    page::head(&mut scene, view, CHART.title);
    page::time_legend(&mut scene, view, "latency", &view.summary.latency, 102);
    page::counts_and_marks(&mut scene, view, 102);
    let parts: [(&Chart, Body, i32); 4] = [
        (&overview::REQUESTS, |scene, view, area| overview::body(scene, view, area, Unit::Requests), 360),
        (&latency_realtime::CHART, latency_realtime::body, 520),
        (
            &delay_setpoint::CHART,
            |scene, view, area| {
                delay_setpoint::body(scene, view, area);
            },
            DELAY_HEIGHT,
        ),
        (
            &percentiles::CHART,
            |scene, view, area| {
                percentiles::body(scene, view, area);
            },
            380,
        ),
    ];
    let mut y = 214;
    let mut plots = Vec::new();
    for (chart, body, height) in parts {
        if chart.stem == delay_setpoint::CHART.stem && !knows_delay {
            continue;
        }
        heading(&mut scene, view, chart, y);
        let area = Rect { x: 0, y: y + 14, w: PAGE_WIDTH as i32, h: height - 40 };
        body(&mut scene, view, area);
        plots.push(plot_area(area));
        y += height + GAP;
    }
    scene.counted = None;
    // Each plot has its own stamp: parts of a sheet are cut out and passed on.
    page::bottom(&mut scene, view, &plots);
    scene
}

/// The title of a part of a sheet.
pub(super) fn heading(scene: &mut Scene, view: &View<'_>, chart: &Chart, y: i32) {
    let mut title = words(page::title(view, chart.title), 110, y, 15.0, view.palette, Anchor::Start);
    title.weight = Weight::Bold;
    scene.text(title);
}
