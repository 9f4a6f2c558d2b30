//! Requests and bytes per second by class, over due time or over completion.

use super::axes::{self, LinearScale, words};
use super::message::{self, Message};
use super::overview::Unit;
use super::steps::{self, Step};
use super::{BELOW, Chart, Draw, RunView, SIDE_LEFT, demand, figures, page, plot_area, single};
use crate::fonts::Weight;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{ClassSeries, Counts, Detail, Scope};

/// Pixels of a step.
const STEP_PIXELS: i32 = 3;

pub(super) static REQUESTS_DUE: Chart = Chart {
    stem: "g00.thrp.setpoint",
    keywords: &["thrp.setpoint"],
    title: "Wanted requests per second by class, over the time when they were due",
    message: Message::Figures(message::wanted),
    draw: Draw::Either(
        Detail::Sonar,
        |view| draw(view, &REQUESTS_DUE, When::Due, Unit::Requests),
        |view| demand::throughput::by_op(view, &REQUESTS_DUE, Unit::Requests),
    ),
};

pub(super) static BYTES_DUE: Chart = Chart {
    stem: "g00.thrs.setpoint",
    keywords: &["thrs.setpoint"],
    title: "Wanted bytes per second by class, over the time when they were due",
    message: Message::Figures(message::wanted),
    draw: Draw::Either(
        Detail::Sonar,
        |view| draw(view, &BYTES_DUE, When::Due, Unit::Bytes),
        |view| demand::throughput::by_op(view, &BYTES_DUE, Unit::Bytes),
    ),
};

pub(super) static REQUESTS_COMPLETED: Chart = Chart {
    stem: "g00.thrp.completed",
    keywords: &["thrp.completed"],
    title: "Requests done per second by class, over the time of completion",
    message: Message::Figures(message::done),
    draw: Draw::Run(Detail::Sonar, |view| draw(view, &REQUESTS_COMPLETED, When::Completed, Unit::Requests)),
};

pub(super) static BYTES_COMPLETED: Chart = Chart {
    stem: "g00.thrs.completed",
    keywords: &["thrs.completed"],
    title: "Bytes done per second by class, over the time of completion",
    message: Message::Figures(message::done),
    draw: Draw::Run(Detail::Sonar, |view| draw(view, &BYTES_COMPLETED, When::Completed, Unit::Bytes)),
};

/// The time base of the counts, and the requests that it includes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Every request when it was due.
    Due,
    /// Completed requests when they completed.
    Completed,
}

fn draw(view: &RunView<'_>, chart: &Chart, when: When, unit: Unit) -> Scene {
    let rates = view.diagrams.rates();
    let series = if when == When::Due { rates.demanded } else { rates.delivered };
    let legend = |scene: &mut Scene, y| {
        table(scene, view, when, y);
        page::counts_note(scene, view, y);
    };
    single(view, chart, legend, |scene, area| body(scene, view, series, unit, area))
}

/// A figure of the summary: its path and its value.
type Amount = (String, u64);

/// Requests and bytes of a scope, from the summary, which has no bytes of pushed-back requests.
fn amounts(view: &RunView<'_>, when: When, scope: Scope) -> Option<(Amount, Option<Amount>)> {
    let s = view.summary;
    let of_op = |key: &str, c: &Counts| {
        let [requests, bytes] = match when {
            When::Due => [("total", c.total), ("demanded_bytes", c.demanded_bytes)],
            When::Completed => [("completed", c.completed), ("transferred_bytes", c.transferred_bytes)],
        }
        .map(|(field, n)| (format!("counts.{key}.{field}"), n));
        (requests, Some(bytes))
    };
    let pushed = |key: &str, c: &Counts| match when {
        When::Due => Some((format!("counts.{key}.pushed"), c.pushed)),
        When::Completed => {
            let count = s.latency.get(scope).as_ref()?.count;
            Some((format!("latency.{}.count", figures::key(scope)), count))
        }
    };
    Some(match scope {
        Scope::All => of_op("all", &s.counts.all),
        Scope::Read => of_op("read", &s.counts.read),
        Scope::Write => of_op("write", &s.counts.write),
        Scope::ReadPushed => (pushed("read", &s.counts.read)?, None),
        Scope::WritePushed => (pushed("write", &s.counts.write)?, None),
        Scope::Flush => return None,
    })
}

/// Requests and bytes of each scope.
fn table(scene: &mut Scene, view: &RunView<'_>, when: When, y: i32) {
    let p = view.palette;
    for (name, x) in [("requests", 420), ("share", 510), ("bytes", 620), ("mean size", 720)] {
        let mut text = words(name, x, y, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let of = |scope| amounts(view, when, scope).filter(|(requests, _)| requests.1 > 0);
    let rows: Vec<_> = Scope::TRANSFERS.into_iter().filter_map(|scope| Some((scope, of(scope)?))).collect();
    let Some((_, (all, _))) = rows.first().cloned() else { return };
    let mut base = y;
    for (scope, (requests, bytes)) in rows {
        base += 18;
        page::swatch(scene, page::color(view, scope), 110, base);
        scene.text(words(page::scope_name(scope), 130, base, 13.0, p, Anchor::Start));
        let mean = |(path, n): &Amount| {
            Caption::figure(units::bytes((n + requests.1 / 2) / requests.1), path, *n)
                .of(&requests.0, requests.1)
        };
        let cells = [
            (figures::count(&requests.0, requests.1), 420),
            (figures::share(requests.clone(), all.clone()), 510),
            (bytes.as_ref().map_or("–".into(), |(path, n)| figures::bytes(path, *n)), 620),
            (bytes.as_ref().map_or("–".into(), mean), 720),
        ];
        cells.into_iter().for_each(|(cell, x)| scene.text(words(cell, x, base, 13.0, p, Anchor::End)));
    }
}

struct Lane {
    scope: Scope,
    steps: Vec<Step>,
}

fn body(scene: &mut Scene, view: &RunView<'_>, series: &ClassSeries, unit: Unit, area: Rect) {
    let width = view.diagrams.rates().width_ns;
    let time = view.time_in(width, plot_area(area));
    let of = |scope| {
        let series = series.scope(scope);
        (scope, steps::sums(unit.of(&series), width, &time, STEP_PIXELS), series.requests)
    };
    let counted = steps::sums(&of(Scope::All).2, width, &time, STEP_PIXELS);
    scene.counted = Some(counted.iter().map(|s| s.sum).sum());
    let lanes: Vec<Lane> = Scope::TRANSFERS
        .into_iter()
        .map(of)
        .filter(|(_, _, requests)| requests.iter().any(|n| *n > 0))
        .map(|(scope, steps, _)| Lane { scope, steps })
        .collect();
    if lanes.is_empty() {
        page::nothing(scene, view, plot_area(area), "Nothing to show: there are no such requests.");
        return;
    }
    let height = (area.h - BELOW) / lanes.len() as i32;
    for (i, lane) in lanes.iter().enumerate() {
        let plot = Rect { y: area.y + height * i as i32, h: height - 14, ..plot_area(area) };
        // Reads and writes are compared with their sum; pushed-back requests would be too low to see.
        let is_pushed = |scope: Scope| matches!(scope, Scope::ReadPushed | Scope::WritePushed);
        let same = lanes.iter().filter(|l| is_pushed(l.scope) == is_pushed(lane.scope));
        let most = same.flat_map(|l| &l.steps).map(|s| s.per_second() * unit.factor()).fold(0.0, f64::max);
        let time = time.within(plot);
        time.draw(scene, view.palette, (i + 1 == lanes.len()).then_some("Time since the start of the run"));
        draw_lane(scene, view, lane, unit, &LinearScale::new(most, plot), &time);
    }
    let step = width.saturating_mul(steps::group(width, &time, STEP_PIXELS) as u64);
    side(scene, view, area, height, &lanes, step);
}

fn draw_lane(
    scene: &mut Scene,
    view: &RunView<'_>,
    lane: &Lane,
    unit: Unit,
    scale: &LinearScale,
    time: &axes::TimeScale,
) {
    let (p, plot) = (view.palette, time.area);
    let label =
        if plot.h >= 150 { unit.label() } else { ["requests/s", "MB/s"][usize::from(unit == Unit::Bytes)] };
    scale.draw(scene, p, label, units::plain);
    let color = page::color(view, lane.scope);
    for step in lane.steps.iter().filter(|s| s.sum > 0) {
        let (x, end) = step.pixels(time);
        let top = scale.y(step.per_second() * unit.factor());
        let fill = Fill::Solid(p.background.mix(color, 0.45));
        scene.area(Rect { x, y: top, w: end - x, h: plot.bottom() - top }, fill);
    }
    let points =
        lane.steps.iter().map(|s| (s.pixels(time).0, scale.y(s.per_second() * unit.factor()))).collect();
    let end = lane.steps.last().map_or(plot.right(), |s| s.pixels(time).1);
    scene.steps(points, end, Stroke::solid(color, 1));
    axes::frame(scene, p, plot);
}

/// Draws the names of the lanes, and the length of a step.
fn side(scene: &mut Scene, view: &RunView<'_>, area: Rect, height: i32, lanes: &[Lane], step_ns: u64) {
    let p = view.palette;
    let mut own_scale = false;
    for (i, lane) in lanes.iter().enumerate() {
        let y = area.y + height * i as i32 + 16;
        let mut text = words(page::scope_name(lane.scope), SIDE_LEFT, y, 13.0, p, Anchor::Start);
        (text.weight, text.color) = (Weight::Bold, page::color(view, lane.scope));
        scene.text(text);
        own_scale |= matches!(lane.scope, Scope::ReadPushed | Scope::WritePushed);
    }
    let mut lines = vec![format!("one step is {}", axes::time(step_ns))];
    if own_scale {
        lines.push("deferred: a separate scale".to_string());
    }
    for (i, line) in lines.into_iter().enumerate() {
        let mut text = words(line, SIDE_LEFT, area.y + 36 + 18 * i as i32, 13.0, p, Anchor::Start);
        text.color = p.faint_text;
        scene.text(text);
    }
}
