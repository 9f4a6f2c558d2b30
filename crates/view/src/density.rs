//! From exact counts to coloured pixels: hue tells the mix of classes, lightness the number of requests.

use crate::palette::{Palette, Rgb};
use crate::scene::Image;
use iosonar_analyze::Cell;

/// Steps from reads only to writes only.
const MIXES: usize = 9;
/// Steps from one request to the most in a pixel.
const INKS: usize = 8;
/// A single request is this strong, so that it can be seen.
const LEAST_INK: f64 = 0.45;
/// Shares of pushed-back requests that are told apart, and how strong they are drawn: never below half.
const PUSHED: [f64; 3] = [0.5, 0.75, 1.0];
/// Steps of mix and ink below pushed-back requests; fewer, so that all colours fit into 256.
const COARSE: usize = 3;

/// Counts for each pixel of a picture, row by row from above.
pub(crate) struct Density {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) cells: Vec<Cell>,
}

impl Density {
    /// Most requests in one pixel.
    pub(crate) fn most(&self) -> u64 {
        self.cells.iter().map(total).max().unwrap_or(0)
    }

    /// The pixels, placed at `x`, `y`.
    pub(crate) fn image(&self, palette: &Palette, x: i32, y: i32) -> Image {
        let shades = Shades::new(palette, self.most());
        let mut pixels: Vec<u8> = self.cells.iter().map(|c| shades.index(c)).collect();
        self.grow(&mut pixels);
        let (width, height) = (self.width as u32, self.height as u32);
        Image { x, y, width, height, pixels, palette: shades.colors }
    }

    /// Widens pixels that stand alone to two by two, or they would be lost on a large screen. Nothing but empty
    /// pixels is covered.
    fn grow(&self, pixels: &mut [u8]) {
        let lit = |x: i64, y: i64| {
            let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
            inside && total(&self.cells[y as usize * self.width + x as usize]) > 0
        };
        let near = [-1, 0, 1];
        for y in 0..self.height as i64 {
            for x in 0..self.width as i64 {
                if !lit(x, y) {
                    continue;
                }
                let beside = near.iter().any(|d| lit(x - 1, y + d) || lit(x + 1, y + d));
                let stacked = near.iter().any(|d| lit(x + d, y - 1) || lit(x + d, y + 1));
                let wide = !beside && x + 1 < self.width as i64;
                let high = !stacked && y + 1 < self.height as i64;
                let at = |x: i64, y: i64| y as usize * self.width + x as usize;
                let index = pixels[at(x, y)];
                for (wanted, px, py) in [(wide, x + 1, y), (high, x, y + 1), (wide && high, x + 1, y + 1)] {
                    if wanted && !lit(px, py) {
                        pixels[at(px, py)] = index;
                    }
                }
            }
        }
    }
}

fn total(cell: &Cell) -> u64 {
    cell.iter().sum()
}

/// The colours of a picture and the way from counts to them.
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
        Shades { most, colors }
    }

    /// Index of the colour of a pixel; 0 where there is no request.
    pub(crate) fn index(&self, cell: &Cell) -> u8 {
        let [read, write, read_pushed, write_pushed] = *cell;
        let (count, pushed) = (total(cell), read_pushed + write_pushed);
        if count == 0 {
            return 0;
        }
        let index = if pushed == 0 {
            1 + step(share(write, read + write), MIXES) * INKS + self.ink(count, INKS)
        } else {
            let strength = share(pushed, count);
            let p = PUSHED.iter().rposition(|s| strength >= *s - 0.125).unwrap_or(0);
            let base = step(share(write, read + write), COARSE) * COARSE + self.ink(count, COARSE);
            let hue = step(share(write_pushed, pushed), COARSE);
            1 + MIXES * INKS + (base * COARSE + hue) * PUSHED.len() + p
        };
        u8::try_from(index).expect("there are fewer than 256 shades")
    }

    /// Logarithmic; a picture without any accumulation is drawn in full strength.
    fn ink(&self, count: u64, steps: usize) -> usize {
        if self.most <= 1 {
            return steps - 1;
        }
        step((count as f64).ln() / (self.most as f64).ln(), steps)
    }

    /// Colours of reads (mix 0) or writes (mix 1) from one request to the most.
    pub(crate) fn scale(&self, mix: f64) -> &[Rgb] {
        let begin = 1 + step(mix, MIXES) * INKS;
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

    fn density(width: usize, height: usize, lit: &[(usize, usize, Cell)]) -> Density {
        let mut cells = vec![[0; 4]; width * height];
        lit.iter().for_each(|(x, y, cell)| cells[y * width + x] = *cell);
        Density { width, height, cells }
    }

    #[test]
    fn lone_pixels_grow_and_neighbours_do_not() {
        let d = density(8, 8, &[(1, 1, [1, 0, 0, 0]), (5, 5, [1, 0, 0, 0]), (6, 5, [1, 0, 0, 0])]);
        let image = d.image(Theme::Light.palette(), 0, 0);
        let lit = |x: usize, y: usize| image.pixels[y * 8 + x] != 0;
        assert!(lit(1, 1) && lit(2, 1) && lit(1, 2) && lit(2, 2));
        assert!(lit(5, 5) && lit(6, 5) && !lit(7, 5));
        assert!(lit(5, 6), "a row of one pixel grows downward");
    }

    #[test]
    fn one_pushed_request_among_thousands_is_seen() {
        let shades = Shades::new(Theme::Light.palette(), 10_000);
        let without = shades.colors[usize::from(shades.index(&[0, 9_999, 0, 0]))];
        let with = shades.colors[usize::from(shades.index(&[0, 9_998, 0, 1]))];
        assert!(without.0.abs_diff(with.0) > 40, "{without:?} {with:?}");
    }

    #[test]
    fn reads_are_blue_writes_red_and_more_is_darker() {
        let shades = Shades::new(Theme::Light.palette(), 1000);
        let color = |cell: Cell| shades.colors[usize::from(shades.index(&cell))];
        let (read, write) = (color([1000, 0, 0, 0]), color([0, 1000, 0, 0]));
        assert!(read.2 > read.0 && write.0 > write.2);
        assert!(color([1, 0, 0, 0]).0 > read.0);
        assert!(shades.colors.len() <= 200);
    }
}
