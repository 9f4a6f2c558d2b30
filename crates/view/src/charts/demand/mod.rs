//! Pictures of a load's demand, and their shared parts. They need no run.

pub(super) mod distance;
pub(super) mod frequency;
pub(super) mod miss_ratio;
pub(super) mod position;
mod scales;
pub(super) mod seek_map;
pub(super) mod sheet;
pub(super) mod size;
pub(super) mod throughput;
pub(super) mod turns;
pub(super) mod working_set;

use super::axes::{TimeScale, words};
use super::{Chart, DemandView, SIDE_LEFT, SIDE_WIDTH, page, plot_area, single};
use crate::fonts::Weight;
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::SamplingFacts;

/// Label of the time axis of every picture.
const TIME_LABEL: &str = "Time since the start of the load";
/// Size of words beside and above the plot.
const SMALL: f64 = 13.0;

/// A picture with lines of words above the plot and the plot made by `body`, or the reason why there is no plot.
fn picture(
    view: &DemandView<'_>,
    chart: &Chart,
    lines: Vec<Caption>,
    body: impl FnOnce(&mut Scene, Rect),
) -> Scene {
    let above = |scene: &mut Scene, y: i32| {
        let lines = lines.into_iter().flat_map(|line| line.wrapped(SMALL, Weight::Regular, 1460.0));
        for (i, line) in lines.take(6).enumerate() {
            scene.text(words(line, 110, y + 18 * i as i32, SMALL, view.palette, Anchor::Start));
        }
    };
    single(view, chart, above, |scene, area| {
        if view.demand.facts.counts.all.requests == 0 {
            page::nothing(scene, view, plot_area(area), "Nothing to show: the load has no requests.");
        } else {
            body(scene, area);
        }
    })
}

/// The time axis of a load that ends at `end_ns`, or its visible part.
fn time_scale(view: &DemandView<'_>, end_ns: u64, plot: Rect) -> TimeScale {
    let whole = TimeScale { begin: 0, end: end_ns.max(1), is_number: false, area: plot };
    let Some(range) = view.range else { return whole };
    let begin = range.from_ns.min(whole.end - 1);
    TimeScale { begin, end: range.to_ns.clamp(begin + 1, whole.end), ..whole }
}

/// Appearance of a legend entry in the plot.
#[derive(Clone, Copy)]
enum Key {
    None,
    Line(Stroke),
    Fill(Fill),
}

/// An entry of the legend beside the plot: its first line is bold.
struct Entry {
    key: Key,
    lines: Vec<Caption>,
}

impl Entry {
    fn line(stroke: Stroke, lines: Vec<Caption>) -> Entry {
        Entry { key: Key::Line(stroke), lines }
    }

    fn fill(color: Rgb, lines: Vec<Caption>) -> Entry {
        Entry { key: Key::Fill(Fill::Solid(color)), lines }
    }

    fn words(lines: Vec<Caption>) -> Entry {
        Entry { key: Key::None, lines }
    }
}

/// The legend at the right of a plot. Entries that do not fit are counted.
fn legend(scene: &mut Scene, palette: &Palette, plot: Rect, entries: &[Entry]) {
    const LINE: i32 = 17;
    let mut y = plot.y + 12;
    for (i, entry) in entries.iter().enumerate() {
        let x = SIDE_LEFT + if matches!(entry.key, Key::None) { 0 } else { 34 };
        let room = f64::from(SIDE_WIDTH - (x - SIDE_LEFT));
        let weight = |n: usize| if n == 0 { Weight::Bold } else { Weight::Regular };
        let wrapped = |(n, line): (usize, &Caption)| {
            line.clone().wrapped(SMALL, weight(n), room).into_iter().map(move |line| (weight(n), line))
        };
        let lines: Vec<(Weight, Caption)> = entry.lines.iter().enumerate().flat_map(wrapped).collect();
        let height = LINE * lines.len() as i32;
        if y + height > plot.bottom() - LINE && i + 1 < entries.len() {
            let more = format!("and {} more", entries.len() - i);
            scene.text(words(more, SIDE_LEFT, y, SMALL, palette, Anchor::Start));
            return;
        }
        match entry.key {
            Key::None => {}
            Key::Line(stroke) => scene.horizontal(y - 4, (SIDE_LEFT, SIDE_LEFT + 26), stroke),
            Key::Fill(fill) => scene.area(Rect { x: SIDE_LEFT, y: y - 10, w: 26, h: 12 }, fill),
        }
        for (weight, line) in lines {
            let mut text = words(line, x, y, SMALL, palette, Anchor::Start);
            text.weight = weight;
            scene.text(text);
            y += LINE;
        }
        y += 9;
    }
}

/// A line across the plot at a device's size, with its name inside.
fn device_line(scene: &mut Scene, palette: &Palette, plot: Rect, y: i32, bytes: u64) {
    scene.horizontal(y, (plot.x, plot.right() - 1), Stroke::dashed(palette.bad, 1));
    let base = if y - 6 > plot.y + 12 { y - 6 } else { y + 16 };
    let text = format!("device of {}", units::bytes(bytes));
    let mut text = words(text, plot.x + 8, base, 12.0, palette, Anchor::Start);
    // Devices of nearly the same size have their names side by side; names that do not fit are skipped.
    while scene.texts().any(|other| other.bounds().overlaps(&text.bounds())) {
        text.x += text.bounds().w + 16;
        if text.bounds().right() > plot.right() {
            return;
        }
    }
    backed(scene, palette, text);
}

/// Words inside a plot, on the background, or lines would run through them.
fn backed(scene: &mut Scene, palette: &Palette, text: crate::scene::Text) {
    let bounds = text.bounds();
    scene.area(Rect { x: bounds.x - 2, w: bounds.w + 4, ..bounds }, Fill::Solid(palette.background));
    scene.text(text);
}

/// Draws a step line that is interrupted where there is no value: `(begin, end, height)` of each step in pixels. Steps
/// narrower than a pixel are drawn as one.
fn interrupted(scene: &mut Scene, steps: impl Iterator<Item = (i32, i32, Option<i32>)>, stroke: Stroke) {
    let mut points: Vec<(i32, i32)> = Vec::new();
    let mut end = i32::MIN;
    let mut flush = |points: &mut Vec<(i32, i32)>, end: i32| {
        if let Some((last, _)) = points.last() {
            let end = end.max(last + 1);
            scene.steps(thinned(std::mem::take(points).into_iter()), end, stroke);
        }
    };
    for (begin, right, y) in steps {
        let Some(y) = y else { continue };
        // A gap narrower than a pixel does not interrupt the line.
        if begin > end {
            flush(&mut points, end);
        }
        points.push((begin, y));
        end = right.max(begin + 1);
    }
    flush(&mut points, end);
}

/// Points of a step line with at most four for each pixel column: first, least, greatest and last. The pixels are
/// the same as with all points.
fn thinned(points: impl Iterator<Item = (i32, i32)>) -> Vec<(i32, i32)> {
    let mut out: Vec<(i32, i32)> = Vec::new();
    let mut push = |x: i32, y: i32| {
        if out.last().is_none_or(|last| last.1 != y) {
            out.push((x, y));
        }
    };
    // Least before greatest, or the other way round if the least is the last: the line never runs backward.
    let in_order = |[first, low, high, last]: [i32; 4]| {
        if last == low { [first, high, low, last] } else { [first, low, high, last] }
    };
    let mut column: Option<(i32, [i32; 4])> = None;
    for (x, y) in points {
        match &mut column {
            Some((at, [_, low, high, last])) if *at == x => {
                (*low, *high, *last) = ((*low).min(y), (*high).max(y), y);
            }
            _ => {
                if let Some((at, ys)) = column.replace((x, [y; 4])) {
                    in_order(ys).into_iter().for_each(|y| push(at, y));
                }
            }
        }
    }
    if let Some((at, ys)) = column {
        in_order(ys).into_iter().for_each(|y| push(at, y));
    }
    out
}

/// `sampled 1:8, ± 0.3 %`, where pages were sampled. `field`: the name of the error among the figures of the sampling.
fn sampled(facts: &SamplingFacts, field: &str, error: f64) -> Option<Caption> {
    let percent = units::number(error * 100.0);
    (!facts.exact).then(|| {
        Caption::from(format!("sampled 1:{}, ± {percent} %", units::grouped(facts.one_of)))
            .of("demand.sampling.one_of", facts.one_of)
            .of(format!("demand.sampling.{field}"), error)
    })
}

/// Colours of the windows of working sets, shortest first; the infinite one is drawn in the colour of words.
fn window_stroke(palette: &Palette, index: usize, is_infinite: bool) -> Stroke {
    if is_infinite {
        return Stroke::solid(palette.text, 2);
    }
    let colors = [palette.ok, palette.actual, palette.bad, palette.axis];
    let stroke = Stroke::solid(colors[index % colors.len()], 1 + (index / 8) as i32 % 2);
    Stroke { dashed: (index / colors.len()) % 2 == 1, ..stroke }
}

/// Name of a window: `6 s`, `all since the start`.
fn window_name(window_s: Option<u64>) -> String {
    window_s.map_or("all since the start".to_string(), |s| format!("last {} s", units::grouped(s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_pixel() {
        let all = [(0, 9), (1, 5), (1, 2), (1, 8), (1, 4), (2, 4), (2, 4), (5, 1)];
        assert_eq!(thinned(all.into_iter()), [(0, 9), (1, 5), (1, 2), (1, 8), (1, 4), (5, 1)]);
        assert_eq!(thinned(std::iter::empty()), []);
    }

    #[test]
    fn lines_break_at_missing_values() {
        let mut scene = Scene::new(100, 100, Rgb(255, 255, 255));
        let steps =
            [(0, 2, Some(5)), (2, 4, None), (4, 4, Some(7)), (4, 6, Some(6)), (6, 9, None), (9, 12, Some(1))];
        interrupted(&mut scene, steps.into_iter(), Stroke::solid(Rgb(0, 0, 0), 1));
        let lines: Vec<_> = scene
            .marks
            .iter()
            .map(|m| match m {
                crate::scene::Mark::Steps { points, end, .. } => (points.clone(), *end),
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(lines, [(vec![(0, 5)], 2), (vec![(4, 7), (4, 6)], 6), (vec![(9, 1)], 12)]);
    }

    #[test]
    fn exact_figures_have_no_sampling_note() {
        let mut facts = SamplingFacts { exact: true, ..Default::default() };
        assert_eq!(sampled(&facts, "miss_ratio_error", 0.1), None);
        (facts.exact, facts.one_of) = (false, 8);
        assert_eq!(sampled(&facts, "miss_ratio_error", 0.003).unwrap().text, "sampled 1:8, ± 0.300 %");
    }
}
