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

    /// `self` for share 0, `other` for share 1.
    pub fn mix(self, other: Rgb, share: f64) -> Rgb {
        let channel = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Rgb(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }

    /// `#rrggbb`.
    pub fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// What pictures are made for.
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
    /// Behind everything.
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
    /// What the load requests.
    pub demanded: Rgb,
    /// What the target delivers.
    pub actual: Rgb,
    /// A limit that held.
    pub ok: Rgb,
    /// A limit that did not hold.
    pub bad: Rgb,
    /// Words of a caution.
    pub caution: Rgb,
    /// Behind cautions.
    pub caution_background: Rgb,
    /// Whether colours cannot tell reads from writes, so that they need lanes of their own.
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
    demanded: Rgb::hex(0x17A08A),
    actual: Rgb::hex(0xCC8400),
    ok: Rgb::hex(0x17A08A),
    bad: Rgb::hex(0x7A1FA2),
    caution: Rgb::hex(0x8A4B00),
    caution_background: Rgb::hex(0xFFF4DC),
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
    demanded: Rgb::hex(0x3FE8C4),
    actual: Rgb::hex(0xFFC23A),
    ok: Rgb::hex(0x3FE8C4),
    bad: Rgb::hex(0xD08BFF),
    caution: Rgb::hex(0xFFC76B),
    caution_background: Rgb::hex(0x33280F),
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

/// No colours: lightness, dashes and lanes tell classes apart.
const GRAY: Palette = Palette {
    read: Rgb::hex(0x111111),
    write: Rgb::hex(0x767676),
    read_pushed: Rgb::hex(0x444444),
    write_pushed: Rgb::hex(0x8C8C8C),
    demanded: Rgb::hex(0x222222),
    actual: Rgb::hex(0x909090),
    ok: Rgb::hex(0x555555),
    bad: Rgb::hex(0x000000),
    is_gray: true,
    ..PRINT
};

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

    /// WCAG 2.1 relative luminance and contrast.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let luminance = |c: Rgb| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2);
        let (high, low) = (luminance(a).max(luminance(b)), luminance(a).min(luminance(b)));
        (high + 0.05) / (low + 0.05)
    }

    #[test]
    fn graphics_have_three_to_one_and_text_four_and_a_half() {
        for p in [LIGHT, DARK, PRINT, GRAY] {
            let graphics =
                [p.read, p.write, p.read_pushed, p.write_pushed, p.demanded, p.actual, p.ok, p.bad, p.axis];
            graphics.iter().for_each(|c| assert!(contrast(*c, p.background) >= 3.0, "{c:?}"));
            [p.text, p.faint_text, p.caution]
                .iter()
                .for_each(|c| assert!(contrast(*c, p.background) >= 4.5, "{c:?}"));
            assert!(contrast(p.caution, p.caution_background) >= 4.5);
        }
    }
}
