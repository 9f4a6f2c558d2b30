//! All pictures on one page, on one time axis.

use super::axes::words;
use super::{PAGE_WIDTH, Picture, View, delay, inflight, page, plot_area, sonar, throughput};
use crate::fonts::Weight;
use crate::scene::{Anchor, Rect, Scene};

/// Height of the page.
const HEIGHT: u32 = 2000;

type Body = fn(&mut Scene, &View<'_>, Rect);

pub(super) fn draw(view: &View<'_>) -> Scene {
    let mut scene = Scene::new(PAGE_WIDTH, HEIGHT, view.palette.background);
    page::head(&mut scene, view, Picture::Sheet.title());
    page::time_legend(&mut scene, view, &view.summary.latency, 102);
    page::counts_note(&mut scene, view, 102);
    let parts: [(Picture, Body, i32); 4] = [
        (Picture::Sonar, sonar::body, 500),
        (Picture::Throughput, throughput::body, 400),
        (Picture::Delay, delay::body, 430),
        (Picture::InFlight, inflight::body, 370),
    ];
    let mut y = 214;
    let mut plots = Vec::new();
    for (picture, body, height) in parts {
        let mut title = words(picture.title(), 110, y, 15.0, view.palette, Anchor::Start);
        title.weight = Weight::Bold;
        scene.text(title);
        let area = Rect { x: 0, y: y + 14, w: PAGE_WIDTH as i32, h: height - 40 };
        body(&mut scene, view, area);
        plots.push(plot_area(area));
        y += height + 6;
    }
    // Each plot has its own stamp: parts of a sheet are cut out and passed on.
    page::bottom(&mut scene, view, &plots);
    scene
}
