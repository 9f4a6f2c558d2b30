//! Working sets: the part of the device used during the last seconds.

use super::super::axes::{self, LinearScale, TICK_SIZE, words};
use super::super::message::Message;
use super::super::{BELOW, Chart, DemandView, Draw, PLOT_LEFT, PLOT_WIDTH, figures};
use super::scales::{Direction, LogScale, unit_of};
use super::{Entry, TIME_LABEL};
use crate::palette::Palette;
use crate::scene::{Anchor, Caption, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::{PAGE_BYTES, WindowFacts, WindowSeries};

pub(in super::super) static LOG: Chart = Chart {
    stem: "g30.ws_log",
    keywords: &["ws_log", "working-set"],
    title: "Working set: distinct 4 KiB pages used in the last seconds, logarithmic",
    message: Message::Description,
    draw: Draw::Demand(|view| draw(view, &LOG, true)),
};

pub(in super::super) static LIN: Chart = Chart {
    stem: "g31.ws_lin",
    keywords: &["ws_lin"],
    title: "Working set: distinct 4 KiB pages used in the last seconds, linear",
    message: Message::Description,
    draw: Draw::Demand(|view| draw(view, &LIN, false)),
};

/// Room for the axis at the right.
const RIGHT_AXIS: i32 = 84;

/// Either scale of bytes.
enum Scale {
    Log(LogScale),
    Linear { scale: LinearScale, unit: f64 },
}

impl Scale {
    fn y(&self, bytes: f64) -> i32 {
        match self {
            Scale::Log(scale) => scale.at(bytes),
            Scale::Linear { scale, unit } => scale.y(bytes / unit),
        }
    }

    fn reaches(&self, bytes: f64) -> bool {
        match self {
            Scale::Log(scale) => scale.reaches(bytes),
            Scale::Linear { scale, unit } => scale.reaches(bytes / unit),
        }
    }

    /// Bytes at each tick.
    fn ticks(&self) -> Vec<f64> {
        match self {
            Scale::Log(scale) => scale.ticks().iter().map(|(value, _)| *value).collect(),
            Scale::Linear { scale, unit } => scale.ticks().map(|v| v * unit).collect(),
        }
    }
}

fn draw(view: &DemandView<'_>, chart: &Chart, is_log: bool) -> Scene {
    super::picture(view, chart, sentences(view), |scene, area| body(scene, view, area, is_log))
}

fn sentences(view: &DemandView<'_>) -> Vec<Caption> {
    let facts = &view.demand.facts;
    let mut lines =
        vec!["One step for each second t: distinct pages that the requests of [t − d, t) touched.".into()];
    if let Some(all) = facts.working_sets.last() {
        let path = format!("demand.working_sets.{}.sliding.pages.max", facts.working_sets.len() - 1);
        let (most, growth) = (all.sliding.pages.max, facts.growth.last_tenth_bytes_per_s);
        lines.push(figures::joined([
            "In all ".into(),
            figures::pages(&path, most as f64),
            " (".into(),
            figures::count(&path, most),
            " pages); in the last tenth of the time ".into(),
            Caption::figure(units::byte_rate(growth), "demand.growth.last_tenth_bytes_per_s", growth),
            " of new data".into(),
        ]));
    }
    lines.extend(super::sampled(
        &facts.sampling,
        "relative_error.pages",
        facts.sampling.relative_error.pages,
    ));
    lines
}

pub(in super::super) fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect, is_log: bool) {
    let (p, series) = (view.palette, &view.demand.series.working_sets);
    let plot = Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH - RIGHT_AXIS, h: area.h - BELOW };
    let bytes = |pages: &u64| *pages as f64 * PAGE_BYTES as f64;
    let values = || series.iter().flat_map(|w| w.sliding.pages.iter().map(bytes));
    let most = values().fold(0.0, f64::max);
    let least = values().filter(|v| *v > 0.0).fold(most, f64::min);
    let end_s = series.iter().map(|w| w.step_s * (w.sliding.pages.len() as u64 + 1)).max().unwrap_or(1);
    let time = super::time_scale(view, end_s.saturating_mul(1_000_000_000), plot);
    time.draw(scene, p, Some(TIME_LABEL));
    let scale = if is_log {
        let scale = LogScale::bytes(least, most, plot, Direction::Up);
        scale.draw(scene, p, "Working set, bytes, log");
        Scale::Log(scale)
    } else {
        let (unit, name) = unit_of(most);
        let scale = LinearScale::new(most / unit, plot);
        scale.draw(scene, p, &format!("Working set, {name}"), units::plain);
        Scale::Linear { scale, unit }
    };
    right_axis(scene, p, plot, &scale);
    for (i, window) in series.iter().enumerate() {
        let second = |n: usize| (n as u64 + 1).saturating_mul(window.step_s).saturating_mul(1_000_000_000);
        let values = window.sliding.pages.iter().enumerate();
        let steps = values.filter(|(n, _)| time.shows(second(*n)..second(n + 1))).map(|(n, pages)| {
            // An empty working set has no position on a logarithmic scale.
            let y = (*pages > 0 || !is_log).then(|| scale.y(bytes(pages)));
            (time.x(second(n)), time.x(second(n + 1)), y)
        });
        super::interrupted(scene, steps, super::window_stroke(p, i, window.window_s.is_none()));
    }
    axes::frame(scene, p, plot);
    let mut entries = windows(p, series, &view.demand.facts.working_sets);
    entries.extend(devices(scene, view, plot, &scale));
    super::legend(scene, p, Rect { x: plot.x, ..plot }, &entries);
}

/// The same ticks as numbers of pages.
fn right_axis(scene: &mut Scene, p: &Palette, plot: Rect, scale: &Scale) {
    let mut free_above = i32::MAX;
    for bytes in scale.ticks() {
        let y = scale.y(bytes);
        let pages = bytes / PAGE_BYTES as f64;
        scene.horizontal(y, (plot.right(), plot.right() + 5), Stroke::solid(p.axis, 1));
        if y < free_above && (pages >= 1.0 || pages == 0.0) {
            let text = pages_label(pages);
            scene.text(words(text, plot.right() + 9, y + 4, TICK_SIZE, p, Anchor::Start));
            free_above = y - 14;
        }
    }
    let text = "pages of 4 KiB";
    scene.text(words(text, plot.right() + 9, plot.y - 14, TICK_SIZE, p, Anchor::Start));
}

/// A number of pages in little room: `256`, `2 621`, `268 M`.
fn pages_label(pages: f64) -> String {
    match pages {
        p if p >= 1e9 => format!("{} G", units::number(p / 1e9)),
        p if p >= 1e6 => format!("{} M", units::number(p / 1e6)),
        p => units::grouped(p.round() as u64),
    }
}

fn windows(p: &Palette, series: &[WindowSeries], facts: &[WindowFacts]) -> Vec<Entry> {
    let entry = |(i, (series, facts)): (usize, (&WindowSeries, &WindowFacts))| {
        let size = |field: &str, pages: f64| {
            figures::pages(format!("demand.working_sets.{i}.sliding.pages.{field}"), pages)
        };
        let pages = &facts.sliding.pages;
        let stroke = super::window_stroke(p, i, series.window_s.is_none());
        let told = match series.window_s {
            Some(_) => {
                let [mean, max] = [size("mean", pages.mean), size("max", pages.max as f64)];
                figures::joined(["avg ".into(), mean, ", max ".into(), max])
            }
            None => figures::joined(["in the end ".into(), size("max", pages.max as f64)]),
        };
        let mut name = Caption::from(super::window_name(series.window_s));
        if let Some(window_s) = series.window_s {
            name = name.of(format!("demand.working_sets.{i}.window_s"), window_s);
        }
        Entry::line(stroke, vec![name, told])
    };
    // The infinite one, drawn last, is listed first: it must not be among those that do not fit.
    let mut entries: Vec<Entry> = series.iter().zip(facts).enumerate().map(entry).collect();
    entries.rotate_right(1.min(series.len()));
    entries
}

/// Draws lines at the sizes of devices; returns words for those that lie outside.
fn devices(scene: &mut Scene, view: &DemandView<'_>, plot: Rect, scale: &Scale) -> Vec<Entry> {
    let mut outside = Vec::new();
    for w in &view.demand.facts.wraparound {
        if scale.reaches(w.device_bytes as f64) {
            let y = scale.y(w.device_bytes as f64);
            super::device_line(scene, view.palette, plot, y, w.device_bytes);
        } else {
            let size = units::bytes(w.device_bytes);
            outside.push(Entry::words(vec![
                format!("device of {size}").into(),
                "lies outside the scale".into(),
            ]));
        }
    }
    outside
}
