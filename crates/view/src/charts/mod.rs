//! The pictures, and what they have in common.

mod axes;
mod band;
mod delay;
mod inflight;
mod page;
mod sheet;
mod sonar;
mod throughput;

use crate::palette::Palette;
use crate::scene::{Rect, Scene};
use crate::{Theme, units};
use iosonar_analyze::{Diagrams, LimitResult, LimitVerdict, Summary};

/// Width of every picture.
const PAGE_WIDTH: u32 = 1600;
/// Height of a single picture.
const PAGE_HEIGHT: u32 = 900;
/// Left edge of every plot, so that time lines up between pictures.
const PLOT_LEFT: i32 = 110;
/// Width of every plot.
const PLOT_WIDTH: i32 = 1180;
/// Left edge of what stands beside a plot.
const SIDE_LEFT: i32 = 1306;
/// Width of what stands beside a plot.
const SIDE_WIDTH: i32 = 270;
/// Height of ticks and label below a plot.
const BELOW: i32 = 46;

/// Words for the subtitle that the summary does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headline {
    /// For example kernel, device model and scheduler.
    pub environment: Option<String>,
}

/// A picture that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// All others on one page.
    Sheet,
    /// Demanded and delivered throughput.
    Throughput,
    /// Latency over start time.
    Sonar,
    /// Delay over due time.
    Delay,
    /// Requests in flight over time.
    InFlight,
}

impl Picture {
    /// Every picture, in the order of a report.
    pub const ALL: [Picture; 5] =
        [Picture::Sheet, Picture::Sonar, Picture::Throughput, Picture::Delay, Picture::InFlight];

    /// The word that selects it.
    pub fn keyword(self) -> &'static str {
        match self {
            Picture::Sheet => "sheet",
            Picture::Throughput => "throughput",
            Picture::Sonar => "sonar",
            Picture::Delay => "delay",
            Picture::InFlight => "inflight",
        }
    }

    /// The picture that a word selects.
    pub fn from_keyword(keyword: &str) -> Option<Picture> {
        Picture::ALL.into_iter().find(|p| p.keyword() == keyword)
    }

    /// File name without extension. The numbers sort as in blkreplay, the most interesting first.
    pub fn stem(self) -> &'static str {
        match self {
            Picture::Sheet => "sheet",
            Picture::Throughput => "g000.overview.thrp",
            Picture::Sonar => "g01.latency.realtime",
            Picture::Delay => "g04.delay.setpoint",
            Picture::InFlight => "g08.latency.flying",
        }
    }

    /// What is seen, in words.
    pub fn title(self) -> &'static str {
        match self {
            Picture::Sheet => "Overview of the run",
            Picture::Throughput => "Demanded and delivered throughput over time",
            Picture::Sonar => "Latency of every request over real start time",
            Picture::Delay => "Delay of every request over the time when it was due",
            Picture::InFlight => "Requests in flight over time",
        }
    }

    /// Draws it.
    pub fn draw(self, diagrams: &Diagrams, summary: &Summary, headline: &Headline, theme: Theme) -> Scene {
        let view = View { diagrams, summary, headline, palette: theme.palette() };
        let mut scene = match self {
            Picture::Sheet => sheet::draw(&view),
            Picture::Throughput => throughput::draw(&view),
            Picture::Sonar => sonar::draw(&view),
            Picture::Delay => delay::draw(&view),
            Picture::InFlight => inflight::draw(&view),
        };
        scene.facts = facts(self, summary);
        scene
    }
}

/// Everything that a picture is made from.
struct View<'a> {
    diagrams: &'a Diagrams,
    summary: &'a Summary,
    headline: &'a Headline,
    palette: &'static Palette,
}

fn facts(picture: Picture, summary: &Summary) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Title".to_string(), picture.title().to_string()),
        ("Software".to_string(), summary.run.tool.clone()),
        ("Run".to_string(), summary.run.run_id.clone()),
        ("Command".to_string(), summary.run.command.clone()),
    ];
    facts.extend(summary.stamps.iter().map(|s| ("Warning".to_string(), s.text().to_string())));
    facts
}

/// A single picture: head, legend by `legend` (which returns its lower end), plot by `body`, bottom.
fn single(
    view: &View<'_>,
    picture: Picture,
    legend: impl FnOnce(&mut Scene, i32),
    body: impl FnOnce(&mut Scene, Rect),
) -> Scene {
    let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, view.palette.background);
    page::head(&mut scene, view, picture.title());
    legend(&mut scene, 102);
    let area = Rect { x: 0, y: 206, w: PAGE_WIDTH as i32, h: PAGE_HEIGHT as i32 - 206 - page::BOTTOM - 8 };
    body(&mut scene, area);
    page::bottom(&mut scene, view, &[plot_area(area)]);
    scene
}

/// Where the plot lies inside the area of a body.
fn plot_area(area: Rect) -> Rect {
    Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH, h: area.h - BELOW }
}

/// The words at a limit line: one line, or two where the first exceeding is named.
fn limit_words(verdict: &LimitVerdict) -> Vec<String> {
    let limit = units::limit(verdict.limit_ns);
    let max = verdict.max_ns.map_or(String::new(), |m| format!(", max {}", axes::time(m)));
    match verdict.result {
        LimitResult::Passed => vec![format!("✓ limit {limit}: passed{max}")],
        LimitResult::Failed => {
            let first = verdict
                .first_due_ns
                .map_or(String::new(), |t| format!("first at {}", units::moment(t, units::Charset::Unicode)));
            vec![
                format!("✕ limit {limit}: FAILED{max}"),
                format!("{} above, {first}", units::grouped(verdict.above)),
            ]
        }
        LimitResult::NotApplicable => vec![format!("limit {limit}: does not apply")],
    }
}
