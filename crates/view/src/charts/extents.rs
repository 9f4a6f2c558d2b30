//! Latency against the location on the disk: for each file its map in the colours of the latencies, and beside it every
//! request over its offset in the file. Requests that cross from one fragment into another have a separate colour.

use super::axes::{self, LABEL_SIZE, LogScale, TICK_SIZE, words};
use super::figures::{count, time, time_or_dash};
use super::layout::{AddressAxis, offset_axis};
use super::message::{self, Message};
use super::{BELOW, Chart, Draw, PAGE_WIDTH, PLOT_LEFT, RunView, page};
use crate::fonts::{self, Weight};
use crate::palette::Palette;
use crate::scene::{Anchor, Caption, Fill, Image, Mark, Rect, Scene, Stroke};
use crate::units;
use iosonar_analyze::SLOTS;
use iosonar_analyze::extents::{
    EXTENT_COLUMNS, EXTENT_ROWS, ExtentLatencies, FileLatencies, Jump, LatencyFigures, PlacedLatencies, Spot,
    Sums,
};
use iosonar_plaintext::extents::{fragments, name, sentences, start};
use iosonar_plan::Op;

/// Upper edge of the first file, below the colours.
const TOP: i32 = 158;
/// Height of the title above the plots of a file.
const TITLE: i32 = 68;
/// Left edge of requests over offsets in the file.
const DOTS_LEFT: i32 = 682;
/// Left edge of figures, and right edges of their columns.
const SIDE: i32 = 1196;
const SIDE_COLUMNS: [i32; 3] = [1430, 1504, 1578];
/// Width of either plot: a pixel for each column that was counted.
const WIDTH: i32 = EXTENT_COLUMNS as i32;
/// Maximum files in the picture.
const MOST_FILES: usize = 4;
/// Shades of latencies, beside transparent pixels.
const SHADES: usize = 48;
/// With more borders of fragments, these would hide everything else.
const MOST_BORDERS: usize = 100;

pub(super) static CHART: Chart = Chart {
    stem: "g61.extents",
    keywords: &["extents"],
    title: "Latency and the place on the disk",
    message: Message::Figures(message::fragments),
    draw: Draw::Extents(draw),
};

fn draw(view: &RunView<'_>, found: &ExtentLatencies) -> Scene {
    let (files, others) = chosen(found);
    let pixels = if files.len() == 1 { 2 } else { 1 };
    let each = TITLE + EXTENT_ROWS as i32 * pixels + BELOW + 10;
    let height = TOP + each * files.len().max(1) as i32 + page::BOTTOM;
    let mut scene = Scene::new(PAGE_WIDTH, height as u32, view.palette.background);
    page::head(&mut scene, view, CHART.title);
    let shades = Shades::of(&files);
    let lit = lit_slots(&files);
    key(&mut scene, view.palette, &shades, others);
    let plots: Vec<Rect> = files
        .iter()
        .enumerate()
        .map(|(place, (number, file))| {
            let y = TOP + TITLE + each * place as i32;
            let plot = Rect { x: PLOT_LEFT, y, w: WIDTH, h: EXTENT_ROWS as i32 * pixels };
            let sheet = Sheet { p: view.palette, file, number: *number, op: file.shown(), plot };
            sheet.draw(&mut scene, &shades, &lit, pixels);
            Rect { x: DOTS_LEFT, ..plot }
        })
        .collect();
    if files.is_empty() {
        let plot = Rect { x: PLOT_LEFT, y: TOP, w: WIDTH, h: EXTENT_ROWS as i32 };
        page::nothing(&mut scene, view, plot, "Nothing to show: no request completed on a file with a map.");
    }
    if view.range.is_some() {
        page::range_note(&mut scene, view);
    }
    scene.counted = None;
    page::bottom(&mut scene, view, &plots);
    scene
}

/// Files with requests, those with most fragments first, each with its index among all; and how many others have some.
fn chosen(found: &ExtentLatencies) -> (Vec<(usize, &FileLatencies)>, usize) {
    let mut files = found.most_fragmented();
    files.retain(|(_, file)| file.of(file.shown()).all.figures().is_some());
    let others = files.len().saturating_sub(MOST_FILES);
    files.truncate(MOST_FILES);
    (files, others)
}

/// Which slots of the latency have requests in any of the files: all have one scale.
fn lit_slots(files: &[(usize, &FileLatencies)]) -> Vec<bool> {
    let mut lit = vec![false; SLOTS];
    let slots = files.iter().flat_map(|(_, file)| file.of(file.shown()).over_offset.keys());
    slots.for_each(|(_, slot, _)| lit[usize::from(*slot)] = true);
    lit
}

/// Shades from the least to the greatest mean latency of a cell, on a logarithmic scale.
struct Shades {
    least_ns: f64,
    most_ns: f64,
}

impl Shades {
    fn of(files: &[(usize, &FileLatencies)]) -> Shades {
        let cells =
            || files.iter().flat_map(|(_, file)| file.of(file.shown()).cells.values().map(Sums::mean_ns));
        let least_ns = cells().fold(f64::INFINITY, f64::min).clamp(1.0, 1e15);
        // At least a factor of two: else differences of a few percent would have all colours.
        Shades { least_ns, most_ns: cells().fold(0.0, f64::max).max(least_ns * 2.0) }
    }

    /// Index of the shade, from 1.
    fn index(&self, ns: f64) -> u8 {
        let share = (ns.max(1.0) / self.least_ns).ln() / (self.most_ns / self.least_ns).ln();
        1 + (share.clamp(0.0, 1.0) * (SHADES - 1) as f64).round() as u8
    }

    fn colors(p: &Palette) -> Vec<crate::palette::Rgb> {
        // The palest shades would be invisible as lines.
        let shade = |n: usize| p.shade(0.2 + 0.8 * n as f64 / (SHADES - 1) as f64);
        [p.background].into_iter().chain((0..SHADES).map(shade)).collect()
    }
}

/// Draws the meaning of colours and dots.
fn key(scene: &mut Scene, p: &'static Palette, shades: &Shades, others: usize) {
    scene.text(words("mean latency", PLOT_LEFT, 112, LABEL_SIZE, p, Anchor::Start));
    let bar = Rect { x: PLOT_LEFT + 100, y: 100, w: 384, h: 14 };
    for (n, color) in Shades::colors(p)[1..].iter().enumerate() {
        let w = bar.w / SHADES as i32;
        scene.area(Rect { x: bar.x + n as i32 * w, w, ..bar }, Fill::Solid(*color));
    }
    for (share, path) in [(0.0, "least"), (0.5, "middle"), (1.0, "most")] {
        let ns = (shades.least_ns * (shades.most_ns / shades.least_ns).powf(share)).round() as u64;
        let x = bar.x + (f64::from(bar.w) * share) as i32;
        let text = time(format!("picture.shades.{path}_ns"), ns);
        scene.text(words(text, x, bar.bottom() + 15, TICK_SIZE, p, Anchor::Middle));
    }
    let mut x = DOTS_LEFT;
    for (color, text) in [(p.read, "request"), (p.write, "request across fragments")] {
        page::swatch(scene, color, x, 112);
        let text = words(text, x + 20, 112, LABEL_SIZE, p, Anchor::Start);
        x = text.bounds().right() + 26;
        scene.text(text);
    }
    if others > 0 {
        let text = Caption::figure(
            format!("{others} files with fewer fragments are not drawn"),
            "picture.other_files",
            others,
        );
        scene.text(words(text, DOTS_LEFT, 132, LABEL_SIZE, p, Anchor::Start));
    }
}

/// A file and its position in the picture.
struct Sheet<'a> {
    p: &'static Palette,
    file: &'a FileLatencies,
    /// Its index among all files with a map.
    number: usize,
    op: Op,
    /// Addresses over offsets in the file.
    plot: Rect,
}

impl Sheet<'_> {
    fn latencies(&self) -> &PlacedLatencies {
        self.file.of(self.op)
    }

    fn draw(&self, scene: &mut Scene, shades: &Shades, lit: &[bool], pixels: i32) {
        self.title(scene);
        self.map(scene, shades, pixels);
        self.dots(scene, lit);
        self.side(scene);
    }

    fn title(&self, scene: &mut Scene) {
        let y = self.plot.y - TITLE + 14;
        let mut title = words(
            fonts::fit(&name(self.file), 15.0, Weight::Bold, 1000.0),
            PLOT_LEFT,
            y,
            15.0,
            self.p,
            Anchor::Start,
        );
        title.weight = Weight::Bold;
        scene.text(title);
        for (sentence, y) in sentences(self.latencies()).iter().zip([y + 20, y + 38]) {
            let text = fonts::fit(sentence, LABEL_SIZE, Weight::Regular, 1466.0);
            scene.text(words(text, PLOT_LEFT, y, LABEL_SIZE, self.p, Anchor::Start));
        }
    }

    fn x(&self, offset: u64) -> i32 {
        let share = offset as f64 / self.file.map.size.max(1) as f64;
        (share * f64::from(WIDTH)) as i32
    }

    /// Draws each part of a request at its address, in the colour of the mean latency there.
    fn map(&self, scene: &mut Scene, shades: &Shades, pixels: i32) {
        let (p, plot) = (self.p, self.plot);
        offset_axis(scene, p, plot, self.file.map.size, |offset| self.x(offset));
        self.addresses(scene);
        let mut image = image(plot, Shades::colors(p));
        for ((column, row), sums) in &self.latencies().cells {
            let y = plot.h - pixels * (i32::from(*row) + 1);
            let color = shades.index(sums.mean_ns());
            dot(&mut image, i32::from(*column) - 1, y - 1, 3, pixels + 3, color);
        }
        scene.marks.push(Mark::Image(image));
        axes::frame(scene, p, plot);
    }

    /// Draws grid and ticks of addresses, counted from the first one if they would all look alike.
    fn addresses(&self, scene: &mut Scene) {
        let (p, plot) = (self.p, self.plot);
        let range = self.file.placed.addresses();
        let span = (range.end - range.start).max(1);
        let axis = AddressAxis::of(range.start..range.start + span);
        axis.draw(scene, p, plot, |address| {
            let share = (address - range.start) as f64 / span as f64;
            plot.h - 1 - (share * f64::from(plot.h - 1)) as i32
        });
        let label = match axis.base {
            0 => "address".to_string(),
            base => format!("address from {} on", units::bytes(base)),
        };
        axes::axis_label(scene, p, plot, &label);
    }

    /// Draws every request over its offset in the file, and the borders of fragments if there are few.
    fn dots(&self, scene: &mut Scene, lit: &[bool]) {
        let p = self.p;
        let plot = Rect { x: DOTS_LEFT, ..self.plot };
        let counts = &self.latencies().over_offset;
        let scale = LogScale::new(plot, |slot| lit[slot], false);
        offset_axis(scene, p, plot, self.file.map.size, |offset| self.x(offset));
        scale.draw_at(scene, p, "< 1 µs");
        let mut label =
            words("latency, log", plot.x - 62, plot.y + plot.h / 2, LABEL_SIZE, p, Anchor::Middle);
        label.upright = true;
        scene.text(label);
        let fragments = self.file.placed.fragments();
        let border = Stroke::solid(p.grid.mix(p.axis, 0.3), 1);
        if fragments.len() <= MOST_BORDERS {
            for fragment in fragments.iter().skip(1) {
                let x = plot.x + self.x(fragment.offset);
                scene.vertical(x, (plot.y, plot.bottom() - 1), border);
            }
        }
        let mut image = image(plot, [p.background].into_iter().chain(density(p)).chain([p.write]).collect());
        let mut keys: Vec<_> = counts.iter().collect();
        // Requests across fragments come last, so that nothing hides them.
        keys.sort_by_key(|((column, slot, across), _)| (*across, *column, *slot));
        for ((column, slot, across), n) in keys {
            let (x, y) = (i32::from(*column), scale.slot_y((*slot).into()) - plot.y);
            match across {
                true => dot(&mut image, x - 1, y - 1, 3, 3, 1 + DENSITIES as u8),
                false => dot(&mut image, x, y, 2, 2, (n.ilog2() as usize).min(DENSITIES - 1) as u8 + 1),
            }
        }
        scene.marks.push(Mark::Image(image));
        axes::frame(scene, p, plot);
    }

    /// Figures by place.
    fn side(&self, scene: &mut Scene) {
        let (p, of) = (self.p, self.latencies());
        let mut y = self.plot.y + 4;
        let mut title = words(fragments(self.file), SIDE, y, 16.0, p, Anchor::Start);
        title.weight = Weight::Bold;
        title.figures = count(self.path("fragments"), self.file.map.figures.fragments).figures;
        scene.text(title);
        let (kind, other) = match self.op {
            Op::Write => ("writes", (&self.file.reads, "reads")),
            _ => ("reads", (&self.file.writes, "writes")),
        };
        if let Some(not_drawn) = other.0.all.figures() {
            let text = count(self.path("not_drawn"), not_drawn.requests);
            let text = Caption { text: format!("{} {} are not drawn", text.text, other.1), ..text };
            scene.text(words(text, SIDE_COLUMNS[2], y, TICK_SIZE, p, Anchor::End));
        }
        y += 24;
        for (word, x) in [kind, "median", "p99"].into_iter().zip(SIDE_COLUMNS) {
            let mut text = words(word, x, y, TICK_SIZE, p, Anchor::End);
            text.color = p.faint_text;
            scene.text(text);
        }
        let spots =
            Spot::ALL.map(|spot| (spot.words().to_string(), self.key("by_place", spot), of.at_spot(spot)));
        let jumps = Jump::ALL.map(|jump| (start(jump), self.key("by_start", jump), of.at_jump(jump)));
        let all = ("all".to_string(), self.path("all"), of.all.figures());
        for (name, path, figures) in [all].into_iter().chain(spots).chain(jumps) {
            let Some(figures) = figures else { continue };
            y += 18;
            self.row(scene, y, &name, &path, &figures);
        }
    }

    fn path(&self, of: &str) -> String {
        format!("picture.files.{}.{}.{of}", self.number, self.op.name())
    }

    fn key(&self, of: &str, what: impl serde::Serialize) -> String {
        let word = serde_json::to_value(what).ok().and_then(|word| word.as_str().map(String::from));
        self.path(&format!("{of}.{}", word.unwrap_or_default()))
    }

    /// Draws a name, and its figures.
    fn row(&self, scene: &mut Scene, y: i32, name: &str, path: &str, figures: &LatencyFigures) {
        let p = self.p;
        scene.text(words(name, SIDE, y, TICK_SIZE, p, Anchor::Start));
        let cells = [
            count(format!("{path}.requests"), figures.requests),
            time(format!("{path}.p50_ns"), figures.p50_ns),
            time_or_dash(format!("{path}.p99_ns"), figures.p99_ns),
        ];
        for (cell, x) in cells.into_iter().zip(SIDE_COLUMNS) {
            scene.text(words(cell, x, y, TICK_SIZE, p, Anchor::End));
        }
    }
}

/// Shades of the number of requests in one pixel.
const DENSITIES: usize = 5;

fn density(p: &Palette) -> impl Iterator<Item = crate::palette::Rgb> {
    (0..DENSITIES).map(|n| p.background.mix(p.read, 0.35 + 0.65 * n as f64 / (DENSITIES - 1) as f64))
}

fn image(plot: Rect, palette: Vec<crate::palette::Rgb>) -> Image {
    let (width, height) = (plot.w as u32, plot.h as u32);
    let pixels = vec![0; (plot.w * plot.h) as usize];
    Image { x: plot.x, y: plot.y, width, height, pixels, palette }
}

/// Draws a small rectangle, clipped to the image. Where two overlap, the greater index is seen.
fn dot(image: &mut Image, x: i32, y: i32, w: i32, h: i32, color: u8) {
    let (right, bottom) = ((x + w).min(image.width as i32), (y + h).min(image.height as i32));
    for row in y.max(0)..bottom {
        for column in x.max(0)..right {
            let pixel = &mut image.pixels[(row * image.width as i32 + column) as usize];
            *pixel = color.max(*pixel);
        }
    }
}
