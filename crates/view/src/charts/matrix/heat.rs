//! Heat map: one rectangle for each file and record, coloured by throughput.

use super::super::axes::{self, TICK_SIZE, words};
use super::super::{PAGE_WIDTH, PLOT_LEFT};
use super::change;
use super::{MatrixGrid, Plateau, Sheet, Speeds, TOP, color_key, is_free, size, speed};
use crate::Theme;
use crate::fonts::{self, Weight};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Cell, Fill, Mark, Rect, Scene, Stroke, Text, hatch_lines};
use crate::svg::svg;

/// Width of brackets beside the rows, with their words.
const BESIDE: i32 = 236;
/// Maximum width and height of a cell.
const MOST: (i32, i32) = (180, 90);

/// The link of a cell, by the indices of its file and its record.
type Link<'a> = &'a dyn Fn(usize, usize) -> Option<String>;

/// The picture.
pub(super) fn draw(sheet: &Sheet<'_>) -> Scene {
    sheet.picture("throughput over the size of the file and of the record", |scene| {
        if sheet.grid.measured().next().is_none() {
            return sheet.nothing(scene);
        }
        let p = sheet.view.palette;
        sheet.key(scene, PLOT_LEFT);
        if sheet.grid.has_noise() {
            noise_key(scene, p, TOP - 6);
        }
        let beside = if sheet.has_plateaus { BESIDE } else { 0 };
        let width = PAGE_WIDTH as i32 - 24 - beside - PLOT_LEFT;
        let room = Rect { x: PLOT_LEFT, y: TOP, w: width, h: sheet.height() };
        vec![Heat::new(sheet.grid, Scale::Speeds(sheet.speeds), p, room).draw(scene, &|_, _| None)]
    })
}

/// The heat map of a grid as SVG for a page. `range`: the least and the greatest throughput of the colours, in bytes per
/// second, as returned by [`super::matrix_range`]. `link`: the link of a cell, by the indices of its file and its record.
pub fn heat_svg(
    grid: &MatrixGrid,
    range: (f64, f64),
    theme: Theme,
    link: &dyn Fn(usize, usize) -> Option<String>,
) -> String {
    let (p, speeds) = (theme.palette(), Speeds::new(range));
    let beside = if grid.plateaus.is_empty() { 12 } else { BESIDE };
    let (columns, rows) = (grid.records.len().max(1) as i32, grid.files.len().max(1) as i32);
    let (w, h) = ((columns * MOST.0).min(1100 - PLOT_LEFT - beside), rows * 34);
    let top = if grid.has_noise() { 56 + 22 } else { 56 };
    let room = Rect { x: PLOT_LEFT, y: top, w, h: h.clamp(68, 1200) };
    // The key is wider than a map of a few records.
    let width = (room.right() + beside).max(PLOT_LEFT + 520 + 12);
    let height = room.bottom() + super::super::BELOW;
    let mut scene = Scene::new(width as u32, height as u32, p.background);
    scene.facts = vec![("Title".to_string(), format!("{}: throughput in MiB/s", grid.title))];
    color_key(&mut scene, p, &speeds, Rect { x: PLOT_LEFT, y: 10, w: 500, h: 14 });
    if grid.has_noise() {
        noise_key(&mut scene, p, top - 10);
    }
    Heat::new(grid, Scale::Speeds(speeds), p, room).draw(&mut scene, link);
    svg(&scene)
}

/// Draws what hatched cells mean, on the base line `y`.
fn noise_key(scene: &mut Scene, p: &Palette, y: i32) {
    let (area, color) = (Rect { x: PLOT_LEFT, y: y - 11, w: 24, h: 13 }, p.shade(0.5));
    scene.area(area, Fill::Solid(color));
    for line in hatch_lines(area) {
        scene.polyline(line.to_vec(), Stroke::solid(hatch_of(color), 1));
    }
    let text = "hatched: its repetitions vary more than the cells differ";
    scene.text(words(text, area.right() + 8, y, TICK_SIZE, p, Anchor::Start));
}

/// Colour of the lines on a cell.
fn hatch_of(color: Rgb) -> Rgb {
    // That of the edges of its words: a picture with many cells keeps its palette.
    color.mix(color.ink(), 2.0 / 3.0)
}

/// Meaning of the colours and the words of cells.
#[derive(Clone, Copy)]
pub(super) enum Scale<'a> {
    /// A throughput.
    Speeds(Speeds),
    /// A ratio of two throughputs. Cells without a shown difference look different.
    Changes(&'a dyn Fn(usize, usize) -> bool),
}

impl Scale<'_> {
    fn color(&self, p: &Palette, file: usize, record: usize, value: f64) -> Rgb {
        match self {
            Scale::Speeds(speeds) => p.shade(speeds.share(value)),
            Scale::Changes(is_shown) => change::color(p, value, is_shown(file, record)),
        }
    }

    fn text(&self, value: f64) -> String {
        match self {
            Scale::Speeds(_) => speed(value),
            Scale::Changes(_) => change::percent(value),
        }
    }

    fn hint(&self, value: f64) -> String {
        match self {
            Scale::Speeds(_) => format!("{} MiB/s", speed(value)),
            Scale::Changes(_) => change::percent(value),
        }
    }
}

pub(super) struct Heat<'a> {
    grid: &'a MatrixGrid,
    scale: Scale<'a>,
    palette: &'static Palette,
    plot: Rect,
}

impl<'a> Heat<'a> {
    /// Places the map in the upper left of `room`, as large as the cell limit allows.
    pub(super) fn new(
        grid: &'a MatrixGrid,
        scale: Scale<'a>,
        palette: &'static Palette,
        room: Rect,
    ) -> Heat<'a> {
        let (w, h) = (MOST.0 * grid.records.len() as i32, MOST.1 * grid.files.len() as i32);
        Heat { grid, scale, palette, plot: Rect { w: room.w.min(w), h: room.h.min(h), ..room } }
    }

    /// Area of a cell; large cells are separated by a line of the background.
    fn cell(&self, file: usize, record: usize) -> Rect {
        let (x, right) = self.columns(record);
        let (y, bottom) = self.rows(file);
        let gap = |length: i32| i32::from(length > 5);
        Rect { x, y, w: (right - x - gap(right - x)).max(1), h: (bottom - y - gap(bottom - y)).max(1) }
    }

    fn columns(&self, record: usize) -> (i32, i32) {
        let edge = |i: usize| self.plot.x + part(self.plot.w, i, self.grid.records.len());
        (edge(record), edge(record + 1))
    }

    /// From above; the smallest file is lowest.
    fn rows(&self, file: usize) -> (i32, i32) {
        let edge = |i: usize| self.plot.bottom() - part(self.plot.h, i, self.grid.files.len());
        (edge(file + 1), edge(file))
    }

    pub(super) fn draw(&self, scene: &mut Scene, link: Link<'_>) -> Rect {
        let size = self.text_size();
        for (file, record, value) in self.grid.measured() {
            let cell = self.mark(file, record, value, size, link);
            scene.marks.push(Mark::Cell(cell));
        }
        axes::frame(scene, self.palette, self.plot);
        self.file_axis(scene);
        self.record_axis(scene);
        self.plateaus(scene);
        self.plot
    }

    /// The largest size at which every figure fits its cell; `None` if even the smallest is too large.
    fn text_size(&self) -> Option<f64> {
        let wide = |v: f64, size| fonts::width(&self.scale.text(v), size, Weight::Regular).ceil() as i32;
        let fits = |size: &f64| {
            self.grid.measured().all(|(file, record, value)| {
                let cell = self.cell(file, record);
                wide(value, *size) + 8 <= cell.w && (size * 1.04).ceil() as i32 + 3 <= cell.h
            })
        };
        [14.0, 13.0, 12.0, 11.0, 10.0].into_iter().find(fits)
    }

    fn mark(&self, file: usize, record: usize, value: f64, text: Option<f64>, link: Link<'_>) -> Cell {
        let (area, color) = (self.cell(file, record), self.scale.color(self.palette, file, record, value));
        let label = text.map(|size| {
            let (x, y) = (area.x + area.w / 2, area.y + area.h / 2 + (size * 0.36).round() as i32);
            Text {
                color: color.ink(),
                ..words(self.scale.text(value), x, y, size, self.palette, Anchor::Middle)
            }
        });
        let (file_size, record_size) = (self.grid.files[file], self.grid.records[record]);
        let is_noisy = self.grid.is_noisy(file, record);
        Cell {
            area,
            color,
            key: format!("{file_size}:{record_size}"),
            value,
            hint: format!(
                "file {}, record {}: {}{}",
                size(file_size),
                size(record_size),
                self.scale.hint(value),
                if is_noisy { "; varies more than the cells differ" } else { "" }
            ),
            hatch: is_noisy.then(|| hatch_of(color)),
            link: link(file, record),
            label,
        }
    }

    fn file_axis(&self, scene: &mut Scene) {
        let mut taken = Vec::new();
        for (file, bytes) in self.grid.files.iter().enumerate() {
            let (top, bottom) = self.rows(file);
            let (x, y) = (self.plot.x - 10, (top + bottom) / 2);
            let text = words(size(*bytes), x, y + 4, TICK_SIZE, self.palette, Anchor::End);
            if is_free(&mut taken, text.bounds(), 0) {
                scene.horizontal(y, (self.plot.x - 6, self.plot.x - 1), Stroke::solid(self.palette.axis, 1));
                scene.text(text);
            }
        }
        axes::axis_label(scene, self.palette, self.plot, "File size");
    }

    fn record_axis(&self, scene: &mut Scene) {
        let (mut taken, bottom) = (Vec::new(), self.plot.bottom());
        for (record, bytes) in self.grid.records.iter().enumerate() {
            let (left, right) = self.columns(record);
            let x = (left + right) / 2;
            let text = words(size(*bytes), x, bottom + 18, TICK_SIZE, self.palette, Anchor::Middle);
            if is_free(&mut taken, text.bounds(), 6) {
                scene.vertical(x, (bottom, bottom + 5), Stroke::solid(self.palette.axis, 1));
                scene.text(text);
            }
        }
        let x = self.plot.x + self.plot.w / 2;
        let label = words("Record size", x, bottom + 38, axes::LABEL_SIZE, self.palette, Anchor::Middle);
        let is_whole = self.grid.measured().count() == self.grid.files.len() * self.grid.records.len();
        let right = self.plot.right() - 1;
        let mut note = words("blank: not measured", right, bottom + 38, TICK_SIZE, self.palette, Anchor::End);
        note.color = self.palette.faint_text;
        if !is_whole && label.bounds().right() + 12 < note.bounds().x {
            scene.text(note);
        }
        scene.text(label);
    }

    /// Draws a bracket beside the rows of each plateau, and its name. Words that would stand beside another plateau are
    /// skipped.
    fn plateaus(&self, scene: &mut Scene) {
        let (p, x) = (self.palette, self.plot.right() + 8);
        let mut shown: Vec<(Rect, &Plateau)> =
            self.grid.plateaus.iter().filter_map(|plateau| Some((self.beside(plateau)?, plateau))).collect();
        shown.sort_by_key(|(rows, _)| rows.y);
        let mut end = self.plot.y - 4;
        for (rows, plateau) in shown {
            let stroke = Stroke::solid(p.text, 2);
            scene.vertical(x + 6, (rows.y + 2, rows.bottom() - 3), stroke);
            scene.horizontal(rows.y + 3, (x, x + 6), stroke);
            scene.horizontal(rows.bottom() - 3, (x, x + 6), stroke);
            let top = (rows.y + (rows.h - LINES) / 2).max(end);
            if top + LINES / 2 > rows.bottom() {
                continue;
            }
            end = top + LINES;
            let room = f64::from(BESIDE - 24);
            let name = fonts::fit(&plateau.name, 13.0, Weight::Bold, room);
            let mut name = words(name, x + 16, top + 14, 13.0, p, Anchor::Start);
            name.weight = Weight::Bold;
            scene.text(name);
            let rate = format!("{} MiB/s", speed(plateau.bytes_per_second));
            scene.text(words(rate, x + 16, top + 31, 13.0, p, Anchor::Start));
        }
    }

    /// The rows of a plateau; `None` if no file of this grid belongs to it.
    fn beside(&self, plateau: &Plateau) -> Option<Rect> {
        let is_in = |file: &u64| (plateau.from_file..=plateau.to_file).contains(file);
        let first = self.grid.files.iter().position(is_in)?;
        let last = self.grid.files.iter().rposition(is_in)?;
        let (y, bottom) = (self.rows(last).0, self.rows(first).1);
        Some(Rect { x: self.plot.right(), y, w: BESIDE, h: bottom - y })
    }
}

/// Height of the words of a plateau.
const LINES: i32 = 38;

/// The start of the part `i` of `of` equal parts of a length.
fn part(length: i32, i: usize, of: usize) -> i32 {
    (i64::from(length) * i as i64 / of.max(1) as i64) as i32
}
