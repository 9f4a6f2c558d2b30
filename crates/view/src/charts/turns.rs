//! Turns (backward seeks) over time: requests that start below the previously completed one, in percent.

use super::axes::{self, LinearScale, words};
use super::message::{self, Message};
use super::steps;
use super::{Chart, Draw, RunView, SIDE_LEFT, figures, page, plot_area, single};
use crate::scene::{Anchor, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::Detail;

/// Pixels of a step.
const STEP_PIXELS: i32 = 3;

pub(super) static CHART: Chart = Chart {
    stem: "g43.turns.completed",
    keywords: &["turns.completed"],
    title: "Turns (backward seeks): requests that start below the one completed before them",
    message: Message::Figures(message::turns),
    draw: Draw::Run(Detail::Full, draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        let turns = &view.diagrams.turns;
        let (requests, all): (u64, u64) = (turns.requests().iter().sum(), turns.turns().iter().sum());
        let share = units::share(all, requests);
        let lines = [
            figures::joined([
                figures::count("picture.turns", all),
                " turns of ".into(),
                figures::count("picture.completed", requests),
                format!(" completed requests: {share}").into(),
            ]),
            "In order of completion, each target by itself. A disk must move its arm back for each.".into(),
            "Random positions make one of two requests a turn; an ascending scan makes none.".into(),
        ];
        for (i, line) in lines.into_iter().enumerate() {
            scene.text(words(line, 110, y + 4 + 20 * i as i32, 13.0, view.palette, Anchor::Start));
        }
        page::counts_note(scene, view, y);
    };
    single(view, &CHART, legend, |scene, area| body(scene, view, area))
}

fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) {
    let (p, plot, series) = (view.palette, plot_area(area), &view.diagrams.turns);
    let time = view.time(plot);
    let requests = steps::sums(series.requests(), series.axis().width_ns(), &time, STEP_PIXELS);
    let turns = steps::sums(series.turns(), series.axis().width_ns(), &time, STEP_PIXELS);
    let total: u64 = requests.iter().map(|s| s.sum).sum();
    scene.counted = Some(total);
    if total == 0 {
        page::nothing(scene, view, plot, "Nothing to show: no request completed.");
        return;
    }
    let scale = LinearScale::new(100.0, plot);
    time.draw(scene, p, Some("Time of completion since the start of the run"));
    scale.draw(scene, p, "Turns, % of the requests", units::plain);
    for (value, name) in [(50.0, "random: 50 %"), (0.0, "ascending: 0 %")] {
        let y = scale.y(value);
        scene.horizontal(y, (plot.x, plot.right()), Stroke::dashed(p.axis, 1));
        let base = (y + 4).min(plot.bottom() - 4);
        scene.text(words(name, SIDE_LEFT, base, 13.0, p, Anchor::Start));
    }
    let stroke = Stroke::solid(p.actual, 2);
    let mut points: Vec<(i32, i32)> = Vec::new();
    let mut end = 0;
    for (all, turns) in requests.iter().zip(&turns) {
        // Without requests there is no share: the line is interrupted.
        if all.sum == 0 {
            scene.steps(std::mem::take(&mut points), end, stroke);
            continue;
        }
        let (x, right) = all.pixels(&time);
        points.push((x, scale.y(turns.sum as f64 / all.sum as f64 * 100.0)));
        end = right;
    }
    scene.steps(points, end, stroke);
    axes::frame(scene, p, plot);
    let step = series.axis().width_ns() * steps::group(series.axis().width_ns(), &time, STEP_PIXELS) as u64;
    let line = format!("one step is {}", axes::time(step));
    let mut text = words(line, SIDE_LEFT, plot.y + 14, 13.0, p, Anchor::Start);
    text.color = p.faint_text;
    scene.text(text);
}
