//! The sonar: response of every request over the time when it was due. A halt of the program, or a depth that is used up, is seen here and
//! not in the latency.

use super::band::{self, Overlay, Panel};
use super::latency_realtime::{self, over};
use super::material::has_response;
use super::message::Message;
use super::{Chart, Draw, RunView, page, single};
use crate::scene::{Rect, Scene};
use iosonar_analyze::Detail;

pub(super) static CHART: Chart = Chart {
    stem: "g00.response",
    keywords: &["response", "sonar"],
    title: "Response of every request over time",
    message: Message::Headline,
    draw: Draw::Run(Detail::Response, draw),
};

fn draw(view: &RunView<'_>) -> Scene {
    let legend = |scene: &mut Scene, y| _ = self::legend(scene, view, y);
    single(view, &CHART, legend, |scene, area| scene.counted = body(scene, view, area))
}

/// The figures of the responses, and the outcomes of the requests. Returns its lower end.
pub(super) fn legend(scene: &mut Scene, view: &RunView<'_>, y: i32) -> i32 {
    let end = match has_response(view.summary) {
        true => page::time_legend(scene, view, "response", &view.summary.response, y),
        false => page::time_legend(scene, view, "latency", &view.summary.latency, y),
    };
    end.max(page::counts_and_marks(scene, view, y))
}

/// Responses over due time. Requests without a timetable, or of a recording, count as due when they are submitted.
fn panel<'a>(view: &RunView<'a>) -> Panel<'a> {
    let d = view.diagrams;
    if !has_response(view.summary) {
        let y_label = "Response = latency (submission → completion), log";
        return Panel { y_label, overlay: Overlay::Times, ..latency_realtime::panel(view) };
    }
    let x_label = "Time when the request was due, since the start of the run";
    let y_label = "Response (due → completion), log";
    Panel { y_label, limit: None, ..over(view, &d.response.by_due, &d.failed.response.by_due, x_label) }
}

/// Returns the number of requests drawn.
pub(super) fn body(scene: &mut Scene, view: &RunView<'_>, area: Rect) -> Option<u64> {
    let view = &view.with_events();
    band::or_nothing_at_all(scene, view, area).then(|| band::draw(scene, view, &panel(view), area, true))
}
