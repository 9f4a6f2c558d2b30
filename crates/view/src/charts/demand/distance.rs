//! Distances of the requests of a window: span, average distance, mean gap.

use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, axes, figures, plot_area};
use super::scales::{Direction, LogScale};
use super::{Entry, TIME_LABEL};
use crate::scene::{Caption, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::{ConsecutiveSeries, Extremes, FractionExtremes, SECTOR_BYTES};

pub(in super::super) static SPAN: Chart = Chart {
    stem: "g32.sum_dist",
    keywords: &["sum_dist", "span"],
    title: "Span of the requests in consecutive windows: highest minus lowest first sector",
    message: Message::Description,
    draw: Draw::Demand(|view| draw(view, &SPAN, &[Distance::Span])),
};

pub(in super::super) static MEAN: Chart = Chart {
    stem: "g33.avg_dist",
    keywords: &["avg_dist", "distance"],
    title: "Average distance of the requests in consecutive windows",
    message: Message::Description,
    draw: Draw::Demand(|view| draw(view, &MEAN, &[Distance::Average, Distance::MeanGap])),
};

/// Shorter windows are in the table only, as in blkreplay.
const SHORTEST_S: u64 = 6;

/// A quantity of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distance {
    /// Highest minus lowest first sector.
    Span,
    /// Span divided by the number of first sectors.
    Average,
    /// Span divided by the number of gaps between them.
    MeanGap,
}

impl Distance {
    /// Bytes of each window.
    fn bytes(self, series: &ConsecutiveSeries) -> Vec<f64> {
        let sector = SECTOR_BYTES as f64;
        match self {
            Distance::Span => series.sum_dist.iter().map(|s| *s as f64 * sector).collect(),
            Distance::Average => series.avg_dist.iter().map(|s| s * sector).collect(),
            Distance::MeanGap => series.mean_gap.iter().map(|s| s * sector).collect(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Distance::Span => "span",
            Distance::Average => "average distance",
            Distance::MeanGap => "mean gap",
        }
    }

    fn definition(self) -> &'static str {
        match self {
            Distance::Span => {
                "Span (sum_dist): highest minus lowest first sector of a window; 0 with fewer than two."
            }
            Distance::Average => {
                "Solid: average distance (avg_dist), span ÷ number of distinct first sectors; 0 for an empty window."
            }
            Distance::MeanGap => {
                "Dashed: mean gap, span ÷ number of gaps between distinct first sectors; 0 without a gap."
            }
        }
    }
}

/// A line of the picture.
struct Curve {
    distance: Distance,
    window_s: u64,
    index: usize,
    bytes: Vec<f64>,
}

fn draw(view: &DemandView<'_>, chart: &Chart, shown: &[Distance]) -> Scene {
    let mut lines: Vec<Caption> = shown.iter().map(|d| d.definition().into()).collect();
    lines.push("Windows [k·d, (k + 1)·d) of d ≥ 6 seconds; no line where the distance is zero.".into());
    if view.demand.facts.devices > 1 {
        let devices = view.demand.facts.devices;
        lines.push(Caption::figure(
            format!("Spans of {devices} devices are added up."),
            "demand.devices",
            devices,
        ));
    }
    super::picture(view, chart, lines, |scene, area| body(scene, view, area, shown))
}

fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect, shown: &[Distance]) {
    let (p, plot) = (view.palette, plot_area(area));
    let sets = &view.demand.series.working_sets;
    // Windows of a few seconds mostly hold a single request, and only blacken the picture.
    let longest = sets.iter().filter_map(|w| w.window_s).max().unwrap_or(0);
    let shortest = SHORTEST_S.min(longest);
    let windows = sets.iter().enumerate();
    let curves: Vec<Curve> = windows
        .filter_map(|(index, w)| Some((index, w.window_s?, w.consecutive.as_ref()?)))
        .filter(|(_, window_s, _)| *window_s >= shortest)
        .flat_map(|(index, window_s, series)| {
            let curve = move |d: &Distance| Curve { distance: *d, window_s, index, bytes: d.bytes(series) };
            shown.iter().map(curve)
        })
        .collect();
    let values = || curves.iter().flat_map(|c| c.bytes.iter().copied()).filter(|v| *v > 0.0);
    let most = values().fold(0.0, f64::max);
    if most == 0.0 {
        let why = "Nothing to show: no window has requests at two places.";
        super::page::nothing(scene, view, plot, why);
        return;
    }
    let scale = LogScale::bytes(values().fold(most, f64::min), most, plot, Direction::Up);
    let last_ns = view.demand.facts.span.map_or(0, |s| s.last_ns);
    let end_ns = (last_ns / 1_000_000_000 + 1).saturating_mul(1_000_000_000);
    let time = super::time_scale(view, end_ns, plot);
    time.draw(scene, p, Some(TIME_LABEL));
    scale.draw(scene, p, "Distance, bytes, log");
    // Long windows lie over the zig-zag of short ones.
    for curve in &curves {
        let width = curve.window_s.saturating_mul(1_000_000_000);
        let at = |k: usize| (k as u64).saturating_mul(width);
        let values = curve.bytes.iter().enumerate().filter(|(k, _)| time.shows(at(*k)..at(k + 1)));
        let steps = values.map(|(k, v)| (time.x(at(k)), time.x(at(k + 1)), (*v > 0.0).then(|| scale.at(*v))));
        super::interrupted(scene, steps, stroke(view, curve));
    }
    axes::frame(scene, p, plot);
    let entries: Vec<Entry> = curves.iter().map(|curve| entry(view, curve)).collect();
    super::legend(scene, p, plot, &entries);
}

fn stroke(view: &DemandView<'_>, curve: &Curve) -> Stroke {
    let solid = super::window_stroke(view.palette, curve.index, false);
    if curve.distance == Distance::MeanGap { Stroke::dashed(solid.color, 1) } else { solid }
}

fn entry(view: &DemandView<'_>, curve: &Curve) -> Entry {
    let facts = &view.demand.facts.working_sets[curve.index];
    let of_span = |e: &Extremes| (e.mean, e.max as f64);
    let of_mean = |e: &FractionExtremes| (e.mean, e.max);
    let (field, told) = match curve.distance {
        Distance::Span => ("sum_dist", facts.sum_dist.as_ref().map(of_span)),
        Distance::Average => ("avg_dist", facts.avg_dist.as_ref().map(of_mean)),
        Distance::MeanGap => ("mean_gap", facts.mean_gap.as_ref().map(of_mean)),
    };
    let path = |name: &str| format!("demand.working_sets.{}.{field}.{name}", curve.index);
    let name = format!("{} s: {}", units::grouped(curve.window_s), curve.distance.name());
    let name = Caption::figure(name, format!("demand.working_sets.{}.window_s", curve.index), curve.window_s);
    let mut lines = vec![name];
    lines.extend(told.map(|(mean, max)| {
        let (mean, max) = (figures::sectors(path("mean"), mean), figures::sectors(path("max"), max));
        figures::joined(["avg ".into(), mean, ", max ".into(), max])
    }));
    Entry::line(stroke(view, curve), lines)
}
