//! Where the time of requests goes in the kernel: what groups of requests with similar responses consist of, and the slowest requests.

use super::axes::{self, LABEL_SIZE, TICK_SIZE, TimeScale, frame, words};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, SIDE_LEFT, figures, page, plot_area, single};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Rect, Scene};
use iosonar_analyze::{PathFacts, StepTimes, TimeStats};

pub(super) static CHART: Chart = Chart {
    stem: "g64.path",
    keywords: &["path"],
    title: "Where the time of requests goes in the kernel",
    message: Message::Figures(message::path),
    draw: Draw::Path(draw),
};

/// Height of the plot of the groups.
const GROUPS: i32 = 260;
/// Height of the words above a plot.
const HEAD: i32 = 26;

fn draw(view: &RunView<'_>, path: &PathFacts) -> Scene {
    let table = |scene: &mut Scene, y| legend(scene, view, path, y);
    single(view, &CHART, table, |scene, area| {
        scene.counted = Some(path.joined);
        let area = plot_area(area);
        if path.groups.is_empty() {
            return page::nothing(
                scene,
                view,
                area,
                "Nothing to show: no request was found among the kernel's events.",
            );
        }
        let upper = Rect { y: area.y + HEAD, h: GROUPS, ..area };
        groups(scene, view, path, upper);
        let top = upper.bottom() + HEAD + 10;
        slowest(scene, view, path, Rect { y: top, h: area.bottom() - top, ..area });
    })
}

/// Colours of the steps, in their order.
fn colors(view: &RunView<'_>) -> [Rgb; 5] {
    let p = view.palette;
    [p.series[3], p.series[4], p.series[5], p.series[0], p.series[1]]
}

/// Colour, name and figures of each step.
fn legend(scene: &mut Scene, view: &RunView<'_>, path: &PathFacts, y: i32) {
    const COLUMNS: [(&str, &str, i32); 5] = [
        ("requests", "count", 420),
        ("avg", "mean_ns", 510),
        ("p50", "p50_ns", 600),
        ("p99", "p99_ns", 690),
        ("max", "max_ns", 780),
    ];
    let p = view.palette;
    for (name, _, x) in COLUMNS {
        let mut text = words(name, x, y, TICK_SIZE, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let steps: [(&str, &Option<TimeStats>); 5] = [
        ("delay", &path.delay),
        ("submit_to_queue", &path.submit_to_queue),
        ("queue_to_issue", &path.queue_to_issue),
        ("issue_to_complete", &path.issue_to_complete),
        ("complete_to_seen", &path.complete_to_seen),
    ];
    let named = steps.into_iter().zip(StepTimes::NAMES).zip(colors(view));
    let known = named.filter_map(|(((key, stats), name), color)| Some((key, stats.as_ref()?, name, color)));
    for (row, (key, stats, name, color)) in known.enumerate() {
        let base = y + 16 * (row as i32 + 1);
        page::swatch(scene, color, 110, base);
        scene.text(words(name, 130, base, TICK_SIZE, p, Anchor::Start));
        let cells = figures::of_times(&format!("path.{key}"), stats, &COLUMNS.map(|(_, field, _)| field));
        for (cell, (_, _, x)) in cells.into_iter().zip(COLUMNS) {
            scene.text(words(cell, x, base, TICK_SIZE, p, Anchor::End));
        }
    }
}

fn head(scene: &mut Scene, view: &RunView<'_>, text: &str, area: Rect) {
    let mut text = words(text, area.x, area.y - 9, LABEL_SIZE, view.palette, Anchor::Start);
    text.color = view.palette.faint_text;
    scene.text(text);
}

/// A bar for each group, as wide as the plot: shares of the steps. The fastest requests are at the top.
fn groups(scene: &mut Scene, view: &RunView<'_>, path: &PathFacts, area: Rect) {
    head(
        scene,
        view,
        "Shares of the steps, by response: groups of a twentieth of the requests, the fastest at the top",
        area,
    );
    let count = path.groups.len() as i32;
    for (number, group) in path.groups.iter().enumerate() {
        let (top, bottom) = (area.h * number as i32 / count, area.h * (number as i32 + 1) / count);
        let bar = Rect { y: area.y + top, h: bottom - top - 1, ..area };
        let sum = group.mean.response_ns();
        let scale = TimeScale { begin: 0, end: sum.max(1), is_number: false, area: bar };
        steps(scene, view, &group.mean, &scale);
        // Every fourth has its mean: all of them would be too many.
        if number % 4 == 3 || number == 0 {
            let mean = format!("mean {}", axes::time(sum));
            scene.text(words(mean, SIDE_LEFT, bar.bottom(), TICK_SIZE, view.palette, Anchor::Start));
        }
    }
    frame(scene, view.palette, area);
}

/// The slowest requests from their due time on, with one scale.
fn slowest(scene: &mut Scene, view: &RunView<'_>, path: &PathFacts, area: Rect) {
    head(scene, view, "The slowest requests", area);
    let longest = path.slowest.iter().map(|one| one.times.response_ns()).max().unwrap_or(0);
    let time = TimeScale { begin: 0, end: longest.max(1), is_number: false, area };
    let since = if view.summary.run.has_timetable {
        "Time since the request was due"
    } else {
        "Time since the submission"
    };
    time.draw(scene, view.palette, Some(since));
    let pitch = area.h / path.slowest.len().max(1) as i32;
    for (number, one) in path.slowest.iter().enumerate() {
        let bar = Rect { y: area.y + pitch * number as i32 + 1, h: (pitch - 2).max(1), ..area };
        steps(scene, view, &one.times, &time.within(bar));
        let due = figures::time(format!("path.slowest.{number}.due_ns"), one.due_ns);
        let text = figures::joined(["at ".into(), due, format!(": request {}", one.sequence).into()]);
        scene.text(words(text, SIDE_LEFT, bar.y + (bar.h + 10) / 2, TICK_SIZE, view.palette, Anchor::Start));
    }
    frame(scene, view.palette, area);
}

/// The steps of a request, one after the other.
fn steps(scene: &mut Scene, view: &RunView<'_>, times: &StepTimes, scale: &TimeScale) {
    let mut begin = 0u64;
    for (ns, color) in times.each().into_iter().zip(colors(view)) {
        let end = begin.saturating_add(ns);
        let (x, right) = (scale.x(begin), scale.x(end));
        if right > x {
            scene.area(Rect { x, w: right - x, ..scale.area }, Fill::Solid(color));
        }
        begin = end;
    }
}
