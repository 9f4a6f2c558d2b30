//! Pictures of two runs side by side. Both share the axes, so that equal positions mean the same.

mod course;
mod difference;
mod pairs;
mod ratio;
mod shift;
mod sonars;

use super::axes::{LogScale, TimeScale, words};
use super::{
    BELOW, PAGE_HEIGHT, PAGE_WIDTH, PLOT_LEFT, PLOT_WIDTH, RunMaterial, Subject, View, figures, page,
};
use crate::fonts::{self, Weight};
use crate::plot::{Folder, PlotOptions, write_scene};
use crate::scene::{Anchor, Caption, Rect, Scene};
use crate::{Headline, Style, units};
use iosonar_analyze::compare::{Comparison, Difference};
use iosonar_analyze::{CountGrid, Summary};
use std::io;
use std::path::PathBuf;

/// Two runs to show side by side.
#[derive(Clone, Copy)]
pub struct CompareMaterial<'a> {
    /// The words around every picture; see [`compare_subject`].
    pub subject: &'a Subject,
    /// The baseline.
    pub a: RunMaterial<'a>,
    /// The run compared with it.
    pub b: RunMaterial<'a>,
    /// The figures; without them there are only the pictures of both runs' counts.
    pub comparison: Option<&'a Comparison>,
}

/// The words on two runs: their descriptions, and the cautions and stamps of both.
pub fn compare_subject(a: &Summary, b: &Summary, command: &str) -> Subject {
    let [of_a, of_b] = [a, b].map(|s| Subject::of_run(s, &Headline::default()));
    let name = |letter: &str, s: &Subject| format!("{letter}: {} · {}", s.what, s.how);
    let figures_of_b = Caption { figures: of_b.figures.clone(), ..Caption::default() };
    let mut cautions: Vec<_> = [("A", &a.cautions), ("B", &b.cautions)]
        .into_iter()
        .flat_map(|(letter, list)| list.iter().map(move |c| (letter, c.clone())))
        .map(|(letter, mut caution)| {
            caution.text = format!("{letter}: {}", caution.text);
            caution
        })
        .collect();
    cautions.sort_by_key(|c| std::cmp::Reverse(c.severity));
    let mut stamps = of_a.stamps.clone();
    stamps.extend(of_b.stamps.iter().filter(|s| !of_a.stamps.contains(s)).cloned());
    let wraparound_paths = [("a", &of_a), ("b", &of_b)]
        .into_iter()
        .flat_map(|(run, s)| s.wraparound_paths.iter().map(move |path| format!("{run}.{path}")))
        .collect();
    Subject {
        what: name("A", &of_a),
        how: name("B", &of_b),
        figures: figures::of_one("B", figures_of_b).figures,
        tool: of_a.tool,
        run_id: of_a.run_id.zip(of_b.run_id).map(|(a, b)| format!("{a} and {b}")),
        command: command.to_string(),
        wraparound_paths,
        wraparound: of_a.wraparound.into_iter().chain(of_b.wraparound).collect(),
        stamps,
        cautions,
        cautions_elsewhere: 0,
        verdict: None,
        is_unexamined: false,
    }
}

/// Height of a line of words above the plot, and the number of lines that fit; more make the picture higher.
const LINE: i32 = 18;
const LINES: usize = 4;

/// A picture of two runs.
struct Chart {
    stem: &'static str,
    title: &'static str,
    draw: fn(&CompareView<'_>, &mut Scene, Rect),
}

static CHARTS: [&Chart; 6] =
    [&sonars::CHART, &difference::CHART, &course::CHART, &pairs::CHART, &ratio::CHART, &shift::CHART];

/// Input of a picture.
struct CompareView<'a> {
    view: View<'a>,
    a: RunMaterial<'a>,
    b: RunMaterial<'a>,
    comparison: Option<&'a Comparison>,
}

/// A picture of two runs that can be drawn.
#[derive(Clone, Copy)]
pub struct ComparePicture(&'static Chart);

impl std::fmt::Debug for ComparePicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.stem())
    }
}

impl ComparePicture {
    /// Every picture, the most informative first.
    pub fn all() -> impl Iterator<Item = ComparePicture> {
        CHARTS.iter().map(|c| ComparePicture(c))
    }

    /// File name without extension.
    pub fn stem(self) -> &'static str {
        self.0.stem
    }

    /// The title.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// Draws it.
    pub fn draw(self, material: &CompareMaterial<'_>, style: &Style) -> Scene {
        let all = super::Material { subject: material.subject, run: Some(material.a), demand: None };
        let view = CompareView {
            view: View::new(&all, style),
            a: material.a,
            b: material.b,
            comparison: material.comparison,
        };
        let p = view.view.palette;
        let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, p.background);
        page::head(&mut scene, &view.view, self.title());
        let wrapped = |line: String| fonts::wrap(&line, 13.0, Weight::Regular, 1460.0);
        let lines: Vec<String> = sentences(&view).into_iter().flat_map(wrapped).collect();
        let higher = LINE * lines.len().saturating_sub(LINES) as i32;
        scene.height += higher as u32;
        for (i, line) in lines.into_iter().enumerate() {
            scene.text(words(line, 110, 102 + 18 * i as i32, 13.0, p, Anchor::Start));
        }
        let top = 192 + higher;
        let h = scene.height as i32 - top - page::BOTTOM - 8;
        let area = Rect { x: 0, y: top, w: PAGE_WIDTH as i32, h };
        (self.0.draw)(&view, &mut scene, area);
        page::bottom(&mut scene, &view.view, &[plot_area(area)]);
        scene.facts = super::facts(self.title(), material.subject);
        scene.facts.push(super::figures_of(&scene));
        scene
    }
}

/// Draws all pictures of two runs and writes them into `folder`.
pub fn plot_compare(
    material: &CompareMaterial<'_>,
    folder: &dyn Folder,
    options: &PlotOptions,
) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for picture in ComparePicture::all() {
        let scene = picture.draw(material, &options.style);
        written.extend(write_scene(&scene, folder, picture.stem(), options)?);
    }
    Ok(written)
}

/// The answer, and other differences, which come before every difference of a figure.
fn sentences(view: &CompareView<'_>) -> Vec<String> {
    let Some(c) = view.comparison else { return Vec::new() };
    let mut lines = vec![c.answer.text.clone(), c.answer.covers.clone()];
    lines.extend(differences("Plans differ", &c.plan));
    lines.extend(differences("Environments differ", &c.environment));
    lines.extend(c.cautions.first().cloned());
    lines
}

fn differences(name: &str, list: &[Difference]) -> Option<String> {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_string());
    let word = |d: &Difference| format!("{} {} → {}", d.field, value(&d.a), value(&d.b));
    let words: Vec<String> = list.iter().take(3).map(word).collect();
    let more = if list.len() > 3 { format!(" and {} more", list.len() - 3) } else { String::new() };
    (!list.is_empty()).then(|| format!("{name}: {}{more}", words.join("; ")))
}

fn plot_area(area: Rect) -> Rect {
    Rect { x: PLOT_LEFT, y: area.y, w: PLOT_WIDTH, h: area.h - BELOW }
}

/// The grids of both runs on the time base on which the same load aligns, and the name of that base.
fn grids<'a>(view: &CompareView<'a>) -> (&'a CountGrid, &'a CountGrid, &'static str) {
    let (a, b) = (view.a.diagrams, view.b.diagrams);
    if view.a.summary.run.has_timetable && view.b.summary.run.has_timetable {
        (&a.latency_by_due, &b.latency_by_due, "Time when the request was due, since the start of the run")
    } else {
        (&a.latency, &b.latency, "Time of submission since the start of the run")
    }
}

/// One time axis for both, in columns of the coarser grid.
fn time_scale(view: &CompareView<'_>, area: Rect) -> TimeScale {
    let (a, b, _) = grids(view);
    let width = a.axis().width_ns().max(b.axis().width_ns());
    let last = a.axis().end_ns().max(b.axis().end_ns()).max(1);
    let (begin, end) = match view.view.range {
        None => (0, last),
        Some(range) => {
            let begin = range.from_ns.min(last - 1) / width * width;
            let wanted = range.to_ns.div_ceil(width).saturating_mul(width);
            (begin, wanted.clamp(begin + 1, last.max(begin + 1)))
        }
    };
    TimeScale { begin, end, is_number: false, area }
}

/// One scale of latencies for both.
fn latency_scale(view: &CompareView<'_>, plot: Rect) -> LogScale {
    let (a, b, _) = grids(view);
    let sums = [a.marginal(), b.marginal()];
    let lit = |slot: usize| sums.iter().any(|s| s[slot].iter().sum::<u64>() > 0);
    LogScale::new(plot, lit, false)
}

/// Whether there is anything to compare; if not, draws the reason.
fn or_nothing(view: &CompareView<'_>, scene: &mut Scene, area: Rect) -> bool {
    let completed = |run: &RunMaterial<'_>| run.summary.counts.all.completed;
    let any = completed(&view.a) + completed(&view.b) > 0;
    if !any {
        page::nothing(scene, &view.view, plot_area(area), "Nothing to compare: no request completed.");
    }
    any
}

/// A change in percent with its sign; as a factor where percents are too many digits.
fn signed_percent(percent: f64) -> String {
    match percent {
        p if p >= 1e6 => format!("× {:.0e}", 1.0 + p / 100.0),
        p if p >= 1e3 => format!("× {}", units::number(1.0 + p / 100.0)),
        p if p.abs() < 0.000_5 => "0 %".to_string(),
        p => format!("{}{} %", if p < 0.0 { "−" } else { "+" }, units::number(p.abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::signed_percent;

    #[test]
    fn formats_changes_short() {
        let words = [0.0, -20.0, 3.456, 722.0, 7_454.0, 195_432_716.0, f64::INFINITY].map(signed_percent);
        assert_eq!(words[..5], ["0 %", "−20.0 %", "+3.46 %", "+722 %", "× 75.5"]);
        assert!(words.iter().all(|w| w.chars().count() <= 9), "{words:?}");
    }
}
