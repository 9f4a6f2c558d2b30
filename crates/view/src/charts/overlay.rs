//! Findings in a picture: bands at the right margin, stalls as curtains with numbers, the collapse as a line. Events of the story replace
//! stalls and collapse where they are shown. Notes of users stand above them.

use super::axes::{LogScale, TICK_SIZE, TimeScale, words};
use super::{RunView, SIDE_LEFT, SIDE_WIDTH, events, figures, notes, page};
use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke, Text};
use iosonar_analyze::findings::{CompletionStall, LatencyBand, Overload};
use iosonar_analyze::{PartStats, Scope};
use iosonar_plan::Op;

/// Height of a line of words above a plot.
const LINE: i32 = 18;

/// Visible stalls, with their numbers in the list of findings.
fn stalls<'a>(view: &RunView<'a>, time: &TimeScale) -> Vec<(usize, &'a CompletionStall)> {
    let all = view.findings.map_or(&[] as &[CompletionStall], |f| &f.stalls);
    let seen = |s: &CompletionStall| time.shows(s.range.from_ns..s.range.to_ns.max(s.range.from_ns + 1));
    all.iter().enumerate().filter(|(_, s)| seen(s)).map(|(i, s)| (i + 1, s)).collect()
}

/// The collapse, if it overlaps the visible time.
fn collapse<'a>(view: &RunView<'a>, time: &TimeScale) -> Option<&'a Overload> {
    let found = view.findings?.collapse.as_ref()?;
    (!time.is_number && time.shows(found.range.from_ns..found.range.to_ns.max(found.range.from_ns + 1)))
        .then_some(found)
}

/// The plot without the room for words above it, and that room.
pub(super) fn reserve(view: &RunView<'_>, time: &TimeScale, plot: Rect) -> (Rect, Rect) {
    let sentence = collapse(view, time).map_or(0, |found| captions(view, found, plot).len() as i32);
    let has_marks = !stalls(view, time).is_empty() || !events::seen(view, time).is_empty();
    let lines = sentence + i32::from(has_marks);
    let texts = if notes::seen(view, time).is_empty() { 0 } else { notes::LINE };
    let strip = Rect { h: LINE * lines + texts, ..plot };
    (Rect { y: plot.y + strip.h, h: plot.h - strip.h, ..plot }, strip)
}

/// Least pixels from the start of a pass to that of the next, on average: more lines would hide the requests.
const PASS_PIXELS: usize = 6;

/// Passes that start in the visible time, after another one, or phases if the plan has any: name and start.
fn passes<'a>(view: &RunView<'a>, time: &TimeScale) -> Vec<(&'a str, u64)> {
    let begin = |part: &'a PartStats| Some((part.name.as_str(), part.number.and(part.begin_ns)?));
    let seen = |(_, at): &(&str, u64)| time.shows(*at..*at + 1);
    let parts = &view.summary.parts;
    let all = if parts.phases.is_empty() { &parts.passes } else { &parts.phases };
    let all = if time.is_number { &[] } else { all.as_slice() };
    let found: Vec<_> = all.iter().skip(1).filter_map(begin).filter(seen).collect();
    if found.len() * PASS_PIXELS > time.area.w as usize { Vec::new() } else { found }
}

/// Draws the start of each pass, events, ends of notes, and curtains where nothing completed; to be drawn before the requests.
pub(super) fn behind(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, plot: Rect) {
    let p = view.palette;
    events::columns(scene, view, time, plot);
    notes::ends(scene, view, time, plot);
    for (_, at) in passes(view, time) {
        scene.vertical(time.x(at), (plot.y, plot.bottom() - 1), Stroke::dashed(p.faint_text, 1));
    }
    let curtain = Fill::Solid(p.background.mix(p.axis, 0.22));
    for (_, stall) in stalls(view, time) {
        let (x, end) = (time.x(stall.range.from_ns), time.x(stall.range.to_ns));
        let w = (end - x).max(1).min(plot.right() - x);
        scene.area(Rect { x, y: plot.y, w, h: plot.h }, curtain);
    }
}

/// A curtain that is narrower than this has no room for the curve.
const HELD_PIXELS: i32 = 8;

/// Draws the lower bound of the requests that a stall held: all complete at its end or later, so one that was submitted at
/// `t` has a latency of at least `end - t`.
pub(super) fn held(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, scale: &LogScale, scope: Scope) {
    let stroke = Stroke::dashed(view.palette.axis, 1);
    for (_, stall) in
        stalls(view, time).into_iter().filter(|(_, s)| s.op.is_none_or(|op| of_scope(scope, op)))
    {
        let (from, to) = (time.x(stall.range.from_ns), time.x(stall.range.to_ns));
        if to - from < HELD_PIXELS {
            continue;
        }
        let left = |x: i32| stall.range.to_ns.saturating_sub(time.at(x));
        scene.steps((from..to).map(|x| (x, scale.y_clamped(left(x)))).collect(), to, stroke);
    }
}

/// Draws texts of notes, ticks and numbers of stalls, line and sentence of the collapse.
pub(super) fn above(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, strip: Rect, plot: Rect) {
    let p = view.palette;
    let strip = notes::texts(scene, view, time, strip);
    if let Some(found) = collapse(view, time) {
        if time.shows(found.range.from_ns..found.range.from_ns + 1) {
            let y = (strip.y + 4, plot.bottom() - 1);
            scene.vertical(time.x(found.range.from_ns), y, Stroke::solid(p.bad, 2));
        }
        sentence(scene, p.bad, view, found, time, strip);
    }
    numbers(scene, view, time, strip, plot);
    events::names(scene, view, time, plot);
    let mut free = plot.x;
    for (name, at) in passes(view, time) {
        let beside = |x, anchor| Text { color: p.faint_text, ..words(name, x, plot.y + 14, 11.0, p, anchor) };
        let sides = [beside(time.x(at) + 4, Anchor::Start), beside(time.x(at) - 4, Anchor::End)];
        let has_room = |text: &Text| text.bounds().x >= free && text.bounds().right() <= plot.right();
        // Draws as many names as fit.
        if let Some(text) = sides.into_iter().find(has_room) {
            free = free.max(text.bounds().right() + 4);
            scene.text(text);
        }
    }
}

fn sentence(
    scene: &mut Scene,
    color: Rgb,
    view: &RunView<'_>,
    found: &Overload,
    time: &TimeScale,
    strip: Rect,
) {
    let p = view.palette;
    let (lines, size) = (captions(view, found, strip), view.size(TICK_SIZE));
    let width = |line: &Caption| fonts::width(&line.text, size, Weight::Bold).ceil() as i32;
    let width = lines.iter().map(width).max().unwrap_or(0);
    // At the line if it fits there, so that the eye finds it.
    let x = (time.x(found.range.from_ns) + 6).min(SIDE_LEFT + SIDE_WIDTH - width).max(strip.x);
    for (i, line) in lines.into_iter().enumerate() {
        let mut text = words(line, x, strip.y + 12 + LINE * i as i32, size, p, Anchor::Start);
        (text.color, text.weight) = (color, Weight::Bold);
        let b = text.bounds();
        scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
        scene.text(text);
    }
}

/// The sentence on a collapse, in lines that reach from the left edge of the plot to the right edge of the page.
fn captions(view: &RunView<'_>, found: &Overload, plot: Rect) -> Vec<Caption> {
    let room = f64::from(SIDE_LEFT + SIDE_WIDTH - plot.x);
    figures::collapse(found).wrapped(view.size(TICK_SIZE), Weight::Bold, room)
}

/// Draws a tick for every stall, and a number for the longest ones, as far as they fit.
fn numbers(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, strip: Rect, plot: Rect) {
    let p = view.palette;
    let mut seen = stalls(view, time);
    if seen.is_empty() {
        return;
    }
    seen.sort_by_key(|(number, s)| (std::cmp::Reverse(s.range.length_ns()), *number));
    let mut taken: Vec<Rect> = Vec::new();
    // The line of a collapse runs through the strip.
    if let Some(found) = collapse(view, time) {
        taken.push(Rect { x: time.x(found.range.from_ns) - 2, y: strip.y, w: 5, h: strip.h });
    }
    for (number, stall) in seen {
        let (from, to) = (time.x(stall.range.from_ns), time.x(stall.range.to_ns));
        let x = (from + to) / 2;
        scene.vertical(x, (plot.y - 5, plot.y - 1), Stroke::solid(p.axis, 2));
        let text = words(number.to_string(), x, plot.y - 7, 11.0, p, Anchor::Middle);
        let b = text.bounds();
        let wide = Rect { x: b.x - 3, w: b.w + 6, ..b };
        if taken.iter().all(|t| !t.overlaps(&wide)) && wide.right() <= SIDE_LEFT + SIDE_WIDTH {
            taken.push(wide);
            scene.text(text);
        }
    }
}

fn of_scope(scope: Scope, op: Op) -> bool {
    match scope {
        Scope::Read | Scope::ReadPushed => op == Op::Read,
        Scope::Write | Scope::WritePushed => op == Op::Write,
        Scope::Flush => op == Op::Flush,
        Scope::All => true,
    }
}

/// Draws brackets and names of the bands beside the histogram. `taken`: areas of existing words.
pub(super) fn bands(
    scene: &mut Scene,
    view: &RunView<'_>,
    scale: &LogScale,
    scope: Scope,
    plot: Rect,
    taken: Vec<Rect>,
) {
    let mut taken = taken;
    let all = view.findings.map_or(&[] as &[LatencyBand], |f| &f.bands);
    for (index, band) in all.iter().enumerate().filter(|(_, b)| of_scope(scope, b.op)) {
        let color = page::color_of(view, band.op);
        let x = SIDE_LEFT + SIDE_WIDTH + if band.op == Op::Write { 12 } else { 4 };
        let (top, low) = (scale.y_clamped(band.high_ns), scale.y_clamped(band.low_ns));
        let stroke = Stroke::solid(color, 2);
        scene.vertical(x, (top + 1, low - 1), stroke);
        scene.horizontal(top + 1, (x - 3, x), stroke);
        scene.horizontal(low - 1, (x - 3, x), stroke);
        label(scene, view, (index, band), color, scale.y_clamped(band.peak_ns), plot, &mut taken);
    }
}

/// Draws the name at the height of the peak, or as near as it fits.
fn label(
    scene: &mut Scene,
    view: &RunView<'_>,
    (index, band): (usize, &LatencyBand),
    color: Rgb,
    peak: i32,
    plot: Rect,
    taken: &mut Vec<Rect>,
) {
    let p = view.palette;
    let mut text =
        words(figures::band(index, band), SIDE_LEFT + SIDE_WIDTH - 4, peak + 4, TICK_SIZE, p, Anchor::End);
    (text.color, text.weight) = (color, Weight::Bold);
    let shifts = (0..40).flat_map(|i| [-i * 4, i * 4]);
    for shift in shifts {
        text.y = peak + 4 + shift;
        let b = text.bounds();
        let inside = b.y >= plot.y && b.bottom() <= plot.bottom();
        if inside && taken.iter().all(|t| !t.overlaps(&b)) {
            scene.area(Rect { x: b.x - 2, w: b.w + 4, ..b }, Fill::Solid(p.background));
            taken.push(b);
            scene.text(text);
            return;
        }
    }
}
