//! Correlation of a request's time with another quantity: density, median and 99th percentile of each column.

use super::axes::{self, LogScale, LogTimeScale, NumberScale, TICK_SIZE, words};
use super::message::{self, Message};
use super::{BELOW, Chart, Draw, RunView, SIDE_LEFT, SIDE_WIDTH, band, page, plot_area, single};
use crate::density::{Density, Strips};
use crate::fonts::Weight;
use crate::scene::{Anchor, Caption, Mark, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{ByScope, Cell, Correlation, Detail, Scope, TimeStats};

pub(super) static LATENCY_IN_FLIGHT: Chart = Chart {
    stem: "g10.latency.xy",
    keywords: &["latency.xy"],
    title: "Latency over the number of requests in flight",
    message: Message::Figures(message::latency_in_flight),
    draw: Draw::Run(Detail::Full, |view| {
        let pair = Pair {
            counts: &view.diagrams.latency_in_flight,
            x: X::Number(
                "Requests of the same operation in flight just after the submission, this one included, log",
            ),
            y_label: "Latency (submission → completion), log",
            under: "< 1 µs",
            correlation: Some("latency_in_flight"),
        };
        draw(view, &LATENCY_IN_FLIGHT, &pair, ("latency", &view.summary.latency))
    }),
};

pub(super) static DELAY_WAITING: Chart = Chart {
    stem: "g11.delay.xy",
    keywords: &["delay.xy"],
    title: "Delay over the number of waiting requests",
    message: Message::Figures(message::delay_waiting),
    draw: Draw::Run(Detail::Full, |view| {
        let pair = Pair {
            counts: &view.diagrams.delay_waiting,
            x: X::Number(
                "Requests of the same operation waiting just after the due time, this one included, log",
            ),
            y_label: "Delay (due → submission), log",
            under: "on time",
            correlation: Some("delay_waiting"),
        };
        draw(view, &DELAY_WAITING, &pair, ("delay", &view.summary.delay))
    }),
};

pub(super) static LATENCY_DELAY: Chart = Chart {
    stem: "g12.latency.delay.xy",
    keywords: &["latency.delay.xy"],
    title: "Latency over the delay of the same request",
    message: Message::Figures(message::latency_delay),
    draw: Draw::Run(Detail::Full, |view| {
        let pair = Pair {
            counts: &view.diagrams.latency_delay,
            x: X::Time("Delay (due → submission), log"),
            y_label: "Latency (submission → completion), log",
            under: "< 1 µs",
            correlation: Some("latency_delay"),
        };
        draw(view, &LATENCY_DELAY, &pair, ("latency", &view.summary.latency))
    }),
};

/// Parameters that distinguish the pictures.
pub(super) struct Pair<'a> {
    pub(super) counts: &'a Correlation,
    pub(super) x: X,
    pub(super) y_label: &'static str,
    pub(super) under: &'static str,
    /// Name of its rank correlation among those of the analysis.
    pub(super) correlation: Option<&'static str>,
}

/// The horizontal quantity and its words.
#[derive(Clone, Copy)]
pub(super) enum X {
    Number(&'static str),
    Time(&'static str),
    /// The same quantity as on the other axis: a diagonal shows where both are equal.
    Same(&'static str),
}

/// A time of the summary: its name and its figures.
type Times<'a> = (&'static str, &'a ByScope<Option<TimeStats>>);

fn draw(view: &RunView<'_>, chart: &Chart, pair: &Pair<'_>, (path, stats): Times<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        page::time_legend(scene, view, path, stats, y);
        page::counts_note(scene, view, y);
    };
    single(view, chart, legend, |scene, area| body(scene, view, pair, area))
}

/// Scale of the columns.
enum XScale {
    Number(NumberScale),
    Time(LogTimeScale),
}

fn requests(cells: &[Cell]) -> u64 {
    cells.iter().flatten().sum()
}

/// A column that holds requests.
#[derive(Clone, Copy)]
struct Column {
    index: usize,
    begin: i32,
    end: i32,
}

pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, pair: &Pair<'_>, area: Rect) {
    if !band::or_nothing(scene, view, area) {
        return;
    }
    let plot = plot_area(area);
    let lit: Vec<usize> =
        (0..pair.counts.columns()).filter(|c| requests(pair.counts.column(*c)) > 0).collect();
    let (Some(first), Some(last)) = (lit.first(), lit.last()) else {
        page::nothing(scene, view, plot, "Nothing to show: no request was counted here.");
        return;
    };
    let edge = |column: usize| pair.counts.lower_edge(column.min(pair.counts.columns() - 1));
    let scale = match pair.x {
        X::Number(label) => {
            let behind = if last + 1 < pair.counts.columns() { edge(last + 1) } else { edge(*last) * 2 };
            let scale = NumberScale::new(edge(*first), behind, plot);
            scale.draw(scene, view.palette, label);
            XScale::Number(scale)
        }
        X::Time(label) => {
            // A column of durations holds two slots.
            let scale = LogTimeScale::new(plot, |slot| requests(pair.counts.column(slot / 2)) > 0);
            scale.draw(scene, view.palette, "on time", Some(label));
            XScale::Time(scale)
        }
        X::Same(label) => {
            // Both axes cover the union of their values, so that equal times are a straight line.
            let scale =
                LogTimeScale::like(plot, &LogScale::new(plot, |slot| lit_in_either(pair, slot), false));
            scale.draw(scene, view.palette, pair.under, Some(label));
            XScale::Time(scale)
        }
    };
    let columns: Vec<Column> = lit.iter().map(|index| place(&scale, pair.counts, *index)).collect();
    let lanes = band::lanes(view, false);
    let height = plot.h / lanes.len() as i32;
    let mut most = 0;
    for (i, scope) in lanes.iter().enumerate() {
        let gap = if i + 1 < lanes.len() { band::LANE_GAP } else { 0 };
        let lane = Rect { y: plot.y + height * i as i32, h: height - gap, ..plot };
        most = most.max(draw_lane(scene, view, pair, &columns, &scale, lane, *scope));
    }
    if lanes.len() == 1 {
        band::key(scene, view, (most, false), plot.bottom() + BELOW - 10);
    }
    side(scene, view, pair, plot);
    scene.counted = Some(lit.iter().map(|c| requests(pair.counts.column(*c))).sum());
}

/// Whether either of two axes with the same quantity has requests in a slot.
fn lit_in_either(pair: &Pair<'_>, slot: usize) -> bool {
    let in_row = |column: usize| pair.counts.count(column, slot).iter().sum::<u64>() > 0;
    requests(pair.counts.column(slot / 2)) > 0 || (0..pair.counts.columns()).any(in_row)
}

fn place(scale: &XScale, counts: &Correlation, index: usize) -> Column {
    let (begin, end) = match scale {
        XScale::Number(scale) => {
            let behind = if index + 1 < counts.columns() { counts.lower_edge(index + 1) } else { u64::MAX };
            (scale.x(counts.lower_edge(index)), scale.x(behind))
        }
        XScale::Time(scale) => {
            let slots = [2 * index, 2 * index + 1].map(|slot| scale.pixels(slot));
            let known = || slots.iter().flatten();
            let (begin, end) = (known().map(|p| p.0).min(), known().map(|p| p.1).max());
            // The strip of requests on time and the first row share a column of counts.
            let both = slots.iter().all(Option::is_some) && index == 0;
            let (begin, end) = (begin.unwrap_or(0), end.unwrap_or(1));
            (begin, if both { slots[0].map_or(end, |p| p.1) } else { end })
        }
    };
    Column { index, begin, end: end.max(begin + 1) }
}

/// Returns the most requests in one cell.
fn draw_lane(
    scene: &mut Scene,
    view: &RunView<'_>,
    pair: &Pair<'_>,
    columns: &[Column],
    x: &XScale,
    plot: Rect,
    scope: Scope,
) -> u64 {
    let p = view.palette;
    let mut strips = Strips::new(plot.w as usize);
    for column in columns {
        let cells = strips.column((column.begin - plot.x) as usize, (column.end - plot.x) as usize);
        for (sum, cell) in cells.iter_mut().zip(pair.counts.column(column.index)) {
            sum.iter_mut().zip(cell).for_each(|(s, n)| *s += n);
        }
    }
    let sums = strips.marginal();
    let is_same = matches!(pair.x, X::Same(_));
    let lit = |slot: usize| match is_same {
        true => lit_in_either(pair, slot),
        false => sums[slot].iter().sum::<u64>() > 0,
    };
    let scale = LogScale::new(plot, lit, false);
    scale.draw(scene, p, pair.under, &band::lane_label(scope, pair.y_label));
    let density = Density::of(&strips, &scale.pixel_rows(), |class| scope.contains(class));
    scene.marks.push(Mark::Image(density.image(p, plot.x, plot.y)));
    axes::frame(scene, p, plot);
    if let (true, XScale::Time(x)) = (is_same, x) {
        diagonal(scene, view, x, &scale, plot);
    }
    for (quantile, least, dashed) in [(0.5, 10, false), (0.99, 100, true)] {
        quantile_line(scene, view, pair, columns, &scale, scope, (quantile, least, dashed));
    }
    if let XScale::Number(x) = x {
        guides(scene, view, x, &scale, plot);
    }
    density.most()
}

/// Draws steps at a quantile of each column; columns with too few requests are skipped.
fn quantile_line(
    scene: &mut Scene,
    view: &RunView<'_>,
    pair: &Pair<'_>,
    columns: &[Column],
    scale: &LogScale,
    scope: Scope,
    (quantile, least, dashed): (f64, u64, bool),
) {
    let stroke = Stroke { color: view.palette.text, width: 2, dashed };
    let mut points: Vec<(i32, i32)> = Vec::new();
    let mut end = None;
    for column in columns {
        let value = band::quantile_of(pair.counts.column(column.index), scope, quantile, least);
        let follows = end == Some(column.begin);
        if !follows || value.is_none() {
            scene.steps(std::mem::take(&mut points), end.unwrap_or(0), stroke);
        }
        end = value.map(|ns| {
            points.push((column.begin, scale.y_clamped(ns)));
            column.end
        });
    }
    scene.steps(points, end.unwrap_or(0), stroke);
}

/// Draws the line of equal quantities: straight, since both axes have the same decades.
fn diagonal(scene: &mut Scene, view: &RunView<'_>, x: &LogTimeScale, y: &LogScale, plot: Rect) {
    let (least, most) = x.span_ns();
    let (begin, end) = ((x.x(least), y.y_clamped(least)), (x.x(most), y.y_clamped(most)));
    let height = |at: i32| {
        let share = f64::from(at - begin.0) / f64::from((end.0 - begin.0).max(1));
        begin.1 + (share * f64::from(end.1 - begin.1)).round() as i32
    };
    let points = (begin.0..end.0).map(|at| (at, height(at).min(plot.bottom() - 1))).collect();
    scene.steps(points, end.0, Stroke::solid(view.palette.bad, 2));
}

/// Little's law: at a constant throughput the time grows with the number, time = number ÷ throughput. On two
/// logarithmic scales that is a straight line (J. D. C. Little, Operations Research 9, 1961).
fn guides(scene: &mut Scene, view: &RunView<'_>, x: &NumberScale, y: &LogScale, plot: Rect) {
    let stroke = Stroke::solid(view.palette.background.mix(view.palette.axis, 0.55), 1);
    let mut taken: Vec<Rect> = Vec::new();
    for power in 0..8 {
        let per_second = 10f64.powi(power);
        let ns = |at: i32| (x.value(at) / per_second * 1e9) as u64;
        let points: Vec<(i32, i32)> =
            (plot.x..plot.right()).step_by(3).filter_map(|at| Some((at, y.y(ns(at))?))).collect();
        let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { continue };
        if last.0 - first.0 < 60 {
            continue;
        }
        scene.steps(points, last.0 + 3, stroke);
        let text = format!("{}/s", units::grouped(per_second as u64));
        let mut text =
            words(text, last.0 - 4, (last.1 + 14).max(plot.y + 14), TICK_SIZE, view.palette, Anchor::End);
        text.color = view.palette.faint_text;
        let b = text.bounds();
        let inside = b.x >= plot.x && b.bottom() < plot.bottom();
        if inside && taken.iter().all(|t| !t.overlaps(&b)) {
            taken.push(b);
            scene.area(
                Rect { x: b.x - 2, w: b.w + 4, ..b },
                crate::scene::Fill::Solid(view.palette.background),
            );
            scene.text(text);
        }
    }
}

fn side(scene: &mut Scene, view: &RunView<'_>, pair: &Pair<'_>, plot: Rect) {
    let p = view.palette;
    let mut lines = vec![
        (Caption::from("median, where 10 or more are"), Some(false)),
        (Caption::from("p99, where 100 or more are"), Some(true)),
    ];
    if let Some(tau) = pair.counts.rank_correlation() {
        let text = format!("rank correlation (Kendall): {tau:.2}");
        let path = pair.correlation.map(|name| format!("correlations.{name}"));
        lines.push((path.map_or(text.as_str().into(), |path| Caption::figure(&text, path, tau)), None));
    }
    if matches!(pair.x, X::Same(_)) {
        lines.push(("purple: as long in both".into(), None));
    }
    if matches!(pair.x, X::Number(_)) {
        lines.push(("grey lines: constant throughput".into(), None));
        lines.push(("of one operation (Little's law)".into(), None));
    }
    if !matches!(pair.x, X::Same(_)) {
        lines.extend(page::failed_are_absent(view).map(|told| (told, None)));
    }
    if view.range.is_some() {
        lines.push(("all requests of the run".into(), None));
    }
    let mut y = plot.y + 14;
    for (line, dashed) in lines {
        let x = SIDE_LEFT + if dashed.is_some() { 32 } else { 0 };
        if let Some(dashed) = dashed {
            scene.horizontal(y - 4, (SIDE_LEFT, SIDE_LEFT + 24), Stroke { color: p.text, width: 2, dashed });
        }
        let room = f64::from(SIDE_WIDTH - (x - SIDE_LEFT));
        for line in line.wrapped(13.0, Weight::Regular, room) {
            scene.text(words(line, x, y, 13.0, p, Anchor::Start));
            y += 18;
        }
        y += 4;
    }
}
