//! The pictures, and their shared parts.
//!
//! A picture is one file with a [`Chart`] in it, and one line in [`CHARTS`].

mod axes;
mod band;
mod bins;
mod blame;
mod causes;
mod compare;
mod delay_points;
mod delay_setpoint;
mod demand;
mod events;
mod extents;
mod faults;
mod figures;
mod in_flight;
mod knee;
mod latency_completed;
mod latency_points;
mod latency_realtime;
mod latency_setpoint;
mod layout;
mod limit;
mod machine;
mod material;
mod matrix;
mod message;
mod notes;
mod overlay;
mod overview;
mod page;
mod path;
mod percentiles;
mod rates;
mod replayer;
mod response;
mod shares;
mod sheet;
mod steps;
mod turns;
mod xy;

pub use compare::{CompareMaterial, ComparePicture, compare_subject, plot_compare};
pub use knee::{KneeMaterial, knee_svg, plot_knee};
pub use layout::{LayoutOverview, LayoutRow, layout_overview, layout_picture, layout_svg};
pub(crate) use material::end_of_time;
pub use material::{Headline, Material, RunMaterial, Subject};
pub use matrix::{
    MatrixGrid, MatrixMaterial, Plateau, change_svg, heat_svg, latency_svg, matrix_range, plot_matrix,
};
pub(crate) use percentiles::of_summary;

use crate::Style;
use crate::scene::{Rect, Scene};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{Detail, MachineSeries, Needs, PathFacts};
use iosonar_archive::Fault;
use material::{DemandView, RunView, View};
use message::Message;

/// Width of every picture.
const PAGE_WIDTH: u32 = 1600;
/// Height of a single picture.
const PAGE_HEIGHT: u32 = 900;
/// Left edge of every plot, so that time lines up between pictures.
const PLOT_LEFT: i32 = 110;
/// Width of every plot.
const PLOT_WIDTH: i32 = 1180;
/// Left edge of the column beside a plot.
const SIDE_LEFT: i32 = 1306;
/// Width of the column beside a plot.
const SIDE_WIDTH: i32 = 270;
/// Height of ticks and label below a plot.
const BELOW: i32 = 46;

/// Every picture, in the order of the manual.
static CHARTS: &[&Chart] = &[
    &sheet::CHART,
    &overview::REQUESTS,
    &overview::BYTES,
    &rates::REQUESTS_DUE,
    &rates::BYTES_DUE,
    &rates::REQUESTS_COMPLETED,
    &rates::BYTES_COMPLETED,
    &response::CHART,
    &latency_realtime::CHART,
    &latency_setpoint::CHART,
    &latency_completed::CHART,
    &latency_points::CHART,
    &delay_setpoint::CHART,
    &delay_points::CHART,
    &bins::LATENCY,
    &bins::DELAY,
    &in_flight::IN_FLIGHT,
    &in_flight::WAITING,
    &xy::LATENCY_IN_FLIGHT,
    &xy::DELAY_WAITING,
    &xy::LATENCY_DELAY,
    &percentiles::CHART,
    &demand::working_set::LOG,
    &demand::working_set::LIN,
    &demand::distance::SPAN,
    &demand::distance::MEAN,
    &demand::size::CHART,
    &demand::position::CHART,
    &demand::turns::CHART,
    &turns::CHART,
    &demand::frequency::CHART,
    &demand::miss_ratio::CHART,
    &demand::seek_map::CHART,
    &replayer::ISSUE_ERROR,
    &replayer::REAP_LAG,
    &machine::CHART,
    &extents::CHART,
    &faults::map::CHART,
    &faults::strip::CHART,
    &path::CHART,
];

/// Diagrams of blkreplay that are not drawn, with the reason, so that users get an explanation for these names.
pub const NOT_DRAWN: [(&str, &str); 8] = [
    (
        "g08.smooth.latency.flying",
        "smoothed: the band of g08.latency.flying says the same; the curve is in the data",
    ),
    (
        "g09.smooth.delay.flying",
        "smoothed: the band of g09.delay.flying says the same; the curve is in the data",
    ),
    ("g50.submit_level", "there is no queue of submissions between processes"),
    ("g51.pushback_level", "push-back is a class in every picture; its number is in the summary"),
    ("g52.submit_ahead", "nothing is submitted ahead of its time"),
    ("g55.input_wait", "there is no queue of input between processes"),
    ("g56.answer_wait", "there is no queue of answers between processes; see g54.answer_lag"),
    ("g53.submit_lag_cumul", "a running sum; its total is in the summary's health"),
];

/// An entry of the table of pictures.
struct Chart {
    /// File name without extension. The numbers sort as in blkreplay, the most interesting first.
    stem: &'static str,
    /// Words that select it; the first is its keyword.
    keywords: &'static [&'static str],
    /// Description: the title, if there is no message.
    title: &'static str,
    /// The title of a picture of a run.
    message: Message,
    draw: Draw,
}

/// The function that draws a picture, and its required input.
enum Draw {
    /// Needs a run, counted with this detail.
    Run(Detail, fn(&RunView<'_>) -> Scene),
    /// Needs a run, counted with this detail, and samples of its machine.
    Machine(Detail, fn(&RunView<'_>, &MachineSeries) -> Scene),
    /// Needs a run on files whose extent maps were kept.
    Extents(fn(&RunView<'_>, &ExtentLatencies) -> Scene),
    /// Needs a run in which verification found faults.
    Faults(fn(&RunView<'_>, &[Fault]) -> Scene),
    /// Needs a run whose requests were traced in the kernel.
    Path(fn(&RunView<'_>, &PathFacts) -> Scene),
    /// Needs the distributions of a run.
    Figures(fn(&RunView<'_>) -> Scene),
    /// Needs the analysis of a demand.
    Demand(fn(&DemandView<'_>) -> Scene),
    /// Shows a run, or the analysis of a demand if there is no run.
    Either(Detail, fn(&RunView<'_>) -> Scene, fn(&DemandView<'_>) -> Scene),
}

/// A picture that can be drawn.
#[derive(Clone, Copy)]
pub struct Picture(&'static Chart);

impl PartialEq for Picture {
    fn eq(&self, other: &Picture) -> bool {
        self.stem() == other.stem()
    }
}

impl Eq for Picture {}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.stem())
    }
}

impl Picture {
    /// The combined needs of several pictures.
    pub fn needs_of(pictures: impl IntoIterator<Item = Picture>) -> Needs {
        pictures.into_iter().map(Picture::needs).fold(Needs::LEAST, Needs::and)
    }

    /// Overview, latency, delay and percentiles of a run on one page; for a load its demand.
    pub const SHEET: Picture = Picture(&sheet::CHART);
    /// Demanded and delivered requests per second.
    pub const THROUGHPUT: Picture = Picture(&overview::REQUESTS);
    /// Response over due time.
    pub const SONAR: Picture = Picture(&response::CHART);
    /// Latency over start time.
    pub const LATENCY: Picture = Picture(&latency_realtime::CHART);
    /// Delay over due time.
    pub const DELAY: Picture = Picture(&delay_setpoint::CHART);
    /// Requests in flight over time.
    pub const IN_FLIGHT: Picture = Picture(&in_flight::IN_FLIGHT);
    /// Curves of the machine below the sonar.
    pub const MACHINE: Picture = Picture(&machine::CHART);
    /// Latencies by the places of requests on the disk.
    pub const EXTENTS: Picture = Picture(&extents::CHART);
    /// Faults over address and time.
    pub const FAULT_MAP: Picture = Picture(&faults::map::CHART);
    /// Faults on whole targets, and over time.
    pub const FAULT_STRIP: Picture = Picture(&faults::strip::CHART);

    /// Steps of the requests in the kernel.
    pub const PATH: Picture = Picture(&path::CHART);

    /// Every picture, in the order of the manual.
    pub fn all() -> impl Iterator<Item = Picture> {
        CHARTS.iter().map(|c| Picture(c))
    }

    /// The keyword that selects it.
    pub fn keyword(self) -> &'static str {
        self.0.keywords[0]
    }

    /// The pictures selected by a keyword or a file name, in the order of the manual; `sonar` selects that of the response and that of the
    /// latency.
    pub fn named(word: &str) -> Vec<Picture> {
        Picture::all().filter(|p| p.0.keywords.contains(&word) || p.stem() == word).collect()
    }

    /// File name without extension. The numbers sort as in blkreplay, the most interesting first.
    pub fn stem(self) -> &'static str {
        self.0.stem
    }

    /// Description of the picture.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The analyses that it needs.
    pub fn needs(self) -> Needs {
        match self.0.draw {
            Draw::Machine(detail, _) => Needs { detail, machine: true, ..Needs::LEAST },
            Draw::Extents(_) => Needs { extents: true, ..Needs::LEAST },
            Draw::Faults(_) => Needs { faults: true, ..Needs::LEAST },
            Draw::Run(detail, _) => Needs { detail, ..Needs::LEAST },
            // Parts of the sheet are the curve of the percentiles, and the map of faults if there are some.
            Draw::Either(detail, ..) => {
                let is_sheet = self == Picture::SHEET;
                Needs { detail, tally: is_sheet, faults: is_sheet, ..Needs::LEAST }
            }
            Draw::Path(_) => Needs::LEAST,
            Draw::Figures(_) => Needs { tally: true, ..Needs::LEAST },
            Draw::Demand(_) => Needs { demand: true, ..Needs::LEAST },
        }
    }

    /// Why it cannot be drawn from this material; `None` if it can.
    pub fn lacks(self, material: &Material<'_>) -> Option<&'static str> {
        if lacks_delay(self.stem(), material) {
            return Some("a recording does not know when requests were due, so their delays are not known");
        }
        match self.0.draw {
            Draw::Run(..) | Draw::Figures(_) => {
                material.run.is_none().then_some("a load has no times of a run")
            }
            Draw::Machine(..) => material
                .run
                .is_none_or(|run| run.machine.is_none())
                .then_some("there are no samples of the machine's counters"),
            Draw::Extents(_) => material.run.is_none_or(|run| run.extents.is_none()).then_some(
                "there are no extent maps of files that can be read, or several inputs are merged",
            ),
            Draw::Faults(_) => material
                .run
                .is_none_or(|run| run.faults().is_none())
                .then_some("there are no faults that verification found, or several inputs are merged"),
            Draw::Path(_) => material
                .run
                .is_none_or(|run| run.summary.path.is_none())
                .then_some("the path of the requests was not traced (--trace-path)"),
            Draw::Demand(_) => material.demand.is_none().then_some("the demand was not analyzed"),
            Draw::Either(..) => {
                let none = material.run.is_none() && material.demand.is_none();
                none.then_some("there is neither a run nor an analyzed demand")
            }
        }
    }

    /// Whether it is empty if nothing completed.
    pub(crate) fn shows_completed_requests(self) -> bool {
        matches!(self.0.draw, Draw::Run(..) | Draw::Figures(_)) && !self.stem().ends_with("setpoint")
            || [Picture::DELAY, Picture::SHEET].contains(&self)
    }

    /// Draws it, if the material suffices.
    pub fn draw(self, material: &Material<'_>, style: &Style) -> Option<Scene> {
        if lacks_delay(self.stem(), material) {
            return None;
        }
        let message = material.run.as_ref().and_then(|run| self.0.message.of(run));
        let view = View::new(material, style).with_message(message.as_ref());
        let mut scene = match self.0.draw {
            Draw::Run(_, draw) | Draw::Figures(draw) => draw(&RunView::new(view, material.run.as_ref()?)),
            Draw::Machine(_, draw) => {
                let run = material.run.as_ref()?;
                draw(&RunView::new(view, run), run.machine?)
            }
            Draw::Extents(draw) => {
                let run = material.run.as_ref()?;
                draw(&RunView::new(view, run), run.extents?)
            }
            Draw::Faults(draw) => {
                let run = material.run.as_ref()?;
                draw(&RunView::new(view, run), run.faults()?)
            }
            Draw::Path(draw) => {
                let run = material.run.as_ref()?;
                draw(&RunView::new(view, run), run.summary.path.as_ref()?)
            }
            Draw::Demand(draw) => draw(&DemandView { view, demand: material.demand? }),
            Draw::Either(_, of_run, of_demand) => match &material.run {
                Some(run) => of_run(&RunView::new(view, run)),
                None => of_demand(&DemandView { view, demand: material.demand? }),
            },
        };
        let described = page::described(&view, self.title());
        scene.facts = match &message {
            Some(message) => facts(&message.text, material.subject),
            None => facts(&described, material.subject),
        };
        scene.facts.extend(message.map(|_| ("Description".to_string(), described)));
        let range = scene.shown_ns.filter(|_| style.range.is_some());
        scene.facts.extend(range.map(|(begin, end)| ("Range".to_string(), format!("{begin}..{end} ns"))));
        scene.facts.extend(scene.counted.map(|n| ("Requests".to_string(), n.to_string())));
        scene.facts.push(figures_of(&scene));
        Some(scene)
    }
}

/// Whether this picture or table shows delays, and the run has none.
pub(crate) fn lacks_delay(stem: &str, material: &Material<'_>) -> bool {
    let shows_delay = stem.contains("delay") || stem == replayer::ISSUE_ERROR.stem;
    shows_delay && material.run.is_some_and(|run| !run.summary.knows_delay())
}

/// Every figure of the picture as JSON: path and value.
fn figures_of(scene: &Scene) -> (String, String) {
    let json = serde_json::to_string(&scene.figures()).expect("paths and numbers can be told as JSON");
    ("Figures".to_string(), json)
}

fn facts(title: &str, subject: &Subject) -> Vec<(String, String)> {
    let mut facts =
        vec![("Title".to_string(), title.to_string()), ("Software".to_string(), subject.tool.clone())];
    facts.extend(subject.run_id.as_ref().map(|id| ("Run".to_string(), id.clone())));
    facts.push(("Command".to_string(), subject.command.clone()));
    facts.extend(subject.stamps.iter().map(|s| ("Warning".to_string(), s.clone())));
    facts
}

/// A single picture: head, legend by `legend` (which returns its lower end), plot by `body`, bottom.
fn single(
    view: &View<'_>,
    chart: &Chart,
    legend: impl FnOnce(&mut Scene, i32),
    body: impl FnOnce(&mut Scene, Rect),
) -> Scene {
    let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, view.palette.background);
    page::head(&mut scene, view, chart.title);
    legend(&mut scene, 102);
    let area = Rect { x: 0, y: 206, w: PAGE_WIDTH as i32, h: PAGE_HEIGHT as i32 - 206 - page::BOTTOM - 8 };
    body(&mut scene, area);
    if view.range.is_some() {
        page::range_note(&mut scene, view);
    }
    page::bottom(&mut scene, view, &[plot_area(area)]);
    scene
}

/// The area of the plot inside the area of a body.
fn plot_area(area: Rect) -> Rect {
    Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH, h: area.h - BELOW }
}
