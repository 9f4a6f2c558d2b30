//! Events of the story in a picture over time: a coloured column for each, and a word for its cause above.

use super::axes::{TICK_SIZE, TimeScale, words};
use super::{RunView, SIDE_LEFT, SIDE_WIDTH, causes};
use crate::fonts::Weight;
use crate::scene::{Anchor, Fill, Rect, Scene};
use iosonar_analyze::StoryEvent;

/// Least width of a column: a narrower one would be invisible.
const LEAST_WIDTH: i32 = 2;
/// Strength of a column.
const TINT: f64 = 0.16;

/// Events in the visible time.
pub(super) fn seen<'a>(view: &RunView<'a>, time: &TimeScale) -> Vec<&'a StoryEvent> {
    let is_seen =
        |event: &&StoryEvent| time.shows(event.range.from_ns..event.range.to_ns.max(event.range.from_ns + 1));
    view.events.iter().filter(|_| !time.is_number).filter(is_seen).collect()
}

/// Left edge and width of the column of an event.
fn column(event: &StoryEvent, time: &TimeScale) -> (i32, i32) {
    let (x, end) = (time.x(event.range.from_ns), time.x(event.range.to_ns));
    let x = x.min(time.area.right() - LEAST_WIDTH);
    (x, (end - x).max(LEAST_WIDTH))
}

/// Draws the columns; to be drawn before the requests.
pub(super) fn columns(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, plot: Rect) {
    for event in seen(view, time) {
        let (x, w) = column(event, time);
        let color = view.palette.background.mix(causes::color(view, event.cause), TINT);
        scene.area(Rect { x, w, ..plot }, Fill::Solid(color));
    }
}

/// Draws the causes above the columns, those with most lost time first, as many as fit.
pub(super) fn names(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, plot: Rect) {
    let mut seen = seen(view, time);
    seen.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut taken: Vec<Rect> = Vec::new();
    for event in seen {
        let (x, w) = column(event, time);
        let name = causes::short(event.cause);
        let mut text = words(name, x + w / 2, plot.y - 6, TICK_SIZE, view.palette, Anchor::Middle);
        (text.weight, text.color) = (Weight::Bold, causes::color(view, event.cause));
        // A larger size than usual is reserved, as the sheet has larger words.
        let b = text.bounds();
        let mut wide = Rect { x: b.x - b.w / 8 - 3, w: b.w + b.w / 4 + 6, ..b };
        let shift = (plot.x - wide.x).max(0) - (wide.right() - SIDE_LEFT - SIDE_WIDTH).max(0);
        (text.x, wide.x) = (text.x + shift, wide.x + shift);
        if taken.iter().any(|t| t.overlaps(&wide)) {
            continue;
        }
        taken.push(wide);
        scene.text(text);
    }
}
