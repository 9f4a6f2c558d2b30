//! Requests in flight: all, reads and writes as lanes on one scale.

use super::axes::{self, CountScale, TimeScale, words};
use super::{BELOW, Chart, Draw, PLOT_WIDTH, RunView, SIDE_LEFT, SIDE_WIDTH, page, plot_area, single};
use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{Band, Occupancy};

/// Pixels of a step.
const STEP_PIXELS: usize = 2;
const STEPS: usize = PLOT_WIDTH as usize / STEP_PIXELS;

pub(super) static CHART: Chart = Chart {
    stem: "g08.latency.flying",
    keywords: &["inflight", "flying"],
    title: "Requests in flight over time",
    draw: Draw::Run(draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        facts(scene, view, y);
        page::counts_note(scene, view, y);
    };
    single(view, &CHART, legend, |scene, area| body(scene, view, area))
}

fn facts(scene: &mut Scene, view: &RunView<'_>, y: i32) {
    let s = view.summary;
    let count = |n: Option<u64>| n.map_or("–".to_string(), units::grouped);
    let mean = |m: Option<f64>| m.map_or("–".to_string(), units::request_rate);
    let lines = [
        format!(
            "in flight: mean over time {}; most handed out at once {} of a depth of {}",
            mean(s.in_flight.mean_time_weighted),
            count(s.in_flight.max_on_one_target),
            units::grouped(s.run.depth.into())
        ),
        format!(
            "waiting for submission: mean over time {}, most for a conflict on one target {}",
            mean(s.waiting.mean_time_weighted),
            count(s.waiting.max_for_conflict_on_one_target)
        ),
        "This is the view of the generator; layers below may let fewer requests through at the same time."
            .to_string(),
    ];
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(words(line, 110, y + 4 + 20 * i as i32, 13.0, view.palette, Anchor::Start));
    }
}

pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) {
    let (d, p) = (view.diagrams, view.palette);
    let lanes = [
        ("all", &d.in_flight, p.axis),
        ("reads", &d.reads_in_flight, p.read),
        ("writes", &d.writes_in_flight, p.write),
    ];
    let bands = lanes.map(|(_, occupancy, _)| occupancy.bands(STEPS));
    let most = bands.iter().flatten().map(|b| b.max).max().unwrap_or(0);
    if most == 0 {
        page::nothing(scene, view, plot_area(area), "Nothing to show: no request was in flight.");
        return;
    }
    let height = (area.h - BELOW) / 3;
    for (i, ((name, occupancy, color), bands)) in lanes.into_iter().zip(bands).enumerate() {
        let plot = Rect { y: area.y + height * i as i32, h: height - 12, ..plot_area(area) };
        let label = (i == 2).then_some("Time since the start of the run");
        lane(scene, view, &Lane { name, occupancy, color, bands, most }, plot, label);
    }
}

struct Lane<'a> {
    name: &'static str,
    occupancy: &'a Occupancy,
    color: Rgb,
    bands: Vec<Band>,
    most: u64,
}

fn lane(scene: &mut Scene, view: &RunView<'_>, lane: &Lane<'_>, plot: Rect, x_label: Option<&str>) {
    let p = view.palette;
    let scale = CountScale::new(lane.most, plot);
    let time = TimeScale { end_ns: lane.occupancy.axis().end_ns(), area: plot };
    time.draw(scene, p, x_label);
    scale.draw(scene, p, &format!("{} (log)", lane.name));
    let step = lane.occupancy.band_ns(STEPS);
    let left = |i: usize| time.x(i as u64 * step).min(plot.right());
    for (i, band) in lane.bands.iter().enumerate() {
        let (top, low) = (scale.y(band.max as f64), scale.y(band.min as f64));
        let bar = Rect { x: left(i), y: top, w: left(i + 1) - left(i), h: low - top + 1 };
        if band.max > 0 {
            scene.area(bar, Fill::Solid(p.background.mix(lane.color, 0.4)));
        }
    }
    let points = lane.bands.iter().enumerate().map(|(i, b)| (left(i), scale.y(b.median as f64))).collect();
    scene.steps(points, plot.right(), Stroke::solid(lane.color, 2));
    axes::frame(scene, p, plot);
    depth_line(scene, view, lane, &scale, plot);
    let most = lane.bands.iter().map(|b| b.max).max().unwrap_or(0);
    let lines = [
        format!("{}: most {}", lane.name, units::grouped(most)),
        "line: median of the step".to_string(),
        "band: least to most".to_string(),
        format!("one step is {}", axes::time(step)),
    ];
    // What line and band mean is said once.
    let shown = if lane.name == "all" { lines.len() } else { 1 };
    for (i, line) in lines.into_iter().take(shown).enumerate() {
        let mut text = words(line, SIDE_LEFT, plot.y + 30 + 18 * i as i32, 13.0, p, Anchor::Start);
        if i == 0 {
            (text.weight, text.color) = (Weight::Bold, lane.color);
        }
        scene.text(text);
    }
}

/// The most that the plan allows, on all targets together.
fn depth_line(scene: &mut Scene, view: &RunView<'_>, lane: &Lane<'_>, scale: &CountScale, plot: Rect) {
    let p = view.palette;
    let targets = view.summary.targets.len().max(1) as u64;
    let depth = u64::from(view.summary.run.depth) * targets;
    if !scale.reaches(depth) || lane.name != "all" {
        return;
    }
    let y = scale.y(depth as f64);
    scene.horizontal(y, (plot.x, plot.right()), Stroke::dashed(p.bad, 1));
    let words_of_line = format!("dashed: depth {} × {targets} targets", view.summary.run.depth);
    let text = if targets == 1 { format!("dashed: depth {depth}") } else { words_of_line };
    let fitted = fonts::fit(&text, 12.0, Weight::Regular, f64::from(SIDE_WIDTH));
    let mut text = words(fitted, SIDE_LEFT, (y + 4).clamp(plot.y + 8, plot.y + 12), 12.0, p, Anchor::Start);
    text.color = p.bad;
    scene.text(text);
}
