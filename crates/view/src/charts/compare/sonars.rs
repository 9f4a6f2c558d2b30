//! Both sonars, one above the other, on the same axes.

use super::super::axes::{self, LABEL_SIZE, words};
use super::super::{BELOW, PLOT_LEFT, PLOT_WIDTH, SIDE_LEFT, band, figures};
use super::{Chart, CompareView};
use crate::density::Density;
use crate::fonts::Weight;
use crate::scene::{Anchor, Mark, Rect, Scene};
use iosonar_analyze::{CountGrid, Summary, TimeStats};

pub(super) static CHART: Chart = Chart {
    stem: "compare.sonar",
    title: "Latency of completed requests in A and in B, on the same axes",
    draw,
};

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    if !super::or_nothing(view, scene, area) {
        return;
    }
    let (a, b, x_label) = super::grids(view);
    let half = (area.h - BELOW) / 2;
    let upper = Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH, h: half - 8 };
    let lower = Rect { y: area.y + half + 8, ..upper };
    for (name, grid, summary, plot) in [("A", a, view.a.summary, upper), ("B", b, view.b.summary, lower)] {
        panel(view, scene, (name, grid), plot);
        side(view, scene, name, summary, plot);
    }
    let time = super::time_scale(view, lower);
    time.draw_labels(scene, view.view.palette);
    let (x, y) = (lower.x + lower.w / 2, lower.bottom() + 36);
    scene.text(words(x_label, x, y, LABEL_SIZE, view.view.palette, Anchor::Middle));
}

fn panel(view: &CompareView<'_>, scene: &mut Scene, (name, grid): (&str, &CountGrid), plot: Rect) {
    let p = view.view.palette;
    let (time, scale) = (super::time_scale(view, plot), super::latency_scale(view, plot));
    time.draw_grid(scene, p);
    scale.draw(scene, p, "< 1 µs", &format!("{name}: latency, log"));
    let strips = band::strips(grid, &time);
    let density = Density::new(&strips, &scale.pixel_rows());
    scene.marks.push(Mark::Image(density.image(p, plot.x, plot.y)));
    axes::frame(scene, p, plot);
}

/// Name and figures of a run.
fn side(view: &CompareView<'_>, scene: &mut Scene, name: &str, s: &Summary, plot: Rect) {
    let p = view.view.palette;
    let of_times = |t: &TimeStats| {
        let wanted = ["mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns"];
        let names = ["avg ", "p50 ", "p99 ", "p99.9 ", "max "];
        let told = names.into_iter().zip(figures::of_times("latency.all", t, &wanted));
        told.map(|(name, told)| figures::joined([name.into(), told])).collect::<Vec<_>>()
    };
    let completed = figures::count("counts.all.completed", s.counts.all.completed);
    let mut lines = vec![name.into(), figures::joined([completed, " completed".into()])];
    lines.extend(s.latency.all.as_ref().map(of_times).unwrap_or_default());
    lines.push("blue: reads, red: writes".into());
    for (i, line) in lines.into_iter().enumerate() {
        let weight = if i == 0 { Weight::Bold } else { Weight::Regular };
        let mut text = words(
            figures::of_one(name, line),
            SIDE_LEFT,
            plot.y + 14 + 18 * i as i32,
            13.0,
            p,
            Anchor::Start,
        );
        text.weight = weight;
        scene.text(text);
    }
}
