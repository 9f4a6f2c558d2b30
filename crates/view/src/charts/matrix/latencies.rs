//! Latencies of the requests of a cell, for the page.

use super::super::axes::{TICK_SIZE, words};
use crate::Theme;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::svg::svg;
use crate::units::{Charset, duration, grouped};

const WIDTH: i32 = 640;
const HEIGHT: i32 = 240;
const AREA: Rect = Rect { x: 20, y: 24, w: 600, h: 172 };

/// Histogram of latencies as SVG; the axis of time is logarithmic.
pub fn latency_svg(counts: &[(u64, u64)], theme: Theme) -> String {
    let palette = theme.palette();
    let mut scene = Scene::new(WIDTH as u32, HEIGHT as u32, palette.background);
    let log = |ns: u64| (ns.max(1) as f64).log2();
    // A step is 1/8 of a factor of two; a margin of one on each side.
    let (from, to) = (log(counts[0].0) - 0.25, log(counts[counts.len() - 1].0) + 0.5);
    let x = |ns: f64| AREA.x + ((ns - from) / (to - from) * f64::from(AREA.w)) as i32;
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    for (ns, count) in counts {
        let (left, right) = (x(log(*ns)), x(log(*ns) + 0.125).max(x(log(*ns)) + 2));
        let h = ((*count as f64 / most as f64 * f64::from(AREA.h)) as i32).max(1);
        let bar = Rect { x: left, y: AREA.bottom() - h, w: right - left, h };
        scene.area(bar, Fill::Solid(palette.series[0]));
    }
    scene.horizontal(AREA.bottom(), (AREA.x, AREA.right()), Stroke::solid(palette.axis, 1));
    let mut last = -WIDTH;
    for power in from.ceil() as i64..=to.floor() as i64 {
        let at = x(power as f64);
        if at - last >= 80 && (AREA.x + 20..AREA.right() - 20).contains(&at) {
            scene.vertical(at, (AREA.bottom(), AREA.bottom() + 5), Stroke::solid(palette.axis, 1));
            let text = duration(1u64 << power.clamp(0, 63), Charset::Unicode);
            scene.text(words(text, at, AREA.bottom() + 20, TICK_SIZE, palette, Anchor::Middle));
            last = at;
        }
    }
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let what = format!("Latency of {} requests; the highest bar has {}", grouped(all), grouped(most));
    scene.text(words(what, AREA.x, 14, TICK_SIZE, palette, Anchor::Start));
    svg(&scene)
}
