//! Where requests lie over time.

use super::super::axes::{self, LinearScale, TimeScale};
use super::super::{Chart, DemandView, Draw, plot_area};
use super::scales::unit_of;
use super::{Entry, TIME_LABEL};
use crate::density::Density;
use crate::scene::{Mark, Rect, Scene};
use crate::units;
use iosonar_analyze::demand::{SECTOR_BYTES, SeekMap};

pub(in super::super) static CHART: Chart = Chart {
    stem: "g46.seek_map",
    keywords: &["seek_map", "seeks"],
    title: "Seek map: position of every request over time",
    draw: Draw::Demand(draw),
};

fn draw(view: &DemandView<'_>) -> Scene {
    let facts = &view.demand.facts;
    let mut lines = vec![format!(
        "Every request counts once, at its first sector: {} reads and {} writes",
        units::grouped(facts.counts.read.requests),
        units::grouped(facts.counts.write.requests)
    )];
    if facts.devices > 1 {
        lines.push(format!("The {} devices lie over each other.", facts.devices));
    }
    super::picture(view, &CHART, &lines, |scene, area| body(scene, view, area))
}

fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, plot, map) = (view.palette, plot_area(area), &view.demand.series.seek_map);
    let bytes = map.row_sectors as f64 * map.rows as f64 * SECTOR_BYTES as f64;
    let (unit, name) = unit_of(bytes);
    let scale = LinearScale::new(bytes / unit, plot);
    // Rows end where the load ends, not at the next tick above.
    let top = scale.y(bytes / unit);
    let inner = Rect { y: top, h: plot.bottom() - top, ..plot };
    let time = super::time_scale(view, map.column_ns.saturating_mul(map.columns as u64), plot);
    time.draw(scene, p, Some(TIME_LABEL));
    scale.draw(scene, p, &format!("Position of the first sector, {name}"), units::plain);
    let density = density(map, &time, inner);
    scene.marks.push(Mark::Image(density.image(p, inner.x, inner.y)));
    for w in &view.demand.facts.wraparound {
        let size = w.device_bytes as f64 / unit;
        if scale.reaches(size) {
            super::device_line(scene, p, plot, scale.y(size), w.device_bytes);
        }
    }
    axes::frame(scene, p, plot);
    scene.counted = Some(density.cells.iter().flatten().sum());
    let entries = [
        Entry::fill(p.read, vec!["reads".into()]),
        Entry::fill(p.write, vec!["writes".into()]),
        Entry::words(vec![
            "stronger: more requests, log".into(),
            format!("1 … {} in one pixel", units::grouped(density.most())),
        ]),
    ];
    super::legend(scene, p, plot, &entries);
}

/// Counts for each pixel. Each stored cell counts where it begins, so every request counts once.
fn density(map: &SeekMap, time: &TimeScale, plot: Rect) -> Density {
    let (width, height) = (plot.w as usize, plot.h as usize);
    let mut cells = vec![[0; 4]; width * height];
    for column in 0..map.columns {
        let begin = map.column_ns.saturating_mul(column as u64);
        if !time.shows(begin..begin.saturating_add(map.column_ns)) {
            continue;
        }
        let x = ((time.x(begin) - plot.x) as usize).min(width - 1);
        for (row, counts) in map.column(column).iter().enumerate() {
            let y = height - 1 - row * height / map.rows;
            let cell = &mut cells[y * width + x];
            cell[0] += u64::from(counts[0]);
            cell[1] += u64::from(counts[1]);
        }
    }
    Density { width, height, cells }
}
