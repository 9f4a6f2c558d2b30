//! Colours of a terminal: from the full palette down to none.

use super::Ink;
use super::history::CLASSES;
use crate::palette::{Palette, Rgb, Theme};

/// Number of colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ramp {
    /// Any.
    True,
    /// A cube of 6 × 6 × 6, and grays.
    Colours256,
    /// Sixteen.
    Colours16,
    /// None.
    Mono,
}

impl Ramp {
    /// From the environment: `NO_COLOR` (set and not empty), `COLORTERM`, `TERM`.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Ramp {
        match (no_color.unwrap_or(""), colorterm.unwrap_or(""), term.unwrap_or("")) {
            (no_color, ..) if !no_color.is_empty() => Ramp::Mono,
            (_, _, "" | "dumb") => Ramp::Mono,
            (_, _, term) if term.starts_with("vt") => Ramp::Mono,
            (_, "truecolor" | "24bit", _) => Ramp::True,
            (_, _, term) if term.contains("256color") || term.contains("direct") => Ramp::Colours256,
            _ => Ramp::Colours16,
        }
    }

    /// The nearest colour of this terminal.
    pub(super) fn ink(self, colour: Rgb) -> Ink {
        match self {
            Ramp::True => Ink::True(colour),
            Ramp::Colours256 => Ink::Indexed(nearest_of_256(colour)),
            Ramp::Colours16 => Ink::Basic(nearest_of_16(colour)),
            Ramp::Mono => Ink::Plain,
        }
    }

    pub(super) fn palette() -> &'static Palette {
        Theme::Dark.palette()
    }

    /// The colour of a class, the same as in pictures and on the page; that of pushed-back requests lies between those of
    /// pushed-back reads and writes.
    pub(super) fn class(self, class: usize) -> Ink {
        let mut counts = [0; CLASSES];
        counts[class] = 1;
        self.sonar(counts, 1.0).unwrap_or_default()
    }

    /// The colour of a cell of the sonar: `counts` by class, `share` relative to the most, 0 to 1. `None` without requests.
    pub(super) fn sonar(self, counts: [u64; CLASSES], share: f64) -> Option<Ink> {
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        if self == Ramp::Colours16 {
            return Some(Ink::Basic(basic(counts, total) + if share > 0.5 { 8 } else { 0 }));
        }
        let palette = Ramp::palette();
        // Few steps, so that neighbours that differ by a request do not flicker.
        let level = (share * LEVELS as f64).floor().min((LEVELS - 1) as f64) / (LEVELS - 1) as f64;
        Some(self.ink(palette.background.mix(hue(counts, total), FAINTEST + (1.0 - FAINTEST) * level)))
    }
}

/// Steps from few requests to many.
const LEVELS: usize = 5;
/// Strength of the colour of a single request; no other is fainter.
const FAINTEST: f64 = 0.45;

fn hue([read, write, pushed]: [u64; CLASSES], total: u64) -> Rgb {
    let p = Ramp::palette();
    if 3 * pushed > total {
        return p.read_pushed.mix(p.write_pushed, 0.5);
    }
    // In quarters, so that lone requests of the other class do not change a colour.
    let share = (write as f64 / (read + write) as f64 * 4.0).round() / 4.0;
    p.read.mix(p.write, share)
}

/// Blue reads, red writes, magenta for both; pushed-back requests are cyan.
fn basic(counts: [u64; CLASSES], total: u64) -> u8 {
    let is_most = |n: u64| 3 * n > 2 * total;
    match counts {
        [read, ..] if is_most(read) => 4,
        [_, write, _] if is_most(write) => 1,
        [_, _, pushed] if is_most(pushed) => 6,
        _ => 5,
    }
}

fn distance(a: Rgb, b: Rgb) -> u32 {
    let d = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    d(a.0, b.0) + d(a.1, b.1) + d(a.2, b.2)
}

/// The RGB value of one of 256 colours, as in most terminals; the first sixteen depend on the terminal.
pub(super) fn color_of(index: u8) -> Rgb {
    match index {
        0..16 => Ramp::palette().text,
        16..232 => {
            let n = usize::from(index - 16);
            Rgb(CUBE[n / 36], CUBE[n / 6 % 6], CUBE[n % 6])
        }
        232.. => {
            let value = 8 + 10 * (index - 232);
            Rgb(value, value, value)
        }
    }
}

const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest_of_256(colour: Rgb) -> u8 {
    let step = |c: u8| (0..6).min_by_key(|i| CUBE[*i].abs_diff(c)).unwrap_or(0);
    let (r, g, b) = (step(colour.0), step(colour.1), step(colour.2));
    let cube = Rgb(CUBE[r], CUBE[g], CUBE[b]);
    let level = (u32::from(colour.0) + u32::from(colour.1) + u32::from(colour.2)) / 3;
    let gray = (level.saturating_sub(3) / 10).min(23) as u8;
    let value = 8 + 10 * gray;
    if distance(Rgb(value, value, value), colour) < distance(cube, colour) {
        232 + gray
    } else {
        (16 + 36 * r + 6 * g + b) as u8
    }
}

fn nearest_of_16(colour: Rgb) -> u8 {
    let value = |n: u8| {
        let on = if n < 8 { 170 } else { 255 };
        let bit = |b: u8| {
            if n & (1 << b) != 0 {
                on
            } else if n < 8 {
                0
            } else {
                85
            }
        };
        Rgb(bit(0), bit(1), bit(2))
    };
    (0..16).min_by_key(|n| distance(value(*n), colour)).unwrap_or(7)
}
