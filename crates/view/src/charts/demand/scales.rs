//! Logarithmic scales of sizes and counts, in either direction.

use super::super::axes::{LABEL_SIZE, TICK_SIZE, axis_label, words};
use crate::palette::Palette;
use crate::scene::{Anchor, Rect, Scene, Stroke};
use crate::units;

/// Least distance of two ticks, in pixels.
const ROOM_UP: f64 = 34.0;
const ROOM_ACROSS: f64 = 80.0;

/// Direction of a scale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From below to above.
    Up,
    /// From left to right.
    Across,
}

/// A quantity above zero. Zero itself lies at the start of the scale, below its least value.
#[derive(Clone)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
    area: Rect,
    direction: Direction,
    ticks: Vec<(f64, String)>,
}

impl LogScale {
    /// Bytes, with ticks at powers of two.
    pub(super) fn bytes(least: f64, most: f64, area: Rect, direction: Direction) -> LogScale {
        let least = least.max(1.0).log2().floor() as i32;
        let most = (most.max(1.0).log2().ceil() as i32).max(least + 2);
        // Values above zero keep off the start.
        let low = least - 1;
        let mut scale = LogScale::empty(2f64.powi(low), 2f64.powi(most), area, direction);
        let step = [1, 2, 5, 10]
            .into_iter()
            .find(|s| scale.pixels() / f64::from(most - low) * f64::from(*s) >= scale.room())
            .unwrap_or(20);
        let exponents = (low..=most).filter(|e| e.rem_euclid(step) == 0 && *e >= 0);
        scale.ticks = exponents.map(|e| (2f64.powi(e), round_bytes(2f64.powi(e)))).collect();
        scale
    }

    /// Numbers from 1 on, with ticks at powers of ten, and at 2 and 5 between them where there is room.
    pub(super) fn counts(most: f64, area: Rect, direction: Direction) -> LogScale {
        let high = most.max(10.0) * 1.15;
        let mut scale = LogScale::empty(0.8, high, area, direction);
        let decades = (0..20).map(|e| 10f64.powi(e)).take_while(|v| *v <= high);
        let per_decade = scale.pixels() / (high / 0.8).log10();
        let factors: &[f64] = if per_decade >= 4.0 * scale.room() { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let apart = (scale.room() / per_decade).ceil() as usize;
        scale.ticks = decades
            .step_by(apart.max(1))
            .flat_map(|v| factors.iter().map(move |f| v * f))
            .filter(|v| *v <= high)
            .map(|v| (v, units::grouped(v as u64)))
            .collect();
        scale
    }

    fn empty(low: f64, high: f64, area: Rect, direction: Direction) -> LogScale {
        LogScale { low, high, area, direction, ticks: Vec::new() }
    }

    fn pixels(&self) -> f64 {
        f64::from(if self.direction == Direction::Up { self.area.h } else { self.area.w })
    }

    fn room(&self) -> f64 {
        if self.direction == Direction::Up { ROOM_UP } else { ROOM_ACROSS }
    }

    /// The pixel of a value; values outside lie at the ends.
    pub(super) fn at(&self, value: f64) -> i32 {
        let value = value.clamp(self.low, self.high);
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        match self.direction {
            Direction::Up => self.area.bottom() - 1 - (share * f64::from(self.area.h - 1)).round() as i32,
            Direction::Across => self.area.x + (share * f64::from(self.area.w - 1)).round() as i32,
        }
    }

    /// The value of a pixel between both ends, counted from the start of the scale.
    pub(super) fn value(&self, pixel: i32) -> f64 {
        self.low * (self.high / self.low).powf(f64::from(pixel) / (self.pixels() - 1.0))
    }

    /// Whether a value lies between both ends.
    pub(super) fn reaches(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Ticks with the values as labels.
    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// Draws grid lines, ticks, labels, and the axis label.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, label: &str) {
        let area = self.area;
        let (grid, axis) = (Stroke::solid(palette.grid, 1), Stroke::solid(palette.axis, 1));
        for (value, text) in &self.ticks {
            let at = self.at(*value);
            match self.direction {
                Direction::Up => {
                    scene.horizontal(at, (area.x, area.right() - 1), grid);
                    scene.horizontal(at, (area.x - 6, area.x - 1), axis);
                    scene.text(words(text, area.x - 10, at + 4, TICK_SIZE, palette, Anchor::End));
                }
                Direction::Across => {
                    scene.vertical(at, (area.y, area.bottom() - 1), grid);
                    scene.vertical(at, (area.bottom(), area.bottom() + 4), axis);
                    let mut text = words(text, at, area.bottom() + 18, TICK_SIZE, palette, Anchor::Middle);
                    // The last label must not reach the column beside the plot.
                    text.x -= (text.bounds().right() - area.right() - 12).max(0);
                    scene.text(text);
                }
            }
        }
        match self.direction {
            Direction::Up => axis_label(scene, palette, area, label),
            Direction::Across => label_below(scene, palette, area, label),
        }
    }
}

/// Draws the label of a horizontal axis.
pub(super) fn label_below(scene: &mut Scene, palette: &Palette, area: Rect, label: &str) {
    let (x, y) = (area.x + area.w / 2, area.bottom() + 36);
    scene.text(words(label, x, y, LABEL_SIZE, palette, Anchor::Middle));
}

/// A round number of bytes: `4 KiB`.
pub(super) fn round_bytes(bytes: f64) -> String {
    let units = [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(power, _)| bytes >= 2f64.powi(*power)) {
        Some((power, unit)) => format!("{} {unit}", units::plain(bytes / 2f64.powi(*power))),
        None => format!("{} B", units::plain(bytes)),
    }
}

/// The binary unit in which a number of bytes is at least 1, with its size.
pub(super) fn unit_of(bytes: f64) -> (f64, &'static str) {
    [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .map(|(power, unit)| (2f64.powi(power), unit))
        .find(|(size, _)| bytes >= *size)
        .unwrap_or((1.0, "bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { x: 110, y: 200, w: 1000, h: 500 };

    #[test]
    fn scale_is_monotonic_and_in_bounds() {
        for direction in [Direction::Up, Direction::Across] {
            let scale = LogScale::bytes(512.0, 3e12, AREA, direction);
            let pixels: Vec<i32> = [0.0, 512.0, 4096.0, 1e9, 3e12, f64::MAX].map(|v| scale.at(v)).into();
            let ascends = pixels.windows(2).all(|p| p[0] <= p[1]);
            let descends = pixels.windows(2).all(|p| p[0] >= p[1]);
            assert!(if direction == Direction::Up { descends } else { ascends }, "{pixels:?}");
            assert_ne!(pixels[0], pixels[1], "zero is not the least value");
        }
    }

    #[test]
    fn ticks_are_round_and_not_crowded() {
        let bytes = LogScale::bytes(4096.0, 1e12, AREA, Direction::Up);
        let labels: Vec<&str> = bytes.ticks().iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(labels[..3], ["4 KiB", "16 KiB", "64 KiB"]);
        let counts = LogScale::counts(3e6, AREA, Direction::Across);
        let places: Vec<i32> = counts.ticks().iter().map(|(v, _)| counts.at(*v)).collect();
        assert!(places.len() >= 4 && places.windows(2).all(|p| p[1] - p[0] >= 60), "{places:?}");
    }

    #[test]
    fn pixels_and_values_convert_both_ways() {
        let scale = LogScale::counts(1e6, AREA, Direction::Across);
        for pixel in [0, 17, 500, 999] {
            assert!((scale.at(scale.value(pixel)) - AREA.x - pixel).abs() <= 1);
        }
    }
}
