//! Parts of every picture around its plot: title, legend, cautions, foot, stamp.

use super::axes::words;
use super::{PAGE_WIDTH, RunView, Subject, View, figures};
use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Mark, Rect, Scene, Text};
use crate::units;
use iosonar_analyze::{ByScope, Scope, Severity, TimeStats};
use iosonar_plan::Op;

/// Left margin.
pub(super) const LEFT: i32 = 24;
/// Right margin.
pub(super) const RIGHT: i32 = PAGE_WIDTH as i32 - 24;
/// Height of the caution strip and the foot line together.
pub(super) const BOTTOM: i32 = 78;
const SMALL: f64 = 13.0;

/// Adapts a description to the data: requests that were never submitted have no times, and a load was not run.
pub(super) fn described(view: &View<'_>, what: &str) -> String {
    let what = match view.is_load {
        true => what.replace("of the run", "of the load").replace("Wanted and done", "Wanted"),
        false => what.to_string(),
    };
    if view.all_submitted { what } else { what.replace("every request", "every submitted request") }
}

/// Size of the title; one that is wider than the page is smaller.
const TITLE: f64 = 22.0;

/// Draws the title and two lines on the run. Below a message stands the description.
pub(super) fn head(scene: &mut Scene, view: &View<'_>, description: &str) {
    let p = view.palette;
    let room = f64::from(RIGHT - LEFT);
    let described = described(view, description);
    let what = &view.subject.what;
    let (title, what) = match view.message {
        Some(message) => (message.clone(), format!("{described} · {what}")),
        None => (described.into(), what.clone()),
    };
    let width = fonts::width(&title.text, TITLE, Weight::Bold);
    let mut text = words(title, LEFT, 34, TITLE * (room / width).min(1.0), p, Anchor::Start);
    text.weight = Weight::Bold;
    scene.text(text);
    subject_lines(scene, view, &what, 58);
}

/// Draws two lines on the run, the first of them at `y`. Returns the base line of the second.
pub(super) fn subject_lines(scene: &mut Scene, view: &View<'_>, what: &str, y: i32) -> i32 {
    const LINE: i32 = 19;
    let Subject { how, figures, .. } = view.subject;
    let how = Caption { text: how.clone(), figures: figures.clone() };
    for (line, y) in [Caption::from(what), how].into_iter().zip([y, y + LINE]) {
        let room = f64::from(RIGHT - LEFT);
        let fitted = Caption { text: fonts::fit(&line.text, 14.0, Weight::Regular, room), ..line };
        scene.text(words(fitted, LEFT, y, 14.0, view.palette, Anchor::Start));
    }
    y + LINE
}

/// Colour of a scope.
pub(super) fn color(view: &View<'_>, scope: Scope) -> Rgb {
    match scope {
        Scope::All => view.palette.axis,
        Scope::Read => view.palette.read,
        Scope::Write => view.palette.write,
        Scope::ReadPushed => view.palette.read_pushed,
        Scope::WritePushed => view.palette.write_pushed,
        Scope::Flush => view.palette.flush,
    }
}

/// Colour of an operation.
pub(super) fn color_of(view: &View<'_>, op: Op) -> Rgb {
    match op {
        Op::Read => view.palette.read,
        Op::Write => view.palette.write,
        _ => view.palette.flush,
    }
}

/// Name of a scope in a legend.
pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::Read => "reads",
        Scope::Write => "writes",
        Scope::ReadPushed => "of these, reads deferred",
        Scope::WritePushed => "of these, writes deferred",
        Scope::Flush => "flushes",
    }
}

/// Draws the legend of a time: one row for each class with requests. Returns its lower end.
pub(super) fn time_legend(
    scene: &mut Scene,
    view: &View<'_>,
    path: &str,
    stats: &ByScope<Option<TimeStats>>,
    y: i32,
) -> i32 {
    const COLUMNS: [(&str, &str, i32); 6] = [
        ("requests", "count", 420),
        ("avg", "mean_ns", 600),
        ("p50", "p50_ns", 690),
        ("p99", "p99_ns", 780),
        ("p99.9", "p99_9_ns", 870),
        ("max", "max_ns", 960),
    ];
    const SHARE: i32 = 510;
    let p = view.palette;
    for (name, _, x) in COLUMNS.into_iter().chain([("share", "", SHARE)]) {
        let mut text = words(name, x, y, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let all = stats.all.map_or(0, |s| s.count);
    let rows = Scope::ALL.into_iter().filter_map(|scope| Some((scope, stats.get(scope).as_ref()?)));
    let mut base = y;
    for (scope, s) in rows {
        base += 18;
        swatch(scene, color(view, scope), 110, base);
        scene.text(words(scope_name(scope), 130, base, SMALL, p, Anchor::Start));
        let of_scope = format!("{path}.{}", figures::key(scope));
        // Flushes are no part of the requests that transfer data.
        if scope != Scope::Flush {
            let part = (format!("{of_scope}.count"), s.count);
            let share = figures::share(part, (format!("{path}.all.count"), all));
            scene.text(words(share, SHARE, base, SMALL, p, Anchor::End));
        }
        let cells = figures::of_times(&of_scope, s, &COLUMNS.map(|(_, field, _)| field));
        for (cell, (_, _, x)) in cells.into_iter().zip(COLUMNS) {
            scene.text(words(cell, x, base, SMALL, p, Anchor::End));
        }
    }
    base
}

/// Draws a small square in a legend, on the base line `y`.
pub(super) fn swatch(scene: &mut Scene, color: Rgb, x: i32, y: i32) {
    scene.area(Rect { x, y: y - 10, w: 12, h: 11 }, Fill::Solid(color));
}

/// Draws the outcomes of the requests, at the right of the legend. The pictures show the ramp, which the figures skip.
pub(super) fn counts_note(scene: &mut Scene, view: &RunView<'_>, y: i32) {
    counts(scene, view, y, "failed");
}

/// Draws the same for a picture that marks failed requests. Returns its lower end.
pub(super) fn counts_and_marks(scene: &mut Scene, view: &RunView<'_>, y: i32) -> i32 {
    let c = &view.summary.counts.all;
    if c.failed + c.ramp_failed == 0 {
        return counts(scene, view, y, "failed");
    }
    scene.crosses(vec![(MARK_LEFT, y + 18 - 5)], ARM, view.palette.bad);
    counts(scene, view, y, "failed, marked")
}

/// Note that failed requests have no mark in a picture, if there are some.
pub(super) fn failed_are_absent(view: &RunView<'_>) -> Option<Caption> {
    let failed = view.summary.counts.all.failed;
    let told =
        |failed| figures::joined([figures::count("counts.all.failed", failed), " failed: not shown".into()]);
    (failed > 0).then(|| told(failed))
}

/// Pixels from the middle of a cross at a failed request to its ends.
pub(super) const ARM: i32 = 3;
/// Left edge of this cross in the legend.
const MARK_LEFT: i32 = 1079;

/// Draws the outcomes that occurred. Returns the lower end.
fn counts(scene: &mut Scene, view: &RunView<'_>, y: i32, failed: &str) -> i32 {
    let c = &view.summary.counts.all;
    let p = view.palette;
    let rows = [
        ("completed", "completed", c.completed, p.text),
        (failed, "failed", c.failed, p.bad),
        ("dropped", "dropped", c.dropped, p.text),
        ("cancelled", "cancelled", c.cancelled, p.text),
        ("deferred", "pushed", c.pushed, p.text),
        ("in the ramp", "ramp", c.ramp, p.text),
    ];
    // Marks of failed requests stand in the second row, even if none failed outside of the ramp.
    let is_shown = |(name, field, count, _): &(&str, &str, u64, Rgb)| {
        *count > 0 || *field == "completed" || *name == "failed, marked"
    };
    let rows: Vec<_> = rows.into_iter().filter(is_shown).collect();
    let end = y + 18 * (rows.len() as i32 - 1);
    for (i, (name, field, count, color)) in rows.into_iter().enumerate() {
        let base = y + 18 * i as i32;
        let mut label = words(name, 1090, base, SMALL, p, Anchor::Start);
        let count = figures::count(format!("counts.all.{field}"), count);
        let mut number = words(count, 1290, base, SMALL, p, Anchor::End);
        (label.color, number.color) = (color, color);
        scene.text(label);
        scene.text(number);
    }
    end
}

/// Notes the visible part of the time, and that the figures are those of all of it.
pub(super) fn range_note(scene: &mut Scene, view: &View<'_>) {
    let lines = match scene.shown_ns {
        Some((begin, end)) => [
            format!("{} – {} s", seconds(begin), seconds(end)).into(),
            scene.counted.map_or(Caption::default(), |n| {
                Caption::figure(format!("{} requests in the plot", units::grouped(n)), "picture.requests", n)
            }),
            "the figures are of the whole run".into(),
        ],
        None => ["the whole run:".into(), "this picture has no time axis".into(), Caption::default()],
    };
    for (i, line) in lines.into_iter().enumerate() {
        let mut text =
            words(line, super::SIDE_LEFT + 20, 102 + 18 * i as i32, SMALL, view.palette, Anchor::Start);
        text.weight = if i == 0 { Weight::Bold } else { Weight::Regular };
        scene.text(text);
    }
}

/// Seconds with as many digits as they have, at most to the microsecond.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_string()
}

/// Maximum lines of cautions; a single one is always shown completely.
const MOST_LINES: usize = 6;
/// Lines that fit without making the picture higher.
const LINES: usize = 2;
const LINE: i32 = 18;

/// Draws caution strip, foot line and stamps; to be called last, so that stamps lie over the plots. If cautions need more
/// room than the strip has, the picture becomes higher: none is cut.
pub(super) fn bottom(scene: &mut Scene, view: &View<'_>, plots: &[Rect]) {
    let p = view.palette;
    let top = scene.height as i32 - BOTTOM;
    let factor = wraparound(view);
    let factor_width = fonts::width(&factor.text, view.size(SMALL), Weight::Regular);
    let beside = if factor.text.is_empty() { 0.0 } else { factor_width + 24.0 };
    let lines = caution_lines(view, f64::from(RIGHT - LEFT) - 20.0 - beside);
    let higher = LINE * lines.len().saturating_sub(LINES) as i32;
    scene.height += higher as u32;
    let strip = Rect { x: LEFT, y: top, w: RIGHT - LEFT, h: 44 + higher };
    // The room is always reserved, the colour of a warning only used if there is one.
    let is_clean = view.subject.cautions.is_empty();
    let ground = if is_clean { p.background.mix(p.axis, 0.06) } else { p.caution_background };
    if !lines.is_empty() {
        scene.area(strip, Fill::Solid(ground));
    }
    let caution = |text: Caption, x, y, anchor| {
        let mut words = words(text, x, y, view.size(SMALL), p, anchor);
        if !is_clean {
            words.color = p.caution;
        }
        words
    };
    scene.text(caution(factor, RIGHT - 10, top + 18, Anchor::End));
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(caution(line.into(), LEFT + 10, top + 18 + LINE * i as i32, Anchor::Start));
    }
    foot(scene, view);
    plots.iter().for_each(|plot| stamp(scene, view, *plot));
}

/// Cuts off the caution strip and the foot line, of a picture that has neither. To be called after [`bottom`].
pub(super) fn cut_bottom(scene: &mut Scene) {
    scene.height -= (BOTTOM - 10) as u32;
}

fn wraparound(view: &View<'_>) -> Caption {
    const MOST: usize = 4;
    let factors = &view.subject.wraparound;
    let shown = if factors.len() > MOST { MOST - 1 } else { factors.len() };
    let word = |(factor, path): (&Option<f64>, &String)| {
        factor.map_or("–".into(), |factor| Caption::figure(units::number(factor), path, factor))
    };
    let mut parts: Vec<Caption> = Vec::new();
    for factor in factors.iter().zip(&view.subject.wraparound_paths).take(shown) {
        parts.push(if parts.is_empty() { "wraparound factor ".into() } else { " : ".into() });
        parts.push(word(factor));
    }
    parts.extend((factors.len() > shown).then(|| format!(" : … ({} targets)", factors.len()).into()));
    figures::joined(parts)
}

/// The most severe cautions, each in as many lines as it needs, and the number of others.
fn caution_lines(view: &View<'_>, room: f64) -> Vec<String> {
    let cautions = &view.subject.cautions;
    let mut lines: Vec<String> = Vec::new();
    let mut told = 0;
    for caution in cautions {
        let wrapped = fonts::wrap(&format!("⚠ {}", caution.text), view.size(SMALL), Weight::Regular, room);
        if told > 0 && lines.len() + wrapped.len() > MOST_LINES {
            break;
        }
        lines.extend(wrapped);
        told += 1;
    }
    let more = cautions.iter().skip(told).filter(|c| c.severity > Severity::Note).count();
    let more = more + view.subject.cautions_elsewhere;
    if more > 0 && lines.is_empty() {
        let cautions = if more == 1 { "caution is" } else { "cautions are" };
        lines.push(format!("{more} {cautions} in the summary"));
    } else if more > 0 {
        let cautions = if more == 1 { "caution" } else { "cautions" };
        lines.push(format!("⚠ and {more} more {cautions} in the summary"));
    }
    if lines.is_empty() && !view.subject.is_unexamined {
        lines.push("No cautions.".to_string());
    }
    lines
}

fn foot(scene: &mut Scene, view: &View<'_>) {
    let subject = view.subject;
    if subject.tool.is_empty() && subject.command.is_empty() {
        return;
    }
    let y = scene.height as i32 - 14;
    let run = subject.run_id.as_ref().map_or(String::new(), |id| format!(" · run {id}"));
    let line = format!("{}{run} · {}", subject.tool, subject.command);
    let size = view.size(11.0);
    let fitted = fonts::fit(&line, size, Weight::Regular, f64::from(RIGHT - LEFT));
    let mut text = words(fitted, LEFT, y, size, view.palette, Anchor::Start);
    text.color = view.palette.faint_text;
    scene.text(text);
}

/// Draws words over a plot, several of them one below the other.
fn stamp(scene: &mut Scene, view: &View<'_>, plot: Rect) {
    // From one line of slanted words to the next, in sizes of letters.
    const LINE: f64 = 1.3;
    let stamps = &view.subject.stamps;
    let wide = stamps.iter().map(|text| fonts::width(text, 1.0, Weight::Bold)).fold(0.0, f64::max);
    let lines = LINE * stamps.len().saturating_sub(1) as f64;
    // The slanted words must fit the plot in both directions.
    let size = (f64::from(plot.w) * 0.9 / (wide * 0.927))
        .min(f64::from(plot.h) * 0.9 / (wide * 0.375 + lines))
        .min(64.0)
        .floor();
    let top = f64::from(plot.y + plot.h / 2) - size * lines / 2.0;
    for (number, text) in stamps.iter().enumerate() {
        let center = (plot.x + plot.w / 2, (top + size * LINE * number as f64).round() as i32);
        scene.marks.push(Mark::Stamp { text: text.clone(), center, size, color: view.palette.bad });
    }
}

/// Draws a sentence in place of an empty plot.
pub(super) fn nothing(scene: &mut Scene, view: &View<'_>, area: Rect, why: &str) {
    let text = Text {
        weight: Weight::Bold,
        ..words(why, area.x + area.w / 2, area.y + area.h / 2, 18.0, view.palette, Anchor::Middle)
    };
    scene.text(text);
}
