//! Addresses of requests: how many start in each GiB of the device.

use super::super::axes::{self, LinearScale, TICK_SIZE, words};
use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, figures, plot_area};
use super::Entry;
use super::scales::{Direction, LogScale, label_below};
use crate::palette::Palette;
use crate::scene::{Anchor, Caption, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::SECTOR_BYTES;

pub(in super::super) static CHART: Chart = Chart {
    stem: "g41.rqpos.bins",
    keywords: &["rqpos", "positions"],
    title: "Position of requests: how many start in each part of the device",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

/// Sectors of a GiB.
const GIB: f64 = (1u64 << 30) as f64 / SECTOR_BYTES as f64;
/// A step is at least this many pixels wide.
const STEP_PIXELS: usize = 2;

fn draw(view: &DemandView<'_>) -> Scene {
    let mut lines = Vec::new();
    if let Some(at) = view.demand.facts.positions {
        let path = |field: &str| format!("demand.positions.{field}");
        let gib = |field: &str, sector: u64| {
            Caption::figure(format!("{} GiB", units::number(sector as f64 / GIB)), path(field), sector)
        };
        lines.push(figures::joined([
            "From ".into(),
            gib("lowest_sector", at.lowest_sector),
            " to ".into(),
            gib("highest_end_sector", at.highest_end_sector),
            "; ".into(),
            figures::count(path("not_page_aligned"), at.not_page_aligned),
            " of ".into(),
            figures::count("demand.counts.all.requests", view.demand.facts.counts.all.requests),
            " requests do not start and end at multiples of 4 KiB".into(),
        ]));
        lines.push(figures::joined([
            figures::count(path("cells_used"), at.cells_used),
            Caption::figure(format!(" cells of {} GiB are used", at.cell_gib), path("cell_gib"), at.cell_gib),
        ]));
    }
    for (i, w) in view.demand.facts.wraparound.iter().enumerate() {
        let path = |field: &str| format!("demand.wraparound.{i}.{field}");
        lines.push(figures::joined([
            "On a device of ".into(),
            figures::bytes(path("device_bytes"), w.device_bytes),
            ": wraparound factor ".into(),
            Caption::figure(units::number(w.factor), path("factor"), w.factor),
            ", ".into(),
            figures::count(path("remapped"), w.remapped),
            " requests moved, ".into(),
            figures::count(path("crossing"), w.crossing),
            " cross its end".into(),
        ]));
    }
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, plot) = (view.palette, plot_area(area));
    let series = &view.demand.series.positions;
    let cells = series.reads.len().max(series.writes.len()).max(1);
    let group = cells.div_ceil(plot.w as usize / STEP_PIXELS);
    let sums = |cells: &[u64]| cells.chunks(group).map(|c| c.iter().sum()).collect::<Vec<u64>>();
    let curves = [("reads", sums(&series.reads), p.read), ("writes", sums(&series.writes), p.write)];
    let most = curves.iter().flat_map(|c| &c.1).copied().max().unwrap_or(0);
    let up = LogScale::counts(most as f64, plot, Direction::Up);
    let step_gib = series.cell_sectors as f64 * group as f64 / GIB;
    let devices = view.demand.facts.wraparound.iter().map(|w| gib_up(w.device_bytes));
    let end = curves[0].1.len().max(curves[1].1.len()) as f64 * step_gib;
    // The end of a device just after the load is shown; a distant one would compress the load.
    let end = devices.filter(|d| *d <= end * 2.0).fold(end, f64::max);
    let x = |gib: f64| plot.x + (gib / end * f64::from(plot.w - 1)).round() as i32;
    across(scene, p, plot, end, &x);
    up.draw(scene, p, &format!("Requests in each {} GiB, log", units::plain(step_gib)));
    for (_, counts, color) in &curves {
        let points = counts.iter().enumerate().map(|(i, n)| (x(i as f64 * step_gib), up.at(*n as f64)));
        let last = x(counts.len() as f64 * step_gib);
        scene.steps(super::thinned(points.chain([(last, up.at(0.0))])), last, Stroke::solid(*color, 2));
    }
    for w in view.demand.facts.wraparound.iter().filter(|w| gib_up(w.device_bytes) <= end) {
        let at = x(gib_up(w.device_bytes));
        scene.vertical(at, (plot.y, plot.bottom() - 1), Stroke::dashed(p.bad, 1));
    }
    axes::frame(scene, p, plot);
    scene.counted = Some(series.reads.iter().chain(&series.writes).sum());
    super::legend(scene, p, plot, &entries(view, &curves, end));
}

/// Whole GiB, rounded up, as in blkreplay.
fn gib_up(bytes: u64) -> f64 {
    bytes.div_ceil(1 << 30) as f64
}

fn across(scene: &mut Scene, p: &Palette, plot: Rect, end: f64, x: &dyn Fn(f64) -> i32) {
    let flat = Rect { h: plot.w / 3, ..plot };
    let ticks: Vec<f64> = LinearScale::new(end, flat).ticks().filter(|t| *t <= end).collect();
    for tick in ticks {
        let at = x(tick);
        scene.vertical(at, (plot.y, plot.bottom() - 1), Stroke::solid(p.grid, 1));
        scene.vertical(at, (plot.bottom(), plot.bottom() + 4), Stroke::solid(p.axis, 1));
        scene.text(words(units::plain(tick), at, plot.bottom() + 18, TICK_SIZE, p, Anchor::Middle));
    }
    label_below(scene, p, plot, "Position of the first sector on the device, GiB");
}

fn entries(view: &DemandView<'_>, curves: &[(&str, Vec<u64>, crate::palette::Rgb)], end: f64) -> Vec<Entry> {
    let p = view.palette;
    let demanded = &view.demand.facts.counts;
    let of_op = |(name, counts, color): &(&str, Vec<u64>, crate::palette::Rgb)| {
        let (key, requests) = match *name {
            "reads" => ("read", demanded.read.requests),
            _ => ("write", demanded.write.requests),
        };
        let sum = figures::count(format!("demand.counts.{key}.requests"), requests);
        let most = figures::count(
            format!("picture.{key}.most_in_a_step"),
            counts.iter().max().copied().unwrap_or(0),
        );
        let sum = figures::joined([sum, " requests".into()]);
        let most = figures::joined(["at most ".into(), most, " in a step".into()]);
        Entry::line(Stroke::solid(*color, 2), vec![(*name).into(), sum, most])
    };
    let device = |w: &iosonar_analyze::demand::Wraparound| {
        let name = format!("end of a device of {}", units::bytes(w.device_bytes));
        let outside = gib_up(w.device_bytes) > end;
        let lines =
            if outside { vec![name.into(), "lies outside the scale".into()] } else { vec![name.into()] };
        if outside { Entry::words(lines) } else { Entry::line(Stroke::dashed(p.bad, 1), lines) }
    };
    let mut entries: Vec<Entry> = curves.iter().map(of_op).collect();
    entries.extend(view.demand.facts.wraparound.iter().map(device));
    entries
}
