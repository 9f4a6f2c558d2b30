//! A load's demand on one page, like the overview of a run.

use super::super::axes::words;
use super::super::overview::{self, Unit};
use super::super::sheet::{GAP, heading};
use super::super::{Chart, DemandView};
use super::super::{PAGE_WIDTH, figures, page, plot_area};
use super::{miss_ratio, seek_map, size, throughput, working_set};
use crate::scene::{Anchor, Caption, Rect, Scene};
use crate::units;
use iosonar_analyze::demand::{DemandCounts, FractionExtremes};

/// Height of the page.
const HEIGHT: u32 = 2160;
const SMALL: f64 = 13.0;

type Body = fn(&mut Scene, &DemandView<'_>, Rect);

/// Draws it.
pub(in super::super) fn draw(view: &DemandView<'_>, title: &str) -> Scene {
    let mut scene = Scene::new(PAGE_WIDTH, HEIGHT, view.palette.background);
    page::head(&mut scene, view, title);
    table(&mut scene, view, 102);
    let parts: [(&Chart, Body, i32); 5] = [
        (
            &overview::REQUESTS,
            |scene, view, area| throughput::body(scene, view, area, Unit::Requests, true),
            386,
        ),
        (&working_set::LOG, |scene, view, area| working_set::body(scene, view, area, true), 360),
        (&seek_map::CHART, seek_map::body, 370),
        (&size::CHART, size::body, 400),
        (&miss_ratio::CHART, miss_ratio::body, 330),
    ];
    let is_empty = view.demand.facts.counts.all.requests == 0;
    let mut y = 186;
    let mut plots = Vec::new();
    for (chart, body, height) in parts {
        heading(&mut scene, view, chart, y);
        let area = Rect { x: 0, y: y + 22, w: PAGE_WIDTH as i32, h: height - 48 };
        if is_empty {
            page::nothing(&mut scene, view, plot_area(area), "Nothing to show: the load has no requests.");
        } else {
            body(&mut scene, view, area);
        }
        plots.push(plot_area(area));
        y += height + GAP;
    }
    scene.counted = None;
    page::bottom(&mut scene, view, &plots);
    scene
}

/// Requests, bytes and rates of reads, writes and both.
fn table(scene: &mut Scene, view: &DemandView<'_>, y: i32) {
    let (p, facts) = (view.palette, &view.demand.facts);
    const COLUMNS: [(&str, i32); 6] = [
        ("requests", 420),
        ("share", 510),
        ("bytes", 620),
        ("mean length", 740),
        ("avg requests/s", 880),
        ("max requests/s", 1020),
    ];
    for (name, x) in COLUMNS {
        let mut text = words(name, x, y, 12.0, p, Anchor::End);
        text.color = p.faint_text;
        scene.text(text);
    }
    let (counts, iops) = (&facts.counts, &facts.throughput.iops);
    let rows = [
        ("all", "all", p.axis, &counts.all, &iops.all),
        ("reads", "read", p.read, &counts.read, &iops.read),
        ("writes", "write", p.write, &counts.write, &iops.write),
    ];
    for (i, (name, key, color, of, rates)) in rows.into_iter().enumerate() {
        let base = y + 18 * (i as i32 + 1);
        page::swatch(scene, color, 110, base);
        scene.text(words(name, 130, base, SMALL, p, Anchor::Start));
        for (cell, (_, x)) in cells(key, of, &counts.all, rates).into_iter().zip(COLUMNS) {
            scene.text(words(cell, x, base, SMALL, p, Anchor::End));
        }
    }
}

fn cells(key: &str, of: &DemandCounts, all: &DemandCounts, rates: &FractionExtremes) -> [Caption; 6] {
    let path = |field: &str| format!("demand.counts.{key}.{field}");
    let rate = |field: &str, value: f64| {
        let path = format!("demand.throughput.iops.{key}.{field}");
        Caption::figure(units::request_rate(value), path, value)
    };
    let mean = match of.requests {
        0 => "–".into(),
        n => Caption::figure(units::bytes((of.bytes + n / 2) / n), path("bytes"), of.bytes)
            .of(path("requests"), n),
    };
    let whole = ("demand.counts.all.requests".to_string(), all.requests);
    [
        figures::count(path("requests"), of.requests),
        figures::share((path("requests"), of.requests), whole),
        figures::bytes(path("bytes"), of.bytes),
        mean,
        rate("mean", rates.mean),
        rate("max", rates.max),
    ]
}
