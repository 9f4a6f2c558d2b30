//! The sonar of responses, and below it on the same axis the kernel's counters of devices, CPUs and memory.

use super::axes::{self, LinearScale, TimeScale, words};
use super::message::Message;
use super::{Chart, Draw, PAGE_WIDTH, RunView, SIDE_LEFT, SIDE_WIDTH, page, plot_area, response};
use crate::fonts::{self, Weight};
use crate::machine_lanes::{self, Lane, LaneCurve, MOST_DEVICES};
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use iosonar_analyze::{Detail, MachineSeries, SampledStep, SampledSteps};

/// Height of the part with the responses.
const SONAR_HEIGHT: i32 = 470;
/// Height of a lane, with the gap below it.
const LANE_HEIGHT: i32 = 124;
const LANE_GAP: i32 = 26;
/// Upper edge of the first part.
const TOP: i32 = 206;
/// Room for times and their label below the last lane.
const TIMES: i32 = 46;

pub(super) static CHART: Chart = Chart {
    stem: "g60.machine",
    keywords: &["machine", "series"],
    title: "Response of every request, and what the machine did meanwhile",
    message: Message::Headline,
    draw: Draw::Machine(Detail::Response, draw),
};

fn draw(view: &RunView<'_>, machine: &MachineSeries) -> Scene {
    let devices: Vec<_> = machine.devices.iter().take(MOST_DEVICES).collect();
    let lanes = machine_lanes::lanes(machine, &devices);
    let height = TOP + SONAR_HEIGHT + LANE_HEIGHT * lanes.len() as i32 + TIMES + page::BOTTOM + 8;
    let mut scene = Scene::new(PAGE_WIDTH, height as u32, view.palette.background);
    page::head(&mut scene, view, CHART.title);
    response::legend(&mut scene, view, 102);
    let sonar = Rect { x: 0, y: TOP, w: PAGE_WIDTH as i32, h: SONAR_HEIGHT - LANE_GAP };
    response::body(&mut scene, view, sonar);
    let time = view.time(plot_area(sonar));
    let mut plot = Rect { y: TOP + SONAR_HEIGHT, h: LANE_HEIGHT - LANE_GAP, ..plot_area(sonar) };
    let last = lanes.len().saturating_sub(1);
    for (number, lane) in lanes.iter().enumerate() {
        let label = (number == last).then_some("Time since the start of the run");
        draw_lane(&mut scene, view, lane, &time.within(plot), label);
        plot.y += LANE_HEIGHT;
    }
    if view.range.is_some() {
        page::range_note(&mut scene, view);
    }
    scene.counted = None;
    page::bottom(&mut scene, view, &[plot_area(sonar)]);
    scene
}

/// Colours without another meaning, dissimilar neighbours.
fn color(view: &RunView<'_>, number: usize) -> Rgb {
    view.palette.series[[1, 5, 3, 7, 4][number % 5]]
}

/// The steps of all curves at the same times, where they are stacked: sums from below.
fn heights(lane: &Lane<'_>) -> Vec<SampledSteps> {
    let mut heights: Vec<SampledSteps> = Vec::new();
    for curve in &lane.curves {
        let below = heights.last().filter(|_| lane.is_stacked);
        let sum = |(place, step): (usize, &SampledStep)| {
            let under = below.and_then(|steps| steps.get(place)).map_or(0.0, |step| step.value);
            SampledStep { value: step.value + under, ..*step }
        };
        heights.push(curve.steps.iter().enumerate().map(sum).collect());
    }
    heights
}

fn draw_lane(
    scene: &mut Scene,
    view: &RunView<'_>,
    lane: &Lane<'_>,
    time: &TimeScale,
    x_label: Option<&str>,
) {
    let (p, plot) = (view.palette, time.area);
    let seen = |steps: &SampledSteps| -> SampledSteps {
        steps.iter().filter(|step| time.shows(step.begin_ns..step.end_ns)).copied().collect()
    };
    let heights: Vec<SampledSteps> = heights(lane).iter().map(seen).collect();
    let most = heights.iter().flatten().map(|step| step.value).fold(0.0, f64::max);
    let scale = LinearScale::new(lane.most.unwrap_or(most), plot);
    time.draw(scene, p, x_label);
    scale.draw(scene, p, "", |value| lane.unit.number(value));
    // Curves lower in a stack are drawn over higher ones.
    for (number, steps) in heights.iter().enumerate().rev() {
        if lane.is_stacked {
            fill(scene, color(view, number), steps, &scale, time);
        } else {
            line(scene, color(view, number), steps, &scale, time);
        }
    }
    axes::frame(scene, p, plot);
    let mut title = words(lane.title, SIDE_LEFT, plot.y + 8, 13.0, p, Anchor::Start);
    title.weight = Weight::Bold;
    scene.text(title);
    for (number, curve) in lane.curves.iter().enumerate().filter(|(_, curve)| !curve.steps.is_empty()) {
        let y = plot.y + 26 + 17 * number as i32;
        page::swatch(scene, color(view, number), SIDE_LEFT, y);
        let mut text = caption(lane, curve, &seen(curve.steps));
        text.text = fonts::fit(&text.text, 13.0, Weight::Regular, f64::from(SIDE_WIDTH - 20));
        scene.text(words(text, SIDE_LEFT + 18, y, 13.0, p, Anchor::Start));
    }
}

/// Name, mean over time and greatest visible step.
fn caption(lane: &Lane<'_>, curve: &LaneCurve<'_>, seen: &[SampledStep]) -> Caption {
    let Some((mean, most)) = machine_lanes::mean_and_most(seen) else { return curve.name.into() };
    let text = format!("{}: {}, max {}", curve.name, lane.unit.number(mean), lane.unit.number(most));
    let path = |what: &str| format!("picture.machine.{}.{}.{what}", lane.title, curve.name);
    Caption::figure(text, path("mean"), mean).of(path("max"), most)
}

fn line(scene: &mut Scene, color: Rgb, steps: &SampledSteps, scale: &LinearScale, time: &TimeScale) {
    // No line where nothing was measured.
    for run in steps.chunk_by(|one, next| one.end_ns == next.begin_ns) {
        let points = run.iter().map(|step| (time.x(step.begin_ns), scale.y(step.value))).collect();
        let end = run.last().map_or(time.area.x, |step| time.x(step.end_ns));
        scene.steps(points, end, Stroke::solid(color, 2));
    }
}

fn fill(scene: &mut Scene, color: Rgb, steps: &SampledSteps, scale: &LinearScale, time: &TimeScale) {
    for step in steps.iter().filter(|step| step.value > 0.0) {
        let (x, end, y) = (time.x(step.begin_ns), time.x(step.end_ns), scale.y(step.value));
        scene.area(Rect { x, y, w: end - x, h: time.area.bottom() - y }, Fill::Solid(color));
    }
}
