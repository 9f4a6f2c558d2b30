//! Health of the program: issue delay and completion delay.

use super::axes::words;
use super::band::{self, Overlay, Panel};
use super::message::{self, Message};
use super::{Chart, Draw, RunView, figures, page, single};
use crate::scene::{Anchor, Caption, Scene};
use iosonar_analyze::{CountGrid, Detail, TimeStats};

pub(super) static ISSUE_ERROR: Chart = Chart {
    stem: "g53.submit_lag",
    keywords: &["submit_lag", "issue_error"],
    title: "Issue delay: how late requests that nothing held were submitted",
    message: Message::Figures(message::issue_delay),
    draw: Draw::Run(Detail::Full, |view| {
        let health = Health {
            grid: &view.diagrams.issue_error,
            stats: view.summary.health.issue_error,
            name: "issue delay",
            path: "health.issue_error",
            what: "Delay of requests that nothing held: neither a conflict, nor their turn, nor the depth. Line: p99 of each step.",
            under: "on time",
            y_label: "Issue delay (due → submission), log",
        };
        draw(view, &ISSUE_ERROR, &health)
    }),
};

pub(super) static REAP_LAG: Chart = Chart {
    stem: "g54.answer_lag",
    keywords: &["answer_lag", "reap_lag"],
    title: "Completion delay: how much earlier requests may have ended than was seen",
    message: Message::Figures(message::completion_delay),
    draw: Draw::Run(Detail::Full, |view| {
        let health = Health {
            grid: &view.diagrams.reap_lag,
            stats: view.summary.health.reap_lag,
            name: "completion delay",
            path: "health.reap_lag",
            what: "Time since the generator looked before: latencies may be too long by at most this much. Line: p99 of each step.",
            under: "< 1 µs",
            y_label: "Completion delay, log",
        };
        draw(view, &REAP_LAG, &health)
    }),
};

/// Parameters that distinguish the two.
struct Health<'a> {
    grid: &'a CountGrid,
    stats: Option<TimeStats>,
    name: &'static str,
    /// Path of its figures in the summary.
    path: &'static str,
    what: &'static str,
    under: &'static str,
    y_label: &'static str,
}

fn draw(view: &RunView<'_>, chart: &Chart, health: &Health<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| {
        figures(scene, view, health, y);
        page::counts_note(scene, view, y);
    };
    let panel = Panel {
        grid: health.grid,
        failed: None,
        limit: None,
        under: health.under,
        always_under: true,
        by_number: false,
        with_p99: true,
        overlay: Overlay::Nothing,
        x_label: "Time when the request was due, since the start of the run",
        y_label: health.y_label,
    };
    single(view, chart, legend, |scene, area| {
        if band::or_nothing(scene, view, area) {
            scene.counted = Some(band::draw(scene, view, &panel, area, true));
        }
    })
}

fn figures(scene: &mut Scene, view: &RunView<'_>, health: &Health<'_>, y: i32) {
    let mut lines = vec![Caption::from(health.what)];
    match health.stats {
        Some(s) => {
            let wanted = ["count", "mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns"];
            let names = [": ", " requests, avg ", ", p50 ", ", p99 ", ", p99.9 ", ", max "];
            let told = figures::of_times(health.path, &s, &wanted);
            let told = names.into_iter().map(Caption::from).zip(told).flat_map(|(name, told)| [name, told]);
            lines.push(figures::joined([Caption::from(health.name)].into_iter().chain(told)));
            lines.extend(s.p99_9_ns.map(|ns| {
                figures::joined([
                    "The program's own part is at most ".into(),
                    figures::time(format!("{}.p99_9_ns", health.path), ns),
                    " in 99.9 % of the requests.".into(),
                ])
            }));
        }
        None => lines.push(format!("{}: there are no figures for this run", health.name).into()),
    }
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(words(line, 110, y + 4 + 20 * i as i32, 13.0, view.palette, Anchor::Start));
    }
}
