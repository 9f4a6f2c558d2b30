//! Converts exact counts to coloured pixels: hue shows the mix of classes, lightness the number of requests.

use crate::palette::{Palette, Rgb};
use crate::scene::Image;
use iosonar_analyze::SLOTS;
use iosonar_analyze::{Cell, Class, Scope};
use std::ops::Range;

/// Steps from reads only to writes only.
const MIXES: usize = 9;
/// Steps from one request to the most in a pixel.
const INKS: usize = 8;
/// Strength of a single request, so that it is visible.
const LEAST_INK: f64 = 0.45;
/// Distinguished shares of pushed-back requests, and the strength of their colour: never below half.
const PUSHED: [f64; 3] = [0.5, 0.75, 1.0];
/// Steps of mix and ink below pushed-back requests; fewer, so that all colours fit into 256.
const COARSE: usize = 3;
/// First colour of flushes alone, and of flushes among others.
const FLUSHES: usize = 1 + MIXES * INKS + COARSE * COARSE * COARSE * PUSHED.len();
const AMONG: usize = FLUSHES + INKS;

/// Stored columns side by side, each as wide as its pixels; columns that share a pixel are one strip.
pub(crate) struct Strips {
    /// Pixels of each strip, from the left edge of the plot.
    pub(crate) pixels: Vec<Range<usize>>,
    /// `SLOTS` cells of each strip.
    pub(crate) cells: Vec<Cell>,
    width: usize,
}

impl Strips {
    /// Empty strips in `width` pixels.
    pub(crate) fn new(width: usize) -> Strips {
        // Allocated at once: growing would copy most of it.
        Strips { pixels: Vec::with_capacity(width), cells: Vec::with_capacity(width * SLOTS), width }
    }

    /// The cells of the column at some pixels, which must not begin left of the last; for adding counts.
    pub(crate) fn column(&mut self, begin: usize, end: usize) -> &mut [Cell] {
        let begin = begin.min(self.width - 1);
        let end = end.clamp(begin + 1, self.width);
        match self.pixels.last_mut() {
            // A column that shares its first pixel with the last, or lies in its last pixel, becomes part of it.
            Some(last) if begin < last.end => last.end = last.end.max(end),
            _ => {
                self.pixels.push(begin..end);
                self.cells.resize(self.cells.len() + SLOTS, Cell::default());
            }
        }
        let from = self.cells.len() - SLOTS;
        &mut self.cells[from..]
    }

    /// Requests in all strips.
    pub(crate) fn total(&self) -> u64 {
        self.cells.iter().map(total).sum()
    }

    /// Sums over all strips: the histogram beside the picture.
    pub(crate) fn marginal(&self) -> Vec<Cell> {
        let mut sums = vec![Cell::default(); SLOTS];
        for strip in self.cells.chunks_exact(SLOTS) {
            // Most cells are empty.
            for (sum, cell) in sums.iter_mut().zip(strip).filter(|(_, cell)| **cell != Cell::default()) {
                sum.iter_mut().zip(cell).for_each(|(s, n)| *s += n);
            }
        }
        sums
    }
}

/// Counts of a picture: lines of cells, and the line of each row of pixels.
pub(crate) struct Density<'a> {
    strips: &'a Strips,
    /// The slots of each line.
    lines: Vec<Range<usize>>,
    /// 1 for each visible class.
    shown: Cell,
    /// The line of each row of pixels, from above; `None` for an empty row.
    rows: Vec<Option<usize>>,
    most: u64,
}

impl<'a> Density<'a> {
    /// `rows`: the slots of each row of pixels, from above.
    pub(crate) fn new(strips: &'a Strips, rows: &[Option<Range<usize>>]) -> Density<'a> {
        Density::of(strips, rows, |_| true)
    }

    /// Like [`Density::new`], for some classes only.
    pub(crate) fn of(
        strips: &'a Strips,
        rows: &[Option<Range<usize>>],
        shows: impl Fn(Class) -> bool,
    ) -> Density<'a> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut line_of_row = Vec::with_capacity(rows.len());
        for row in rows {
            line_of_row.push(row.as_ref().map(|slots| {
                if ranges.last() != Some(slots) {
                    ranges.push(slots.clone());
                }
                ranges.len() - 1
            }));
        }
        let shown = Class::ALL.map(|class| u64::from(shows(class)));
        let mut density = Density { strips, lines: ranges, shown, rows: line_of_row, most: 0 };
        density.most = density.cells().map(|cell| total(&cell)).max().unwrap_or(0);
        density
    }

    /// One cell for each line of each strip, strip after strip. They are summed up on each call: all together take more
    /// memory than the picture.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.strips.cells.chunks_exact(SLOTS).flat_map(|strip| self.cells_of(strip))
    }

    fn cells_of(&self, strip: &[Cell]) -> impl Iterator<Item = Cell> {
        self.lines.iter().map(|slots| {
            let mut sum = Cell::default();
            for cell in strip[slots.clone()].iter().filter(|cell| **cell != Cell::default()) {
                sum.iter_mut().zip(cell).for_each(|(s, n)| *s += n);
            }
            sum.iter_mut().zip(self.shown).for_each(|(s, keep)| *s *= keep);
            sum
        })
    }

    /// Most requests in one cell.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The pixels, placed at `x`, `y`.
    pub(crate) fn image(&self, palette: &Palette, x: i32, y: i32) -> Image {
        let shades = Shades::new(palette, self.most());
        let (width, height) = (self.strips.width, self.rows.len());
        let mut pixels = vec![0u8; width * height];
        let painted: Vec<u8> = self.cells().map(|cell| shades.index(&cell)).collect();
        for (row, line) in pixels.chunks_exact_mut(width).zip(&self.rows) {
            let Some(line) = line else { continue };
            for (strip, span) in self.strips.pixels.iter().enumerate() {
                row[span.clone()].fill(painted[strip * self.lines.len() + line]);
            }
        }
        grow(&mut pixels, width, height);
        let (width, height) = (width as u32, height as u32);
        Image { x, y, width, height, pixels, palette: shades.colors }
    }
}

/// Enlarges isolated pixels, which would be lost on a large screen: to two by two, and to three by three if nothing is
/// near. Only empty pixels are covered.
fn grow(pixels: &mut [u8], width: usize, height: usize) {
    let before = pixels.to_vec();
    let lit = |x: usize, y: usize| x < width && y < height && before[y * width + x] != 0;
    for y in 0..height {
        for x in 0..width {
            if before[y * width + x] == 0 {
                continue;
            }
            let (left, up) = (x.wrapping_sub(1), y.wrapping_sub(1));
            let beside = [up, y, y + 1].iter().any(|y| lit(left, *y) || lit(x + 1, *y));
            let stacked = [left, x, x + 1].iter().any(|x| lit(*x, up) || lit(*x, y + 1));
            let wide = !beside && x + 1 < width;
            let high = !stacked && y + 1 < height;
            let grown = [(wide, x + 1, y), (high, x, y + 1), (wide && high, x + 1, y + 1)];
            let mut paint = |px: usize, py: usize| {
                if px < width && py < height && !lit(px, py) {
                    pixels[py * width + px] = before[y * width + x];
                }
            };
            grown.into_iter().filter(|(wanted, ..)| *wanted).for_each(|(_, px, py)| paint(px, py));
            let near = |d: usize| [x.wrapping_add(d).wrapping_sub(2), y.wrapping_add(d).wrapping_sub(2)];
            let alone = wide
                && high
                && (0..5).all(|dy| (0..5).all(|dx| (dx, dy) == (2, 2) || !lit(near(dx)[0], near(dy)[1])));
            if alone {
                (0..9).for_each(|i| paint(left.wrapping_add(i % 3), up.wrapping_add(i / 3)));
            }
        }
    }
}

fn total(cell: &Cell) -> u64 {
    cell.iter().sum()
}

/// The colours of a picture and the mapping from counts to them.
pub(crate) struct Shades {
    most: u64,
    colors: Vec<Rgb>,
}

impl Shades {
    pub(crate) fn new(palette: &Palette, most: u64) -> Shades {
        let mix = |step: usize, of: usize, a: Rgb, b: Rgb| a.mix(b, step as f64 / (of - 1) as f64);
        let inked = |color: Rgb, step: usize, of: usize| {
            let ink = LEAST_INK + (1.0 - LEAST_INK) * step as f64 / (of - 1) as f64;
            palette.background.mix(color, ink)
        };
        let mut colors = vec![palette.background];
        for m in 0..MIXES {
            colors.extend((0..INKS).map(|i| inked(mix(m, MIXES, palette.read, palette.write), i, INKS)));
        }
        for m in 0..COARSE {
            let base = mix(m, COARSE, palette.read, palette.write);
            for i in 0..COARSE {
                for p in 0..COARSE {
                    let pushed = mix(p, COARSE, palette.read_pushed, palette.write_pushed);
                    colors.extend(PUSHED.map(|share| inked(base, i, COARSE).mix(pushed, share)));
                }
            }
        }
        colors.extend((0..INKS).map(|i| inked(palette.flush, i, INKS)));
        for m in 0..COARSE {
            for i in 0..COARSE {
                let base = inked(mix(m, COARSE, palette.read, palette.write), i, COARSE);
                colors.extend(PUSHED.map(|share| base.mix(palette.flush, share)));
            }
        }
        Shades { most, colors }
    }

    /// Index of the colour of a pixel; 0 without requests.
    pub(crate) fn index(&self, cell: &Cell) -> u8 {
        let [read, write, read_pushed, write_pushed, flush] = *cell;
        let (count, pushed) = (total(cell), read_pushed + write_pushed);
        if count == 0 {
            return 0;
        }
        // Rare ones stay visible: they are drawn above the others.
        let strength = |part: u64| {
            let of_all = share(part, count);
            PUSHED.iter().rposition(|s| of_all >= *s - 0.125).unwrap_or(0)
        };
        let base = step(share(write, read + write), COARSE) * COARSE + self.ink(count, COARSE);
        let index = if flush == count {
            FLUSHES + self.ink(count, INKS)
        } else if flush > 0 {
            AMONG + base * PUSHED.len() + strength(flush)
        } else if pushed == 0 {
            1 + step(share(write, read + write), MIXES) * INKS + self.ink(count, INKS)
        } else {
            let p = strength(pushed);
            let hue = step(share(write_pushed, pushed), COARSE);
            1 + MIXES * INKS + (base * COARSE + hue) * PUSHED.len() + p
        };
        u8::try_from(index).expect("there are fewer than 256 shades")
    }

    /// Maps a count to a step, logarithmically; without any accumulation everything is drawn in full strength.
    fn ink(&self, count: u64, steps: usize) -> usize {
        if self.most <= 1 {
            return steps - 1;
        }
        step((count as f64).ln() / (self.most as f64).ln(), steps)
    }

    /// Colours of reads, writes or flushes alone, from one request to the most.
    pub(crate) fn scale(&self, scope: Scope) -> &[Rgb] {
        let begin = match scope {
            Scope::Flush => FLUSHES,
            Scope::Write | Scope::WritePushed => 1 + (MIXES - 1) * INKS,
            Scope::All | Scope::Read | Scope::ReadPushed => 1,
        };
        &self.colors[begin..begin + INKS]
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A share from 0 to 1 as one of `steps` steps.
fn step(share: f64, steps: usize) -> usize {
    ((share * (steps - 1) as f64).round() as usize).min(steps - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    /// Pixels that are lit, by hand: slot by slot from below, one pixel each.
    fn lit_pixels(lit: &[(usize, usize)]) -> impl Fn(usize, usize) -> bool {
        let mut strips = Strips::new(8);
        for x in 0..8 {
            let column = strips.column(x, x + 1);
            lit.iter().filter(|(at, _)| *at == x).for_each(|(_, slot)| column[*slot][0] = 1);
        }
        let rows: Vec<_> = (0..8).map(|slot| Some(slot..slot + 1)).collect();
        let image = Density::new(&strips, &rows).image(Theme::Light.palette(), 0, 0);
        move |x, y| image.pixels[y * 8 + x] != 0
    }

    #[test]
    fn only_isolated_pixels_are_enlarged() {
        let lit = lit_pixels(&[(1, 1), (5, 5), (6, 5)]);
        assert!(lit(1, 1) && lit(2, 1) && lit(1, 2) && lit(2, 2));
        assert!(lit(5, 5) && lit(6, 5) && !lit(7, 5));
        assert!(lit(5, 6), "a row of one pixel grows downward");
    }

    #[test]
    fn downscaling_keeps_every_request_visible() {
        let mut strips = Strips::new(10);
        for column in 0..35 {
            strips.column(column * 10 / 35, (column + 1) * 10 / 35)[column % SLOTS][0] += 1;
        }
        assert_eq!((strips.total(), strips.pixels.len()), (35, 10));
        let rows: Vec<_> = (0..4).map(|row| Some(row * 10..(row + 1) * 10)).collect();
        let density = Density::new(&strips, &rows);
        assert_eq!(density.cells().map(|cell| total(&cell)).sum::<u64>(), 35);
    }

    #[test]
    fn single_deferred_request_among_thousands_is_visible() {
        let shades = Shades::new(Theme::Light.palette(), 10_000);
        let without = shades.colors[usize::from(shades.index(&[0, 9_999, 0, 0, 0]))];
        let with = shades.colors[usize::from(shades.index(&[0, 9_998, 0, 1, 0]))];
        assert!(without.0.abs_diff(with.0) > 40, "{without:?} {with:?}");
    }

    #[test]
    fn single_flush_among_thousands_is_visible_in_its_colour() {
        let shades = Shades::new(Theme::Light.palette(), 10_000);
        let color = |cell: Cell| shades.colors[usize::from(shades.index(&cell))];
        assert_eq!(color([0, 0, 0, 0, 10_000]), Theme::Light.palette().flush);
        assert!(color([0, 0, 0, 0, 1]).0 > color([0, 0, 0, 0, 10_000]).0);
        let (without, with) = (color([0, 9_999, 0, 0, 0]), color([0, 9_998, 0, 0, 1]));
        assert!(without.2.abs_diff(with.2) > 40, "{without:?} {with:?}");
    }

    #[test]
    fn reads_are_blue_writes_red_and_more_is_darker() {
        let shades = Shades::new(Theme::Light.palette(), 1000);
        let color = |cell: Cell| shades.colors[usize::from(shades.index(&cell))];
        let (read, write) = (color([1000, 0, 0, 0, 0]), color([0, 1000, 0, 0, 0]));
        assert!(read.2 > read.0 && write.0 > write.2);
        assert!(color([1, 0, 0, 0, 0]).0 > read.0);
        assert!(shades.colors.len() <= 200);
    }
}
