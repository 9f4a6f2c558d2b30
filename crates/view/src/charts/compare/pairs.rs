//! Each request in A and in B: only replays execute the same requests twice.

use super::super::xy::{self, Pair, X};
use super::super::{RunView, page};
use super::{Chart, CompareView};
use crate::scene::{Rect, Scene};

pub(super) static CHART: Chart = Chart {
    stem: "compare.pairs",
    title: "Latency of each request in B over that of the same request in A",
    draw,
};

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    let Some(pairs) = view.comparison.and_then(|c| c.pairs.as_ref()) else {
        let why = "Nothing to show: the runs did not execute the same requests.";
        page::nothing(scene, &view.view, super::plot_area(area), why);
        return;
    };
    let pair = Pair {
        counts: &pairs.density,
        x: X::Same("Latency in A (submission → completion), log"),
        y_label: "Latency in B, log",
        under: "< 1 µs",
        correlation: None,
    };
    xy::body(scene, &RunView::new(view.view, &view.a), &pair, area);
}
