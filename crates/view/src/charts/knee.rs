//! A rising demand, the delivered rate and the delays: with the knee marked.

use super::axes::{self, LinearScale, LogScale, NumberScale, TICK_SIZE, TimeScale, words};
use super::{BELOW, PAGE_HEIGHT, PAGE_WIDTH, PLOT_LEFT, PLOT_WIDTH, SIDE_LEFT, Subject, View, figures, page};
use crate::fonts::Weight;
use crate::palette::Palette;
use crate::plot::{Folder, PlotOptions, write_scene};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke};
use crate::svg::svg;
use crate::{Style, Theme, units};
use iosonar_analyze::knee::{KneeVerdict, Piece, RampRow, RowTimes};
use iosonar_analyze::row_of;
use std::io;
use std::path::PathBuf;

/// A ramp, and its verdict.
#[derive(Clone, Copy)]
pub struct KneeMaterial<'a> {
    /// The words around the picture.
    pub subject: &'a Subject,
    /// The headline of its story: the title, above the verdict. `None` on a page, which has both as text.
    pub headline: Option<&'a str>,
    /// The verdict.
    pub verdict: &'a KneeVerdict,
    /// Demanded and delivered requests. The demand rises from row to row.
    pub rows: &'a [RampRow],
    /// Whether the demand rose by the same factor in each second, and not by the same amount.
    pub is_exponential: bool,
}

/// File name without extension.
const STEM: &str = "knee";
const TITLE: &str = "Requests done and delay over a rising rate";

/// Draws the picture into `folder`; returns the files.
pub fn plot_knee(
    material: &KneeMaterial<'_>,
    folder: &dyn Folder,
    options: &PlotOptions,
) -> io::Result<Vec<PathBuf>> {
    write_scene(&draw_knee(material, &options.style), folder, STEM, options)
}

/// The picture as SVG for a page, without the words that the page has as text.
pub fn knee_svg(material: &KneeMaterial<'_>, theme: Theme) -> String {
    let subject = material.subject.of_page();
    let material = KneeMaterial { subject: &subject, headline: None, ..*material };
    let mut scene = draw_knee(&material, &Style { theme, ..Style::default() });
    page::cut_bottom(&mut scene);
    svg(&scene)
}

/// The verdict in sentences; their figures are named as in `knee.json`.
fn captions(verdict: &KneeVerdict) -> Vec<Caption> {
    let caption = |piece: Piece| match piece.figure {
        Some((name, value)) => Caption::figure(piece.text, format!("verdict.{name}"), value),
        None => piece.text.into(),
    };
    verdict
        .sentences()
        .into_iter()
        .map(|sentence| figures::joined(sentence.0.into_iter().map(caption)))
        .collect()
}

fn draw_knee(material: &KneeMaterial<'_>, style: &Style) -> Scene {
    let all = super::Material { subject: material.subject, run: None, demand: None };
    let message = material.headline.map(Caption::from);
    let view = View::new(&all, style).with_message(message.as_ref());
    let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, view.palette.background);
    page::head(&mut scene, &view, TITLE);
    let top = match material.headline {
        Some(_) => draw_verdict(&mut scene, material.verdict, view.palette),
        None => 104,
    };
    let height = scene.height as i32 - top - page::BOTTOM - 8 - BELOW;
    let upper = Rect { x: PLOT_LEFT, y: top, w: PLOT_WIDTH, h: height * 9 / 20 };
    let lower = Rect { y: upper.bottom() + 18, h: height - upper.h - 18, ..upper };
    if material.rows.is_empty() {
        page::nothing(&mut scene, &view, upper, "Nothing to show: nothing was requested.");
    } else {
        let drawing = Drawing { view, material, x: X::of(material, lower) };
        drawing.rates(&mut scene, upper);
        drawing.times(&mut scene, lower);
    }
    page::bottom(&mut scene, &view, &[upper, lower]);
    scene.facts = super::facts(TITLE, material.subject);
    scene.facts.push(super::figures_of(&scene));
    scene
}

/// Writes the verdict below the title, and makes the picture higher if it needs more than three lines. Returns where the plots start.
fn draw_verdict(scene: &mut Scene, verdict: &KneeVerdict, p: &'static Palette) -> i32 {
    let wrapped = |line: Caption| line.wrapped(14.0, Weight::Bold, 1460.0);
    let lines: Vec<Caption> = captions(verdict).into_iter().flat_map(wrapped).collect();
    let higher = 19 * lines.len().saturating_sub(3) as i32;
    scene.height += higher as u32;
    for (i, line) in lines.into_iter().enumerate() {
        let mut text = words(line, PLOT_LEFT, 104 + 19 * i as i32, 14.0, p, Anchor::Start);
        text.weight = if i == 0 { Weight::Bold } else { Weight::Regular };
        scene.text(text);
    }
    172 + higher
}

/// Axis of the demand.
enum X {
    Linear(TimeScale),
    Logarithmic(NumberScale),
}

impl X {
    fn of(material: &KneeMaterial<'_>, area: Rect) -> X {
        let demand = |row: Option<&RampRow>| row.map_or(0.0, RampRow::demand_per_second);
        let (first, last) = (demand(material.rows.first()), demand(material.rows.last()));
        let (begin, end) = (first.max(0.0) as u64, last.ceil() as u64 + 1);
        match material.is_exponential {
            true => X::Logarithmic(NumberScale::new(begin, end, area)),
            false => X::Linear(TimeScale { begin, end: end.max(begin + 1), is_number: true, area }),
        }
    }

    fn at(&self, demand: f64) -> i32 {
        match self {
            // Finer than whole numbers, which may be few.
            X::Linear(scale) => {
                let share = (demand - scale.begin as f64) / (scale.end - scale.begin) as f64;
                scale.area.x + (share.clamp(0.0, 1.0) * f64::from(scale.area.w)).round() as i32
            }
            X::Logarithmic(scale) => scale.x(demand.round().max(0.0) as u64),
        }
    }
}

struct Drawing<'a> {
    view: View<'a>,
    material: &'a KneeMaterial<'a>,
    x: X,
}

impl Drawing<'_> {
    /// Left end and level of each row, without rows after which the demand did not rise.
    fn points(&self, y: impl Fn(&RampRow) -> Option<i32>) -> Vec<(i32, i32)> {
        let mut points: Vec<(i32, i32)> = Vec::new();
        for row in self.material.rows {
            let Some(y) = y(row) else { continue };
            let x = self.x.at(row.demand_per_second());
            if points.last().is_none_or(|last| last.0 < x) {
                points.push((x, y));
            }
        }
        points
    }

    fn rates(&self, scene: &mut Scene, plot: Rect) {
        let (p, rows) = (self.view.palette, self.material.rows);
        let rates = rows.iter().flat_map(|row| [row.demand_per_second(), row.delivered_per_second()]);
        let scale = LinearScale::new(rates.fold(1.0, f64::max), plot);
        if let X::Linear(x) = &self.x {
            x.within(plot).draw_grid(scene, p);
        }
        scale.draw(scene, p, "Requests per second", |value| {
            if value >= 1000.0 { units::grouped(value as u64) } else { units::plain(value) }
        });
        if let KneeVerdict::Found(knee) = self.material.verdict {
            let (top, bottom) = (scale.y(knee.high_per_second), scale.y(knee.low_per_second));
            let band = Rect { x: plot.x, y: top, w: plot.w, h: (bottom - top).max(1) };
            scene.area(band, Fill::Solid(p.background.mix(p.bad, 0.18)));
            let y = scale.y(knee.sustained_per_second);
            scene.horizontal(y, (plot.x, plot.right() - 1), Stroke::dashed(p.bad, 1));
        }
        let demanded = self.points(|row| Some(scale.y(row.demand_per_second())));
        scene.steps(demanded, plot.right(), Stroke::solid(p.demanded, 2));
        let delivered = self.points(|row| Some(scale.y(row.delivered_per_second())));
        scene.steps(delivered, plot.right(), Stroke::solid(p.actual, 2));
        axes::frame(scene, p, plot);
        self.mark(scene, plot, true);
        let keys = [("wanted", Stroke::solid(p.demanded, 2)), ("done", Stroke::solid(p.actual, 2))];
        self.keys(scene, plot, &keys);
    }

    fn times(&self, scene: &mut Scene, plot: Rect) {
        let (p, rows) = (self.view.palette, self.material.rows);
        let of = |row: &RampRow| [row.delay, row.response];
        let all = rows.iter().flat_map(of).flatten().flat_map(|t: RowTimes| [t.p50_ns, t.p99_ns]);
        let slots: Vec<usize> = all.map(|ns| row_of(ns).slot()).collect();
        if slots.is_empty() {
            page::nothing(scene, &self.view, plot, "Nothing to show: no request was submitted.");
            return;
        }
        match &self.x {
            X::Linear(x) => x.draw(scene, p, Some("Wanted requests per second")),
            X::Logarithmic(x) => x.draw(scene, p, "Wanted requests per second, log"),
        }
        let scale = LogScale::new(plot, |slot| slots.contains(&slot), false);
        scale.draw(scene, p, "on time", "Time from when a request was due, log");
        let height = |ns: u64| match ns {
            // Requests on time: in the middle of the strip.
            0..1_000 => plot.bottom() - 10,
            ns => scale.y_clamped(ns),
        };
        let delay = Stroke::solid(p.text, 2);
        let tail = Stroke::dashed(p.text, 2);
        let response = Stroke::solid(p.read, 2);
        scene.steps(self.points(|row| Some(height(row.response?.p50_ns))), plot.right(), response);
        scene.steps(self.points(|row| Some(height(row.delay?.p99_ns))), plot.right(), tail);
        scene.steps(self.points(|row| Some(height(row.delay?.p50_ns))), plot.right(), delay);
        axes::frame(scene, p, plot);
        self.mark(scene, plot, false);
        let keys = [
            ("response (due → done), median", response),
            ("delay (due → submission), median", delay),
            ("delay, 99th percentile", tail),
        ];
        self.keys(scene, plot, &keys);
    }

    /// Draws the sustained demand, and its interval.
    fn mark(&self, scene: &mut Scene, plot: Rect, is_named: bool) {
        let KneeVerdict::Found(knee) = self.material.verdict else { return };
        if knee.from_the_start {
            return;
        }
        let p = self.view.palette;
        let [low, x, high] = [knee.low_per_second, knee.sustained_per_second, knee.high_per_second]
            .map(|rate| self.x.at(rate));
        for end in [low, high] {
            scene.vertical(end, (plot.y, plot.bottom() - 1), Stroke::dashed(p.bad, 1));
        }
        scene.vertical(x, (plot.y, plot.bottom() - 1), Stroke::solid(p.bad, 2));
        if is_named {
            let sustained = knee.sustained_per_second;
            let sustained =
                Caption::figure(units::request_rate(sustained), "verdict.sustained_per_second", sustained);
            let text = figures::joined(["knee ".into(), sustained, "/s".into()]);
            let mut text = words(text, x.min(low) - 8, plot.y + 16, TICK_SIZE + 1.0, p, Anchor::End);
            if text.bounds().x < plot.x {
                (text.anchor, text.x) = (Anchor::Start, x.max(high) + 8);
            }
            (text.weight, text.color) = (Weight::Bold, p.bad);
            scene.text(text);
        }
    }

    fn keys(&self, scene: &mut Scene, plot: Rect, keys: &[(&str, Stroke)]) {
        for (i, (name, stroke)) in keys.iter().enumerate() {
            let y = plot.y + 16 + 20 * i as i32;
            scene.horizontal(y - 4, (SIDE_LEFT, SIDE_LEFT + 24), *stroke);
            scene.text(words(*name, SIDE_LEFT + 32, y, 13.0, self.view.palette, Anchor::Start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::knee::{Doubt, find_knee};

    /// Rows of a target with 1000 requests/s, and a demand from 0 to `most` in 100 rows of 100 ms.
    fn rows(most: f64) -> Vec<RampRow> {
        let mut done = (0.0f64, 0u64);
        let row = |i: u64| {
            let demand = most * (i as f64 + 0.5) / 100.0;
            let late = ((demand - 1000.0).max(0.0) * 1e6) as u64;
            // Whole requests, without losing parts of them.
            done.0 += demand.min(1000.0) / 10.0;
            let delivered = done.0 as u64 - done.1;
            done.1 += delivered;
            RampRow {
                from_ns: i * 100_000_000,
                to_ns: (i + 1) * 100_000_000,
                demanded: demand / 10.0,
                delivered,
                failed: 0,
                delay: Some(RowTimes { p50_ns: late, p99_ns: late * 2 }),
                response: Some(RowTimes { p50_ns: late + 900_000, p99_ns: late + 2_000_000 }),
            }
        };
        (0..100).map(row).collect()
    }

    #[test]
    fn page_has_the_picture_without_its_words() {
        let subject = Subject {
            what: "dev".into(),
            command: "iosonar knee".into(),
            stamps: vec!["SIMULATED".into()],
            ..Subject::default()
        };
        let rows = rows(2000.0);
        let verdict = find_knee(&rows);
        let headline = Some("Sustains 1 000 reads/s.");
        let material = KneeMaterial {
            subject: &subject,
            headline,
            verdict: &verdict,
            rows: &rows,
            is_exponential: false,
        };
        let whole = svg(&draw_knee(&material, &Style::default()));
        let part = knee_svg(&material, Theme::Light);
        for words in ["Sustains 1 000", ">sustains ", "iosonar knee", "No cautions."] {
            assert!(whole.contains(words) && !part.contains(words), "{words}: {part}");
        }
        for words in [TITLE, "SIMULATED", "dev<", "wanted"] {
            assert!(whole.contains(words) && part.contains(words), "{words}: {part}");
        }
    }

    #[test]
    fn text_never_overlaps_or_leaves_the_picture() {
        let subject = Subject { what: "dev".into(), how: "sim".into(), ..Subject::default() };
        let unclear = KneeVerdict::Unclear { why: Doubt::Unsteady, at_least_per_second: Some(7.0) };
        for (rows, forced) in
            [(rows(2000.0), None), (rows(700.0), None), (rows(9.0), Some(unclear)), (Vec::new(), None)]
        {
            let verdict = forced.unwrap_or_else(|| find_knee(&rows));
            let headline = "Sustains 58 200 random 4 KiB reads/s (55 900 to 60 400) with 8 in flight.";
            for is_exponential in [false, true] {
                let material = KneeMaterial {
                    subject: &subject,
                    headline: Some(headline),
                    verdict: &verdict,
                    rows: &rows,
                    is_exponential,
                };
                let scene = draw_knee(&material, &Style::default());
                assert_eq!(scene.texts().next().unwrap().text, headline);
                let boxes: Vec<(Rect, &str)> = scene.texts().map(|t| (t.bounds(), t.text.as_str())).collect();
                for (i, (a, text)) in boxes.iter().enumerate() {
                    assert!(a.x >= 0 && a.right() <= scene.width as i32, "{text}");
                    assert!(a.y >= 0 && a.bottom() <= scene.height as i32, "{text}");
                    let other = boxes[i + 1..].iter().find(|(b, _)| a.overlaps(b));
                    assert!(other.is_none(), "{text} {other:?}");
                }
            }
        }
    }
}
