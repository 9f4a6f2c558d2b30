//! A colour and a shape for each class of fault, the same in every picture. Related classes share a hue and differ in lightness
//! and shape; in a theme without hues, lightness and shape are enough.

use crate::palette::{Palette, Rgb};
use crate::scene::Scene;
use iosonar_archive::FaultClass;

/// Lightness of a hue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Plain,
    /// Nearer to the colour of words.
    Strong,
    /// Nearer to the background.
    Pale,
}

/// Hue, as an index into `Palette::series`, and lightness.
fn tint(class: FaultClass) -> (usize, Tone) {
    use Tone::{Pale, Plain, Strong};
    match class {
        // Indigo: data of another place.
        FaultClass::Misdirected => (0, Plain),
        FaultClass::Duplicated => (0, Strong),
        FaultClass::Swapped => (0, Pale),
        // Blue: data of another target or run, or a write that was never requested.
        FaultClass::OtherTarget => (1, Plain),
        FaultClass::OtherRun => (1, Strong),
        FaultClass::Phantom => (1, Pale),
        // Teal: the read itself.
        FaultClass::Unreadable => (2, Plain),
        FaultClass::Untransferred => (2, Strong),
        FaultClass::Short => (2, Pale),
        // Green: damaged bits.
        FaultClass::Corrupted => (3, Plain),
        FaultClass::HeaderDamaged => (3, Strong),
        FaultClass::Flipped => (3, Pale),
        // Olive: after a crash.
        FaultClass::FlushViolated => (4, Plain),
        FaultClass::UnwrittenAppeared => (4, Strong),
        // Orange: no data of the run.
        FaultClass::Foreign => (5, Plain),
        FaultClass::Zeroed => (5, Strong),
        FaultClass::Ones => (5, Pale),
        // Red: an older version.
        FaultClass::Lost => (6, Plain),
        FaultClass::Reverted => (6, Strong),
        FaultClass::Stale => (6, Pale),
        // Magenta: a part of a write.
        FaultClass::TornPage => (7, Plain),
        FaultClass::TornSector => (7, Strong),
        FaultClass::TornInside => (7, Pale),
    }
}

/// Its colour.
pub(super) fn color(p: &Palette, class: FaultClass) -> Rgb {
    let (hue, tone) = tint(class);
    let plain = p.series[hue];
    match tone {
        Tone::Plain => plain,
        Tone::Strong => plain.mix(p.text, 0.5),
        Tone::Pale => plain.mix(p.background, 0.4),
    }
}

type Shape = &'static [(i32, i32)];

/// Half the width of the shapes below.
const UNIT: i32 = 6;
const DISC: Shape = &[(-2, -5), (2, -5), (5, -2), (5, 2), (2, 5), (-2, 5), (-5, 2), (-5, -2)];
const SQUARE: Shape = &[(-5, -5), (5, -5), (5, 5), (-5, 5)];
const PEAK: Shape = &[(0, -6), (6, 5), (-6, 5)];
const DIAMOND: Shape = &[(0, -6), (6, 0), (0, 6), (-6, 0)];
const FUNNEL: Shape = &[(-6, -5), (6, -5), (0, 6)];
const PLUS: Shape = &[
    (-2, -6),
    (2, -6),
    (2, -2),
    (6, -2),
    (6, 2),
    (2, 2),
    (2, 6),
    (-2, 6),
    (-2, 2),
    (-6, 2),
    (-6, -2),
    (-2, -2),
];

/// The shape of a class, around its middle. Two hues with the same lightness without colours have no shape in common.
fn shape(class: FaultClass) -> Shape {
    let (hue, tone) = tint(class);
    match (hue % 2, tone) {
        (0, Tone::Plain) => DISC,
        (0, Tone::Strong) => SQUARE,
        (0, Tone::Pale) => PEAK,
        (_, Tone::Plain) => DIAMOND,
        (_, Tone::Strong) => FUNNEL,
        (_, Tone::Pale) => PLUS,
    }
}

/// Draws its sign with the middle at `at`; `arm` is half its width.
pub(super) fn filled(scene: &mut Scene, p: &Palette, class: FaultClass, at: (i32, i32), arm: i32) {
    // A line around it separates neighbours.
    let (hue, tone) = tint(class);
    let color = color(p, class);
    let edge = if tone == Tone::Pale { p.series[hue] } else { color.mix(p.text, 0.5) };
    scene.polygon(corners(class, at, arm), color, Some(edge));
}

/// Draws only the outline of its sign.
pub(super) fn hollow(scene: &mut Scene, p: &Palette, class: FaultClass, at: (i32, i32), arm: i32) {
    let (hue, tone) = tint(class);
    let edge = if tone == Tone::Pale { p.series[hue] } else { color(p, class) };
    scene.polygon(corners(class, at, arm), p.background, Some(edge));
}

fn corners(class: FaultClass, (x, y): (i32, i32), arm: i32) -> Vec<(i32, i32)> {
    let scaled = |n: i32| (f64::from(n * arm) / f64::from(UNIT)).round() as i32;
    shape(class).iter().map(|(dx, dy)| (x + scaled(*dx), y + scaled(*dy))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    #[test]
    fn fault_classes_have_distinct_symbols() {
        for theme in [Theme::Light, Theme::Dark, Theme::Print, Theme::Gray] {
            let p = theme.palette();
            let signs: Vec<_> =
                FaultClass::ALL.iter().map(|class| (color(p, *class), shape(*class))).collect();
            for (i, sign) in signs.iter().enumerate() {
                assert!(!signs[..i].contains(sign), "{theme:?}: {}", FaultClass::ALL[i]);
            }
            if !p.is_gray {
                let mut colors: Vec<_> = signs.iter().map(|(color, _)| *color).collect();
                colors.sort();
                colors.dedup();
                assert_eq!(colors.len(), FaultClass::ALL.len(), "{theme:?}");
            }
            let contrast = |class: &FaultClass| color(p, *class).contrast(p.background);
            assert!(FaultClass::ALL.iter().all(|class| contrast(class) >= 1.8), "{theme:?}");
        }
    }
}
