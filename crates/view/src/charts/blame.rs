//! The blame strip below a picture over time: a row for each cause that the evidence knows over time, stronger where it accounts for more.

use super::axes::{LABEL_SIZE, TimeScale, words};
use super::{RunView, SIDE_LEFT, SIDE_WIDTH, causes};
use crate::fonts::{self, Weight};
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use iosonar_analyze::{Blame, BlameRow};

/// Height of a row, and the gap below it.
const ROW: i32 = 18;
const GAP: i32 = 4;
/// Height of the words above the rows.
const HEAD: i32 = 24;
/// Steps from no blame to all of it: a picture has few colours.
const SHADES: i32 = 8;

/// Rows with anything in them.
fn rows(blame: &Blame) -> impl Iterator<Item = &BlameRow> {
    blame.rows.iter().filter(|row| row.percent.iter().any(|percent| *percent > 0))
}

fn known<'a>(view: &RunView<'a>) -> Option<&'a Blame> {
    view.summary.story.as_ref()?.blame.as_ref().filter(|blame| rows(blame).next().is_some())
}

/// Height of the strip; 0 if there is nothing to blame.
pub(super) fn height(view: &RunView<'_>) -> i32 {
    known(view).map_or(0, |blame| HEAD + (ROW + GAP) * rows(blame).count() as i32)
}

/// Draws it from `top` on, on the axis of a plot above it.
pub(super) fn draw(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, top: i32) {
    let Some(blame) = known(view) else { return };
    let p = view.palette;
    let head = "Evidence for causes outside of the target, and in the queue of requests (stronger: more)";
    let mut head = words(head, time.area.x, top + 15, LABEL_SIZE, p, Anchor::Start);
    head.color = p.faint_text;
    scene.text(head);
    for (number, row) in rows(blame).enumerate() {
        let area = Rect { y: top + HEAD + (ROW + GAP) * number as i32, h: ROW, ..time.area };
        slices(scene, view, blame, row, &time.within(area));
        let name = fonts::fit(&row.label(), LABEL_SIZE, Weight::Regular, f64::from(SIDE_WIDTH) * 0.9);
        scene.text(words(name, SIDE_LEFT, area.y + 14, LABEL_SIZE, p, Anchor::Start));
    }
}

/// Draws the slices of a row; neighbours of the same shade are one area.
fn slices(scene: &mut Scene, view: &RunView<'_>, blame: &Blame, row: &BlameRow, time: &TimeScale) {
    let p = view.palette;
    let color = causes::color(view, row.cause);
    let shade = |percent: u8| (i32::from(percent.min(100)) * SHADES + 99) / 100;
    let begin = |slice: usize| blame.from_ns.saturating_add(blame.slice_ns.saturating_mul(slice as u64));
    scene.area(time.area, Fill::Solid(p.background.mix(color, 0.05)));
    let mut slice = 0;
    for run in row.percent.chunk_by(|one, next| shade(*one) == shade(*next)) {
        let (from, to) = (slice, slice + run.len());
        slice = to;
        let shade = shade(run[0]);
        let is_seen = time.shows(begin(from)..begin(to));
        if shade > 0 && is_seen {
            let (x, end) = (time.x(begin(from)), time.x(begin(to)));
            let fill = p.background.mix(color, 0.1 + 0.9 * f64::from(shade) / f64::from(SHADES));
            scene.area(Rect { x, w: (end - x).max(1), ..time.area }, Fill::Solid(fill));
        }
    }
    scene.horizontal(time.area.bottom(), (time.area.x, time.area.right() - 1), Stroke::solid(p.grid, 1));
}
