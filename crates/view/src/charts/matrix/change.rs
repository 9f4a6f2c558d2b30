//! Heat map of changes: how much faster or slower each cell of one matrix is than the same cell of another.

use super::super::axes::{TICK_SIZE, words};
use super::super::{BELOW, PLOT_LEFT};
use super::MatrixGrid;
use super::heat::{Heat, Scale};
use crate::Theme;
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Fill, Rect, Scene};
use crate::svg::svg;

/// A factor of this and more has the strongest colour.
const MOST: f64 = 2.0;
/// The weak and the strong end for slower and for faster cells: those of the ColorBrewer scheme PuOr.
const SLOWER: [Rgb; 2] = [Rgb(0xD8, 0xDA, 0xEB), Rgb(0x54, 0x27, 0x88)];
const FASTER: [Rgb; 2] = [Rgb(0xFE, 0xE0, 0xB6), Rgb(0xB3, 0x58, 0x06)];

/// The colour of a ratio.
pub(super) fn color(p: &Palette, ratio: f64, is_shown: bool) -> Rgb {
    if !is_shown {
        return p.background.mix(p.axis, 0.25);
    }
    let share = (ratio.max(f64::MIN_POSITIVE).ln().abs() / MOST.ln()).min(1.0);
    let [weak, strong] = if ratio < 1.0 { SLOWER } else { FASTER };
    weak.mix(strong, share)
}

/// A ratio as a change in percent, with its sign.
pub(super) fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match percent.abs() {
        size if size < 0.05 => "0 %".into(),
        size if size < 9.95 => format!("{percent:+.1} %"),
        size if size < 999.5 => format!("{percent:+.0} %"),
        _ => format!("×{ratio:.0}"),
    }
}

/// A heat map as SVG for a page. The values of `grid` are ratios. `is_shown`: whether a cell shows a difference, by the indices
/// of its file and its record.
pub fn change_svg(grid: &MatrixGrid, theme: Theme, is_shown: &dyn Fn(usize, usize) -> bool) -> String {
    let p = theme.palette();
    let (columns, rows) = (grid.records.len().max(1) as i32, grid.files.len().max(1) as i32);
    let room = Rect {
        x: PLOT_LEFT,
        y: 56,
        w: (columns * 180).min(1088 - PLOT_LEFT),
        h: (rows * 34).clamp(68, 1200),
    };
    let width = (room.right() + 12).max(PLOT_LEFT + 620);
    let mut scene = Scene::new(width as u32, (room.bottom() + BELOW) as u32, p.background);
    scene.facts = vec![("Title".to_string(), format!("{}: change", grid.title))];
    key(&mut scene, p);
    Heat::new(grid, Scale::Changes(is_shown), p, room).draw(&mut scene, &|_, _| None);
    svg(&scene)
}

/// Draws the colours from half to twice as fast.
fn key(scene: &mut Scene, p: &Palette) {
    const WIDE: i32 = 300;
    let (left, top) = (PLOT_LEFT, 10);
    for x in 0..WIDE {
        let ratio = MOST.powf(2.0 * f64::from(x) / f64::from(WIDE - 1) - 1.0);
        scene.area(Rect { x: left + x, y: top, w: 1, h: 14 }, Fill::Solid(color(p, ratio, true)));
    }
    for (x, text) in [(0, "-50 %"), (WIDE / 2, "0"), (WIDE - 1, "+100 %")] {
        scene.text(words(text, left + x, top + 32, TICK_SIZE, p, Anchor::Middle));
    }
    let grey = left + WIDE + 60;
    scene.area(Rect { x: grey, y: top, w: 24, h: 14 }, Fill::Solid(color(p, 1.0, false)));
    scene.text(words("no difference shown", grey + 32, top + 12, 13.0, p, Anchor::Start));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_show_sign_and_side_or_grey() {
        let told = [0.5, 0.995, 1.0, 1.5, 3.0, 20.0].map(percent);
        assert_eq!(told, ["-50 %", "-0.5 %", "0 %", "+50 %", "+200 %", "×20"]);
        let p = Theme::Light.palette();
        assert_eq!((color(p, 0.5, true), color(p, 4.0, true)), (SLOWER[1], FASTER[1]));
        assert_eq!(color(p, 3.0, false), color(p, 0.1, false));
        let grid = MatrixGrid {
            title: "read".into(),
            files: vec![65_536, 131_072],
            records: vec![4096, 131_072],
            values: vec![vec![Some(1.5), None], vec![Some(1.01), Some(0.7)]],
            ..MatrixGrid::default()
        };
        let svg = change_svg(&grid, Theme::Light, &|file, record| (file, record) != (1, 0));
        assert_eq!(svg.matches("data-cell=").count(), 3);
        assert!(svg.contains("file 64 KiB, record 4 KiB: +50 %") && svg.contains("-30 %"), "{svg}");
    }
}
