//! The limit of a time in a picture: a line and its words, or an arrow at the edge if it lies beyond the scale. A distant
//! limit does not compress the data.

use super::axes::{self, LogScale, TimeScale, words};
use super::{RunView, SIDE_LEFT, SIDE_WIDTH, figures};
use crate::fonts::Weight;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::{LimitResult, LimitVerdict, Scope};

/// A limit, and the name of the time that it is for.
pub(super) type Limit<'a> = (&'static str, &'a LimitVerdict);

const SIZE: f64 = 13.0;
const LINE: i32 = 17;
/// Height of the arrow at the edge.
const ARROW: i32 = 9;

/// The words at a limit: one line, or two if the first violation is named.
fn sentences((name, verdict): Limit<'_>) -> Vec<Caption> {
    let path = |field: &str| format!("limits.{name}.{field}");
    let limit = Caption::figure(units::limit(verdict.limit_ns), path("limit_ns"), verdict.limit_ns);
    let max = verdict.max_ns.map_or(Caption::default(), |ns| {
        figures::joined([", max ".into(), figures::time(path("max_ns"), ns)])
    });
    match verdict.result {
        LimitResult::Passed => vec![figures::joined(["✓ limit ".into(), limit, ": passed".into(), max])],
        LimitResult::Failed => {
            let first = verdict.first_due_ns.map_or(Caption::default(), |ns| {
                let at = units::moment(ns, units::Charset::Unicode);
                Caption::figure(format!("first at {at}"), path("first_due_ns"), ns)
            });
            let above = figures::count(path("above"), verdict.above);
            vec![
                figures::joined(["✕ limit ".into(), limit, ": FAILED".into(), max]),
                figures::joined([above, " above, ".into(), first]),
            ]
        }
        LimitResult::NotApplicable => {
            vec![figures::joined(["limit ".into(), limit, ": does not apply: no timetable".into()])]
        }
    }
}

/// Draws the limit into a plot and the histogram beside it, and its first violation. Adds the words to `taken`.
pub(super) fn draw(
    scene: &mut Scene,
    view: &RunView<'_>,
    limit: Limit<'_>,
    scale: &LogScale,
    (time, scope): (&TimeScale, Scope),
    taken: &mut Vec<Rect>,
) {
    let (p, verdict) = (view.palette, limit.1);
    let plot = time.area;
    let color = match verdict.result {
        LimitResult::Passed => p.ok,
        LimitResult::Failed => p.bad,
        LimitResult::NotApplicable => return does_not_apply(scene, view, limit, plot),
    };
    if let (Some(first), LimitResult::Failed, false) = (verdict.first_due_ns, verdict.result, time.is_number)
        && time.shows(first..first + 1)
    {
        scene.vertical(time.x(first), (plot.y, plot.bottom() - 1), Stroke::dashed(color, 2));
    }
    // The words are drawn once.
    let is_named = scope != Scope::Write;
    let lines: Vec<Caption> = sentences(limit)
        .into_iter()
        .flat_map(|l| l.wrapped(SIZE, Weight::Bold, f64::from(SIDE_WIDTH - 24)))
        .collect();
    let height = LINE * (lines.len() as i32 - 1);
    let (x, first) = match scale.y(verdict.limit_ns) {
        Some(y) => {
            scene.horizontal(y, (plot.x, SIDE_LEFT + SIDE_WIDTH), Stroke::solid(color, 2));
            // Above the line, or below it where the plot ends too soon.
            let above = y - 6 - height;
            (SIDE_LEFT + 4, if above - 12 >= plot.y { above } else { y + 16 })
        }
        None => {
            let is_above = scale.y_clamped(verdict.limit_ns) < plot.y + plot.h / 2;
            arrow(scene, color, plot, is_above);
            (SIDE_LEFT + 22, if is_above { plot.y + 13 } else { plot.bottom() - 5 - height })
        }
    };
    if !is_named {
        return;
    }
    for (i, line) in lines.into_iter().enumerate() {
        let mut text = words(line, x, first + LINE * i as i32, SIZE, p, Anchor::Start);
        text.weight = Weight::Bold;
        // Teal is a colour for lines; as small words it would be too faint.
        text.color = if verdict.result == LimitResult::Failed { p.bad } else { p.text };
        let b = text.bounds();
        scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
        scene.text(text);
        taken.push(b);
    }
}

/// Draws an arrow at the edge of the histogram, beyond which the limit lies.
fn arrow(scene: &mut Scene, color: crate::palette::Rgb, plot: Rect, is_above: bool) {
    let tip = if is_above { plot.y + 2 } else { plot.bottom() - 3 };
    for row in 0..ARROW {
        let y = if is_above { tip + row } else { tip - row };
        let half = row * 2 / 3;
        scene.area(Rect { x: SIDE_LEFT + 11 - half, y, w: 2 * half + 1, h: 1 }, Fill::Solid(color));
    }
    let stem = if is_above { tip + ARROW } else { tip - ARROW - 4 };
    scene.area(Rect { x: SIDE_LEFT + 10, y: stem, w: 3, h: 5 }, Fill::Solid(color));
    let edge = if is_above { plot.y } else { plot.bottom() - 1 };
    scene.horizontal(edge, (plot.x, SIDE_LEFT + SIDE_WIDTH), Stroke::dashed(color, 1));
}

/// Draws a note in place of a limit line.
fn does_not_apply(scene: &mut Scene, view: &RunView<'_>, limit: Limit<'_>, plot: Rect) {
    for line in sentences(limit) {
        let mut text = words(line, SIDE_LEFT + 4, plot.y - 6, axes::TICK_SIZE, view.palette, Anchor::Start);
        text.color = view.palette.faint_text;
        scene.text(text);
    }
}
