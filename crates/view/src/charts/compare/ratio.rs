//! Each request against itself: how much longer or shorter it took in B.

use super::super::axes::{self, LinearScale, TICK_SIZE, words};
use super::super::{SIDE_LEFT, page};
use super::{Chart, CompareView};
use crate::palette::Rgb;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::compare::{Pairs, RatioBin};

pub(super) static CHART: Chart = Chart {
    stem: "compare.ratio",
    title: "Latency of each request in B divided by that of the same request in A",
    draw,
};

/// Bins below and above this factor of two are those beyond the scale.
const MOST_LOG2: f64 = 3.0;
/// Width of a bin, base-2 logarithm.
const BIN: f64 = 0.125;

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    let plot = super::plot_area(area);
    let Some(pairs) = view.comparison.and_then(|c| c.pairs.as_ref()) else {
        let why = "Nothing to show: the runs did not execute the same requests.";
        page::nothing(scene, &view.view, plot, why);
        return;
    };
    let p = view.view.palette;
    let most = pairs.histogram.iter().map(|b| b.share * 100.0).fold(0.0, f64::max);
    let scale = LinearScale::new(most, plot);
    scale.draw(scene, p, "Share of the pairs, %", units::plain);
    // One more bin on either side for values beyond the scale.
    let span = 2.0 * (MOST_LOG2 + BIN);
    let x = |log2: f64| {
        plot.x
            + ((log2 + MOST_LOG2 + BIN) / span * f64::from(plot.w - 1)).round().clamp(0.0, f64::from(plot.w))
                as i32
    };
    ticks(view, scene, plot, &x);
    for bin in &pairs.histogram {
        let (from, to) = edges(bin);
        // The two bins around 1 hold the unchanged requests.
        let color = match (from, to) {
            (_, 0.0) | (0.0, _) => p.axis,
            (_, to) if to < 0.0 => p.ok,
            _ => p.actual,
        };
        let top = scale.y(bin.share * 100.0);
        let top = if bin.share > 0.0 { top.min(plot.bottom() - 2) } else { plot.bottom() };
        let bar = Rect { x: x(from), y: top, w: (x(to) - x(from) - 1).max(1), h: plot.bottom() - top };
        scene.area(bar, Fill::Solid(color));
    }
    scene.vertical(x(0.0), (plot.y, plot.bottom() - 1), Stroke::solid(p.text, 1));
    if let Some(median) = pairs.median_ratio.filter(|m| *m > 0.0) {
        let at = x(median.log2().clamp(-MOST_LOG2, MOST_LOG2));
        scene.vertical(at, (plot.y, plot.bottom() - 1), Stroke::dashed(p.bad, 2));
    }
    axes::frame(scene, p, plot);
    side(view, scene, plot, pairs);
}

fn edges(bin: &RatioBin) -> (f64, f64) {
    let from = bin.from_log2.unwrap_or(-MOST_LOG2 - BIN);
    (from, bin.to_log2.unwrap_or(MOST_LOG2 + BIN))
}

fn ticks(view: &CompareView<'_>, scene: &mut Scene, plot: Rect, x: &dyn Fn(f64) -> i32) {
    let p = view.view.palette;
    let labels =
        [(-3.0, "1/8"), (-2.0, "1/4"), (-1.0, "1/2"), (0.0, "1"), (1.0, "2"), (2.0, "4"), (3.0, "8")];
    for (log2, label) in labels {
        let at = x(log2);
        scene.vertical(at, (plot.y, plot.bottom() - 1), Stroke::solid(p.grid, 1));
        scene.vertical(at, (plot.bottom(), plot.bottom() + 4), Stroke::solid(p.axis, 1));
        scene.text(words(label, at, plot.bottom() + 18, TICK_SIZE, p, Anchor::Middle));
    }
    let (at, y) = (plot.x + plot.w / 2, plot.bottom() + 36);
    let label = "Latency in B ÷ latency in A, log; the outermost bars hold all that lies beyond";
    scene.text(words(label, at, y, axes::LABEL_SIZE, p, Anchor::Middle));
}

fn side(view: &CompareView<'_>, scene: &mut Scene, plot: Rect, pairs: &Pairs) {
    let p = view.view.palette;
    let shown = |text: String, name: &str, value: f64| {
        Caption::figure(text, format!("comparisons.0.pairs.{name}"), value)
    };
    let share = |words: &str, name: &str, share: f64| {
        shown(format!("{words} by over 3 %: {} %", units::number(share * 100.0)), name, share)
    };
    let median = pairs.median_ratio.map_or("dashed: median ratio –".into(), |m| {
        shown(format!("dashed: median ratio {m:.3}"), "median_ratio", m)
    });
    let completed = Caption::figure(
        format!("{} pairs", units::grouped(pairs.completed)),
        "comparisons.0.pairs.completed",
        pairs.completed,
    );
    let rows: [(Option<Rgb>, Caption); 5] = [
        (None, completed),
        (Some(p.ok), share("faster in B", "better_share", pairs.better_share)),
        (Some(p.actual), share("slower in B", "worse_share", pairs.worse_share)),
        (Some(p.axis), "bars within 9 % of the same".into()),
        (None, median),
    ];
    for (i, (color, line)) in rows.into_iter().enumerate() {
        let y = plot.y + 14 + 22 * i as i32;
        if let Some(color) = color {
            page::swatch(scene, color, SIDE_LEFT, y);
        }
        scene.text(words(line, SIDE_LEFT + 20, y, 13.0, p, Anchor::Start));
    }
}
