//! Addresses of requests over time.

use super::super::axes::{self, LinearScale, TimeScale};
use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, band, figures, page, plot_area};
use super::scales::{label_below, unit_of};
use super::{Entry, TIME_LABEL};
use crate::density::{Density, Strips};
use crate::scene::{Caption, Mark, Rect, Scene};
use crate::units;
use iosonar_analyze::demand::{SECTOR_BYTES, SeekMap};
use iosonar_analyze::{Class, Scope};
use std::ops::Range;

pub(in super::super) static CHART: Chart = Chart {
    stem: "g46.seek_map",
    keywords: &["seek_map", "seeks"],
    title: "Seek map: position of every request over time",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

fn draw(view: &DemandView<'_>) -> Scene {
    let facts = &view.demand.facts;
    let mut lines = vec![figures::joined([
        "Every request counts once, at its first sector: ".into(),
        figures::count("demand.counts.read.requests", facts.counts.read.requests),
        " reads and ".into(),
        figures::count("demand.counts.write.requests", facts.counts.write.requests),
        " writes".into(),
    ])];
    if facts.devices > 1 {
        let text = format!("The {} devices lie over each other.", facts.devices);
        lines.push(Caption::figure(text, "demand.devices", facts.devices));
    }
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

pub(in super::super) fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, plot, map) = (view.palette, plot_area(area), &view.demand.series.seek_map);
    let time = super::time_scale(view, map.column_ns.saturating_mul(map.columns as u64), plot);
    let lanes = band::lanes(view, false);
    let height = plot.h / lanes.len() as i32;
    let (mut most, mut counted) = (0, 0);
    for (i, scope) in lanes.iter().enumerate() {
        let gap = if i + 1 < lanes.len() { 12 } else { 0 };
        let lane = Rect { y: plot.y + height * i as i32, h: height - gap, ..plot };
        let strips = strips(map, *scope, &time);
        counted += strips.total();
        most = most.max(draw_lane(scene, view, *scope, &strips, &time.within(lane)));
    }
    time.draw_labels(scene, p);
    label_below(scene, p, plot, TIME_LABEL);
    scene.counted = Some(counted);
    let entries = [
        Entry::fill(p.read, vec!["reads".into()]),
        Entry::fill(p.write, vec!["writes".into()]),
        Entry::words(vec![
            "stronger: more requests, log".into(),
            format!("1 … {} in one cell", units::grouped(most)).into(),
        ]),
    ];
    super::legend(scene, p, plot, &entries);
}

/// Draws all requests, or those of an operation if colours cannot distinguish them. Returns the most in one cell.
fn draw_lane(
    scene: &mut Scene,
    view: &DemandView<'_>,
    scope: Scope,
    strips: &Strips,
    time: &TimeScale,
) -> u64 {
    let (p, plot, map) = (view.palette, time.area, &view.demand.series.seek_map);
    let bytes = map.row_sectors as f64 * map.rows as f64 * SECTOR_BYTES as f64;
    let (unit, name) = unit_of(bytes);
    let scale = LinearScale::new(bytes / unit, plot);
    // Rows end where the load ends, not at the next tick above.
    let top = scale.y(bytes / unit);
    let inner = Rect { y: top, h: plot.bottom() - top, ..plot };
    time.draw_grid(scene, p);
    let label = match scope {
        Scope::All => format!("Position of the first sector, {name}"),
        scope => format!("{}: position, {name}", page::scope_name(scope)),
    };
    scale.draw(scene, p, &label, units::plain);
    let density = Density::new(strips, &pixel_rows(map, inner.h));
    scene.marks.push(Mark::Image(density.image(p, inner.x, inner.y)));
    for w in &view.demand.facts.wraparound {
        let size = w.device_bytes as f64 / unit;
        if scale.reaches(size) {
            super::device_line(scene, p, plot, scale.y(size), w.device_bytes);
        }
    }
    axes::frame(scene, p, plot);
    density.most()
}

/// The requests of a scope in the visible columns; the rows of the map are their first slots.
fn strips(map: &SeekMap, scope: Scope, time: &TimeScale) -> Strips {
    let mut strips = Strips::new(time.area.w as usize);
    let pixel = |ns: u64| (time.x(ns) - time.area.x) as usize;
    for column in 0..map.columns {
        let begin = map.column_ns.saturating_mul(column as u64);
        let end = begin.saturating_add(map.column_ns);
        if !time.shows(begin..end) {
            continue;
        }
        let cells = strips.column(pixel(begin), pixel(end));
        for (cell, counts) in cells.iter_mut().zip(map.column(column)) {
            for (class, n) in [Class::Read, Class::Write].into_iter().zip(counts) {
                cell[class.index()] += if scope.contains(class) { u64::from(*n) } else { 0 };
            }
        }
    }
    strips
}

/// The rows of the map that each row of pixels shows, from above.
fn pixel_rows(map: &SeekMap, height: i32) -> Vec<Option<Range<usize>>> {
    let height = height.max(1) as usize;
    let rows = |above: usize| {
        let begin = above * map.rows / height;
        Some(begin..((above + 1) * map.rows / height).max(begin + 1))
    };
    (0..height).rev().map(rows).collect()
}
