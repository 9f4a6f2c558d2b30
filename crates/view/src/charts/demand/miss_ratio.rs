//! The miss-ratio curve: misses of an LRU cache of each size.

use super::super::axes::{self, LinearScale};
use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, figures, page, plot_area};
use super::Entry;
use super::scales::{Direction, LogScale};
use crate::palette::{Palette, Rgb};
use crate::scene::{Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::{ByOp, FrequencyFacts, Knee, MissRatioPoint, PAGE_BYTES};

pub(in super::super) static CHART: Chart = Chart {
    stem: "g45.miss_ratio",
    keywords: &["miss_ratio", "mrc"],
    title: "Miss ratio of an LRU cache over its size, predicted from the load",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

fn draw(view: &DemandView<'_>) -> Scene {
    let facts = &view.demand.facts;
    let first = &facts.miss_ratio.first_use;
    let percent = |key: &str, share: f64| {
        let text = format!("{} %", units::number(share * 100.0));
        Caption::figure(text, format!("demand.miss_ratio.first_use.{key}"), share)
    };
    let mut lines = vec![
        Caption::from(
            "Pages of 4 KiB, least recently used replaced first; reads and writes share the cache. Parts of their own accesses.",
        ),
        figures::joined([
            "First uses, which every cache misses: ".into(),
            percent("all", first.all),
            " of all, ".into(),
            percent("read", first.read),
            " of reads, ".into(),
            percent("write", first.write),
            " of writes".into(),
        ]),
    ];
    if facts.devices > 1 {
        let text = format!("Each of the {} devices has a cache of its own of that size.", facts.devices);
        lines.push(Caption::figure(text, "demand.devices", facts.devices));
    }
    lines.extend(super::sampled(&facts.sampling, "miss_ratio_error", facts.sampling.miss_ratio_error));
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

/// A line of the picture.
struct Curve {
    name: &'static str,
    /// Its name among the figures.
    key: &'static str,
    color: Rgb,
    of: fn(&ByOp<f64>) -> f64,
    knee: Option<Knee>,
    has_accesses: bool,
}

fn curves(view: &DemandView<'_>) -> [Curve; 3] {
    let (p, facts) = (view.palette, &view.demand.facts);
    let (knee, f) = (&facts.miss_ratio.knee, &facts.frequency);
    let any = |f: &FrequencyFacts| f.accesses > 0;
    [
        Curve {
            name: "all",
            key: "all",
            color: p.text,
            of: |m| m.all,
            knee: knee.all,
            has_accesses: any(&f.all),
        },
        Curve {
            name: "reads",
            key: "read",
            color: p.read,
            of: |m| m.read,
            knee: knee.read,
            has_accesses: any(&f.read),
        },
        Curve {
            name: "writes",
            key: "write",
            color: p.write,
            of: |m| m.write,
            knee: knee.write,
            has_accesses: any(&f.write),
        },
    ]
}

pub(in super::super) fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, plot, points) = (view.palette, plot_area(area), &view.demand.series.miss_ratio);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        page::nothing(scene, view, plot, "Nothing to show: no page is used.");
        return;
    };
    let devices = || view.demand.facts.wraparound.iter().map(|w| w.device_bytes);
    let bytes = |point: &MissRatioPoint| point.cache_pages as f64 * PAGE_BYTES as f64;
    let across = LogScale::bytes(bytes(first).max(4096.0), bytes(last) * 1.5, plot, Direction::Across);
    let up = LinearScale::new(100.0, plot);
    across.draw(scene, p, "Size of the cache, bytes, log");
    up.draw(scene, p, "Misses in percent of the accesses", units::plain);
    let curves = curves(view);
    let shown = || curves.iter().filter(|c| c.has_accesses);
    let sampling = &view.demand.facts.sampling;
    let places = |curve: &Curve| -> Vec<(i32, f64)> {
        points.iter().map(|m| (across.at(bytes(m)), (curve.of)(&m.miss) * 100.0)).collect()
    };
    // All ribbons lie after all curves.
    for curve in shown().filter(|_| !sampling.exact) {
        ribbon(scene, p, curve, &places(curve), 200.0 * sampling.miss_ratio_error, (&up, plot));
    }
    for curve in shown() {
        let steps = super::thinned(places(curve).into_iter().map(|(x, miss)| (x, up.y(miss))));
        scene.steps(steps, plot.right(), Stroke::solid(curve.color, 2));
    }
    for curve in shown() {
        if let Some(knee) = curve.knee {
            let (x, y) = (across.at(knee.cache_bytes as f64), up.y(knee.miss * 100.0));
            scene.area(Rect { x: x - 4, y: y - 4, w: 9, h: 9 }, Fill::Solid(curve.color));
            scene.vertical(x, (y, plot.bottom() - 1), Stroke::dashed(curve.color, 1));
        }
    }
    for device in devices().filter(|d| across.reaches(*d as f64)) {
        scene.vertical(across.at(device as f64), (plot.y, plot.bottom() - 1), Stroke::dashed(p.bad, 1));
    }
    axes::frame(scene, p, plot);
    let mut entries: Vec<Entry> = shown().map(|c| entry(view, c)).collect();
    entries.extend(devices().filter(|d| across.reaches(*d as f64)).map(|d| {
        Entry::line(Stroke::dashed(p.bad, 1), vec![format!("device of {}", units::bytes(d)).into()])
    }));
    if !sampling.exact {
        entries.push(Entry::words(vec!["light ribbons".into(), "two standard errors".into()]));
    }
    super::legend(scene, p, plot, &entries);
}

/// Two standard errors on both sides of a curve.
fn ribbon(
    scene: &mut Scene,
    p: &Palette,
    curve: &Curve,
    steps: &[(i32, f64)],
    percent: f64,
    (up, plot): (&LinearScale, Rect),
) {
    let tint = p.background.mix(curve.color, 0.15);
    let ends = steps.iter().skip(1).map(|s| s.0).chain([plot.right()]);
    for ((x, miss), end) in steps.iter().zip(ends) {
        let (top, low) = (up.y((miss + percent).min(100.0)), up.y((miss - percent).max(0.0)));
        scene.area(Rect { x: *x, y: top, w: end - x, h: low - top + 1 }, Fill::Solid(tint));
    }
}

fn entry(view: &DemandView<'_>, curve: &Curve) -> Entry {
    let mut lines = vec![Caption::from(curve.name)];
    let path = |field: &str| format!("demand.miss_ratio.knee.{}.{field}", curve.key);
    match curve.knee {
        Some(knee) => {
            let missed = format!("{} % missed", units::number(knee.miss * 100.0));
            lines.push(figures::joined([
                "knee at ".into(),
                figures::bytes(path("cache_bytes"), knee.cache_bytes),
                ": ".into(),
                Caption::figure(missed, path("miss"), knee.miss),
            ]));
        }
        None => lines.push("no knee: nothing is used again".into()),
    }
    let at = &view.demand.facts.miss_ratio.at;
    lines.extend(at.last().map(|last| {
        let miss = (curve.of)(&last.miss);
        let path = format!("demand.miss_ratio.at.{}.miss.{}", at.len() - 1, curve.key);
        Caption::figure(format!("at least {} % missed", units::number(miss * 100.0)), path, miss)
    }));
    Entry::line(Stroke::solid(curve.color, 2), lines)
}
