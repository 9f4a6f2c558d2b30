//! Scales and their ticks.

use crate::fonts::Weight;
use crate::palette::Palette;
use crate::scene::{Anchor, Caption, Rect, Scene, Stroke, Text};
use crate::units::{self, Charset};
use iosonar_analyze::{ROWS, ROWS_PER_DECADE, row_lower_edge};

/// Size of tick labels.
pub(super) const TICK_SIZE: f64 = 12.0;
/// A tick label below a plot; shifts the last one so that it does not reach the column beside the plot.
pub(super) fn tick_word(text: &str, x: i32, y: i32, palette: &Palette, area: Rect) -> Text {
    let mut text = words(text, x, y, TICK_SIZE, palette, Anchor::Middle);
    text.x -= (text.bounds().right() - area.right() - 12).max(0);
    text
}

/// Base lines of tick labels and of the axis label below a plot.
pub(super) const TICK_BELOW: i32 = 20;
pub(super) const LABEL_BELOW: i32 = 38;

/// Size of axis labels.
pub(super) const LABEL_SIZE: f64 = 13.0;

/// Words in the usual style.
pub(super) fn words(
    text: impl Into<Caption>,
    x: i32,
    y: i32,
    size: f64,
    palette: &Palette,
    anchor: Anchor,
) -> Text {
    let Caption { text, figures } = text.into();
    let (weight, color, upright) = (Weight::Regular, palette.text, false);
    Text { text, x, y, size, weight, color, anchor, upright, figures }
}

/// Time, or the number of a request, from left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeScale {
    /// At the left edge: nanoseconds, or a number.
    pub(super) begin: u64,
    /// At the right edge.
    pub(super) end: u64,
    /// Whether requests are counted instead of nanoseconds.
    pub(super) is_number: bool,
    pub(super) area: Rect,
}

/// The least 1, 2 or 5 times a power of ten at or above `least`, which is above 0.
fn round_step(least: u64) -> u64 {
    let power = 10u64.pow(least.max(1).ilog10());
    let steps = [1, 2, 5, 10].map(|n: u64| power.saturating_mul(n));
    steps.into_iter().find(|s| *s >= least).unwrap_or(least)
}

/// Above this span, ticks are at whole hours.
const MANY_HOURS: u64 = 3 * HOUR;
const HOUR: u64 = 3_600_000_000_000;

impl TimeScale {
    /// Pixel column of a time, clamped to the edges.
    pub(super) fn x(&self, at: u64) -> i32 {
        let span = self.end.saturating_sub(self.begin).max(1);
        let share = at.saturating_sub(self.begin).min(span) as f64 / span as f64;
        self.area.x + (share * f64::from(self.area.w)).round() as i32
    }

    /// The time at a pixel.
    pub(super) fn at(&self, x: i32) -> u64 {
        let span = u128::from(self.end.saturating_sub(self.begin));
        let pixels = (x - self.area.x).clamp(0, self.area.w) as u128;
        self.begin + (span * pixels / self.area.w.max(1) as u128) as u64
    }

    /// Whether a part of a time range is visible.
    pub(super) fn shows(&self, range: std::ops::Range<u64>) -> bool {
        range.start < self.end && range.end > self.begin
    }

    /// The same scale at another place of the page.
    pub(super) fn within(&self, area: Rect) -> TimeScale {
        TimeScale { area, ..*self }
    }

    /// Draws grid lines and tick labels; `label` names the time, below.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, label: Option<&str>) {
        self.draw_grid(scene, palette);
        if let Some(label) = label {
            self.draw_labels(scene, palette);
            let (x, y) = (self.area.x + self.area.w / 2, self.area.bottom() + LABEL_BELOW);
            scene.text(words(label, x, y, LABEL_SIZE, palette, Anchor::Middle));
        }
    }

    /// Draws grid lines and ticks.
    pub(super) fn draw_grid(&self, scene: &mut Scene, palette: &Palette) {
        if !self.is_number {
            scene.shown_ns = Some((self.begin, self.end));
        }
        for tick in self.ticks() {
            let x = self.x(tick);
            scene.vertical(x, (self.area.y, self.area.bottom() - 1), Stroke::solid(palette.grid, 1));
            scene.vertical(x, (self.area.bottom(), self.area.bottom() + 4), Stroke::solid(palette.axis, 1));
        }
    }

    /// Draws the times at the ticks.
    pub(super) fn draw_labels(&self, scene: &mut Scene, palette: &Palette) {
        let step = self.step();
        for tick in self.ticks() {
            let y = self.area.bottom() + TICK_BELOW;
            scene.text(tick_word(&self.tick_label(tick, step), self.x(tick), y, palette, self.area));
        }
    }

    fn ticks(&self) -> impl Iterator<Item = u64> + use<> {
        let (step, end) = (self.step(), self.end);
        let first = self.begin.checked_next_multiple_of(step);
        std::iter::successors(first, move |tick| tick.checked_add(step)).take_while(move |tick| *tick <= end)
    }

    /// 1, 2 or 5 times a power of ten, at most ten ticks. Where many hours are shown, whole hours.
    fn step(&self) -> u64 {
        let span = self.end.saturating_sub(self.begin);
        let least = span.div_ceil(10).max(1);
        if span > MANY_HOURS && !self.is_number {
            return round_step(least.div_ceil(HOUR)).saturating_mul(HOUR);
        }
        round_step(least)
    }

    fn tick_label(&self, tick: u64, step: u64) -> String {
        if self.is_number {
            return units::grouped(tick);
        }
        if self.end.saturating_sub(self.begin) > MANY_HOURS {
            return format!("{} h", units::plain(tick as f64 / HOUR as f64));
        }
        if self.end >= 1_000_000_000 {
            // Enough digits to distinguish neighbours.
            let digits = 9usize.saturating_sub(step.ilog10() as usize);
            let text = format!("{:.digits$}", tick as f64 / 1e9);
            return format!("{} s", if digits == 0 { units::grouped(tick / 1_000_000_000) } else { text });
        }
        let (factor, unit) = match step {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        format!("{} {unit}", units::plain(tick as f64 / factor as f64))
    }
}

/// Durations from below to above: a part of the rows of a grid, with gutters for durations outside of them.
pub(super) struct LogScale {
    /// Rows of whole decades.
    rows: std::ops::Range<usize>,
    area: Rect,
    under: i32,
    over: i32,
}

/// Height of the strip for times without a row.
const GUTTER: i32 = 20;

impl LogScale {
    /// A scale that covers every slot accepted by `lit`.
    pub(super) fn new(area: Rect, lit: impl Fn(usize) -> bool, always_under: bool) -> LogScale {
        let shown = |row: &usize| lit(row + 1);
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

    /// Height of a duration; values outside of the rows lie at their edge.
    pub(super) fn y_clamped(&self, ns: u64) -> i32 {
        let inner = self.inner();
        let least = row_lower_edge(self.rows.start);
        self.y(ns).unwrap_or(if ns < least { inner.bottom() } else { inner.y })
    }

    /// The middle of a slot, in its gutter if it has no row.
    pub(super) fn slot_y(&self, slot: usize) -> i32 {
        match slot {
            0 => self.area.bottom() - GUTTER / 2,
            s if s > ROWS => self.area.y + GUTTER / 2,
            s => {
                let (low, high) = (row_lower_edge(s - 1), row_lower_edge(s.min(ROWS)));
                self.y_clamped(low / 2 + high / 2)
            }
        }
    }

    /// Slots of each row of pixels of the area, from its top; `None` in the line beside a gutter.
    pub(super) fn pixel_rows(&self) -> Vec<Option<std::ops::Range<usize>>> {
        (self.area.y..self.area.bottom()).map(|y| self.slots_at(y)).collect()
    }

    fn slots_at(&self, y: i32) -> Option<std::ops::Range<usize>> {
        let inner = self.inner();
        if y < inner.y {
            return (y < inner.y - 2).then_some(ROWS + 1..ROWS + 2);
        }
        if y >= inner.bottom() {
            return (y >= inner.bottom() + 2).then_some(0..1);
        }
        let above = (inner.bottom() - 1 - y) as usize;
        let row = |pixels: usize| pixels * self.rows.len() / inner.h as usize;
        let (first, end) = (row(above), row(above + 1).max(row(above) + 1));
        Some(self.rows.start + first + 1..self.rows.start + end + 1)
    }

    /// Draws lines at decades, labels at 1, 2 and 5, and the names of the gutters.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, under: &str, label: &str) {
        self.draw_at(scene, palette, under);
        axis_label(scene, palette, self.area, label);
    }

    /// Draws the scale without an axis label.
    pub(super) fn draw_at(&self, scene: &mut Scene, palette: &Palette, under: &str) {
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

/// Pixels from one upright line of words to the next.
const LABEL_LINE: i32 = 16;

/// Draws the label of a vertical axis, upright at its left; in two lines if the axis is short.
pub(super) fn axis_label(scene: &mut Scene, palette: &Palette, area: Rect, label: &str) {
    let lines = crate::fonts::wrap(label, LABEL_SIZE, Weight::Regular, f64::from(area.h));
    let first = 26 - LABEL_LINE / 2 * (lines.len() as i32 - 1);
    for (i, line) in lines.into_iter().enumerate() {
        let (x, y) = (first + LABEL_LINE * i as i32, area.y + area.h / 2);
        let mut text = words(line, x, y, LABEL_SIZE, palette, Anchor::Middle);
        text.upright = true;
        scene.text(text);
    }
}

/// Durations from left to right, with a strip at the left for those below 1 µs.
pub(super) struct LogTimeScale {
    /// Rows of whole decades.
    rows: std::ops::Range<usize>,
    area: Rect,
    under: i32,
    over: i32,
}

/// Width of the strips for times without a row.
const STRIP: i32 = 64;

impl LogTimeScale {
    /// The same decades as another scale.
    pub(super) fn like(area: Rect, other: &LogScale) -> LogTimeScale {
        LogTimeScale {
            rows: other.rows.clone(),
            area,
            under: if other.under > 0 { STRIP } else { 0 },
            over: if other.over > 0 { STRIP } else { 0 },
        }
    }

    /// From the least to the greatest duration that has a row.
    pub(super) fn span_ns(&self) -> (u64, u64) {
        (row_lower_edge(self.rows.start), row_lower_edge(self.rows.end))
    }

    /// A scale that covers every slot accepted by `lit`.
    pub(super) fn new(area: Rect, lit: impl Fn(usize) -> bool) -> LogTimeScale {
        let first = (0..ROWS).find(|r| lit(r + 1)).unwrap_or(0);
        let last = (0..ROWS).rfind(|r| lit(r + 1)).unwrap_or(0);
        let begin = (first / ROWS_PER_DECADE).min(ROWS / ROWS_PER_DECADE - 2);
        let end = (last / ROWS_PER_DECADE + 1).max(begin + 2);
        LogTimeScale {
            rows: begin * ROWS_PER_DECADE..end * ROWS_PER_DECADE,
            area,
            under: if lit(0) { STRIP } else { 0 },
            over: if lit(ROWS + 1) { STRIP } else { 0 },
        }
    }

    /// The same scale at another place of the page.
    pub(super) fn within(&self, area: Rect) -> LogTimeScale {
        LogTimeScale { rows: self.rows.clone(), area, ..*self }
    }

    fn inner(&self) -> Rect {
        let gap = i32::from(self.under > 0) * 8;
        let left = self.area.x + self.under + gap;
        let right = self.area.right() - self.over - i32::from(self.over > 0) * 8;
        Rect { x: left, w: right - left, ..self.area }
    }

    /// Pixel column of a duration; values outside of the rows lie at their edge.
    pub(super) fn x(&self, ns: u64) -> i32 {
        let rows = (ns.max(1) as f64 / 1_000.0).log10() * ROWS_PER_DECADE as f64;
        self.at((rows - self.rows.start as f64) / self.rows.len() as f64)
    }

    fn at(&self, share: f64) -> i32 {
        let inner = self.inner();
        inner.x + (share.clamp(0.0, 1.0) * f64::from(inner.w)).round() as i32
    }

    /// Pixels of a slot, if it is shown.
    pub(super) fn pixels(&self, slot: usize) -> Option<(i32, i32)> {
        match slot {
            0 => (self.under > 0).then_some((self.area.x, self.area.x + self.under)),
            s if s == ROWS + 1 => {
                (self.over > 0).then_some((self.area.right() - self.over, self.area.right()))
            }
            _ => {
                let row = (slot - 1).checked_sub(self.rows.start).filter(|r| *r < self.rows.len())?;
                let share = |row: usize| row as f64 / self.rows.len() as f64;
                Some((self.at(share(row)), self.at(share(row + 1))))
            }
        }
    }

    /// Slots of the rows that are shown.
    pub(super) fn slots(&self) -> std::ops::Range<usize> {
        self.rows.start + 1..self.rows.end + 1
    }

    /// Lines at decades; with `label`, ticks, the name of the strip for short times, and the meaning below.
    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, under: &str, label: Option<&str>) {
        let mut taken: Vec<i32> = Vec::new();
        for factor in [1, 2, 5] {
            for decade in self.rows.start / ROWS_PER_DECADE..=self.rows.end / ROWS_PER_DECADE {
                let ns = row_lower_edge(decade * ROWS_PER_DECADE) * factor;
                if ns > row_lower_edge(self.rows.end) {
                    continue;
                }
                let x = self.x(ns);
                if factor == 1 {
                    let y = (self.area.y, self.area.bottom() - 1);
                    scene.vertical(x, y, Stroke::solid(palette.grid, 1));
                }
                let length = if factor == 1 { 6 } else { 3 };
                let y = (self.area.bottom(), self.area.bottom() + length);
                scene.vertical(x, y, Stroke::solid(palette.axis, 1));
                if label.is_some() && taken.iter().all(|t| t.abs_diff(x) >= 56) {
                    taken.push(x);
                    self.word(scene, palette, &round_duration(ns), x);
                }
            }
        }
        let Some(label) = label else { return };
        for (width, x, name) in [
            (self.under, self.area.x + self.under / 2 - 8, under),
            (self.over, self.area.right() - self.over / 2 + 8, "> 100 s"),
        ] {
            if width > 0 {
                self.word(scene, palette, name, x);
            }
        }
        let (x, y) = (self.area.x + self.area.w / 2, self.area.bottom() + 36);
        scene.text(words(label, x, y, LABEL_SIZE, palette, Anchor::Middle));
    }

    fn word(&self, scene: &mut Scene, palette: &Palette, text: &str, x: i32) {
        scene.text(tick_word(text, x, self.area.bottom() + 18, palette, self.area));
    }
}

/// A number of requests from one, left to right, logarithmic.
#[derive(Clone, Copy)]
pub(super) struct NumberScale {
    least: u64,
    most: u64,
    area: Rect,
}

impl NumberScale {
    /// A scale from `least` up to, but not at, `most`.
    pub(super) fn new(least: u64, most: u64, area: Rect) -> NumberScale {
        let least = least.max(1);
        NumberScale { least, most: most.max(least.saturating_mul(4)), area }
    }

    /// Place of the start of a number.
    pub(super) fn x(&self, number: u64) -> i32 {
        let log = |n: u64| (n.max(1) as f64).ln();
        let share = (log(number) - log(self.least)) / (log(self.most) - log(self.least));
        self.area.x + (share.clamp(0.0, 1.0) * f64::from(self.area.w)).round() as i32
    }

    /// The number at a place.
    pub(super) fn value(&self, x: i32) -> f64 {
        let share = f64::from(x - self.area.x) / f64::from(self.area.w);
        self.least as f64 * (self.most as f64 / self.least as f64).powf(share)
    }

    pub(super) fn draw(&self, scene: &mut Scene, palette: &Palette, label: &str) {
        let mut taken: Vec<i32> = Vec::new();
        let powers = || (0..19).map(|power| 10u64.pow(power));
        let finer = [2, 5, 3, 4, 6, 8].into_iter().flat_map(|n| powers().map(move |p| n * p));
        for number in powers().chain(finer).filter(|n| (self.least..self.most).contains(n)) {
            let x = self.x(number);
            if taken.iter().any(|t| t.abs_diff(x) < 56) {
                continue;
            }
            taken.push(x);
            let y = (self.area.y, self.area.bottom() - 1);
            scene.vertical(x, y, Stroke::solid(palette.grid, 1));
            let y = (self.area.bottom(), self.area.bottom() + 5);
            scene.vertical(x, y, Stroke::solid(palette.axis, 1));
            let text = units::grouped(number);
            scene.text(tick_word(&text, x, self.area.bottom() + 18, palette, self.area));
        }
        let (x, y) = (self.area.x + self.area.w / 2, self.area.bottom() + 36);
        scene.text(words(label, x, y, LABEL_SIZE, palette, Anchor::Middle));
    }
}

/// A quantity from zero, from below to above.
pub(super) struct LinearScale {
    most: f64,
    step: f64,
    area: Rect,
}

impl LinearScale {
    /// A scale from 0 to the first tick at or above `most`.
    pub(super) fn new(most: f64, area: Rect) -> LinearScale {
        let wanted = (most / (f64::from(area.h) / 36.0).clamp(2.0, 8.0)).max(f64::MIN_POSITIVE);
        let step = units::round_step(wanted);
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
