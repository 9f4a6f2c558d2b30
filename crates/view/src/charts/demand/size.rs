//! Lengths of requests: number of requests and bytes of each.

use super::super::axes::{self, LinearScale, words};
use super::super::message::Message;
use super::super::{BELOW, Chart, DemandView, Draw, PLOT_LEFT, PLOT_WIDTH, figures};
use super::Entry;
use super::scales::{Direction, LogScale, round_bytes};
use crate::fonts::Weight;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene};
use crate::units;
use iosonar_analyze::demand::{DemandCounts, SECTOR_BYTES, SizeCount, SizeFacts};

pub(in super::super) static CHART: Chart = Chart {
    stem: "g40.rqsize.bins",
    keywords: &["rqsize", "sizes"],
    title: "Length of requests: share of the requests, and share of the bytes",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

/// Lengths that the legend names.
const NAMED: usize = 12;
/// Minimum height of bars above zero.
const LEAST_PIXELS: i32 = 2;

fn draw(view: &DemandView<'_>) -> Scene {
    let facts = &view.demand.facts;
    let row = |(name, key, sizes): (&str, &str, &Option<SizeFacts>)| {
        let s = (*sizes)?;
        let path = |field: &str| format!("demand.sizes.{key}.{field}");
        let length = |field: &str, sectors: u64| Caption::figure(bytes(sectors), path(field), sectors);
        let mut parts = vec![
            format!("{name}: ").into(),
            figures::count(path("distinct"), s.distinct),
            " lengths, ".into(),
            length("min_sectors", s.min_sectors),
            " to ".into(),
            length("max_sectors", s.max_sectors),
            ", mean ".into(),
            figures::sectors(path("mean_sectors"), s.mean_sectors),
        ];
        if let Some(most) = s.most_frequent_sectors {
            parts.extend([", most frequent ".into(), length("most_frequent_sectors", most)]);
        }
        Some(figures::joined(parts))
    };
    let sizes = &facts.sizes;
    let rows =
        [("all", "all", &sizes.all), ("reads", "read", &sizes.read), ("writes", "write", &sizes.write)];
    let lines: Vec<Caption> = rows.into_iter().filter_map(row).collect();
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

fn bytes(sectors: u64) -> String {
    round_bytes(sectors as f64 * SECTOR_BYTES as f64)
}

pub(in super::super) fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let sizes = &view.demand.series.sizes;
    let half = (area.h - BELOW) / 2;
    let upper = Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH, h: half - 14 };
    let lower = Rect { y: area.y + half + 14, ..upper };
    let lower = Rect { h: area.bottom() - BELOW - lower.y, ..lower };
    let requests = |s: &SizeCount| [s.reads as f64, s.writes as f64];
    // Beyond the exact table only the range of a length is known; its middle stands for it.
    let moved = |s: &SizeCount| {
        let middle = s.first as f64 / 2.0 + s.last as f64 / 2.0;
        [s.reads as f64 * middle, s.writes as f64 * middle]
    };
    panel(scene, view, upper, ("Share of requests, %", &requests), false);
    panel(scene, view, lower, ("Share of bytes, %", &moved), true);
    scene.counted = Some(sizes.iter().map(|s| s.reads + s.writes).sum());
    side(scene, view, upper, lower.bottom());
}

type Weigh<'a> = (&'static str, &'a dyn Fn(&SizeCount) -> [f64; 2]);

fn panel(scene: &mut Scene, view: &DemandView<'_>, plot: Rect, (label, weigh): Weigh<'_>, names: bool) {
    let (p, sizes) = (view.palette, &view.demand.series.sizes);
    let weights: Vec<[f64; 2]> = sizes.iter().map(weigh).collect();
    let total: f64 = weights.iter().flatten().sum();
    let share = |v: f64| if total > 0.0 { v / total * 100.0 } else { 0.0 };
    let most = weights.iter().map(|w| share(w[0] + w[1])).fold(0.0, f64::max);
    let scale = LinearScale::new(most.max(1.0), plot);
    scale.draw(scene, p, label, units::plain);
    let place = |s: &SizeCount| (s.first.max(1) as f64 * SECTOR_BYTES as f64, s.last.max(1) as f64);
    let least = sizes.iter().map(|s| place(s).0).fold(f64::MAX, f64::min);
    let longest = sizes.iter().map(|s| place(s).1 * SECTOR_BYTES as f64).fold(512.0, f64::max);
    let x = LogScale::bytes(least, longest * 1.2, plot, Direction::Across);
    if names {
        x.draw(scene, p, "Length of a request, log; bars at powers of two are wide");
    }
    for (s, weight) in sizes.iter().zip(&weights) {
        let wide = if s.first.is_power_of_two() { 9 } else { 3 };
        let begin = x.at(place(s).0) - wide / 2;
        let end = (x.at(place(s).1 * SECTOR_BYTES as f64) + 1).max(begin + wide);
        let mut top = plot.bottom();
        for (value, color) in [(weight[0], p.read), (weight[1], p.write)] {
            let height = plot.bottom() - 1 - scale.y(share(value));
            let height = if value > 0.0 { height.max(LEAST_PIXELS) } else { 0 };
            top -= height;
            scene.area(Rect { x: begin, y: top, w: end - begin, h: height }, Fill::Solid(color));
        }
    }
    axes::frame(scene, p, plot);
}

/// The most frequent lengths.
fn side(scene: &mut Scene, view: &DemandView<'_>, plot: Rect, bottom: i32) {
    let p = view.palette;
    let counts = &view.demand.facts.counts;
    let of_op = |name: &str, key: &str, count: &DemandCounts| {
        let path = |key: &str, field: &str| format!("demand.counts.{key}.{field}");
        let share = |field: &str, part: u64, whole: u64| {
            figures::share((path(key, field), part), (path("all", field), whole))
        };
        let requests = figures::count(path(key, "requests"), count.requests);
        let bytes = figures::bytes(path(key, "bytes"), count.bytes);
        let of_requests = share("requests", count.requests, counts.all.requests);
        let of_bytes = share("bytes", count.bytes, counts.all.bytes);
        vec![
            name.into(),
            figures::joined([requests, " requests, ".into(), of_requests]),
            figures::joined([bytes, ", ".into(), of_bytes]),
        ]
    };
    let entries = [
        Entry::fill(p.read, of_op("reads", "read", &counts.read)),
        Entry::fill(p.write, of_op("writes", "write", &counts.write)),
    ];
    super::legend(scene, p, plot, &entries);
    let mut sizes: Vec<&SizeCount> = view.demand.series.sizes.iter().collect();
    sizes.sort_by_key(|s| (std::cmp::Reverse(s.reads + s.writes), s.first));
    let mut y = plot.y + 150;
    let mut head = words("Most frequent lengths", super::SIDE_LEFT, y, 13.0, p, Anchor::Start);
    head.weight = Weight::Bold;
    scene.text(head);
    for s in sizes.into_iter().take(NAMED) {
        // Stops at the bottom of both plots.
        if y + 18 > bottom {
            break;
        }
        y += 18;
        let name = if s.first == s.last {
            bytes(s.first)
        } else {
            format!("{} … {}", bytes(s.first), bytes(s.last))
        };
        let count = s.reads + s.writes;
        let name = Caption::figure(name, format!("picture.sizes.{}.requests", s.first), count);
        scene.text(words(name, super::SIDE_LEFT, y, 13.0, p, Anchor::Start));
        let share = format!("{}  {}", units::grouped(count), units::share(count, counts.all.requests));
        let share = Caption::figure(share, format!("picture.sizes.{}.requests", s.first), count);
        scene.text(words(share, super::SIDE_LEFT + super::SIDE_WIDTH, y, 13.0, p, Anchor::End));
    }
}
