//! What every picture has around its plot: title, legend, cautions, foot, stamp.

use super::axes::{time, words};
use super::{PAGE_WIDTH, RunView, View};
use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Mark, Rect, Scene, Text};
use crate::units;
use iosonar_analyze::{ByScope, Scope, Severity, TimeStats};

/// Left edge of everything.
const LEFT: i32 = 24;
/// First pixel behind everything.
const RIGHT: i32 = PAGE_WIDTH as i32 - 24;
/// Height of the caution strip and the foot line together.
pub(super) const BOTTOM: i32 = 78;
const SMALL: f64 = 13.0;

/// Title and two lines on what was run.
pub(super) fn head(scene: &mut Scene, view: &View<'_>, title: &str) {
    let p = view.palette;
    let room = f64::from(RIGHT - LEFT);
    let mut text = words(title, LEFT, 34, 22.0, p, Anchor::Start);
    text.weight = Weight::Bold;
    scene.text(text);
    for (line, y) in [&view.subject.what, &view.subject.how].into_iter().zip([58, 77]) {
        let fitted = fonts::fit(line, 14.0, Weight::Regular, room);
        scene.text(words(fitted, LEFT, y, 14.0, p, Anchor::Start));
    }
}

/// Colour of a scope.
pub(super) fn color(view: &View<'_>, scope: Scope) -> Rgb {
    match scope {
        Scope::All => view.palette.axis,
        Scope::Read => view.palette.read,
        Scope::Write => view.palette.write,
        Scope::ReadPushed => view.palette.read_pushed,
        Scope::WritePushed => view.palette.write_pushed,
    }
}

/// Name of a scope in a legend.
pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::Read => "reads",
        Scope::Write => "writes",
        Scope::ReadPushed => "of these, reads pushed back",
        Scope::WritePushed => "of these, writes pushed back",
    }
}

/// Legend of a time: one row for each class with requests. Returns its lower end.
pub(super) fn time_legend(
    scene: &mut Scene,
    view: &View<'_>,
    stats: &ByScope<Option<TimeStats>>,
    y: i32,
) -> i32 {
    const COLUMNS: [(&str, i32); 7] = [
        ("requests", 420),
        ("share", 510),
        ("avg", 600),
        ("p50", 690),
        ("p99", 780),
        ("p99.9", 870),
        ("max", 960),
    ];
    let p = view.palette;
    for (name, x) in COLUMNS {
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
        let optional = |t: Option<u64>| t.map_or("–".to_string(), time);
        let cells = [
            units::grouped(s.count),
            units::share(s.count, all),
            time(s.mean_ns),
            time(s.p50_ns),
            optional(s.p99_ns),
            optional(s.p99_9_ns),
            time(s.max_ns),
        ];
        for (cell, (_, x)) in cells.into_iter().zip(COLUMNS) {
            scene.text(words(cell, x, base, SMALL, p, Anchor::End));
        }
    }
    base
}

/// A small square in a legend, on the base line `y`.
pub(super) fn swatch(scene: &mut Scene, color: Rgb, x: i32, y: i32) {
    scene.area(Rect { x, y: y - 10, w: 12, h: 11 }, Fill::Solid(color));
}

/// How the requests ended, at the right of the legend. The pictures show the ramp, which the figures leave out.
pub(super) fn counts_note(scene: &mut Scene, view: &RunView<'_>, y: i32) {
    let c = &view.summary.counts.all;
    let p = view.palette;
    let mut rows = vec![
        ("completed", c.completed, p.text),
        ("failed", c.failed, if c.failed > 0 { p.bad } else { p.text }),
        ("dropped", c.dropped, p.text),
        ("cancelled", c.cancelled, p.text),
        ("pushed back", c.pushed, p.text),
    ];
    rows.extend((c.ramp > 0).then_some(("in the ramp", c.ramp, p.text)));
    for (i, (name, count, color)) in rows.into_iter().enumerate() {
        let base = y + 18 * i as i32;
        let mut label = words(name, 1090, base, SMALL, p, Anchor::Start);
        let mut number = words(units::grouped(count), 1290, base, SMALL, p, Anchor::End);
        (label.color, number.color) = (color, color);
        scene.text(label);
        scene.text(number);
    }
}

/// Which part of the time is seen, and that the figures are those of all of it.
pub(super) fn range_note(scene: &mut Scene, view: &View<'_>) {
    let lines = match scene.shown_ns {
        Some((begin, end)) => [
            format!("{} – {} s", seconds(begin), seconds(end)),
            scene.counted.map_or(String::new(), |n| format!("{} requests in the plot", units::grouped(n))),
            "the figures are of the whole run".to_string(),
        ],
        None => ["the whole run:".to_string(), "this picture has no time axis".into(), String::new()],
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

/// Caution strip, foot line and stamps; to be called last, so that stamps lie over the plots.
pub(super) fn bottom(scene: &mut Scene, view: &View<'_>, plots: &[Rect]) {
    let p = view.palette;
    let top = scene.height as i32 - BOTTOM;
    let strip = Rect { x: LEFT, y: top, w: RIGHT - LEFT, h: 44 };
    // The room is always kept, the colour of a warning only where there is one.
    let is_clean = view.subject.cautions.is_empty();
    let ground = if is_clean { p.background.mix(p.axis, 0.06) } else { p.caution_background };
    scene.area(strip, Fill::Solid(ground));
    let caution = |text: String, x, y, anchor| {
        let mut words = words(text, x, y, SMALL, p, anchor);
        if !is_clean {
            words.color = p.caution;
        }
        words
    };
    let factor = wraparound(view);
    let factor_width = fonts::width(&factor, SMALL, Weight::Regular);
    scene.text(caution(factor, RIGHT - 10, top + 18, Anchor::End));
    let room = f64::from(strip.w) - 20.0;
    for (i, line) in caution_lines(view).into_iter().enumerate() {
        let room = if i == 0 { room - factor_width - 24.0 } else { room };
        let fitted = fonts::fit(&line, SMALL, Weight::Regular, room);
        scene.text(caution(fitted, LEFT + 10, top + 18 + 18 * i as i32, Anchor::Start));
    }
    foot(scene, view);
    plots.iter().for_each(|plot| stamp(scene, view, *plot));
}

fn wraparound(view: &View<'_>) -> String {
    let word = |factor: &Option<f64>| factor.map_or("–".to_string(), units::number);
    let factors: Vec<_> = view.subject.wraparound.iter().map(word).collect();
    match factors.len() {
        0 => String::new(),
        1..=4 => format!("wraparound factor {}", factors.join(" : ")),
        n => format!("wraparound factor {} : … ({n} targets)", factors[..3].join(" : ")),
    }
}

/// Two lines: the two most severe cautions, and how many more there are.
fn caution_lines(view: &View<'_>) -> Vec<String> {
    let cautions = &view.subject.cautions;
    let mut lines: Vec<String> = cautions.iter().take(2).map(|c| format!("⚠ {}", c.text)).collect();
    let more = cautions.iter().skip(2).filter(|c| c.severity > Severity::Note).count();
    if more > 0
        && let Some(last) = lines.last_mut()
    {
        let cautions = if more == 1 { "caution" } else { "cautions" };
        *last = format!("⚠ {} (and {more} more {cautions} in the summary)", &last["⚠ ".len()..]);
    }
    if lines.is_empty() {
        lines.push("No cautions.".to_string());
    }
    lines
}

fn foot(scene: &mut Scene, view: &View<'_>) {
    let subject = view.subject;
    let y = scene.height as i32 - 14;
    let run = subject.run_id.as_ref().map_or(String::new(), |id| format!(" · run {id}"));
    let line = format!("{}{run} · {}", subject.tool, subject.command);
    let fitted = fonts::fit(&line, 11.0, Weight::Regular, f64::from(RIGHT - LEFT));
    let mut text = words(fitted, LEFT, y, 11.0, view.palette, Anchor::Start);
    text.color = view.palette.faint_text;
    scene.text(text);
}

fn stamp(scene: &mut Scene, view: &View<'_>, plot: Rect) {
    for stamp in &view.subject.stamps {
        let text = stamp.text().to_string();
        let wide = fonts::width(&text, 1.0, Weight::Bold);
        // The slanted words must fit the plot in both directions.
        let size = (f64::from(plot.w) * 0.9 / (wide * 0.927))
            .min(f64::from(plot.h) * 0.9 / (wide * 0.375))
            .min(64.0);
        let center = (plot.x + plot.w / 2, plot.y + plot.h / 2);
        scene.marks.push(Mark::Stamp { text, center, size: size.floor(), color: view.palette.bad });
    }
}

/// The sentence in place of a plot that has nothing to show.
pub(super) fn nothing(scene: &mut Scene, view: &View<'_>, area: Rect, why: &str) {
    let text = Text {
        weight: Weight::Bold,
        ..words(why, area.x + area.w / 2, area.y + area.h / 2, 18.0, view.palette, Anchor::Middle)
    };
    scene.text(text);
}
