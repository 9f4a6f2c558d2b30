//! Turns (backward seeks): how often a request starts lower than its predecessor.

use super::super::axes::{self, LinearScale};
use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, figures, plot_area};
use super::{Entry, TIME_LABEL};
use crate::palette::Palette;
use crate::scene::{Caption, Rect, Scene, Stroke};
use crate::units;

pub(in super::super) static CHART: Chart = Chart {
    stem: "g42.turns.setpoint",
    keywords: &["turns"],
    title: "Turns (backward seeks): requests that start lower than their predecessor, in the order of due times",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

/// A step is at least this many pixels wide.
const STEP_PIXELS: usize = 2;

fn draw(view: &DemandView<'_>) -> Scene {
    let total = &view.demand.facts.turns.total;
    let row = |name: &str, key: &str, t: &iosonar_analyze::demand::TurnCount| {
        let path = |field: &str| format!("demand.turns.total.{key}.{field}");
        figures::joined([
            format!("{name}: ").into(),
            figures::count(path("turns"), t.turns),
            " turns of ".into(),
            figures::count(path("requests"), t.requests),
            " requests, ".into(),
            Caption::figure(format!("{} %", units::number(t.percent)), path("percent"), t.percent),
        ])
    };
    let mut lines = vec![row("all", "all", &total.all)];
    lines.extend((total.read.requests > 0).then(|| row("reads among reads alone", "read", &total.read)));
    lines.extend((total.write.requests > 0).then(|| row("writes among writes alone", "write", &total.write)));
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, plot, turns) = (view.palette, plot_area(area), &view.demand.series.turns);
    let windows = turns.requests.len().max(1);
    let group = windows.div_ceil(plot.w as usize / STEP_PIXELS);
    let step_ns = turns.width_ns.saturating_mul(group as u64);
    let time = super::time_scale(view, turns.width_ns.saturating_mul(windows as u64), plot);
    let scale = LinearScale::new(100.0, plot);
    time.draw(scene, p, Some(TIME_LABEL));
    scale.draw(scene, p, "Turns in percent of the requests", units::plain);
    for guide in [0.0, 50.0] {
        scene.horizontal(scale.y(guide), (plot.x, plot.right() - 1), Stroke::dashed(p.bad, 1));
    }
    let sums = turns.requests.chunks(group).zip(turns.turns.chunks(group));
    let at = |i: usize| (i as u64).saturating_mul(step_ns);
    let shares: Vec<(usize, Option<f64>)> = sums
        .map(|(r, t)| (r.iter().sum::<u64>(), t.iter().sum::<u64>()))
        .enumerate()
        // A window without requests has no share, and one outside of the visible time is skipped.
        .filter(|(i, _)| time.shows(at(*i)..at(i + 1)))
        .map(|(i, (r, t))| (i, (r > 0).then(|| t as f64 / r as f64 * 100.0)))
        .collect();
    let steps =
        shares.into_iter().map(|(i, share)| (time.x(at(i)), time.x(at(i + 1)), share.map(|s| scale.y(s))));
    super::interrupted(scene, steps, Stroke::solid(p.axis, 2));
    axes::frame(scene, p, plot);
    super::legend(scene, p, plot, &entries(p, step_ns));
}

fn entries(p: &Palette, step_ns: u64) -> Vec<Entry> {
    vec![
        Entry::line(
            Stroke::solid(p.axis, 2),
            vec!["turns, all requests".into(), format!("one step is {}", axes::time(step_ns)).into()],
        ),
        Entry::line(
            Stroke::dashed(p.bad, 1),
            vec!["guides".into(), "50 %: places at random".into(), "0 %: places in ascending order".into()],
        ),
        Entry::words(vec!["no line".into(), "no requests in that time".into()]),
    ]
}
