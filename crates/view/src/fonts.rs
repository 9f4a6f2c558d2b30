//! The embedded font: widths for layout, coverage for pixels.

use ab_glyph::{Font, FontRef, PxScale, point};
use std::sync::LazyLock;

/// Regular or bold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// Regular.
    Regular,
    /// Bold.
    Bold,
}

static REGULAR: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(include_bytes!("../fonts/DejaVuSans.subset.ttf"))
        .expect("the embedded font is valid")
});
static BOLD: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(include_bytes!("../fonts/DejaVuSans-Bold.subset.ttf"))
        .expect("the embedded font is valid")
});

fn font(weight: Weight) -> &'static FontRef<'static> {
    match weight {
        Weight::Regular => &REGULAR,
        Weight::Bold => &BOLD,
    }
}

/// Highest and lowest ink of the embedded font, in shares of the size.
pub const ASCENT: f64 = 0.80;
/// Depth below the base line, in shares of the size.
pub const DESCENT: f64 = 0.24;

/// Replaces characters that the font lacks by a replacement mark.
fn shown(font: &FontRef<'_>, c: char) -> char {
    if font.glyph_id(c).0 != 0 { c } else { '\u{FFFD}' }
}

/// Width of a text in pixels at a size (height of the em square) in pixels.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let font = font(weight);
    let em = f64::from(font.units_per_em().unwrap_or(2048.0));
    let advance = |c| f64::from(font.h_advance_unscaled(font.glyph_id(shown(font, c))));
    text.chars().map(advance).sum::<f64>() * size / em
}

/// The text if it fits, otherwise its ends with `…` between them.
pub fn fit(text: &str, size: f64, weight: Weight, room: f64) -> String {
    if width(text, size, weight) <= room {
        return text.to_string();
    }
    let chars: Vec<char> = text.chars().collect();
    let cut = |keep: usize| {
        let head = keep.div_ceil(2);
        let tail = &chars[chars.len() - (keep - head)..];
        chars[..head].iter().chain(&['…']).chain(tail).collect::<String>()
    };
    let mut keep = chars.len();
    while keep > 0 && width(&cut(keep), size, weight) > room {
        // Long texts shrink quickly, short ones character by character.
        keep -= (keep / 16).max(1);
    }
    cut(keep)
}

/// The text in lines that are no wider than `room`, broken between words; a word that is wider is broken inside.
pub fn wrap(text: &str, size: f64, weight: Weight, room: f64) -> Vec<String> {
    let fits = |text: &str| width(text, size, weight) <= room;
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in iosonar_plaintext::lines::unbroken(text) {
        let longer = if line.is_empty() { word.clone() } else { format!("{line} {word}") };
        if fits(&longer) {
            line = longer;
            continue;
        }
        lines.extend((!line.is_empty()).then(|| std::mem::take(&mut line)));
        for c in word.chars() {
            line.push(c);
            if !fits(&line) && line.chars().count() > 1 {
                line.pop();
                lines.push(std::mem::replace(&mut line, c.to_string()));
            }
        }
    }
    lines.extend((!line.is_empty() || lines.is_empty()).then_some(line));
    lines
}

/// Coverage of a text drawn from the origin to the right: calls `ink` with pixel offsets from the start of the
/// base line and a coverage from 0 to 1.
pub fn draw(text: &str, size: f64, weight: Weight, mut ink: impl FnMut(i32, i32, f32)) {
    let font = font(weight);
    let em = font.units_per_em().unwrap_or(2048.0);
    // ab_glyph scales by the height from ascent to descent, text sizes are those of the em square.
    let scale = PxScale::from(size as f32 * font.height_unscaled() / em);
    let mut x = 0.0f32;
    for c in text.chars() {
        let id = font.glyph_id(shown(font, c));
        if let Some(outline) = font.outline_glyph(id.with_scale_and_position(scale, point(x, 0.0))) {
            let bounds = outline.px_bounds();
            let (left, top) = (bounds.min.x as i32, bounds.min.y as i32);
            outline.draw(|px, py, coverage| ink(left + px as i32, top + py as i32, coverage));
        }
        x += font.h_advance_unscaled(id) * size as f32 / em;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_contain_all_symbols() {
        for weight in [Weight::Regular, Weight::Bold] {
            for c in "≤≥−×·µμ→…✓✕⚠äöüß–—\u{FFFD}".chars() {
                assert_ne!(font(weight).glyph_id(c).0, 0, "{c} {weight:?}");
            }
        }
    }

    #[test]
    fn wrapping_loses_no_text_and_fits_the_width() {
        let long = "x".repeat(90);
        for text in
            ["", "one", "a few words that need several lines here", &long, &format!("before {long} behind")]
        {
            let lines = wrap(text, 13.0, Weight::Regular, 120.0);
            assert!(lines.iter().all(|l| width(l, 13.0, Weight::Regular) <= 120.0), "{lines:?}");
            let bare = |text: &str| text.replace(' ', "");
            assert_eq!(bare(&lines.concat()), bare(text));
        }
        assert_eq!(wrap("a b", 13.0, Weight::Regular, 120.0), ["a b"]);
        let told = wrap("passed with a max of 16 801 ms, late", 13.0, Weight::Regular, 150.0);
        assert_eq!(told, ["passed with a max of", "16 801 ms, late"]);
    }

    #[test]
    fn shortening_keeps_both_ends() {
        let path = format!("/srv/{}/data.load.gz", "x".repeat(300));
        let fitted = fit(&path, 13.0, Weight::Regular, 200.0);
        assert!(fitted.starts_with("/srv/") && fitted.ends_with(".gz") && fitted.contains('…'), "{fitted}");
        assert!(width(&fitted, 13.0, Weight::Regular) <= 200.0);
        assert_eq!(fit("short", 13.0, Weight::Regular, 200.0), "short");
        assert_eq!(fit("日本語日本語", 13.0, Weight::Regular, 1.0), "…");
    }
}
