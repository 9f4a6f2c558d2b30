//! Scales and their ticks.

use crate::fonts::Weight;
use crate::palette::Palette;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};
use crate::units::{self, Charset};
use iosonar_analyze::{ROWS, ROWS_PER_DECADE, row_lower_edge};

/// Size of tick labels.
pub(super) const TICK_SIZE: f64 = 12.0;
/// Size of axis labels.
pub(super) const LABEL_SIZE: f64 = 13.0;

/// Words in the usual style.
pub(super) fn words(
    text: impl Into<String>,
    x: i32,
    y: i32,
    size: f64,
    palette: &Palette,
    anchor: Anchor,
) -> Text {
    let text = text.into();
    Text { text, x, y, size, weight: Weight::Regular, color: palette.text, anchor, upright: false }
}

/// Time from zero, left to right.
#[derive(Clone, Copy)]
pub(super) struct TimeScale {
    pub(super) end_ns: u64,
    pub(super) area: Rect,
}

impl TimeScale {
    pub(super) fn x(&self, ns: u64) -> i32 {
        let share = ns as f64 / self.end_ns.max(1) as f64;
        self.area.x + (share * f64::from(self.area.w)).round() as i32
    }

    /// Grid lines and tick labels; `label` says what the time means, below.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, label: Option<&str>) {
        let step = self.step();
        let mut tick = 0;
        while tick <= self.end_ns {
            let x = self.x(tick);
            scene.vertical(x, (self.area.y, self.area.bottom() - 1), Stroke::solid(palette.grid, 1));
            scene.vertical(x, (self.area.bottom(), self.area.bottom() + 4), Stroke::solid(palette.axis, 1));
            if label.is_some() {
                let y = self.area.bottom() + 18;
                scene.text(words(self.tick_label(tick, step), x, y, TICK_SIZE, palette, Anchor::Middle));
            }
            tick += step;
        }
        if let Some(label) = label {
            let (x, y) = (self.area.x + self.area.w / 2, self.area.bottom() + 36);
            scene.text(words(label, x, y, LABEL_SIZE, palette, Anchor::Middle));
        }
    }

    /// 1, 2 or 5 times a power of ten nanoseconds, at most ten ticks. From three hours on, whole hours.
    fn step(&self) -> u64 {
        const HOUR: u64 = 3_600_000_000_000;
        let least = self.end_ns.div_ceil(10).max(1);
        if self.end_ns > 3 * HOUR {
            return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
                .map(|n| n * HOUR)
                .into_iter()
                .find(|s| *s >= least)
                .unwrap_or(least);
        }
        let power = 10u64.pow(least.ilog10());
        [1, 2, 5, 10].into_iter().map(|n| n * power).find(|s| *s >= least).unwrap_or(least)
    }

    fn tick_label(&self, tick: u64, step: u64) -> String {
        let (factor, unit) = match step {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..100_000_000 => (1_000_000, "ms"),
            _ if self.end_ns > 10_800_000_000_000 => (3_600_000_000_000, "h"),
            _ => (1_000_000_000, "s"),
        };
        match (step % factor, tick % factor) {
            (0, _) => format!("{} {unit}", units::grouped(tick / factor)),
            _ => format!("{:.1} {unit}", tick as f64 / factor as f64),
        }
    }
}

/// Durations from below to above: a part of the rows of a grid, with room for what lies outside of them.
pub(super) struct LogScale {
    /// Of whole decades.
    rows: std::ops::Range<usize>,
    area: Rect,
    under: i32,
    over: i32,
}

/// Height of the strip for times that have no row.
const GUTTER: i32 = 20;

/// What is drawn in one row of pixels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PixelRow {
    /// The counts of this slot.
    Slot(usize),
    /// The line between the rows and a gutter.
    Gap,
}

impl LogScale {
    /// Shows every slot for which `lit` says so, and `limit_ns`.
    pub(super) fn new(
        area: Rect,
        lit: impl Fn(usize) -> bool,
        always_under: bool,
        limit_ns: Option<u64>,
    ) -> LogScale {
        let limit = limit_ns.map(|ns| (0..ROWS).rposition(|r| row_lower_edge(r) <= ns).unwrap_or(0));
        let shown = |row: &usize| lit(row + 1) || Some(*row) == limit;
        let first = (0..ROWS).find(shown).unwrap_or(0);
        let last = (0..ROWS).rfind(shown).unwrap_or(0);
        let begin = (first / ROWS_PER_DECADE).min(ROWS / ROWS_PER_DECADE - 2);
        let end = (last / ROWS_PER_DECADE + 1).max(begin + 2);
        LogScale {
            rows: begin * ROWS_PER_DECADE..end * ROWS_PER_DECADE,
            area,
            under: if always_under || lit(0) { GUTTER } else { 0 },
            over: if lit(ROWS + 1) { GUTTER } else { 0 },
        }
    }

    /// The part between the gutters.
    fn inner(&self) -> Rect {
        Rect { y: self.area.y + self.over, h: self.area.h - self.over - self.under, ..self.area }
    }

    /// Height of a duration, if it has a row in this picture.
    pub(super) fn y(&self, ns: u64) -> Option<i32> {
        let rows = (ns.max(1) as f64 / 1_000.0).log10() * ROWS_PER_DECADE as f64;
        let share = (rows - self.rows.start as f64) / self.rows.len() as f64;
        let inner = self.inner();
        (0.0..=1.0).contains(&share).then(|| inner.bottom() - (share * f64::from(inner.h)).round() as i32)
    }

    /// What belongs into the pixel row `y` of the area, counted from its top.
    pub(super) fn pixel_row(&self, y: i32) -> PixelRow {
        let inner = self.inner();
        let y = y + self.area.y;
        if y < inner.y {
            return if y < inner.y - 2 { PixelRow::Slot(ROWS + 1) } else { PixelRow::Gap };
        }
        if y >= inner.bottom() {
            return if y >= inner.bottom() + 2 { PixelRow::Slot(0) } else { PixelRow::Gap };
        }
        let above = (inner.bottom() - 1 - y) as usize * self.rows.len() / inner.h as usize;
        PixelRow::Slot(self.rows.start + above + 1)
    }

    /// Lines at decades, labels at 1, 2 and 5, the names of the gutters.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, under: &str, label: &str) {
        let inner = self.inner();
        let mut labels: Vec<i32> = Vec::new();
        for factor in [1, 2, 5] {
            for decade in self.rows.start / ROWS_PER_DECADE..=self.rows.end / ROWS_PER_DECADE {
                let ns = row_lower_edge(decade * ROWS_PER_DECADE) * factor;
                let Some(y) = self.y(ns) else { continue };
                if factor == 1 {
                    scene.horizontal(y, (self.area.x, self.area.right() - 1), Stroke::solid(palette.grid, 1));
                }
                let length = if factor == 1 { 6 } else { 3 };
                scene.horizontal(y, (self.area.x - length, self.area.x - 1), Stroke::solid(palette.axis, 1));
                // At a gutter the label moves inward, to leave room for the gutter's name.
                let base = match y {
                    _ if self.under > 0 && y == inner.bottom() => y - 1,
                    _ if self.over > 0 && y == inner.y => y + 11,
                    _ => y + 4,
                };
                if labels.iter().all(|taken| taken.abs_diff(base) >= 16) {
                    labels.push(base);
                    self.tick_label(scene, palette, &round_duration(ns), base);
                }
            }
        }
        for (height, y, name) in
            [(self.over, self.area.y + 11, "> 100 s"), (self.under, self.area.bottom() - 3, under)]
        {
            if height > 0 {
                self.tick_label(scene, palette, name, y);
            }
        }
        if self.under > 0 {
            scene.horizontal(
                inner.bottom(),
                (self.area.x, self.area.right() - 1),
                Stroke::solid(palette.axis, 1),
            );
        }
        if self.over > 0 {
            scene.horizontal(
                inner.y - 1,
                (self.area.x, self.area.right() - 1),
                Stroke::solid(palette.axis, 1),
            );
        }
        axis_label(scene, palette, self.area, label);
    }

    fn tick_label(&self, scene: &mut Scene, palette: &Palette, text: &str, y: i32) {
        scene.text(words(text, self.area.x - 10, y, TICK_SIZE, palette, Anchor::End));
    }
}

fn round_duration(ns: u64) -> String {
    let (factor, unit) = match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{} {unit}", ns / factor)
}

/// What a vertical axis means, upright at its left.
pub(super) fn axis_label(scene: &mut Scene, palette: &Palette, area: Rect, label: &str) {
    let mut text = words(label, 26, area.y + area.h / 2, LABEL_SIZE, palette, Anchor::Middle);
    text.upright = true;
    text.text = crate::fonts::fit(label, LABEL_SIZE, text.weight, f64::from(area.h));
    scene.text(text);
}

/// A quantity from zero, from below to above.
pub(super) struct LinearScale {
    most: f64,
    step: f64,
    area: Rect,
}

impl LinearScale {
    /// From 0 to the first tick at or above `most`.
    pub(super) fn new(most: f64, area: Rect) -> LinearScale {
        let wanted = (most / (f64::from(area.h) / 36.0).clamp(2.0, 8.0)).max(f64::MIN_POSITIVE);
        let power = 10f64.powf(wanted.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|n| n * power)
            .find(|s| *s >= wanted * 0.999)
            .unwrap_or(1.0);
        LinearScale { most: (most / step).ceil().max(1.0) * step, step, area }
    }

    pub(super) fn y(&self, value: f64) -> i32 {
        let share = (value / self.most).clamp(0.0, 1.0);
        self.area.bottom() - 1 - (share * f64::from(self.area.h - 1)).round() as i32
    }

    /// Whether a value lies between zero and the last tick.
    pub(super) fn reaches(&self, value: f64) -> bool {
        (0.0..=self.most).contains(&value)
    }

    /// Values of all ticks, zero first.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        let (count, step) = ((self.most / self.step).round() as u32, self.step);
        (0..=count).map(move |i| f64::from(i) * step)
    }

    pub(super) fn draw(
        &self,
        scene: &mut Scene,
        palette: &Palette,
        label: &str,
        tick: impl Fn(f64) -> String,
    ) {
        for value in self.ticks() {
            let y = self.y(value);
            scene.horizontal(y, (self.area.x, self.area.right() - 1), Stroke::solid(palette.grid, 1));
            scene.horizontal(y, (self.area.x - 6, self.area.x - 1), Stroke::solid(palette.axis, 1));
            scene.text(words(tick(value), self.area.x - 10, y + 4, TICK_SIZE, palette, Anchor::End));
        }
        axis_label(scene, palette, self.area, label);
    }
}

/// A number of requests from zero on a scale of log(1 + n): single requests and thousands are both seen, and
/// zero has its place.
pub(super) struct CountScale {
    most: u64,
    area: Rect,
}

impl CountScale {
    pub(super) fn new(most: u64, area: Rect) -> CountScale {
        CountScale { most: most.max(4), area }
    }

    /// Height of a count or of a mean of counts.
    pub(super) fn y(&self, count: f64) -> i32 {
        let share = count.min(self.most as f64).ln_1p() / (self.most as f64).ln_1p();
        self.area.bottom() - 1 - (share * f64::from(self.area.h - 1)).round() as i32
    }

    pub(super) fn reaches(&self, count: u64) -> bool {
        count <= self.most
    }

    /// Ticks at 0 and at 1, 2, 5 times powers of ten, where they do not crowd.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, label: &str) {
        let ones = (0..20).map(|power| 10u64.pow(power)).take_while(|n| *n <= self.most);
        let finer = ones.clone().flat_map(|n| [2 * n, 5 * n]).filter(|n| *n <= self.most);
        let mut taken: Vec<i32> = Vec::new();
        for count in [0].into_iter().chain(ones).chain(finer) {
            let y = self.y(count as f64);
            if taken.iter().any(|t| t.abs_diff(y) < 16) {
                continue;
            }
            taken.push(y);
            scene.horizontal(y, (self.area.x, self.area.right() - 1), Stroke::solid(palette.grid, 1));
            scene.horizontal(y, (self.area.x - 6, self.area.x - 1), Stroke::solid(palette.axis, 1));
            let text = units::grouped(count);
            scene.text(words(text, self.area.x - 10, y + 4, TICK_SIZE, palette, Anchor::End));
        }
        axis_label(scene, palette, self.area, label);
    }
}

/// Frame of a plot.
pub(super) fn frame(scene: &mut Scene, palette: &Palette, area: Rect) {
    let stroke = Stroke::solid(palette.axis, 1);
    scene.vertical(area.x - 1, (area.y, area.bottom()), stroke);
    scene.horizontal(area.bottom(), (area.x - 1, area.right()), stroke);
}

/// A duration in the pictures' style.
pub(super) fn time(ns: u64) -> String {
    units::duration(ns, Charset::Unicode)
}
