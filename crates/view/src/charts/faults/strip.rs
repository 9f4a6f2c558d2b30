//! Whole targets from their first byte to their last, with the places of faults, and the number of faults found over time.

use super::super::axes::{self, LinearScale, TICK_SIZE, TimeScale, tick_word, words};
use super::super::layout::{AddressAxis, outline};
use super::super::message::Message;
use super::super::{BELOW, Chart, Draw, PAGE_WIDTH, PLOT_LEFT, PLOT_WIDTH, RunView, SIDE_LEFT, page};
use super::{Target, WORDS, signs};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_archive::{Fault, FaultClass};
use std::collections::BTreeMap;

/// Maximum targets with a row.
const MOST_TARGETS: usize = 8;
/// Height of a row: its name, signs, the strip, addresses.
const TITLE: i32 = 22;
const SIGNS: i32 = 14;
const STRIP: i32 = 26;
const TICKS: i32 = 36;
const EACH: i32 = TITLE + SIGNS + STRIP + TICKS;
/// Least width of a place with a fault: narrower ones would be invisible.
const PLACE: i32 = 3;
/// Distance between two signs above a strip.
const APART: i32 = 15;
/// Height of the plot of counts, and of the words above it.
const COUNTS: i32 = 190;
const COUNTS_TITLE: i32 = 34;
/// Width of a bar.
const BAR: i32 = 10;

pub(in crate::charts) static CHART: Chart = Chart {
    stem: "g63.fault-strip",
    keywords: &["fault-strip"],
    title: "Faults on the whole target, and how many were found over time",
    message: Message::Headline,
    draw: Draw::Faults(draw),
};

fn draw(view: &RunView<'_>, faults: &[Fault]) -> Scene {
    let p = view.palette;
    let mut scene = Scene::new(PAGE_WIDTH, 1, p.background);
    let Some(verified) = &view.summary.verified else { return scene };
    let (targets, others) = super::chosen(super::targets(view, faults), MOST_TARGETS);
    page::head(&mut scene, view, CHART.title);
    let mut y = super::legend(&mut scene, view, verified, captions(view, others), super::LEGEND);
    for target in &targets {
        row(&mut scene, view, target, y);
        y += EACH;
    }
    let plot = Rect { x: PLOT_LEFT, y: y + COUNTS_TITLE, w: PLOT_WIDTH, h: COUNTS };
    counts(&mut scene, view, faults, &super::time(view, faults, plot));
    scene.height = (plot.bottom() + BELOW + page::BOTTOM + 8) as u32;
    if view.range.is_some() {
        page::range_note(&mut scene, view);
    }
    page::bottom(&mut scene, view, &[plot]);
    scene
}

fn captions(view: &RunView<'_>, others: usize) -> Vec<Caption> {
    let key = "each strip is a target from its first byte to its last; where several faults share a place, the worst is seen; \
               grey: up to the end of the highest request";
    let part = view.range.map(|_| Caption::from("the strips show the whole run"));
    let more =
        [part, view.summary.verified.as_ref().and_then(super::not_listed), super::other_targets(others)];
    std::iter::once(key.into()).chain(more.into_iter().flatten()).collect()
}

/// Draws a target.
fn row(scene: &mut Scene, view: &RunView<'_>, target: &Target<'_>, y: i32) {
    let p = view.palette;
    let strip = Rect { x: PLOT_LEFT, y: y + TITLE + SIGNS, w: PLOT_WIDTH, h: STRIP };
    super::title(scene, p, target, y + 14);
    let column = |offset: u64| (offset as f64 / target.size as f64 * f64::from(strip.w)) as i32;
    let requested = target.requested_end.map_or(0, |end| column(end.min(target.size)));
    scene.area(Rect { w: requested, ..strip }, Fill::Solid(p.background.mix(p.axis, 0.18)));
    let places = places(target, strip.w);
    let mut last_sign = i32::MIN / 2;
    for (x, class) in places.iter().enumerate() {
        let Some(class) = *class else { continue };
        let x = strip.x + x as i32;
        scene.area(Rect { x, w: 1, ..strip }, Fill::Solid(signs::color(p, class)));
    }
    for (first, class) in starts(&places) {
        let x = strip.x + first + PLACE / 2;
        if x - last_sign >= APART {
            signs::filled(scene, p, class, (x, strip.y - 9), 5);
            last_sign = x;
        }
    }
    outline(scene, p, strip);
    for (address, text) in AddressAxis::of(0..target.size).ticks {
        let x = strip.x + column(address);
        scene.vertical(x, (strip.bottom() + 1, strip.bottom() + 5), Stroke::solid(p.axis, 1));
        scene.text(tick_word(&text, x, strip.bottom() + 18, p, strip));
    }
    let lines = [super::counted(target), size(target)];
    for (number, line) in lines.into_iter().enumerate() {
        let y = strip.y + 10 + 18 * number as i32;
        scene.text(words(line, SIDE_LEFT, y, WORDS, p, Anchor::Start));
    }
}

fn size(target: &Target<'_>) -> Caption {
    Caption::from(format!("of {}", units::bytes(target.size)))
}

/// The worst class in each column of pixels.
fn places(target: &Target<'_>, width: i32) -> Vec<Option<FaultClass>> {
    let mut worst: Vec<Option<&Fault>> = vec![None; width as usize];
    let column = |offset: u64| (offset as f64 / target.size as f64 * f64::from(width)) as i32;
    for fault in &target.faults {
        let first = column(fault.offset).min(width - PLACE);
        let end = column(fault.offset.saturating_add(fault.length)).max(first + PLACE).min(width);
        for place in &mut worst[first.max(0) as usize..end as usize] {
            if place.is_none_or(|known| super::badness(known) < super::badness(fault)) {
                *place = Some(fault);
            }
        }
    }
    worst.into_iter().map(|fault| fault.map(|fault| fault.class)).collect()
}

/// The columns where a class starts.
fn starts(places: &[Option<FaultClass>]) -> impl Iterator<Item = (i32, FaultClass)> {
    let before = std::iter::once(&None).chain(places);
    let starts = places.iter().zip(before).enumerate().filter(|(_, (place, before))| place != before);
    starts.filter_map(|(x, (class, _))| Some((x as i32, (*class)?)))
}

/// Draws the faults found in each step of the time, one class stacked on the other.
fn counts(scene: &mut Scene, view: &RunView<'_>, faults: &[Fault], time: &TimeScale) {
    let (p, plot) = (view.palette, time.area);
    if super::scan(scene, view, time) {
        super::scan_title(scene, view, time, plot.y - 8);
    }
    let bars = bars(faults, time);
    let most = bars.values().map(|bar| bar.values().sum::<u64>()).max().unwrap_or(0);
    // Fewer would put ticks between whole numbers.
    let scale = LinearScale::new(most.max(5) as f64, plot);
    time.draw(scene, p, Some("Time since the start of the run, when a read found the fault"));
    scale.draw(scene, p, "Faults found", units::plain);
    for (x, bar) in &bars {
        let mut below = 0;
        for (class, count) in bar {
            let (bottom, top) = (scale.y(below as f64), scale.y((below + count) as f64));
            // Counts above zero must be visible.
            let h = (bottom - top).max(2);
            let area = Rect { x: *x, y: bottom - h, w: (BAR - 1).min(plot.right() - x), h };
            scene.marks.push(crate::scene::Mark::Area { area, fill: Fill::Solid(signs::color(p, *class)) });
            below += count;
        }
    }
    if bars.is_empty() {
        super::none_seen(scene, view, plot);
    }
    axes::frame(scene, p, plot);
    let step = time.at(plot.x + BAR) - time.begin;
    let text = format!("a bar is {}", axes::time(step.max(1)));
    let mut text = words(text, SIDE_LEFT, plot.y + 12, TICK_SIZE, p, Anchor::Start);
    text.color = p.faint_text;
    scene.text(text);
}

/// Counts of each class, by the left edge of a bar.
fn bars(faults: &[Fault], time: &TimeScale) -> BTreeMap<i32, BTreeMap<FaultClass, u64>> {
    let mut bars: BTreeMap<i32, BTreeMap<FaultClass, u64>> = BTreeMap::new();
    for fault in faults.iter().filter(|fault| (time.begin..=time.end).contains(&fault.completed.0)) {
        let place = (time.x(fault.completed.0) - time.area.x).min(time.area.w - 1) / BAR;
        *bars.entry(time.area.x + place * BAR).or_default().entry(fault.class).or_default() += 1;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::faults::tests::fault;

    fn target(faults: &[Fault]) -> Target<'_> {
        let faults = faults.iter().collect();
        Target { number: 0, path: "x", size: 1 << 20, requested_end: None, faults }
    }

    #[test]
    fn shows_worst_fault_of_a_pixel_with_minimum_width() {
        let of = |class, transient| Fault { class, transient, ..fault() };
        let both = [of(FaultClass::Stale, false), of(FaultClass::Foreign, false)];
        assert_eq!(
            places(&target(&both), 100).iter().flatten().collect::<Vec<_>>(),
            [&FaultClass::Foreign; 3]
        );
        let both = [of(FaultClass::Lost, true), of(FaultClass::Ones, false), of(FaultClass::Foreign, false)];
        assert_eq!(places(&target(&both), 100)[0], Some(FaultClass::Ones));
        let end = Fault { offset: (1 << 20) - 512, ..fault() };
        let places = places(&target(std::slice::from_ref(&end)), 100);
        assert_eq!(starts(&places).collect::<Vec<_>>(), [(97, end.class)]);
    }

    #[test]
    fn bars_count_each_fault_in_range_once() {
        let area = Rect { x: 110, y: 0, w: 1180, h: 100 };
        let at = |ns| Fault { completed: iosonar_plan::Nanos(ns), ..fault() };
        let faults = [at(0), at(5), at(50), at(100), at(101)];
        let bars = bars(&faults, &TimeScale { begin: 5, end: 100, is_number: false, area });
        assert_eq!(bars.values().flat_map(BTreeMap::values).sum::<u64>(), 3);
        assert!(bars.keys().all(|x| (110..1290).contains(x)));
    }
}
