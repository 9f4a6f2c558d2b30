//! Cuts through a matrix: throughput over the size of the record, one line for each of some files.

use super::super::axes::{self, TICK_SIZE, words};
use super::super::{PLOT_LEFT, PLOT_WIDTH, SIDE_LEFT};
use super::{MIB, Sheet, Speeds, is_free, size};
use crate::palette::Palette;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;

/// More lines could not be distinguished.
const MOST_LINES: usize = 8;
/// Upper edge of the plot.
const TOP: i32 = 108;
/// Distance from the frame to the first and the last size.
const INSET: i32 = 30;

/// One line: its name, and the throughput at each size that has one.
struct Cut {
    name: String,
    values: Vec<Option<f64>>,
}

/// The lines, and their axis.
struct Cuts<'a> {
    label: &'static str,
    sizes: &'a [u64],
    cuts: Vec<Cut>,
    /// Number of files with figures.
    of: usize,
}

/// The picture.
pub(super) fn draw(sheet: &Sheet<'_>) -> Scene {
    let cuts = cuts(sheet);
    let title = match cuts.label {
        "File size" => "throughput over the size of the file",
        _ => "throughput over the size of the record, for each size of the file",
    };
    sheet.picture(title, |scene| {
        if cuts.cuts.is_empty() {
            return sheet.nothing(scene);
        }
        let p = sheet.view.palette;
        let h = sheet.height() + super::TOP - TOP;
        let plot = Rect { x: PLOT_LEFT, y: TOP, w: PLOT_WIDTH, h };
        let drawing = Drawing { p, plot, speeds: sheet.speeds.padded(), sizes: cuts.sizes };
        drawing.axes(scene, cuts.label);
        for (i, cut) in cuts.cuts.iter().enumerate() {
            drawing.line(scene, cut, stroke(p, i, cuts.cuts.len()));
        }
        axes::frame(scene, p, plot);
        drawing.names(scene, &cuts);
        vec![plot]
    })
}

/// Lines over records, one for each of some files; over files if there is only one record size.
fn cuts<'a>(sheet: &Sheet<'a>) -> Cuts<'a> {
    let grid = sheet.grid;
    if let [record] = grid.records.as_slice() {
        let values: Vec<Option<f64>> = (0..grid.files.len()).map(|file| grid.value(file, 0)).collect();
        let is_measured = values.iter().any(Option::is_some);
        let cut = is_measured.then(|| Cut { name: format!("record {}", size(*record)), values });
        let cuts: Vec<Cut> = cut.into_iter().collect();
        return Cuts { label: "File size", sizes: &grid.files, of: cuts.len(), cuts };
    }
    let values = |file: usize| -> Vec<Option<f64>> {
        (0..grid.records.len()).map(|record| grid.value(file, record)).collect()
    };
    let all: Vec<usize> =
        (0..grid.files.len()).filter(|file| values(*file).iter().any(Option::is_some)).collect();
    let cut = |file: usize| Cut { name: format!("file {}", size(grid.files[file])), values: values(file) };
    let cuts = spread(all.len()).map(|i| cut(all[i])).collect();
    Cuts { label: "Record size", sizes: &grid.records, cuts, of: all.len() }
}

/// Indices of at most `MOST_LINES` of `of` rows: the first, the last, and between them at even distances.
fn spread(of: usize) -> impl Iterator<Item = usize> {
    let count = of.min(MOST_LINES);
    (0..count).map(move |i| if count < 2 { 0 } else { (i * (of - 1) + (count - 1) / 2) / (count - 1) })
}

/// Dissimilar colours if there are few lines. Without colours, every other line is dashed.
fn stroke(p: &Palette, i: usize, of: usize) -> Stroke {
    let place = if of < 2 { 1 } else { i * (p.series.len() - 1) / (of - 1) };
    Stroke { color: p.series[place], width: 2, dashed: p.is_gray && i % 2 == 1 }
}

struct Drawing<'a> {
    p: &'static Palette,
    plot: Rect,
    speeds: Speeds,
    sizes: &'a [u64],
}

impl Drawing<'_> {
    fn x(&self, bytes: u64) -> i32 {
        let log = |bytes: Option<&u64>| bytes.map_or(0.0, |b| (*b).max(1) as f64).ln();
        let (least, most) = (log(self.sizes.first()), log(self.sizes.last()));
        let share = if most > least { (log(Some(&bytes)) - least) / (most - least) } else { 0.5 };
        self.plot.x + INSET + (share.clamp(0.0, 1.0) * f64::from(self.plot.w - 2 * INSET)).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        self.plot.bottom() - 1 - (self.speeds.share(value) * f64::from(self.plot.h - 1)).round() as i32
    }

    fn axes(&self, scene: &mut Scene, label: &str) {
        let (p, plot) = (self.p, self.plot);
        let mut taken = Vec::new();
        for tick in self.speeds.ticks() {
            let y = self.y(tick);
            let text = words(units::plain(tick / MIB), plot.x - 10, y + 4, TICK_SIZE, p, Anchor::End);
            if is_free(&mut taken, text.bounds(), 0) {
                scene.horizontal(y, (plot.x, plot.right() - 1), Stroke::solid(p.grid, 1));
                scene.horizontal(y, (plot.x - 6, plot.x - 1), Stroke::solid(p.axis, 1));
                scene.text(text);
            }
        }
        axes::axis_label(scene, p, plot, "MiB/s, log");
        let mut taken = Vec::new();
        for bytes in self.sizes {
            let x = self.x(*bytes);
            let text = words(size(*bytes), x, plot.bottom() + 18, TICK_SIZE, p, Anchor::Middle);
            if is_free(&mut taken, text.bounds(), 6) {
                scene.vertical(x, (plot.y, plot.bottom() - 1), Stroke::solid(p.grid, 1));
                scene.vertical(x, (plot.bottom(), plot.bottom() + 5), Stroke::solid(p.axis, 1));
                scene.text(text);
            }
        }
        let (x, label) = (plot.x + plot.w / 2, format!("{label}, log"));
        scene.text(words(label, x, plot.bottom() + 38, axes::LABEL_SIZE, p, Anchor::Middle));
    }

    /// Draws a point at each figure, and lines between adjacent ones.
    fn line(&self, scene: &mut Scene, cut: &Cut, stroke: Stroke) {
        let points: Vec<Option<(i32, i32)>> = self
            .sizes
            .iter()
            .zip(&cut.values)
            .map(|(bytes, value)| value.map(|value| (self.x(*bytes), self.y(value))))
            .collect();
        for part in points.split(Option::is_none) {
            scene.polyline(part.iter().copied().flatten().collect(), stroke);
        }
        for (x, y) in points.into_iter().flatten() {
            scene.area(Rect { x: x - 4, y: y - 4, w: 8, h: 8 }, Fill::Solid(stroke.color));
        }
    }

    /// Draws the names from above: the largest file first, as in the heat map.
    fn names(&self, scene: &mut Scene, cuts: &Cuts<'_>) {
        let count = cuts.cuts.len();
        for (row, i) in (0..count).rev().enumerate() {
            let (y, stroke) = (self.plot.y + 16 + 22 * row as i32, stroke(self.p, i, count));
            scene.horizontal(y - 4, (SIDE_LEFT, SIDE_LEFT + 28), stroke);
            scene.area(Rect { x: SIDE_LEFT + 10, y: y - 8, w: 8, h: 8 }, Fill::Solid(stroke.color));
            scene.text(words(&cuts.cuts[i].name, SIDE_LEFT + 38, y, 13.0, self.p, Anchor::Start));
        }
        if cuts.of > count {
            let y = self.plot.y + 16 + 22 * count as i32 + 6;
            let text = format!("{count} of {} file sizes", cuts.of);
            let mut text = words(text, SIDE_LEFT, y, TICK_SIZE, self.p, Anchor::Start);
            text.color = self.p.faint_text;
            scene.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_evenly_spread_lines_with_both_ends() {
        let all = |of| spread(of).collect::<Vec<_>>();
        assert_eq!(all(0), Vec::<usize>::new());
        assert_eq!((all(1), all(3)), (vec![0], vec![0, 1, 2]));
        assert_eq!(all(8), (0..8).collect::<Vec<_>>());
        assert_eq!(all(14), [0, 2, 4, 6, 7, 9, 11, 13]);
    }
}
