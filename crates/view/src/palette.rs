//! Colours by meaning. Contrast and distance under colour-vision deficiency were checked for both themes; the
//! meanings are those of blkreplay's diagrams.

use serde::{Deserialize, Serialize};

/// A colour, red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    const fn hex(code: u32) -> Rgb {
        Rgb((code >> 16) as u8, (code >> 8) as u8, code as u8)
    }

    /// Mixes two colours: `self` for share 0, `other` for share 1.
    pub fn mix(self, other: Rgb, share: f64) -> Rgb {
        let channel = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Rgb(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }

    /// Contrast of two colours as WCAG 2.1 defines it: from 1 to 21.
    pub fn contrast(self, other: Rgb) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Relative luminance: 0 is black, 1 is white.
    fn luminance(self) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Black or white: the colour of words on this one.
    pub fn ink(self) -> Rgb {
        let [black, white] = [Rgb::hex(0x000000), Rgb::hex(0xFFFFFF)];
        if self.contrast(black) >= self.contrast(white) { black } else { white }
    }

    /// `#rrggbb`.
    pub fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Colour theme of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theme {
    /// Dark on white, for paper and most screens.
    #[default]
    Light,
    /// Light on nearly black.
    Dark,
    /// Black on white, nothing faint.
    Print,
    /// Without colours.
    Gray,
}

/// Every colour of a theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Background.
    pub background: Rgb,
    /// Words.
    pub text: Rgb,
    /// Less important words.
    pub faint_text: Rgb,
    /// Axes and frames.
    pub axis: Rgb,
    /// Lines at decades and ticks.
    pub grid: Rgb,
    /// Reads.
    pub read: Rgb,
    /// Writes.
    pub write: Rgb,
    /// Reads that were pushed back.
    pub read_pushed: Rgb,
    /// Writes that were pushed back.
    pub write_pushed: Rgb,
    /// Flushes.
    pub flush: Rgb,
    /// The load's demand.
    pub demanded: Rgb,
    /// The target's delivery.
    pub actual: Rgb,
    /// A limit that held.
    pub ok: Rgb,
    /// A limit that did not hold.
    pub bad: Rgb,
    /// Words of a caution.
    pub caution: Rgb,
    /// Background of cautions.
    pub caution_background: Rgb,
    /// Colours from the least to the greatest of a quantity; the greatest differs most from the background.
    pub ramp: [Rgb; 9],
    /// Lines that have an order, but no other meaning.
    pub series: [Rgb; 8],
    /// Whether colours cannot distinguish reads from writes, so that they need separate lanes.
    pub is_gray: bool,
}

const LIGHT: Palette = Palette {
    background: Rgb::hex(0xFFFFFF),
    text: Rgb::hex(0x1B1F24),
    faint_text: Rgb::hex(0x5A6270),
    axis: Rgb::hex(0x5A6270),
    grid: Rgb::hex(0xE3E6EA),
    read: Rgb::hex(0x1A5FB4),
    write: Rgb::hex(0xC01C28),
    read_pushed: Rgb::hex(0x04104A),
    write_pushed: Rgb::hex(0x5E1030),
    flush: Rgb::hex(0x0096A5),
    demanded: Rgb::hex(0x17A08A),
    actual: Rgb::hex(0xCC8400),
    ok: Rgb::hex(0x17A08A),
    bad: Rgb::hex(0x7A1FA2),
    caution: Rgb::hex(0x8A4B00),
    caution_background: Rgb::hex(0xFFF4DC),
    ramp: [
        Rgb::hex(0xF1F2B5),
        Rgb::hex(0xCFE8B2),
        Rgb::hex(0x9AD6B7),
        Rgb::hex(0x62C0C0),
        Rgb::hex(0x38A3C4),
        Rgb::hex(0x2580B8),
        Rgb::hex(0x255CA3),
        Rgb::hex(0x253B8A),
        Rgb::hex(0x13205F),
    ],
    series: [
        Rgb::hex(0x3B2A9E),
        Rgb::hex(0x1F78D1),
        Rgb::hex(0x0B8793),
        Rgb::hex(0x15803D),
        Rgb::hex(0x8A7500),
        Rgb::hex(0xCC6200),
        Rgb::hex(0xC01C28),
        Rgb::hex(0xA8328F),
    ],
    is_gray: false,
};

const DARK: Palette = Palette {
    background: Rgb::hex(0x11151B),
    text: Rgb::hex(0xE6EAF0),
    faint_text: Rgb::hex(0x9AA4B2),
    axis: Rgb::hex(0x9AA4B2),
    grid: Rgb::hex(0x2A313B),
    read: Rgb::hex(0x7FB2FF),
    write: Rgb::hex(0xF0453F),
    read_pushed: Rgb::hex(0x4B55F0),
    write_pushed: Rgb::hex(0xA0507A),
    flush: Rgb::hex(0x6AF5FF),
    demanded: Rgb::hex(0x3FE8C4),
    actual: Rgb::hex(0xFFC23A),
    ok: Rgb::hex(0x3FE8C4),
    bad: Rgb::hex(0xD08BFF),
    caution: Rgb::hex(0xFFC76B),
    caution_background: Rgb::hex(0x33280F),
    ramp: [
        Rgb::hex(0x453781),
        Rgb::hex(0x39568C),
        Rgb::hex(0x2D708E),
        Rgb::hex(0x238A8D),
        Rgb::hex(0x20A387),
        Rgb::hex(0x3CBB75),
        Rgb::hex(0x73D055),
        Rgb::hex(0xB8DE29),
        Rgb::hex(0xFDE725),
    ],
    series: [
        Rgb::hex(0xA595FF),
        Rgb::hex(0x6FA8FF),
        Rgb::hex(0x3FD0E0),
        Rgb::hex(0x54D07F),
        Rgb::hex(0xDDD35A),
        Rgb::hex(0xFFA850),
        Rgb::hex(0xFF6E66),
        Rgb::hex(0xF090D8),
    ],
    is_gray: false,
};

/// Like light, with black words and stronger lines, for ink on paper.
const PRINT: Palette = Palette {
    text: Rgb::hex(0x000000),
    faint_text: Rgb::hex(0x333333),
    axis: Rgb::hex(0x333333),
    grid: Rgb::hex(0xCCCCCC),
    caution: Rgb::hex(0x000000),
    caution_background: Rgb::hex(0xFFFFFF),
    ..LIGHT
};

/// No colours: lightness, dashes and lanes distinguish classes.
const GRAY: Palette = Palette {
    read: Rgb::hex(0x111111),
    write: Rgb::hex(0x767676),
    read_pushed: Rgb::hex(0x444444),
    write_pushed: Rgb::hex(0x8C8C8C),
    flush: Rgb::hex(0x5A5A5A),
    demanded: Rgb::hex(0x222222),
    actual: Rgb::hex(0x909090),
    ok: Rgb::hex(0x555555),
    bad: Rgb::hex(0x000000),
    ramp: [
        Rgb::hex(0xE8E8E8),
        Rgb::hex(0xD2D2D2),
        Rgb::hex(0xBBBBBB),
        Rgb::hex(0xA3A3A3),
        Rgb::hex(0x8A8A8A),
        Rgb::hex(0x707070),
        Rgb::hex(0x565656),
        Rgb::hex(0x3B3B3B),
        Rgb::hex(0x202020),
    ],
    series: [
        Rgb::hex(0x000000),
        Rgb::hex(0x000000),
        Rgb::hex(0x3A3A3A),
        Rgb::hex(0x3A3A3A),
        Rgb::hex(0x646464),
        Rgb::hex(0x646464),
        Rgb::hex(0x8C8C8C),
        Rgb::hex(0x8C8C8C),
    ],
    is_gray: true,
    ..PRINT
};

/// Steps of the ramp: few enough for a picture with words on each of them to have a palette.
const SHADES: f64 = 47.0;

impl Palette {
    /// The colour of a share from 0 to 1 of a quantity.
    pub fn shade(&self, share: f64) -> Rgb {
        let last = self.ramp.len() - 1;
        let place = (share.clamp(0.0, 1.0) * SHADES).round() / SHADES * last as f64;
        let from = (place.floor() as usize).min(last - 1);
        self.ramp[from].mix(self.ramp[from + 1], place - from as f64)
    }
}

impl Theme {
    /// Its colours.
    pub fn palette(self) -> &'static Palette {
        match self {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
            Theme::Print => &PRINT,
            Theme::Gray => &GRAY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_3_for_graphics_and_4_5_for_text() {
        for p in [LIGHT, DARK, PRINT, GRAY] {
            let graphics = [
                p.read,
                p.write,
                p.read_pushed,
                p.write_pushed,
                p.flush,
                p.demanded,
                p.actual,
                p.ok,
                p.bad,
                p.axis,
            ];
            graphics.iter().for_each(|c| assert!(c.contrast(p.background) >= 3.0, "{c:?}"));
            [p.text, p.faint_text, p.caution]
                .iter()
                .for_each(|c| assert!(c.contrast(p.background) >= 4.5, "{c:?}"));
            assert!(p.caution.contrast(p.caution_background) >= 4.5);
        }
    }
    #[test]
    fn shades_are_ordered_and_text_on_them_is_readable() {
        for p in [LIGHT, DARK, PRINT, GRAY] {
            p.series.iter().for_each(|c| assert!(c.contrast(p.background) >= 3.0, "{c:?}"));
            let shades: Vec<Rgb> = (0..=47).map(|i| p.shade(f64::from(i) / 47.0)).collect();
            assert!(shades.iter().all(|c| c.contrast(c.ink()) >= 4.5));
            assert!(shades.windows(2).all(|c| c[0].contrast(p.background) < c[1].contrast(p.background)));
            assert_eq!((shades[0], shades[47]), (p.ramp[0], p.ramp[8]));
            assert_eq!((p.shade(-1.0), p.shade(f64::INFINITY)), (p.ramp[0], p.ramp[8]));
        }
    }
}
