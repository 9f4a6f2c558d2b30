//! One page on a run: headline and reasons, the picture that the story is about, responses with the blame strip, percentiles.

use super::axes::words;
use super::faults::map;
use super::message::{self, Message};
use super::overview::Unit;
use super::{
    Chart, Draw, PAGE_WIDTH, RunView, Subject, View, blame, demand, overview, page, percentiles, plot_area,
    response,
};
use crate::fonts::{self, Weight};
use crate::scene::{Anchor, Caption, Rect, Scene};
use iosonar_analyze::{Cause, Caution, CautionId, Detail, DetectorId, Severity, Story};
use iosonar_archive::Fault;

/// Height of the page.
const HEIGHT: i32 = 2000;
/// Height of the picture of the story.
const STORY_HEIGHT: i32 = HEIGHT * 2 / 5;
/// Height of the second part.
const SECOND_HEIGHT: i32 = 440;
/// Room for the heading of a part.
const HEADING: i32 = 24;
/// Gap between two parts.
pub(super) const GAP: i32 = 6;
/// No words are smaller.
const LEAST_SIZE: f64 = 14.0;

pub(super) static CHART: Chart = Chart {
    stem: "sheet",
    keywords: &["sheet"],
    title: "Overview of the run",
    message: Message::Headline,
    draw: Draw::Either(Detail::Response, draw, |view| demand::sheet::draw(view, CHART.title)),
};

fn draw(view: &RunView<'_>) -> Scene {
    let subject = subject(view);
    let view = &RunView { view: View { subject: &subject, least_size: LEAST_SIZE, ..view.view }, ..*view };
    let mut scene = Scene::new(PAGE_WIDTH, HEIGHT as u32, view.palette.background);
    let top = head(&mut scene, view);
    let story = Part { y: top, height: STORY_HEIGHT };
    let second = Part { y: story.end(), height: SECOND_HEIGHT };
    let last = Part { y: second.end(), height: HEIGHT - page::BOTTOM - GAP - second.end() };
    let plots = match (view.material.faults(), is_about_throughput(view)) {
        (Some(found), _) => [faults(&mut scene, view, found, story), responses(&mut scene, view, second)],
        (None, true) => [throughput(&mut scene, view, story), responses(&mut scene, view, second)],
        (None, false) => [responses(&mut scene, view, story), throughput(&mut scene, view, second)],
    };
    let curves = distribution(&mut scene, view, last);
    scene.counted = None;
    // Each plot has its own stamp: parts of a sheet are cut out and passed on.
    page::bottom(&mut scene, view, &[plots[0], plots[1], curves]);
    scene.enlarge_texts(LEAST_SIZE);
    scene
}

/// A part of the page: its heading, and a plot below.
#[derive(Clone, Copy)]
struct Part {
    y: i32,
    height: i32,
}

impl Part {
    fn end(self) -> i32 {
        self.y + self.height + GAP
    }

    /// The part without its heading, which is drawn.
    fn body(self, scene: &mut Scene, view: &RunView<'_>, title: Option<Caption>, description: &str) -> Rect {
        let title = title.unwrap_or_else(|| page::described(view, description).into());
        let mut title = words(title, super::PLOT_LEFT, self.y + 16, 16.0, view.palette, Anchor::Start);
        title.weight = Weight::Bold;
        scene.text(title);
        Rect { x: 0, y: self.y + HEADING, w: PAGE_WIDTH as i32, h: self.height - HEADING }
    }
}

/// Whether the headline is about requests that were not done when they were wanted, and not about their responses.
fn is_about_throughput(view: &RunView<'_>) -> bool {
    // The story's own limit of a load that was kept up with.
    const KEPT_UP: f64 = 0.99;
    let is_late = || view.summary.throughput.delivered_share.is_some_and(|share| share < KEPT_UP);
    let first = view.summary.story.as_ref().and_then(|story| story.shares.first());
    let is_queue = first.is_none_or(|first| matches!(first.cause, Cause::DepthFull | Cause::MoreAtOnce));
    view.summary.has_target_rate() && is_queue && (first.is_some() || is_late())
}

fn throughput(scene: &mut Scene, view: &RunView<'_>, part: Part) -> Rect {
    let area = part.body(scene, view, message::done(&view.material), overview::REQUESTS.title);
    overview::body(scene, &view.with_events(), area, Unit::Requests);
    plot_area(area)
}

/// The map of faults. A stamp covers the middle alone: it must not hide the faults that it is about.
fn faults(scene: &mut Scene, view: &RunView<'_>, found: &[Fault], part: Part) -> Rect {
    const STAMP: i32 = 130;
    let area = part.body(scene, view, None, map::CHART.title);
    let plot = map::body(scene, view, found, area);
    let h = STAMP.min(plot.h);
    Rect { x: plot.x + plot.w / 4, y: plot.y + (plot.h - h) / 2, w: plot.w / 2, h }
}

/// Responses over time, and below them the blame strip on the same axis.
fn responses(scene: &mut Scene, view: &RunView<'_>, part: Part) -> Rect {
    let area = part.body(scene, view, message::response(&view.material), response::CHART.title);
    let area = Rect { h: area.h - blame::height(view), ..area };
    response::body(scene, view, area);
    blame::draw(scene, view, &view.time(plot_area(area)), area.bottom());
    plot_area(area)
}

/// Figures of the requests, and below them the percentiles.
fn distribution(scene: &mut Scene, view: &RunView<'_>, part: Part) -> Rect {
    let area = part.body(scene, view, None, percentiles::CHART.title);
    let end = response::legend(scene, view, area.y + 12);
    let area = Rect { y: end + 12, h: area.bottom() - end - 12, ..area };
    percentiles::body(scene, view, area);
    plot_area(area)
}

/// Most lines of a text of the head.
const LINES: usize = 2;

/// Headline, reasons and remedy, then the lines on the run. Returns its lower end.
fn head(scene: &mut Scene, view: &RunView<'_>) -> i32 {
    let mut y = 12;
    let mut text = |text: &str, size: f64, weight: Weight| {
        let lines = fonts::wrap(text, size, weight, f64::from(page::RIGHT - page::LEFT));
        for line in lines.into_iter().take(LINES) {
            y += (size * 1.32) as i32;
            let mut line = words(line, page::LEFT, y, size, view.palette, Anchor::Start);
            line.weight = weight;
            scene.text(line);
        }
        y += 4;
    };
    let story = view.summary.story.as_ref();
    let title = story.map_or_else(|| page::described(view, CHART.title), |story| story.headline.clone());
    text(&title, 28.0, Weight::Bold);
    for reason in story.map_or(&[] as &[_], |story| &story.because) {
        text(&reason.text, 18.0, Weight::Regular);
    }
    if let Some(remedy) = story.and_then(|story| story.remedy.as_ref()) {
        text(&format!("Try: {remedy}"), 18.0, Weight::Regular);
    }
    page::subject_lines(scene, view, &view.subject.what, y + 18) + 24
}

/// The words around the page. Cautions that are no cause, and usual wraparound factors, stand in the summary alone.
fn subject(view: &RunView<'_>) -> Subject {
    let subject = view.subject;
    let story = view.summary.story.as_ref();
    let (cautions, others): (Vec<Caution>, Vec<Caution>) =
        subject.cautions.iter().cloned().partition(|caution| is_cause(caution, story));
    let is_usual = |factor: &Option<f64>| factor.is_none_or(|factor| (0.5..=2.0).contains(&factor));
    let is_usual = subject.wraparound.iter().all(is_usual);
    Subject {
        cautions,
        cautions_elsewhere: subject.cautions_elsewhere + others.len(),
        wraparound: if is_usual { Vec::new() } else { subject.wraparound.clone() },
        ..subject.clone()
    }
}

/// A cause of less than this share of the lost time needs no caution.
const LEAST_SHARE: f64 = 0.1;

/// Whether a caution is about a cause of the story, or makes the figures mean something else. Without a story each one may be.
fn is_cause(caution: &Caution, story: Option<&Story>) -> bool {
    let Some(story) = story else { return true };
    let causes = story.shares.iter().filter(|one| one.share >= LEAST_SHARE).map(|one| one.cause);
    let is_about = |cause: Cause| match cause {
        Cause::Halted | Cause::NoCpu => caution.id == CautionId::Detected(DetectorId::CpuDisturbed),
        Cause::Others => caution.id == CautionId::Detected(DetectorId::ForeignIo),
        Cause::DepthFull => {
            let ids =
                [CautionId::HeldUp, CautionId::Detected(DetectorId::CannotKeepUp), CautionId::BehindDemand];
            ids.contains(&caution.id)
        }
        _ => false,
    };
    caution.severity == Severity::Severe || causes.into_iter().any(is_about)
}

/// The title of a part of a sheet of a load.
pub(super) fn heading(scene: &mut Scene, view: &View<'_>, chart: &Chart, y: i32) {
    let mut title = words(page::described(view, chart.title), 110, y, 15.0, view.palette, Anchor::Start);
    title.weight = Weight::Bold;
    scene.text(title);
}
