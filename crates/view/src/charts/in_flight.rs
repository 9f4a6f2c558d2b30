//! Number of requests in a state over time: all, reads and writes as lanes on one scale.

use super::axes::{self, CountScale, TimeScale, words};
use super::message::{self, Message};
use super::{BELOW, Chart, Draw, RunView, SIDE_LEFT, figures, overlay, page, plot_area, single};
use crate::fonts::Weight;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{Band, ClassOccupancy, Detail, Occupancy, Scope};
use iosonar_plaintext::most_in_flight;

/// Pixels of a step.
const STEP_PIXELS: i32 = 2;

pub(super) static IN_FLIGHT: Chart = Chart {
    stem: "g08.latency.flying",
    keywords: &["inflight", "flying"],
    title: "Requests in flight over time",
    message: Message::Headline,
    draw: Draw::Run(Detail::Course, |view| draw(view, &IN_FLIGHT, &view.diagrams.in_flight, true)),
};

pub(super) static WAITING: Chart = Chart {
    stem: "g09.delay.flying",
    keywords: &["waiting", "delay.flying"],
    title: "Requests that are due and not submitted yet, over time",
    message: Message::Figures(message::waiting),
    draw: Draw::Run(Detail::Full, |view| draw(view, &WAITING, &view.diagrams.waiting, false)),
};

fn draw(view: &RunView<'_>, chart: &Chart, occupancy: &ClassOccupancy, has_depth: bool) -> Scene {
    let legend = |scene: &mut Scene, y| {
        facts(scene, view, y);
        page::counts_note(scene, view, y);
    };
    single(view, chart, legend, |scene, area| body(scene, view, occupancy, has_depth, area))
}

fn facts(scene: &mut Scene, view: &RunView<'_>, y: i32) {
    let s = view.summary;
    let count = |path: &str, n: Option<u64>| n.map_or("unknown".into(), |n| figures::count(path, n));
    let mean = |path: &str, mean: Option<f64>| {
        mean.map_or("–".into(), |mean| Caption::figure(units::request_rate(mean), path, mean))
    };
    let (all, one) = match s.targets.len() {
        0 | 1 => ("", ""),
        _ => (" of all targets together", " on one target"),
    };
    if s.run.is_recording() {
        recorded(scene, view, mean("in_flight.mean_time_weighted", s.in_flight.mean_time_weighted), y);
        return;
    }
    let lines = [
        figures::joined([
            "in flight: mean over time ".into(),
            mean("in_flight.mean_time_weighted", s.in_flight.mean_time_weighted),
            format!("{all}; max queue depth{one} ").into(),
            count("in_flight.max_on_one_target", s.in_flight.max_on_one_target),
            " of ".into(),
            count("run.depth", s.run.depth.map(u64::from)),
        ]),
        figures::joined([
            "waiting for submission: mean over time ".into(),
            mean("waiting.mean_time_weighted", s.waiting.mean_time_weighted),
            format!("{all}, max ").into(),
            count("waiting.max", s.waiting.max),
            "; max for a conflict on one target ".into(),
            count("waiting.max_for_conflict_on_one_target", s.waiting.max_for_conflict_on_one_target),
        ]),
        "This is the view of the generator; layers below may let fewer requests through at the same time."
            .into(),
    ];
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(words(line, 110, y + 4 + 20 * i as i32, 13.0, view.palette, Anchor::Start));
    }
}

/// The caption of a recording, whose depth was never set.
fn recorded(scene: &mut Scene, view: &RunView<'_>, mean: Caption, y: i32) {
    let s = view.summary;
    let mut told = vec!["in flight, of all targets together: mean over time ".into(), mean];
    if let Some(peak) = s.in_flight.peak {
        let most = format!("; {}", most_in_flight(peak, s.run.started_unix_ns));
        told.push(Caption::figure(most, "in_flight.peak.requests", peak.requests));
    }
    scene.text(words(figures::joined(told), 110, y + 4, 13.0, view.palette, Anchor::Start));
    let what = "From the start of each request to its end, as the recorder saw them.";
    scene.text(words(what, 110, y + 24, 13.0, view.palette, Anchor::Start));
}

/// A step and its numbers.
pub(super) struct DrawnStep {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) band: Band,
}

/// The visible steps, each at least `pixels` pixels wide, and the length of each.
pub(super) fn seen_bands(occupancy: &Occupancy, time: &TimeScale, pixels: i32) -> (Vec<DrawnStep>, u64) {
    let axis = occupancy.axis();
    let group = super::steps::group(axis.width_ns(), time, pixels);
    let most = axis.columns().div_ceil(group);
    let step = occupancy.band_ns(most);
    let seen = |(i, band): (usize, Band)| {
        let begin_ns = (i as u64).saturating_mul(step);
        let end_ns = begin_ns.saturating_add(step);
        time.shows(begin_ns..end_ns).then_some(DrawnStep { begin_ns, end_ns, band })
    };
    (occupancy.bands(most).into_iter().enumerate().filter_map(seen).collect(), step)
}

struct Lane {
    scope: Scope,
    bands: Vec<DrawnStep>,
    step: u64,
    /// Over all lanes.
    most: u64,
    has_depth: bool,
}

fn body(scene: &mut Scene, view: &RunView<'_>, occupancy: &ClassOccupancy, has_depth: bool, area: Rect) {
    let time = view.time(plot_area(area));
    let mut lanes: Vec<Lane> = Vec::new();
    for scope in Scope::TRANSFERS {
        let (bands, step) = seen_bands(&occupancy.scope(scope), &time, STEP_PIXELS);
        lanes.push(Lane { scope, bands, step, most: 0, has_depth });
    }
    lanes.retain(|l| l.bands.iter().any(|b| b.band.max > 0));
    let most = lanes.iter().flat_map(|l| &l.bands).map(|b| b.band.max).max().unwrap_or(0);
    if most == 0 {
        let why = match (has_depth, view.range) {
            (true, None) => "Nothing to show: no request was in flight.",
            (false, None) => "Nothing to show: no request ever waited.",
            _ => "Nothing to show in this part of the time.",
        };
        page::nothing(scene, view, plot_area(area), why);
        return;
    }
    let height = (area.h - BELOW) / lanes.len() as i32;
    let last = lanes.len() - 1;
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.most = most;
        let plot = Rect { y: area.y + height * i as i32, h: height - 12, ..plot_area(area) };
        let label = (i == last).then_some("Time since the start of the run");
        draw_lane(scene, view, lane, &time.within(plot), label);
    }
}

fn draw_lane(scene: &mut Scene, view: &RunView<'_>, lane: &Lane, time: &TimeScale, x_label: Option<&str>) {
    let (p, plot) = (view.palette, time.area);
    let color = page::color(view, lane.scope);
    let scale = CountScale::new(lane.most, plot);
    time.draw(scene, p, x_label);
    scale.draw(scene, p, "Requests, log");
    overlay::behind(scene, view, time, plot);
    let edges = |seen: &DrawnStep| (time.x(seen.begin_ns), time.x(seen.end_ns));
    for seen in lane.bands.iter().filter(|s| s.band.max > 0) {
        let (x, end) = edges(seen);
        let (top, low) = (scale.y(seen.band.max as f64), scale.y(seen.band.min as f64));
        let bar = Rect { x, y: top, w: end - x, h: low - top + 1 };
        scene.area(bar, Fill::Solid(p.background.mix(color, 0.4)));
    }
    let points = lane.bands.iter().map(|s| (edges(s).0, scale.y(s.band.median as f64))).collect();
    let end = lane.bands.last().map_or(plot.right(), |s| edges(s).1);
    scene.steps(points, end, Stroke::solid(color, 2));
    axes::frame(scene, p, plot);
    depth_line(scene, view, lane, &scale, plot);
    let lines = [
        page::scope_name(lane.scope).trim_start_matches("of these, ").to_string(),
        "line: median of the step".to_string(),
        "band: least to most".to_string(),
        format!("one step is {}", axes::time(lane.step)),
    ];
    // The meaning of line and band is explained once.
    let shown = if lane.scope == Scope::All { lines.len() } else { 1 };
    for (i, line) in lines.into_iter().take(shown).enumerate() {
        let mut text = words(line, SIDE_LEFT, plot.y + 30 + 17 * i as i32, 13.0, p, Anchor::Start);
        if i == 0 {
            (text.weight, text.color) = (Weight::Bold, color);
        }
        scene.text(text);
    }
}

/// Draws the maximum that the plan allows, on all targets together.
fn depth_line(scene: &mut Scene, view: &RunView<'_>, lane: &Lane, scale: &CountScale, plot: Rect) {
    let p = view.palette;
    let targets = view.summary.targets.len().max(1) as u64;
    let Some(depth_of_one) = view.summary.run.depth.map(u64::from) else { return };
    let depth = depth_of_one * targets;
    if !scale.reaches(depth) || lane.scope != Scope::All || !lane.has_depth {
        return;
    }
    let y = scale.y(depth as f64);
    scene.horizontal(y, (plot.x, plot.right()), Stroke::dashed(p.bad, 1));
    let words_of_line = format!("dashed: depth {depth_of_one} × {targets} targets");
    let text = if targets == 1 { format!("dashed: depth {depth}") } else { words_of_line };
    let text = Caption::figure(text, "run.depth", depth_of_one);
    let mut text = words(text, SIDE_LEFT, (y + 4).clamp(plot.y + 8, plot.y + 12), 12.0, p, Anchor::Start);
    text.color = p.bad;
    scene.text(text);
}
