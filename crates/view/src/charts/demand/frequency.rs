//! How often pages are used, by rank.

use super::super::axes::{self, words};
use super::super::message::Message;
use super::super::{Chart, DemandView, Draw, figures, page, plot_area};
use super::scales::{Direction, LogScale};
use super::{Entry, thinned};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Caption, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::demand::{FrequencyFacts, RankPoint};

pub(in super::super) static CHART: Chart = Chart {
    stem: "g44.freq.bins",
    keywords: &["freq", "frequency"],
    title: "Page frequency: how often the pages of 4 KiB are used, most used first",
    message: Message::Description,
    draw: Draw::Demand(draw),
};

/// Least distance of two labels of markers, in pixels.
const MARKER_ROOM: i32 = 40;

fn draw(view: &DemandView<'_>) -> Scene {
    let facts = &view.demand.facts;
    let mut lines = vec![
        Caption::from(
            "Each request uses every page that it touches once. Marks: fewest pages that hold a share of all accesses.",
        ),
        figures::joined([
            figures::share(
                ("demand.repetitions.page_accesses".into(), facts.repetitions.page_accesses),
                ("demand.frequency.all.accesses".into(), facts.frequency.all.accesses),
            ),
            " of ".into(),
            figures::count("demand.frequency.all.accesses", facts.frequency.all.accesses),
            " accesses go to pages that were used before; ".into(),
            figures::count("demand.repetitions.pages_used_once", facts.repetitions.pages_used_once),
            " pages are used once only".into(),
        ]),
    ];
    let error = facts.sampling.relative_error.pages;
    lines.extend(super::sampled(&facts.sampling, "relative_error.pages", error));
    super::picture(view, &CHART, lines, |scene, area| body(scene, view, area))
}

/// A line of the picture.
struct Curve<'a> {
    name: &'static str,
    /// Its name among the figures.
    key: &'static str,
    color: Rgb,
    points: &'a [(u64, u64)],
    facts: &'a FrequencyFacts,
}

fn body(scene: &mut Scene, view: &DemandView<'_>, area: Rect) {
    let (p, series, facts) = (view.palette, &view.demand.series.rank_frequency, &view.demand.facts.frequency);
    let plot = plot_area(area);
    let plot = Rect { y: plot.y + 18, h: plot.h - 18, ..plot };
    let curves = [
        Curve { name: "all", key: "all", color: p.text, points: &series.all, facts: &facts.all },
        Curve { name: "reads", key: "read", color: p.read, points: &series.read, facts: &facts.read },
        Curve { name: "writes", key: "write", color: p.write, points: &series.write, facts: &facts.write },
    ];
    let most = |f: fn(&(u64, u64)) -> u64| series.all.iter().map(f).max().unwrap_or(0);
    let ranks = LogScale::counts(most(|p| p.0) as f64, plot, Direction::Across);
    let uses = LogScale::counts(most(|p| p.1) as f64, plot, Direction::Up);
    if series.all.is_empty() {
        page::nothing(scene, view, plot, "Nothing to show: no page is used.");
        return;
    }
    ranks.draw(scene, p, "Rank of the page, most used first, log");
    uses.draw(scene, p, "Accesses to the page, log");
    let marked = markers(scene, p, &facts.all, &ranks, plot);
    for curve in &curves {
        let points = curve.points.iter().map(|(rank, n)| (ranks.at(*rank as f64), uses.at(*n as f64)));
        let Some((last, _)) = curve.points.last() else { continue };
        scene.steps(thinned(points), ranks.at(*last as f64) + 1, Stroke::solid(curve.color, 2));
    }
    zipf(scene, p, &curves[0], &ranks, &uses);
    axes::frame(scene, p, plot);
    let mut entries: Vec<Entry> = curves.iter().filter_map(entry).collect();
    if facts.all.zipf_exponent.is_some() {
        entries.push(Entry::line(Stroke::dashed(p.bad, 1), vec!["Zipf fit of all".into()]));
    }
    entries.extend(marked);
    super::legend(scene, p, plot, &entries);
}

/// The fitted power law through the middle of the curve, pixel by pixel.
fn zipf(scene: &mut Scene, p: &Palette, curve: &Curve<'_>, ranks: &LogScale, uses: &LogScale) {
    let Some(exponent) = curve.facts.zipf_exponent else { return };
    let (Some((first, _)), Some((last, _))) = (curve.points.first(), curve.points.last()) else { return };
    // The fit goes through the mean of the logarithms.
    let logs = curve
        .points
        .iter()
        .filter(|(r, n)| *r > 0 && *n > 0)
        .map(|(r, n)| ((*r as f64).ln(), (*n as f64).ln()));
    let (sum_r, sum_n, count) = logs.fold((0.0, 0.0, 0.0), |(a, b, c), (r, n)| (a + r, b + n, c + 1.0));
    let level = |rank: f64| (sum_n / count - exponent * (rank.ln() - sum_r / count)).exp();
    let (from, to) = (ranks.at(*first as f64), ranks.at(*last as f64));
    let origin = ranks.at(0.0);
    let points: Vec<(i32, i32)> = (from..to)
        .map(|x| (x, level(ranks.value(x - origin))))
        .filter(|(_, value)| uses.reaches(*value))
        .map(|(x, value)| (x, uses.at(value)))
        .collect();
    let Some(end) = points.last().map(|(x, _)| x + 1) else { return };
    scene.steps(thinned(points.into_iter()), end, Stroke::dashed(p.bad, 1));
}

fn entry(curve: &Curve<'_>) -> Option<Entry> {
    let facts = curve.facts;
    let path = |field: &str| format!("demand.frequency.{}.{field}", curve.key);
    (facts.distinct_pages > 0).then(|| {
        let mut lines = vec![
            curve.name.into(),
            figures::joined([figures::count(path("distinct_pages"), facts.distinct_pages), " pages".into()]),
            figures::joined([figures::count(path("accesses"), facts.accesses), " accesses".into()]),
        ];
        lines.extend(facts.hottest.first().map(|h| {
            let most = figures::count(path("hottest.0.accesses"), h.accesses);
            figures::joined(["at most ".into(), most, " to one".into()])
        }));
        lines.extend(facts.zipf_exponent.map(|slope| {
            Caption::figure(format!("Zipf slope {}", units::number(slope)), path("zipf_exponent"), slope)
        }));
        Entry::line(Stroke::solid(curve.color, 2), lines)
    })
}

/// Ticks on top at the ranks that hold 1/64 … 1/2 of the accesses, and the words for them.
fn markers(
    scene: &mut Scene,
    p: &Palette,
    facts: &FrequencyFacts,
    ranks: &LogScale,
    plot: Rect,
) -> Option<Entry> {
    let labels: Vec<(usize, u64, RankPoint)> = facts
        .markers
        .iter()
        .enumerate()
        .filter(|(_, m)| m.one_of > 1)
        .filter_map(|(i, m)| Some((i, m.one_of, m.label?)))
        .collect();
    let mut free_from = i32::MIN;
    for (_, one_of, point) in &labels {
        let x = ranks.at(point.rank as f64);
        scene.vertical(x, (plot.y, plot.y + 10), Stroke::solid(p.text, 2));
        scene.vertical(x, (plot.y + 11, plot.bottom() - 1), Stroke::dashed(p.grid, 1));
        if x >= free_from {
            let text = format!("1/{one_of}");
            scene.text(words(text, x, plot.y - 6, 12.0, p, Anchor::Middle));
            free_from = x + MARKER_ROOM;
        }
    }
    let line = |(index, one_of, point): &(usize, u64, RankPoint)| {
        let percent = units::number(point.pages_percent);
        let text =
            format!("1/{one_of}: {} pages ({percent} %), × {:.2}", units::grouped(point.rank), point.speedup);
        let path = |field: &str| format!("demand.frequency.all.markers.{index}.{field}");
        Caption::from(text)
            .of(path("one_of"), *one_of)
            .of(path("label.rank"), point.rank)
            .of(path("label.pages_percent"), point.pages_percent)
            .of(path("label.speedup"), point.speedup)
    };
    let mut lines = vec![Caption::from("share of accesses: pages, speedup")];
    lines.extend(labels.iter().map(line));
    (lines.len() > 1).then(|| Entry::words(lines))
}
