//! Surface: throughput as height over the size of the record and of the file, seen obliquely from above.

use super::super::axes::{self, TICK_SIZE, words};
use super::super::page;
use super::{MIB, MatrixGrid, Sheet, Speeds, is_free, size};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;

/// Position of the least record and the least file, on the floor: the corner farthest away.
const ORIGIN: (f64, f64) = (580.0, 446.0);
/// Offset from the least to the greatest record.
const RECORDS: (f64, f64) = (890.0, 122.0);
/// Offset from the least to the greatest file.
const FILES: (f64, f64) = (-460.0, 188.0);
/// Height of the greatest throughput.
const HEIGHT: f64 = 290.0;

/// Lines between more entries would cover the colours.
const MOST_LINES: usize = 48;

/// A point of the room: record, file and throughput, each from 0 to 1.
type Point = (f64, f64, f64);

/// Pixel of a point.
fn place((record, file, height): Point) -> (i32, i32) {
    let x = ORIGIN.0 + record * RECORDS.0 + file * FILES.0;
    let y = ORIGIN.1 + record * RECORDS.1 + file * FILES.1 - height * HEIGHT;
    (x.round() as i32, y.round() as i32)
}

/// The picture.
pub(super) fn draw(sheet: &Sheet<'_>) -> Scene {
    sheet.picture("throughput as a surface over the sizes of the file and of the record", |scene| {
        if sheet.grid.measured().next().is_none() {
            return sheet.nothing(scene);
        }
        sheet.key(scene, super::super::PLOT_LEFT);
        let speeds = sheet.speeds.padded();
        let surface = Surface { grid: sheet.grid, p: sheet.view.palette, colors: &sheet.speeds, speeds };
        surface.walls(scene);
        surface.labels(scene);
        surface.facets(scene);
        let top = super::TOP;
        let bottom = scene.height as i32 - page::BOTTOM - 8;
        vec![Rect { x: super::super::PLOT_LEFT, y: top, w: 1360, h: bottom - top }]
    })
}

struct Surface<'a> {
    grid: &'a MatrixGrid,
    p: &'static Palette,
    /// The range of the colours.
    colors: &'a Speeds,
    /// The range of the heights.
    speeds: Speeds,
}

/// Position of a size between the first and the last one, by their logarithms.
fn share(sizes: &[u64], i: usize) -> f64 {
    let log = |size: Option<&u64>| size.map_or(0.0, |size| (*size).max(1) as f64).log2();
    let (least, most) = (log(sizes.first()), log(sizes.last()));
    if most > least { (log(sizes.get(i)) - least) / (most - least) } else { 0.0 }
}

impl Surface<'_> {
    fn record(&self, i: usize) -> f64 {
        share(&self.grid.records, i)
    }

    fn file(&self, i: usize) -> f64 {
        share(&self.grid.files, i)
    }

    /// Whether lines between entries leave room for colours between them.
    fn has_lines(&self) -> bool {
        self.grid.records.len() <= MOST_LINES && self.grid.files.len() <= MOST_LINES
    }

    /// Draws the floor and the two walls at the back, with lines at the ticks of all three axes.
    fn walls(&self, scene: &mut Scene) {
        let p = self.p;
        let tint = |share| p.background.mix(p.axis, share);
        let side = |corners: [Point; 4]| corners.map(place).to_vec();
        let floor = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)];
        let left = [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0)];
        let back = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0)];
        for (corners, shade) in [(floor, 0.10), (left, 0.06), (back, 0.03)] {
            scene.polygon(side(corners), tint(shade), Some(tint(0.35)));
        }
        self.shadow(scene, tint(0.30));
        let stroke = Stroke::solid(tint(0.22), 1);
        let mut line = |points: &[Point]| {
            scene.polyline(points.iter().copied().map(place).collect(), stroke);
        };
        let entries = |of: usize| 0..if self.has_lines() { of } else { 0 };
        for record in entries(self.grid.records.len()).map(|i| self.record(i)) {
            line(&[(record, 0.0, 0.0), (record, 1.0, 0.0)]);
        }
        for file in entries(self.grid.files.len()).map(|i| self.file(i)) {
            line(&[(0.0, file, 0.0), (1.0, file, 0.0)]);
        }
        for (height, _) in self.ticks() {
            line(&[(0.0, 1.0, height), (0.0, 0.0, height), (1.0, 0.0, height)]);
        }
    }

    /// Draws a shadow below the facets, so that their position is seen and not only their height.
    fn shadow(&self, scene: &mut Scene, color: Rgb) {
        for file in 0..self.grid.files.len() {
            for record in 0..self.grid.records.len() {
                let Some(corners) = self.facet(file, record) else { continue };
                let floor = corners.map(|((record, file, _), _)| place((record, file, 0.0)));
                scene.polygon(floor.to_vec(), color, None);
            }
        }
    }

    /// Round figures and their heights.
    fn ticks(&self) -> Vec<(f64, f64)> {
        let mut shown: Vec<(f64, f64)> = Vec::new();
        for tick in self.speeds.ticks() {
            let height = self.speeds.share(tick);
            if shown.iter().all(|(other, _)| (other - height).abs() * HEIGHT >= 20.0) {
                shown.push((height, tick));
            }
        }
        shown
    }

    fn labels(&self, scene: &mut Scene) {
        let p = self.p;
        let axis = Stroke::solid(p.axis, 1);
        for (height, tick) in self.ticks() {
            let (x, y) = place((0.0, 1.0, height));
            scene.horizontal(y, (x - 6, x - 1), axis);
            scene.text(words(units::plain(tick / MIB), x - 10, y + 4, TICK_SIZE, p, Anchor::End));
        }
        let (_, top) = place((0.0, 1.0, 1.0));
        let (x, bottom) = place((0.0, 1.0, 0.0));
        axes::axis_label(scene, p, Rect { x, y: top, w: 1, h: bottom - top }, "MiB/s, log");
        let mut taken = Vec::new();
        for (i, bytes) in self.grid.records.iter().enumerate() {
            let (x, y) = place((self.record(i), 1.0, 0.0));
            let text = words(size(*bytes), x - 14, y + 22, TICK_SIZE, p, Anchor::Middle);
            if is_free(&mut taken, text.bounds(), 4) {
                scene.polyline(vec![(x, y), (x - 7, y + 8)], axis);
                scene.text(text);
            }
        }
        for (i, bytes) in self.grid.files.iter().enumerate() {
            let (x, y) = place((1.0, self.file(i), 0.0));
            let text = words(size(*bytes), x + 16, y + 9, TICK_SIZE, p, Anchor::Start);
            if is_free(&mut taken, text.bounds(), 0) {
                scene.polyline(vec![(x, y), (x + 11, y + 4)], axis);
                scene.text(text);
            }
        }
        let (x, y) = place((0.5, 1.0, 0.0));
        let record = words("Record size", x - 60, y + 52, axes::LABEL_SIZE, p, Anchor::Middle);
        let (x, y) = place((1.0, 0.5, 0.0));
        let file = words("File size", x + 92, y + 24, axes::LABEL_SIZE, p, Anchor::Start);
        scene.text(record);
        scene.text(file);
    }

    fn point(&self, file: usize, record: usize) -> Option<(Point, f64)> {
        let value = self.grid.value(file, record)?;
        Some(((self.record(record), self.file(file), self.speeds.share(value)), value))
    }

    /// The corners of the facet that starts at an entry, around it, with their figures; `None` unless all were measured.
    fn facet(&self, file: usize, record: usize) -> Option<[(Point, f64); 4]> {
        Some([
            self.point(file, record)?,
            self.point(file, record + 1)?,
            self.point(file + 1, record + 1)?,
            self.point(file + 1, record)?,
        ])
    }

    /// Whether an entry is no corner of any facet.
    fn is_lonely(&self, file: usize, record: usize) -> bool {
        let files = file.saturating_sub(1)..=file;
        files.into_iter().all(|f| (record.saturating_sub(1)..=record).all(|r| self.facet(f, r).is_none()))
    }

    /// Draws facets from the back to the front, so that near ones hide far ones.
    fn facets(&self, scene: &mut Scene) {
        for file in 0..self.grid.files.len() {
            for record in 0..self.grid.records.len() {
                if let Some((point, value)) = self.point(file, record)
                    && self.is_lonely(file, record)
                {
                    self.post(scene, point, self.color(value));
                }
                let Some(corners) = self.facet(file, record) else { continue };
                let heights = corners.map(|(_, value)| self.colors.share(value));
                let color = self.p.shade(heights.iter().sum::<f64>() / 4.0);
                let edge = self.has_lines().then(|| color.mix(Rgb(0, 0, 0), 0.35));
                scene.polygon(corners.map(|(point, _)| place(point)).to_vec(), color, edge);
            }
        }
    }

    fn color(&self, value: f64) -> Rgb {
        self.p.shade(self.colors.share(value))
    }

    fn post(&self, scene: &mut Scene, point: Point, color: Rgb) {
        let (x, top) = place(point);
        let (_, bottom) = place((point.0, point.1, 0.0));
        scene.vertical(x, (top, bottom), Stroke::solid(self.p.axis, 2));
        scene.area(Rect { x: x - 5, y: top - 5, w: 10, h: 10 }, Fill::Solid(self.p.axis));
        scene.area(Rect { x: x - 4, y: top - 4, w: 8, h: 8 }, Fill::Solid(color));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_sizes_logarithmically() {
        let sizes = [4096, 8192, 65_536];
        assert_eq!([0, 1, 2].map(|i| share(&sizes, i)), [0.0, 0.25, 1.0]);
        assert_eq!(share(&sizes[..1], 0), 0.0);
    }
}
