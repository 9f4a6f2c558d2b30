//! The change of every figure from A to B, with its interval.

use super::super::axes::{self, TICK_SIZE, words};
use super::super::page;
use super::{Chart, CompareView, signed_percent};
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::compare::{Figure, Unit};

pub(super) static CHART: Chart = Chart {
    stem: "compare.shift",
    title: "Change of every figure from A to B, with 95 % intervals that hold together",
    draw,
};

/// Height of a row.
const ROW: i32 = 19;
/// Room for names at the left, and for values at the right.
const NAMES: i32 = 210;
const VALUES: i32 = 560;
/// Changes beyond this factor lie at the edge.
pub(super) const MOST: f64 = 16.0;

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    let figures = view.comparison.map_or(&[][..], |c| &c.figures);
    let numbered = figures.iter().enumerate();
    let mut known: Vec<(usize, &Figure)> = numbered.filter(|(_, f)| f.change_percent.is_some()).collect();
    // Reads and writes alone come last: they are skipped first.
    known.sort_by_key(|(_, f)| f.name.contains("read.") || f.name.contains("write."));
    let plot = Rect { x: 24 + NAMES, y: area.y + 22, w: 1552 - NAMES - VALUES, h: area.h - 22 - 40 };
    if known.is_empty() {
        page::nothing(
            scene,
            &view.view,
            super::plot_area(area),
            "Nothing to show: the runs have no figure in common.",
        );
        return;
    }
    let p = view.view.palette;
    let most = known
        .iter()
        .flat_map(|(_, f)| ends(f))
        .map(|c| log(c).abs())
        .fold(1.1f64.ln(), f64::max)
        .min(MOST.ln());
    let x = |percent: f64| {
        let share = (log(percent) / most).clamp(-1.0, 1.0);
        plot.x + plot.w / 2 + (share * f64::from(plot.w / 2 - 8)).round() as i32
    };
    ticks(view, scene, plot, most, &x);
    let room = (plot.h / ROW) as usize;
    let shown = if known.len() > room { room - 1 } else { known.len() };
    heads(view, scene, plot);
    for (i, figure) in known.iter().take(shown).enumerate() {
        row(view, scene, (plot, plot.y + ROW * i as i32 + 14), *figure, &x);
    }
    if known.len() > shown {
        let more = format!("and {} more", known.len() - shown);
        scene.text(words(more, 24, plot.y + ROW * shown as i32 + 14, 13.0, p, Anchor::Start));
    }
    axes::frame(scene, p, plot);
}

/// The change and the ends of its interval.
fn ends(figure: &Figure) -> impl Iterator<Item = f64> {
    [figure.change_percent, figure.low_percent, figure.high_percent].into_iter().flatten()
}

/// A change in percent as natural logarithm of the ratio: twice and half lie equally far.
pub(super) fn log(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-9).ln()
}

/// Changes that get a tick, the most wanted first.
pub(super) const TICKS: [f64; 17] = [
    0.0, 100.0, -50.0, 10.0, -10.0, 900.0, -90.0, 300.0, -75.0, 50.0, -33.0, 20.0, -20.0, 5.0, -5.0, 1.0,
    -1.0,
];

/// A tick's label.
pub(super) fn tick_label(percent: f64) -> String {
    if percent == 0.0 { "0 %".to_string() } else { format!("{percent:+} %").replace('-', "−") }
}

fn ticks(view: &CompareView<'_>, scene: &mut Scene, plot: Rect, most: f64, x: &dyn Fn(f64) -> i32) {
    let p = view.view.palette;
    let mut taken: Vec<i32> = Vec::new();
    for percent in TICKS {
        let at = x(percent);
        if log(percent).abs() > most * 1.001 || taken.iter().any(|t| t.abs_diff(at) < 58) {
            continue;
        }
        taken.push(at);
        scene.vertical(at, (plot.y, plot.bottom() - 1), Stroke::solid(p.grid, 1));
        scene.text(words(tick_label(percent), at, plot.bottom() + 18, TICK_SIZE, p, Anchor::Middle));
    }
    scene.vertical(x(0.0), (plot.y, plot.bottom() - 1), Stroke::solid(p.text, 1));
    let label = "Change from A to B, logarithmic";
    scene.text(words(label, plot.x + plot.w / 2, plot.bottom() + 36, axes::LABEL_SIZE, p, Anchor::Middle));
}

/// Columns of the values, as ends of their words.
fn columns(plot: Rect) -> [(&'static str, i32); 4] {
    let right = plot.right();
    [("A", right + 110), ("B", right + 220), ("change", right + 320), ("interval", right + VALUES - 20)]
}

fn heads(view: &CompareView<'_>, scene: &mut Scene, plot: Rect) {
    let p = view.view.palette;
    for (name, x) in columns(plot) {
        let mut text = words(name, x, plot.y - 6, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    key(view, scene, plot.x + 10, plot.y - 6);
}

/// Draws the meaning of the colours of changes.
pub(super) fn key(view: &CompareView<'_>, scene: &mut Scene, x: i32, y: i32) {
    let p = view.view.palette;
    let colors = [("worse", p.bad), ("better", p.ok), ("no difference shown", p.axis)];
    for (i, (name, color)) in colors.into_iter().enumerate() {
        let at = x + 110 * i as i32;
        page::swatch(scene, color, at, y);
        scene.text(words(name, at + 18, y, 12.0, p, Anchor::Start));
    }
}

fn row(
    view: &CompareView<'_>,
    scene: &mut Scene,
    (plot, y): (Rect, i32),
    (number, figure): (usize, &Figure),
    x: &dyn Fn(f64) -> i32,
) {
    let p = view.view.palette;
    let color: Rgb = match (figure.shown, figure.is_worse()) {
        (false, _) => p.axis,
        (true, true) => p.bad,
        (true, false) => p.ok,
    };
    scene.text(words(&figure.name, 24, y, 13.0, p, Anchor::Start));
    let change = figure.change_percent.unwrap_or(0.0);
    if let (Some(low), Some(high)) = (figure.low_percent, figure.high_percent) {
        scene.horizontal(y - 4, (x(low), x(high)), Stroke::solid(color, 2));
        [low, high]
            .into_iter()
            .for_each(|end| scene.vertical(x(end), (y - 9, y + 1), Stroke::solid(color, 1)));
    }
    scene.area(Rect { x: x(change) - 3, y: y - 8, w: 8, h: 8 }, Fill::Solid(color));
    // Path of the figure in the JSON of the comparison.
    let path = |name: &str| format!("comparisons.0.figures.{number}.{name}");
    let shown = |text: String, name: &str, value: f64| Caption::figure(text, path(name), value);
    let interval = match (figure.low_percent, figure.high_percent) {
        (Some(low), Some(high)) => {
            shown(format!("{} … {}", signed_percent(low), signed_percent(high)), "low_percent", low)
                .of(path("high_percent"), high)
        }
        _ => "no interval".into(),
    };
    let cells = [
        shown(value(figure.unit, figure.a), "a", figure.a),
        shown(value(figure.unit, figure.b), "b", figure.b),
        shown(signed_percent(change), "change_percent", change),
        interval,
    ];
    for (cell, (_, at)) in cells.into_iter().zip(columns(plot)) {
        scene.text(words(cell, at, y, 13.0, p, Anchor::End));
    }
}

fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time => axes::time(value.round().max(0.0) as u64),
        Unit::Requests => units::request_rate(value),
        Unit::Bytes => units::byte_rate(value),
        Unit::Ratio => format!("{value:.3}"),
    }
}
