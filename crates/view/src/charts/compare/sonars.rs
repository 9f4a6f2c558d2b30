//! Both sonars, one above the other, on the same axes.

use super::super::axes::{self, LABEL_SIZE, words};
use super::super::{BELOW, PLOT_LEFT, PLOT_WIDTH, SIDE_LEFT, SIDE_WIDTH, band};
use super::{Chart, CompareView};
use crate::density::Density;
use crate::fonts::{self, Weight};
use crate::scene::{Anchor, Mark, Rect, Scene};
use crate::units;
use iosonar_analyze::{CountGrid, Summary, TimeStats};

pub(super) static CHART: Chart =
    Chart { stem: "compare.sonar", title: "Latency of every request in A and in B, on the same axes", draw };

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
    let optional = |t: Option<u64>| t.map_or("–".to_string(), axes::time);
    let figures = |t: &TimeStats| {
        vec![
            format!("avg {}", axes::time(t.mean_ns)),
            format!("p50 {}", axes::time(t.p50_ns)),
            format!("p99 {}", optional(t.p99_ns)),
            format!("p99.9 {}", optional(t.p99_9_ns)),
            format!("max {}", axes::time(t.max_ns)),
        ]
    };
    let mut lines = vec![name.to_string(), format!("{} completed", units::grouped(s.counts.all.completed))];
    lines.extend(s.latency.all.as_ref().map(figures).unwrap_or_default());
    lines.push("blue: reads, red: writes".to_string());
    for (i, line) in lines.into_iter().enumerate() {
        let weight = if i == 0 { Weight::Bold } else { Weight::Regular };
        let fitted = fonts::fit(&line, 13.0, weight, f64::from(SIDE_WIDTH));
        let mut text = words(fitted, SIDE_LEFT, plot.y + 14 + 18 * i as i32, 13.0, p, Anchor::Start);
        text.weight = weight;
        scene.text(text);
    }
}
