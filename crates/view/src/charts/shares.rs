//! The share of each latency band over time, as a thin strip for each operation: a cache that warms up increases the share
//! of its band.

use super::axes::{TICK_SIZE, TimeScale, words};
use super::{RunView, SIDE_LEFT, SIDE_WIDTH, page};
use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use iosonar_analyze::findings::{LatencyBand, OPS};
use iosonar_plan::Op;

/// Height of a strip.
const HEIGHT: i32 = 16;
/// Empty pixels above each strip.
const GAP: i32 = 9;
/// Blending of the slowest band with the background.
const FAINTEST: f64 = 0.8;

/// The bands of each operation that has several, fastest first. A single band would always hold everything.
fn strips<'a>(view: &RunView<'a>) -> Vec<Vec<&'a LatencyBand>> {
    let all = view.findings.map_or(&[] as &[LatencyBand], |f| &f.bands);
    let of = |op: Op| all.iter().filter(|b| b.op == op).collect::<Vec<_>>();
    OPS.into_iter().map(of).filter(|bands| bands.len() > 1).collect()
}

/// Height of all strips in pixels.
pub(super) fn height(view: &RunView<'_>) -> i32 {
    strips(view).len() as i32 * (GAP + HEIGHT)
}

/// Draws them, one below the other, into `area`.
pub(super) fn draw(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, area: Rect) {
    for (i, bands) in strips(view).iter().enumerate() {
        let y = area.y + GAP + i as i32 * (GAP + HEIGHT);
        let strip = Rect { y, h: HEIGHT, ..area };
        parts(scene, view, time, bands, strip);
        frame(scene, view, strip);
        name(scene, view, bands, strip);
    }
}

/// Colour of the band with this rank: the fastest is strongest.
fn color(view: &RunView<'_>, op: Op, rank: usize, bands: usize) -> Rgb {
    let p = view.palette;
    let strong = page::color_of(view, op);
    strong.mix(p.background, FAINTEST * rank as f64 / (bands - 1) as f64)
}

/// Draws every part of the time, the fastest band lowest. Requests in no band leave a gap at the top.
fn parts(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, bands: &[&LatencyBand], strip: Rect) {
    let range = bands[0].range;
    let parts = bands[0].share_over_time.len() as u64;
    let begin = |part: u64| {
        range.from_ns + (u128::from(range.length_ns()) * u128::from(part) / u128::from(parts)) as u64
    };
    for part in (0..parts).filter(|part| time.shows(begin(*part)..begin(part + 1).max(begin(*part) + 1))) {
        let (x, end) = (time.x(begin(part)), time.x(begin(part + 1)));
        let mut below = 0.0;
        for (rank, band) in bands.iter().enumerate() {
            let Some(share) = band.share_over_time.get(part as usize).copied().flatten() else { continue };
            let y = |share: f64| strip.bottom() - (share.min(1.0) * f64::from(strip.h)).round() as i32;
            let (low, high) = (y(below), y(below + share));
            below += share;
            let area = Rect { x, y: high, w: (end - x).min(strip.right() - x), h: low - high };
            scene.area(area, Fill::Solid(color(view, band.op, rank, bands.len())));
        }
    }
}

fn frame(scene: &mut Scene, view: &RunView<'_>, strip: Rect) {
    let stroke = Stroke::solid(view.palette.grid, 1);
    scene.horizontal(strip.y - 1, (strip.x, strip.right() - 1), stroke);
    scene.horizontal(strip.bottom(), (strip.x, strip.right() - 1), stroke);
}

/// Draws the name of the operation at the left, the meaning of the shades at the right.
fn name(scene: &mut Scene, view: &RunView<'_>, bands: &[&LatencyBand], strip: Rect) {
    let (p, op) = (view.palette, bands[0].op);
    let base = strip.y + HEIGHT / 2 + 4;
    scene.text(words(format!("{} bands", op.name()), strip.x - 8, base, TICK_SIZE, p, Anchor::End));
    let (mut x, right) = (SIDE_LEFT, SIDE_LEFT + SIDE_WIDTH);
    let label = "share over time";
    let label_width = fonts::width(label, TICK_SIZE, Weight::Regular).ceil() as i32;
    // As many bands as fit, closer together if there are many.
    let pitch = ((right - x - label_width) / bands.len() as i32).clamp(24, 36);
    for (rank, band) in bands.iter().enumerate() {
        if x + pitch + label_width > right {
            break;
        }
        let shade = color(view, op, rank, bands.len());
        scene.area(Rect { x, y: strip.y + 3, w: 12, h: 10 }, Fill::Solid(shade));
        scene.text(words(band.letter.to_string(), x + 14, base, TICK_SIZE, p, Anchor::Start));
        x += pitch;
    }
    let mut text = words(label, x, base, TICK_SIZE, p, Anchor::Start);
    text.color = p.faint_text;
    scene.text(text);
}
