//! When two runs differ: the change of a figure in each stretch of time.

use super::super::axes::{self, TICK_SIZE, TimeScale, words};
use super::super::{SIDE_LEFT, page};
use super::shift::{MOST, TICKS, key, log, tick_label};
use super::{Chart, CompareView};
use crate::palette::Rgb;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use iosonar_analyze::compare::Stretch;

pub(super) static CHART: Chart = Chart {
    stem: "compare.course",
    title: "Change from A to B over time, with intervals that hold together",
    draw,
};

/// Figures, one lane each.
const LANES: [(&str, &str); 2] = [("latency.p50", "median latency"), ("latency.p99", "p99 of the latency")];
/// Gap between two lanes.
const GAP: i32 = 26;

fn draw(view: &CompareView<'_>, scene: &mut Scene, area: Rect) {
    let plot = super::plot_area(area);
    let stretches = view.comparison.map_or(&[][..], |c| &c.over_time.stretches);
    if stretches.is_empty() {
        let why = "Nothing to show: too little time or too few requests are in both runs.";
        page::nothing(scene, &view.view, plot, why);
        return;
    }
    let (p, time) = (view.view.palette, super::time_scale(view, plot));
    let ends = stretches.iter().flat_map(ends).map(|percent| log(percent).abs());
    let most = ends.fold(1.1f64.ln(), f64::max).min(MOST.ln());
    let height = (plot.h - GAP) / LANES.len() as i32;
    for (i, (figure, name)) in LANES.iter().enumerate() {
        let lane = Rect { y: plot.y + (height + GAP) * i as i32, h: height, ..plot };
        let mine: Vec<&Stretch> = stretches.iter().filter(|s| s.figure == *figure).collect();
        draw_lane(view, scene, &Lane { time: time.within(lane), plot: lane, most }, &mine);
        axes::axis_label(scene, p, lane, "Change, %, log");
        scene.text(words(
            format!("{name}, B against A"),
            lane.x,
            lane.y - 8,
            axes::LABEL_SIZE,
            p,
            Anchor::Start,
        ));
    }
    time.draw_labels(scene, p);
    let (x, y) = (plot.x + plot.w / 2, plot.bottom() + 36);
    let (_, _, label) = super::grids(view);
    scene.text(words(label, x, y, axes::LABEL_SIZE, p, Anchor::Middle));
    key(view, scene, SIDE_LEFT - 340, plot.y - 8);
}

/// The change and the ends of its interval.
fn ends(stretch: &Stretch) -> impl Iterator<Item = f64> {
    [Some(stretch.change_percent), stretch.low_percent, stretch.high_percent].into_iter().flatten()
}

/// A lane and its scales.
struct Lane {
    time: TimeScale,
    plot: Rect,
    most: f64,
}

impl Lane {
    fn y(&self, percent: f64) -> i32 {
        let share = (log(percent) / self.most).clamp(-1.0, 1.0);
        self.plot.y + self.plot.h / 2 - (share * f64::from(self.plot.h / 2 - 8)).round() as i32
    }
}

fn draw_lane(view: &CompareView<'_>, scene: &mut Scene, lane: &Lane, stretches: &[&Stretch]) {
    let p = view.view.palette;
    lane.time.draw_grid(scene, p);
    let mut taken: Vec<i32> = Vec::new();
    for percent in TICKS.into_iter().filter(|percent| log(*percent).abs() <= lane.most * 1.001) {
        let y = lane.y(percent);
        if taken.iter().any(|t| t.abs_diff(y) < 20) {
            continue;
        }
        taken.push(y);
        let color = if percent == 0.0 { p.text } else { p.grid };
        scene.horizontal(y, (lane.plot.x, lane.plot.right() - 1), Stroke::solid(color, 1));
        scene.text(words(tick_label(percent), lane.plot.x - 8, y + 4, TICK_SIZE, p, Anchor::End));
    }
    let seen = |s: &&&Stretch| lane.time.shows(s.begin_ns..s.end_ns);
    stretches.iter().filter(seen).for_each(|s| draw_stretch(view, scene, lane, s));
    axes::frame(scene, p, lane.plot);
}

fn draw_stretch(view: &CompareView<'_>, scene: &mut Scene, lane: &Lane, stretch: &Stretch) {
    let p = view.view.palette;
    let color: Rgb = match (stretch.shown, stretch.change_percent > 0.0) {
        (false, _) => p.axis,
        (true, true) => p.bad,
        (true, false) => p.ok,
    };
    let (from, to) = (lane.time.x(stretch.begin_ns), lane.time.x(stretch.end_ns));
    let middle = (from + to) / 2;
    if let (Some(low), Some(high)) = (stretch.low_percent, stretch.high_percent) {
        scene.vertical(middle, (lane.y(high), lane.y(low)), Stroke::solid(color, 2));
    }
    let y = lane.y(stretch.change_percent);
    scene.area(Rect { x: from + 1, y: y - 2, w: (to - from - 2).max(2), h: 4 }, Fill::Solid(color));
}
