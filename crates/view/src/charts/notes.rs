//! Notes of users in a picture over time: the ends of each as dashed lines, and its number and text in a line above the plot.

use super::RunView;
use super::axes::{TICK_SIZE, TimeScale, words};
use crate::fonts::{self, Weight};
use crate::scene::{Anchor, Rect, Scene, Stroke};
use iosonar_archive::Note;

/// Height of the line of texts.
pub(super) const LINE: i32 = 18;
/// Gap between two texts, and the least room for one.
const GAP: i32 = 10;
const LEAST: i32 = 14;

/// Notes in the visible time, by their start, with their numbers from 1.
pub(super) fn seen<'a>(view: &RunView<'a>, time: &TimeScale) -> Vec<(usize, &'a Note)> {
    let is_seen = |(_, note): &(usize, &Note)| time.shows(note.from_ns..note.to_ns.max(note.from_ns + 1));
    let all = view.summary.notes.iter().enumerate().filter(|_| !time.is_number);
    all.filter(is_seen).map(|(i, note)| (i + 1, note)).collect()
}

/// Draws the ends of each note; to be drawn before the requests.
pub(super) fn ends(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, plot: Rect) {
    for (_, note) in seen(view, time) {
        for at in [note.from_ns, note.to_ns].into_iter().filter(|at| time.shows(*at..*at + 1)) {
            scene.vertical(time.x(at), (plot.y, plot.bottom() - 1), Stroke::dashed(view.palette.axis, 1));
        }
    }
}

/// Draws numbers and texts in the upper line of the strip, each up to the next one; returns the rest of the strip.
pub(super) fn texts(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, strip: Rect) -> Rect {
    let seen = seen(view, time);
    if seen.is_empty() {
        return strip;
    }
    let size = view.size(TICK_SIZE);
    let start = |note: &Note| time.x(note.from_ns).max(strip.x);
    let mut free = strip.x;
    for (i, (number, note)) in seen.iter().enumerate() {
        let x = start(note).max(free);
        let end = seen.get(i + 1).map_or(strip.right(), |(_, next)| start(next) - GAP);
        if end - x < LEAST {
            continue;
        }
        // A larger size than usual is reserved, as the sheet has larger words.
        let room = f64::from(end - x) * 0.8;
        let text = fonts::fit(&format!("{number} {}", note.text), size, Weight::Regular, room);
        let text = words(text, x, strip.y + 12, size, view.palette, Anchor::Start);
        free = text.bounds().right() + GAP;
        scene.text(text);
    }
    Rect { y: strip.y + LINE, h: strip.h - LINE, ..strip }
}
