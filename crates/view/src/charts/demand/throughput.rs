//! A load's demand over time: the throughput pictures without a run.

use super::super::axes::{self, LinearScale};
use super::super::overview::Unit;
use super::super::{Chart, DemandView, figures, plot_area};
use super::{Entry, TIME_LABEL};
use crate::palette::Rgb;
use crate::scene::{Caption, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::{DemandCounts, FractionExtremes, RateSeries, SECTOR_BYTES};

/// All operations as one line.
pub(in super::super) fn overview(view: &DemandView<'_>, chart: &Chart, unit: Unit) -> Scene {
    draw(view, chart, unit, false)
}

/// Reads, writes and all as separate lines.
pub(in super::super) fn by_op(view: &DemandView<'_>, chart: &Chart, unit: Unit) -> Scene {
    draw(view, chart, unit, true)
}

/// A line of the picture.
struct Curve {
    name: &'static str,
    /// Its name among the figures.
    key: &'static str,
    color: Rgb,
    /// Requests or bytes in each stored window.
    amounts: Vec<f64>,
    counts: DemandCounts,
    /// Over the throughput windows, in requests or sectors per second.
    rates: FractionExtremes,
}

fn draw(view: &DemandView<'_>, chart: &Chart, unit: Unit, by_op: bool) -> Scene {
    let facts = &view.demand.facts;
    let span = facts.span.map_or((0, 0), |s| (s.first_ns, s.last_ns));
    let all = &facts.counts.all;
    let lines = vec![figures::joined([
        "Wanted by due time: ".into(),
        figures::count("demand.counts.all.requests", all.requests),
        " requests, ".into(),
        figures::bytes("demand.counts.all.bytes", all.bytes),
        ", from ".into(),
        figures::time("demand.span.first_ns", span.0),
        " to ".into(),
        figures::time("demand.span.last_ns", span.1),
        "; nothing was run".into(),
    ])];
    super::picture(view, chart, lines, |scene, area| body(scene, view, area, unit, by_op))
}

fn curves(view: &DemandView<'_>, unit: Unit, by_op: bool) -> Vec<Curve> {
    let (p, facts, s) = (view.palette, &view.demand.facts, source(view));
    let amounts = |requests: &[u64], sectors: &[u64]| -> Vec<f64> {
        match unit {
            Unit::Requests => requests.iter().map(|n| *n as f64).collect(),
            Unit::Bytes => sectors.iter().map(|n| *n as f64 * SECTOR_BYTES as f64).collect(),
        }
    };
    let (reads, writes) = (amounts(&s.reads, &s.read_sectors), amounts(&s.writes, &s.write_sectors));
    let all = reads.iter().zip(&writes).map(|(r, w)| r + w).collect();
    let rates = if unit == Unit::Requests { facts.throughput.iops } else { facts.throughput.sectors_per_s };
    let mut curves = vec![Curve {
        name: "wanted, all",
        key: "all",
        color: if by_op { p.axis } else { p.demanded },
        amounts: all,
        counts: facts.counts.all,
        rates: rates.all,
    }];
    if by_op {
        let (read, write) = (facts.counts.read, facts.counts.write);
        curves.push(Curve {
            name: "reads",
            key: "read",
            color: p.read,
            amounts: reads,
            counts: read,
            rates: rates.read,
        });
        curves.push(Curve {
            name: "writes",
            key: "write",
            color: p.write,
            amounts: writes,
            counts: write,
            rates: rates.write,
        });
    }
    curves
}

/// The windows that the figures refer to.
fn source<'a>(view: &DemandView<'a>) -> &'a RateSeries {
    &view.demand.series.throughput
}

pub(in super::super) fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect, unit: Unit, by_op: bool) {
    let (p, plot, width_ns) = (view.palette, plot_area(area), source(view).width_ns);
    let curves = curves(view, unit, by_op);
    let windows = curves[0].amounts.len().max(1);
    let per_second = unit.factor() / (width_ns as f64 / 1e9);
    let rates = |curve: &Curve| curve.amounts.iter().map(|n| n * per_second).collect::<Vec<f64>>();
    let lines: Vec<Vec<f64>> = curves.iter().map(rates).collect();
    let scale = LinearScale::new(lines.iter().flatten().copied().fold(0.0, f64::max), plot);
    let time = super::time_scale(view, width_ns.saturating_mul(windows as u64), plot);
    time.draw(scene, p, Some(TIME_LABEL));
    scale.draw(scene, p, unit.label(), units::plain);
    for (curve, rates) in curves.iter().zip(&lines) {
        let at = |i: usize| (i as u64).saturating_mul(width_ns);
        let x = |i: usize| time.x(at(i)).min(plot.right());
        let shown = rates.iter().enumerate().filter(|(i, _)| time.shows(at(*i)..at(i + 1)));
        let points = shown.map(|(i, rate)| (x(i), scale.y(*rate)));
        let stroke = Stroke::solid(curve.color, if by_op { 1 } else { 2 });
        scene.steps(super::thinned(points), x(rates.len()), stroke);
    }
    axes::frame(scene, p, plot);
    let window = view.demand.facts.throughput.window_ns;
    let mut entries: Vec<Entry> = curves.iter().map(|c| entry(c, unit, window)).collect();
    entries.push(Entry::words(vec!["steps".into(), format!("one step is {}", axes::time(width_ns)).into()]));
    super::legend(scene, p, plot, &entries);
}

fn entry(curve: &Curve, unit: Unit, window_ns: u64) -> Entry {
    let rate = |value: f64| match unit {
        Unit::Requests => format!("{} requests/s", units::request_rate(value)),
        Unit::Bytes => units::byte_rate(value * SECTOR_BYTES as f64),
    };
    let path = |field: &str| format!("demand.counts.{}.{field}", curve.key);
    let total = match unit {
        Unit::Requests => {
            figures::joined([figures::count(path("requests"), curve.counts.requests), " requests".into()])
        }
        Unit::Bytes => figures::bytes(path("bytes"), curve.counts.bytes),
    };
    let quantity = if unit == Unit::Requests { "iops" } else { "sectors_per_s" };
    let path = |field: &str| format!("demand.throughput.{quantity}.{}.{field}", curve.key);
    let lines = vec![
        curve.name.into(),
        total,
        Caption::figure(format!("avg {}", rate(curve.rates.mean)), path("mean"), curve.rates.mean),
        Caption::figure(
            format!("max {} in {}", rate(curve.rates.max), axes::time(window_ns)),
            path("max"),
            curve.rates.max,
        )
        .of("demand.throughput.window_ns", window_ns),
    ];
    Entry::line(Stroke::solid(curve.color, 2), lines)
}
