//! Throughput over the size of the file and the size of the record: heat map, cuts and surface of each test.

mod change;
mod cuts;
mod heat;
mod latencies;
mod surface;

#[cfg(test)]
mod tests;

pub use change::change_svg;
pub use heat::heat_svg;
pub use latencies::latency_svg;

use super::axes::{TICK_SIZE, words};
use super::material::View;
use super::{PAGE_HEIGHT, PAGE_WIDTH, Subject, page};
use crate::fonts::{self, Weight};
use crate::palette::Palette;
use crate::plot::{Folder, PlotOptions, write_scene};
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::{Style, units};
use std::io;
use std::path::PathBuf;

/// A range of file sizes with about the same throughput, for example those that fit into a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Plateau {
    /// The smallest file of it, in bytes.
    pub from_file: u64,
    /// The largest file of it, in bytes.
    pub to_file: u64,
    /// Its throughput.
    pub bytes_per_second: f64,
    /// Its name, for example `page cache`.
    pub name: String,
}

/// The figures of one test over sizes of files and records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatrixGrid {
    /// The test, in words: `read`, or `read, 4 streams, mmap`.
    pub title: String,
    /// Part of file names: `read`, or `read-x4-mmap`.
    pub stem: String,
    /// Sizes of files in bytes, ascending.
    pub files: Vec<u64>,
    /// Sizes of records in bytes, ascending.
    pub records: Vec<u64>,
    /// One row for each file, with a column for each record: bytes per second; absent if not measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// Ranges of file sizes with about the same throughput.
    pub plateaus: Vec<Plateau>,
    /// Whether a cell varies more than the cells differ: it is hatched. Empty if no cell was measured several times.
    pub noisy: Vec<Vec<bool>>,
}

impl MatrixGrid {
    /// The figure of a file and a record, by their indices. An invalid throughput counts as not measured.
    fn value(&self, file: usize, record: usize) -> Option<f64> {
        let value = *self.values.get(file)?.get(record)?;
        value.filter(|v| v.is_finite() && *v >= 0.0)
    }

    /// Whether a cell is hatched.
    fn is_noisy(&self, file: usize, record: usize) -> bool {
        self.noisy.get(file).and_then(|row| row.get(record)).is_some_and(|is_noisy| *is_noisy)
    }

    /// Whether any measured cell is hatched.
    pub(crate) fn has_noise(&self) -> bool {
        self.measured().any(|(file, record, _)| self.is_noisy(file, record))
    }

    /// Every figure, with the indices of its file and its record.
    fn measured(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let of_file = move |file| {
            let cell = move |record| Some((file, record, self.value(file, record)?));
            (0..self.records.len()).filter_map(cell)
        };
        (0..self.files.len()).flat_map(of_file)
    }

    /// The least or the greatest figure in words.
    fn extreme(&self, name: &str, is_better: impl Fn(f64, f64) -> bool) -> Option<String> {
        let better = |a: (usize, usize, f64), b: (usize, usize, f64)| if is_better(b.2, a.2) { b } else { a };
        let (file, record, value) = self.measured().reduce(better)?;
        let (file, record) = (size(self.files[file]), size(self.records[record]));
        Some(format!("{name} {} MiB/s: file {file}, record {record}", speed(value)))
    }
}

/// Matrices of one study.
#[derive(Debug, Clone, Copy)]
pub struct MatrixMaterial<'a> {
    /// The words around every picture.
    pub subject: &'a Subject,
    /// One for each test.
    pub grids: &'a [MatrixGrid],
}

/// The least and the greatest throughput above zero of all grids, in bytes per second: the range of the colours, which
/// is the same for all of them.
pub fn matrix_range(grids: &[MatrixGrid]) -> (f64, f64) {
    let values = || grids.iter().flat_map(MatrixGrid::measured).map(|(.., v)| v).filter(|v| *v > 0.0);
    (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
}

/// Draws three pictures of each grid into `folder`: `heat-STEM`, `cuts-STEM` and `surface-STEM`. A grid with less than
/// two files or two records has no surface. Returns the files.
///
/// # Errors
/// A file cannot be written.
pub fn plot_matrix(
    material: &MatrixMaterial<'_>,
    folder: &dyn Folder,
    options: &PlotOptions,
) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for grid in material.grids {
        for (name, scene) in scenes(material, grid, &options.style) {
            files.extend(write_scene(&scene, folder, &format!("{name}-{}", grid.stem), options)?);
        }
    }
    Ok(files)
}

/// The pictures of a grid, with the prefix of their file names.
fn scenes(material: &MatrixMaterial<'_>, grid: &MatrixGrid, style: &Style) -> Vec<(&'static str, Scene)> {
    let all = super::Material { subject: material.subject, run: None, demand: None };
    let sheet = Sheet {
        view: View::new(&all, style),
        grid,
        speeds: Speeds::new(matrix_range(material.grids)),
        has_plateaus: material.grids.iter().any(|grid| !grid.plateaus.is_empty()),
    };
    let mut scenes = vec![("heat", heat::draw(&sheet)), ("cuts", cuts::draw(&sheet))];
    if grid.files.len() > 1 && grid.records.len() > 1 {
        scenes.push(("surface", surface::draw(&sheet)));
    }
    scenes
}

/// Input of every picture of a grid.
struct Sheet<'a> {
    view: View<'a>,
    grid: &'a MatrixGrid,
    /// The range of all grids, so that their colours can be compared.
    speeds: Speeds,
    /// Whether any grid has plateaus: then all heat maps have room for them.
    has_plateaus: bool,
}

/// Between the words above a plot and the page's bottom.
const TOP: i32 = 152;

impl Sheet<'_> {
    /// Draws a picture: title, then `body` (which returns the areas of its plots), then the bottom.
    fn picture(&self, title: &str, body: impl FnOnce(&mut Scene) -> Vec<Rect>) -> Scene {
        let p = self.view.palette;
        let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, p.background);
        let title = format!("{}: {title}", self.grid.title);
        let room = f64::from(PAGE_WIDTH) - 48.0;
        page::head(&mut scene, &self.view, &fonts::fit(&title, 22.0, Weight::Bold, room));
        let plots = body(&mut scene);
        page::bottom(&mut scene, &self.view, &plots);
        scene.facts = super::facts(&title, self.view.subject);
        scene.facts.push(super::figures_of(&scene));
        scene
    }

    /// Draws the range of the colours, and at its right the extremes of this grid.
    fn key(&self, scene: &mut Scene, left: i32) {
        let p = self.view.palette;
        color_key(scene, p, &self.speeds, Rect { x: left, y: 98, w: 620, h: 14 });
        let lines = [self.grid.extreme("least", |a, b| a < b), self.grid.extreme("greatest", |a, b| a > b)];
        for (line, y) in lines.into_iter().flatten().zip([110, 129]) {
            scene.text(words(line, left + 780, y, 13.0, p, Anchor::Start));
        }
    }

    /// Draws a note in place of a plot without figures.
    fn nothing(&self, scene: &mut Scene) -> Vec<Rect> {
        let plot = Rect { x: super::PLOT_LEFT, y: TOP, w: super::PLOT_WIDTH, h: self.height() };
        page::nothing(scene, &self.view, plot, "Nothing to show: nothing was measured.");
        vec![plot]
    }

    /// Height of a plot with its ticks below.
    fn height(&self) -> i32 {
        PAGE_HEIGHT as i32 - TOP - page::BOTTOM - 8 - super::BELOW
    }
}

const MIB: f64 = 1_048_576.0;

/// Throughput on a logarithmic scale, in bytes per second.
#[derive(Debug, Clone, Copy)]
struct Speeds {
    least: f64,
    most: f64,
}

impl Speeds {
    /// A scale from the least to the greatest. A range that is nearly empty is widened, so that equal figures are in its
    /// middle.
    fn new((least, most): (f64, f64)) -> Speeds {
        let is_range = least > 0.0 && least <= most && most.is_finite();
        let (least, most) = if is_range { (least, most) } else { (MIB, MIB) };
        match most / least < 1.1 {
            true => Speeds { least: (least * most).sqrt() / 1.25, most: (least * most).sqrt() * 1.25 },
            false => Speeds { least, most },
        }
    }

    /// The scale with margins at both ends, for points that must not lie on the frame.
    fn padded(&self) -> Speeds {
        let more = (self.most / self.least).powf(0.05);
        Speeds { least: self.least / more, most: self.most * more }
    }

    /// Position of a throughput from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        if value <= self.least {
            return 0.0;
        }
        ((value / self.least).ln() / (self.most / self.least).ln()).min(1.0)
    }

    /// Round figures in bytes per second, the most important first; more than fit.
    fn ticks(&self) -> Vec<f64> {
        let (least, most) = (self.least / MIB, self.most / MIB);
        let powers = || (least.log10().floor() as i32..=most.log10().ceil() as i32).map(|n| 10f64.powi(n));
        let shown = |tick: &f64| (least..=most).contains(tick);
        let of = |factor: f64| powers().map(move |power| power * factor).filter(shown);
        let mut ticks: Vec<f64> = [1.0, 2.0, 5.0, 3.0, 7.0].into_iter().flat_map(of).collect();
        if most / least < 4.0 {
            let step = units::round_step((most - least) / 5.0);
            let (first, last) = ((least / step).ceil() as u64, (most / step).floor() as u64);
            ticks = (first..=last).map(|i| i as f64 * step).filter(shown).collect();
        }
        ticks.into_iter().map(|tick| tick * MIB).collect()
    }
}

/// A throughput in MiB/s with at most four significant digits.
fn speed(bytes_per_second: f64) -> String {
    let value = bytes_per_second / MIB;
    if value < 999.5 {
        return units::number(value);
    }
    let cut = 10f64.powi((value.log10().floor() as i32 - 3).max(0));
    units::grouped(((value / cut).round() * cut) as u64)
}

/// A round size: `64 KiB`, `1.5 MiB`.
fn size(bytes: u64) -> String {
    let unit = units::Unit::of_bytes(bytes);
    let value = bytes as f64 / unit.factor;
    match (value * 100.0).fract() == 0.0 {
        true => format!("{} {}", units::plain(value), unit.name),
        false => units::bytes(bytes),
    }
}

/// Draws the colours from the least to the greatest throughput, with figures below.
fn color_key(scene: &mut Scene, p: &Palette, speeds: &Speeds, bar: Rect) {
    scene.text(words("MiB/s, log", bar.x, bar.y + 12, 13.0, p, Anchor::Start));
    let bar = Rect { x: bar.x + 90, w: bar.w - 90, ..bar };
    for x in 0..bar.w {
        let color = p.shade(f64::from(x) / f64::from(bar.w - 1));
        scene.area(Rect { x: bar.x + x, y: bar.y, w: 1, h: bar.h }, Fill::Solid(color));
    }
    let mut taken = Vec::new();
    for tick in speeds.ticks() {
        let x = bar.x + (speeds.share(tick) * f64::from(bar.w - 1)).round() as i32;
        let text = words(units::plain(tick / MIB), x, bar.bottom() + 18, TICK_SIZE, p, Anchor::Middle);
        if is_free(&mut taken, text.bounds(), 12) {
            scene.vertical(x, (bar.bottom(), bar.bottom() + 4), Stroke::solid(p.axis, 1));
            scene.text(text);
        }
    }
}

/// Whether words keep this gap to those before them; if so, reserves their area.
fn is_free(taken: &mut Vec<Rect>, bounds: Rect, gap: i32) -> bool {
    let wide = Rect { x: bounds.x - gap, w: bounds.w + 2 * gap, ..bounds };
    let is_free = taken.iter().all(|other| !other.overlaps(&wide));
    if is_free {
        taken.push(bounds);
    }
    is_free
}
